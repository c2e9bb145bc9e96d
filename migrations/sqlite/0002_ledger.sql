-- A pool belongs to the owner, so that a second key makes no second pool. `pool` is a contracted volume; without one the
-- tier's own size stands. A metered key is billed by the event and has no pool.
ALTER TABLE owners ADD COLUMN tier TEXT NOT NULL DEFAULT 'dev';
ALTER TABLE owners ADD COLUMN pool INTEGER;
UPDATE owners SET (tier, pool) = (
    SELECT tier, pool FROM keys WHERE owner_id = owners.id AND tier <> 'partner'
    ORDER BY revoked_at IS NOT NULL, created_at DESC, rowid DESC LIMIT 1
) WHERE EXISTS (SELECT 1 FROM keys WHERE owner_id = owners.id AND tier <> 'partner');
ALTER TABLE keys ADD COLUMN metered INTEGER NOT NULL DEFAULT 0;
UPDATE keys SET metered = 1 WHERE tier = 'partner';
ALTER TABLE keys DROP COLUMN tier;
ALTER TABLE keys DROP COLUMN pool;
ALTER TABLE keys ADD COLUMN last_used_at INTEGER;

-- What was classified, once per payer, period and hash. A payer is an owner's id, or `anon:` and an address; a period is a
-- UTC month, or a UTC day for anonymous callers; times are milliseconds since 1970.
CREATE TABLE entries (
    payer      TEXT    NOT NULL,
    period     TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    billed     TEXT    NOT NULL CHECK (billed IN ('pool', 'metered', 'free')),
    category   TEXT    NOT NULL,
    chain      TEXT    NOT NULL,
    key_id     TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (payer, period, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_time ON entries (at);
CREATE TRIGGER entries_are_append_only BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'ledger rows are append-only');
END;

-- How many entries were billed to the pool: the sum of them, kept beside so that nobody counts 120,000 rows.
CREATE TABLE pools (
    payer  TEXT    NOT NULL,
    period TEXT    NOT NULL,
    used   INTEGER NOT NULL,
    PRIMARY KEY (payer, period)
) STRICT, WITHOUT ROWID;

-- Places taken by calls in flight. A call that never comes back loses them when they expire.
CREATE TABLE holds (
    payer      TEXT    NOT NULL,
    period     TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    call_id    TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (payer, period, hash, call_id)
) STRICT, WITHOUT ROWID;

-- Metered classifications on their way to the billing rail, in order.
CREATE TABLE outbox (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    payer        TEXT NOT NULL,
    period       TEXT NOT NULL,
    hash         TEXT NOT NULL,
    delivered_at INTEGER
) STRICT;
CREATE INDEX outbox_waiting ON outbox (payer, seq) WHERE delivered_at IS NULL;
CREATE INDEX outbox_by_entry ON outbox (payer, period, hash) WHERE delivered_at IS NULL;

-- Why a payer's events wait, and until when.
CREATE TABLE delays (
    payer    TEXT    NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    reason   TEXT    NOT NULL
) STRICT;

-- Work that one instance at a time does.
CREATE TABLE leases (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT;
