-- Owners hold keys. A key itself is never stored, only its SHA-256; it has 190 random bits, so it needs no salt.
CREATE TABLE owners (
    id         TEXT    NOT NULL PRIMARY KEY,
    email      TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner_id   TEXT    NOT NULL REFERENCES owners (id),
    hash       BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    tier       TEXT    NOT NULL,
    pool       INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
