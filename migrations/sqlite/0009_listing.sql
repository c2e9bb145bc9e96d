-- Jobs that begin with wallets, whose transactions are looked up first, and jobs that wait until their owner has seen what was understood. SQLite changes no
-- CHECK of a table that exists, so the table is made anew. Its parts refer to it by name: that they do is checked at the end.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE jobs_before AS SELECT * FROM jobs;
DROP TABLE jobs;
CREATE TABLE jobs (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    -- The key that brought it; empty for the dashboard.
    key_id       TEXT    NOT NULL,
    book_id      TEXT    REFERENCES books (id),
    name         TEXT    NOT NULL,
    -- What is looked up and how its rows are read, and how its table was understood or what was found, as JSON.
    options      TEXT    NOT NULL,
    understood   TEXT    NOT NULL,
    -- A job whose table is still coming in is no job yet. One that is ready waits to be started.
    state        TEXT    NOT NULL CHECK (state IN ('arriving', 'listing', 'ready', 'open', 'finished', 'cancelled', 'failed')),
    reason       TEXT,
    row_count    INTEGER NOT NULL DEFAULT 0,
    read_count   INTEGER NOT NULL DEFAULT 0,
    failed_count INTEGER NOT NULL DEFAULT 0,
    review_count INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    ended_at     INTEGER,
    -- Not worked on before, such as while its owner's pool is empty.
    due_at       INTEGER NOT NULL,
    -- When it was last its turn: the job that waited longest comes first.
    served_at    INTEGER NOT NULL,
    -- Whether it is read as soon as all of it is there.
    starts       INTEGER NOT NULL DEFAULT 1,
    -- Whoever looks its transactions up, until when without a sign of life, and how often its sources have failed.
    holder       TEXT    NOT NULL DEFAULT '',
    held_until   INTEGER NOT NULL DEFAULT 0,
    tries        INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO jobs (id, owner_id, key_id, book_id, name, options, understood, state, reason, row_count, read_count, failed_count,
                  review_count, created_at, started_at, ended_at, due_at, served_at)
SELECT id, owner_id, key_id, book_id, name, options, understood, state, reason, row_count, read_count, failed_count,
       review_count, created_at, started_at, ended_at, due_at, served_at FROM jobs_before;
DROP TABLE jobs_before;
CREATE INDEX jobs_by_owner ON jobs (owner_id, created_at, id);
CREATE INDEX jobs_by_book ON jobs (book_id, created_at, id);
CREATE INDEX jobs_by_turn ON jobs (served_at, id) WHERE state = 'open';
CREATE INDEX jobs_listed ON jobs (served_at, id) WHERE state = 'listing';
CREATE INDEX jobs_by_age ON jobs (created_at);
