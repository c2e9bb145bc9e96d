-- Who may sign in as an owner. An owner may stand without an account; times are milliseconds since 1970 in all tables here.
CREATE TABLE accounts (
    owner_id      TEXT    NOT NULL PRIMARY KEY REFERENCES owners (id),
    password_hash TEXT    NOT NULL,
    is_operator   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
) STRICT;

-- A token itself is never stored, only its SHA-256; it has 256 random bits, so it needs no salt.
CREATE TABLE sessions (
    token_hash BLOB    NOT NULL PRIMARY KEY,
    owner_id   TEXT    NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner_id, created_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Works once: to become the operator, or to set the password of the owner that it names.
CREATE TABLE links (
    token_hash BLOB    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL CHECK (kind IN ('operator', 'password')),
    owner_id   TEXT    REFERENCES owners (id),
    expires_at INTEGER NOT NULL,
    CHECK ((kind = 'password') = (owner_id IS NOT NULL))
) STRICT;

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- How an owner's transactions were last read, once per hash and wallet. The ledger tells what was paid for; this tells what was said.
CREATE TABLE readings (
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    hash         TEXT    NOT NULL,
    wallet       TEXT    NOT NULL,
    chain        TEXT    NOT NULL,
    category     TEXT    NOT NULL,
    treatment    TEXT    NOT NULL,
    taxable      INTEGER,
    confidence   INTEGER NOT NULL,
    needs_review INTEGER NOT NULL,
    protocol     TEXT,
    note         TEXT,
    at           INTEGER NOT NULL,
    PRIMARY KEY (owner_id, hash, wallet)
) STRICT, WITHOUT ROWID;
CREATE INDEX readings_by_time ON readings (owner_id, at, hash, wallet);
CREATE INDEX readings_by_need ON readings (owner_id, needs_review, at, hash, wallet);

-- What a person made of a reading, kept apart from the engine's verdict.
CREATE TABLE reviews (
    owner_id TEXT    NOT NULL REFERENCES owners (id),
    hash     TEXT    NOT NULL,
    wallet   TEXT    NOT NULL,
    category TEXT    NOT NULL,
    comment  TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (owner_id, hash, wallet)
) STRICT, WITHOUT ROWID;

-- How often an owner was refused on a day, as days since 1970, and why.
CREATE TABLE refusals (
    owner_id TEXT    NOT NULL REFERENCES owners (id),
    day      INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (owner_id, day, code)
) STRICT, WITHOUT ROWID;
