-- Owners hold keys. A key itself is never stored, only its SHA-256; it has 190 random bits, so it needs no salt.
CREATE TABLE owners (
    id         TEXT   NOT NULL PRIMARY KEY,
    email      TEXT   NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    owner_id   TEXT   NOT NULL REFERENCES owners (id),
    hash       BYTEA  NOT NULL UNIQUE,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
