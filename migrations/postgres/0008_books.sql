-- What an owner keeps for a client or for a name of their own: how its jobs are read and exported. Times are milliseconds since 1970.
CREATE TABLE books (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    -- The one that jobs belong to which name none; it is made when it is first needed.
    is_first     BOOLEAN NOT NULL DEFAULT FALSE,
    name         TEXT    NOT NULL,
    jurisdiction TEXT    NOT NULL,
    time_zone    TEXT    NOT NULL,
    -- As requests write it, in JSON.
    policy       TEXT    NOT NULL,
    -- A chart of accounts in TOML; empty for the default.
    chart        TEXT    NOT NULL,
    -- Dates such as 2026-01-31.
    period_from  TEXT,
    period_to    TEXT,
    -- Whether a second person signs what one has decided.
    needs_second BOOLEAN NOT NULL DEFAULT FALSE,
    created_at   BIGINT  NOT NULL
);
CREATE INDEX books_by_owner ON books (owner_id, created_at, id);
CREATE UNIQUE INDEX books_first ON books (owner_id) WHERE is_first = TRUE;

CREATE TABLE book_wallets (
    book_id TEXT    NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    address TEXT    NOT NULL,
    label   TEXT    NOT NULL,
    -- In the order in which they were written down.
    place   BIGINT  NOT NULL,
    PRIMARY KEY (book_id, address)
);

-- Whoever else may see a book and decide in it: the account at this address, once its holder has shown that the address is theirs. By address, so that
-- nothing tells whether there is such an account.
CREATE TABLE book_people (
    book_id  TEXT    NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    email    TEXT    NOT NULL,
    added_at BIGINT  NOT NULL,
    PRIMARY KEY (book_id, email)
);
CREATE INDEX book_people_by_email ON book_people (email, book_id);

ALTER TABLE jobs ADD COLUMN book_id TEXT REFERENCES books (id);
CREATE INDEX jobs_by_book ON jobs (book_id, created_at, id);

-- Jobs from before there were books belong to their owner's first.
INSERT INTO books (id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, created_at)
SELECT 'book_' || substr(md5(random()::text || id), 1, 24), id, TRUE, 'My books', 'us', 'UTC', '{}', '', created_at * 1000 FROM owners
WHERE id IN (SELECT owner_id FROM jobs);
UPDATE jobs SET book_id = (SELECT books.id FROM books WHERE books.owner_id = jobs.owner_id);
