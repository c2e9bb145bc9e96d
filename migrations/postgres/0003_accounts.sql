-- Who may sign in as an owner. An owner may stand without an account; times are milliseconds since 1970 in all tables here.
CREATE TABLE accounts (
    owner_id      TEXT    NOT NULL PRIMARY KEY REFERENCES owners (id),
    password_hash TEXT    NOT NULL,
    is_operator   BOOLEAN NOT NULL DEFAULT FALSE,
    created_at    BIGINT  NOT NULL
);

-- A token itself is never stored, only its SHA-256; it has 256 random bits, so it needs no salt.
CREATE TABLE sessions (
    token_hash BYTEA   NOT NULL PRIMARY KEY,
    owner_id   TEXT    NOT NULL REFERENCES owners (id),
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL
);
CREATE INDEX sessions_by_owner ON sessions (owner_id, created_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Works once: to become the operator, or to set the password of the owner that it names.
CREATE TABLE links (
    token_hash BYTEA   NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL CHECK (kind IN ('operator', 'password')),
    owner_id   TEXT    REFERENCES owners (id),
    expires_at BIGINT  NOT NULL,
    CHECK ((kind = 'password') = (owner_id IS NOT NULL))
);

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- How an owner's transactions were last read, once per hash and wallet. The ledger tells what was paid for; this tells what was said.
-- Pages step through rows of one moment by hash and wallet, in the order of their bytes.
CREATE TABLE readings (
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    hash         TEXT    COLLATE "C" NOT NULL,
    wallet       TEXT    COLLATE "C" NOT NULL,
    chain        TEXT    NOT NULL,
    category     TEXT    NOT NULL,
    treatment    TEXT    NOT NULL,
    taxable      BOOLEAN,
    confidence   BIGINT  NOT NULL,
    needs_review BOOLEAN NOT NULL,
    protocol     TEXT,
    note         TEXT,
    at           BIGINT  NOT NULL,
    PRIMARY KEY (owner_id, hash, wallet)
);
CREATE INDEX readings_by_time ON readings (owner_id, at, hash, wallet);
CREATE INDEX readings_by_need ON readings (owner_id, needs_review, at, hash, wallet);

-- What a person made of a reading, kept apart from the engine's verdict.
CREATE TABLE reviews (
    owner_id TEXT    NOT NULL REFERENCES owners (id),
    hash     TEXT    COLLATE "C" NOT NULL,
    wallet   TEXT    COLLATE "C" NOT NULL,
    category TEXT    NOT NULL,
    comment  TEXT    NOT NULL,
    at       BIGINT  NOT NULL,
    PRIMARY KEY (owner_id, hash, wallet)
);

-- How often an owner was refused on a day, as days since 1970, and why.
CREATE TABLE refusals (
    owner_id TEXT    NOT NULL REFERENCES owners (id),
    day      BIGINT  NOT NULL,
    code     TEXT    NOT NULL,
    count    BIGINT  NOT NULL,
    PRIMARY KEY (owner_id, day, code)
);
