-- When the transaction was, in seconds since 1970; 0 where that is not known, as in readings from before it was written down. They are shown by it.
ALTER TABLE readings ADD COLUMN time INTEGER NOT NULL DEFAULT 0;
CREATE INDEX readings_by_date ON readings (owner_id, time, hash, wallet);
-- What waits for a person is in the rows of books.
DROP INDEX readings_by_need;
