-- Where owners are told of events. Times are milliseconds since 1970.
CREATE TABLE webhook_endpoints (
    id               TEXT    NOT NULL PRIMARY KEY,
    owner_id         TEXT    NOT NULL REFERENCES owners (id),
    url              TEXT    NOT NULL,
    -- Names of the events that it wants, with a space between them.
    events           TEXT    NOT NULL,
    -- What is sent is signed with it, so it is kept as it is and not as a hash.
    secret           BLOB    NOT NULL,
    -- The one before it signs too, for as long as its owner may need to change over.
    old_secret       BLOB,
    old_secret_until INTEGER,
    created_at       INTEGER NOT NULL,
    disabled_at      INTEGER,
    disabled_reason  TEXT,
    -- Whoever holds an endpoint sends to it, one message at a time.
    holder           TEXT    NOT NULL DEFAULT '',
    held_until       INTEGER NOT NULL DEFAULT 0,
    -- When it was last its turn: the one that waited longest comes first.
    served_at        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX webhook_endpoints_by_owner ON webhook_endpoints (owner_id, created_at, id);

-- One message to one endpoint, as it is sent.
CREATE TABLE webhook_deliveries (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    endpoint_id TEXT    NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    kind        TEXT    NOT NULL,
    -- What it is about: messages about the same arrive in order.
    subject     TEXT    NOT NULL,
    payload     TEXT    NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
    created_at  INTEGER NOT NULL,
    -- Since when it has been tried: that long it may take.
    begun_at    INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    tried_at    INTEGER,
    due_at      INTEGER NOT NULL,
    ended_at    INTEGER,
    -- How the last attempt was answered, and why it failed.
    status      INTEGER,
    failure     TEXT
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at, seq) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_subject ON webhook_deliveries (endpoint_id, subject, seq) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint_id, seq);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);

-- The size of the pool of which an owner was told that it runs low or is used up: once a period, and again when it has grown.
CREATE TABLE quota_told (
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    period       TEXT    NOT NULL,
    low_of       INTEGER NOT NULL,
    exhausted_of INTEGER,
    told_at      INTEGER NOT NULL,
    PRIMARY KEY (owner_id, period)
) STRICT, WITHOUT ROWID;
CREATE INDEX quota_told_by_age ON quota_told (told_at);

-- Version of the engine and digest of the rules; empty for readings from before it was written down.
ALTER TABLE readings ADD COLUMN rules TEXT NOT NULL DEFAULT '';
