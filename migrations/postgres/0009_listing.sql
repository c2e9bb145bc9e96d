-- Jobs that begin with wallets, whose transactions are looked up first, and jobs that wait until their owner has seen what was understood. `options` also says
-- what is looked up, and `understood` what was found.
ALTER TABLE jobs DROP CONSTRAINT jobs_state_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_state_check
    CHECK (state IN ('arriving', 'listing', 'ready', 'open', 'finished', 'cancelled', 'failed'));
ALTER TABLE jobs
    -- Whether it is read as soon as all of it is there.
    ADD COLUMN starts     BOOLEAN NOT NULL DEFAULT TRUE,
    -- Whoever looks its transactions up, until when without a sign of life, and how often its sources have failed.
    ADD COLUMN holder     TEXT    NOT NULL DEFAULT '',
    ADD COLUMN held_until BIGINT  NOT NULL DEFAULT 0,
    ADD COLUMN tries      BIGINT  NOT NULL DEFAULT 0;
CREATE INDEX jobs_listed ON jobs (served_at, id) WHERE state = 'listing';
