-- What was read from chains, kept so that it need not be read again. Without a log: after a crash it is empty, and fills again. On SQLite
-- it stands in a file of its own.
CREATE UNLOGGED TABLE cache_rows (
    kind  TEXT   NOT NULL,
    key   TEXT   NOT NULL,
    chain TEXT   NOT NULL,
    body  BYTEA  NOT NULL,
    at    BIGINT NOT NULL,
    PRIMARY KEY (kind, key)
);
-- The bodies are compressed already.
ALTER TABLE cache_rows ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX cache_rows_by_age ON cache_rows (at);

-- Counts up whenever the rows are cleared, so that every instance forgets what it holds in memory.
CREATE TABLE cache_age (number BIGINT NOT NULL);
INSERT INTO cache_age VALUES (0);
