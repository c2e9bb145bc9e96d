-- Tables of transactions that are read while their owner is away. Times are milliseconds since 1970.
CREATE TABLE jobs (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    -- The key that brought it; empty for the dashboard.
    key_id       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    -- How its rows are read, and how its table was understood, as JSON.
    options      TEXT    NOT NULL,
    understood   TEXT    NOT NULL,
    -- A job whose table is still coming in is no job yet.
    state        TEXT    NOT NULL CHECK (state IN ('arriving', 'open', 'finished', 'cancelled', 'failed')),
    reason       TEXT,
    row_count    BIGINT  NOT NULL DEFAULT 0,
    read_count   BIGINT  NOT NULL DEFAULT 0,
    failed_count BIGINT  NOT NULL DEFAULT 0,
    review_count BIGINT  NOT NULL DEFAULT 0,
    created_at   BIGINT  NOT NULL,
    started_at   BIGINT,
    ended_at     BIGINT,
    -- Not worked on before, such as while its owner's pool is empty.
    due_at       BIGINT  NOT NULL,
    -- When it was last its turn: the job that waited longest comes first.
    served_at    BIGINT  NOT NULL
);
CREATE INDEX jobs_by_owner ON jobs (owner_id, created_at, id);
CREATE INDEX jobs_by_turn ON jobs (served_at, id) WHERE state = 'open';
CREATE INDEX jobs_by_age ON jobs (created_at);

-- What one call of a job asks for and was told: up to 100 rows, and their answers compressed. Whoever holds a part works on it.
CREATE TABLE job_parts (
    job_id       TEXT    NOT NULL REFERENCES jobs (id),
    number       BIGINT  NOT NULL,
    row_count    BIGINT  NOT NULL,
    asked        BYTEA   NOT NULL,
    answers      BYTEA,
    -- When each of its transactions was, 8 bytes a row.
    times        BYTEA,
    is_done      BOOLEAN NOT NULL DEFAULT FALSE,
    tries        BIGINT  NOT NULL DEFAULT 0,
    holder       TEXT    NOT NULL DEFAULT '',
    held_until   BIGINT  NOT NULL DEFAULT 0,
    due_at       BIGINT  NOT NULL DEFAULT 0,
    done_at      BIGINT,
    PRIMARY KEY (job_id, number)
);
CREATE INDEX job_parts_open ON job_parts (job_id, number) WHERE is_done = FALSE;
CREATE INDEX job_parts_by_end ON job_parts (job_id, done_at) WHERE is_done = TRUE;
-- They are compressed already.
ALTER TABLE job_parts ALTER COLUMN answers SET STORAGE EXTERNAL;
