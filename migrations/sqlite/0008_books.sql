-- What an owner keeps for a client or for a name of their own: how its jobs are read and exported. Times are milliseconds since 1970.
CREATE TABLE books (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    -- The one that jobs belong to which name none; it is made when it is first needed.
    is_first     INTEGER NOT NULL DEFAULT 0,
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
    needs_second INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX books_by_owner ON books (owner_id, created_at, id);
CREATE UNIQUE INDEX books_first ON books (owner_id) WHERE is_first = TRUE;

CREATE TABLE book_wallets (
    book_id TEXT    NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    address TEXT    NOT NULL,
    label   TEXT    NOT NULL,
    -- In the order in which they were written down.
    place   INTEGER NOT NULL,
    PRIMARY KEY (book_id, address)
) STRICT, WITHOUT ROWID;

-- Whoever else may see a book and decide in it: the account at this address, once its holder has shown that the address is theirs. By address, so that
-- nothing tells whether there is such an account.
CREATE TABLE book_people (
    book_id  TEXT    NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    email    TEXT    NOT NULL,
    added_at INTEGER NOT NULL,
    PRIMARY KEY (book_id, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX book_people_by_email ON book_people (email, book_id);

ALTER TABLE jobs ADD COLUMN book_id TEXT REFERENCES books (id);
CREATE INDEX jobs_by_book ON jobs (book_id, created_at, id);

-- Jobs and reviews from before there were books belong to their owner's first.
INSERT INTO books (id, owner_id, is_first, name, jurisdiction, time_zone, policy, chart, created_at)
SELECT 'book_' || lower(hex(randomblob(12))), id, TRUE, 'My books', 'us', 'UTC', '{}', '', created_at * 1000 FROM owners
WHERE id IN (SELECT owner_id FROM jobs UNION SELECT owner_id FROM reviews UNION SELECT owner_id FROM readings WHERE needs_review = TRUE);
UPDATE jobs SET book_id = (SELECT books.id FROM books WHERE books.owner_id = jobs.owner_id);

-- How the transactions of a book that a person must look at, or once had to, were last read, once per hash and wallet. What a person made of them is in `decisions`.
CREATE TABLE book_rows (
    book_id      TEXT    NOT NULL REFERENCES books (id),
    hash         TEXT    NOT NULL,
    wallet       TEXT    NOT NULL,
    chain        TEXT    NOT NULL,
    -- When the transaction was, in seconds since 1970; 0 where that is not known.
    time         INTEGER NOT NULL,
    -- The verdict; where a person is needed, what it leans to.
    category     TEXT    NOT NULL,
    treatment    TEXT    NOT NULL,
    taxable      INTEGER,
    confidence   INTEGER NOT NULL,
    needs_review INTEGER NOT NULL,
    protocol     TEXT    NOT NULL,
    note         TEXT    NOT NULL,
    -- What was sent and received, in a few words.
    amounts      TEXT    NOT NULL,
    contract     TEXT    NOT NULL,
    function     TEXT    NOT NULL,
    -- Version and digest of the rules that read it.
    engine       TEXT    NOT NULL,
    -- Where the whole answer is; empty for what no job asked for.
    job_id       TEXT    NOT NULL,
    part         INTEGER NOT NULL,
    read_at      INTEGER NOT NULL,
    -- Where it stands in the queue: open, waiting, decided or disagreed. Nothing where no person is needed and none has decided.
    state        TEXT,
    PRIMARY KEY (book_id, hash, wallet)
) STRICT;
-- One for every order in which the queue is shown.
CREATE INDEX book_rows_by_time ON book_rows (book_id, state, time, hash, wallet) WHERE state IS NOT NULL;
CREATE INDEX book_rows_by_wallet ON book_rows (book_id, state, wallet, time, hash) WHERE state IS NOT NULL;
CREATE INDEX book_rows_by_protocol ON book_rows (book_id, state, protocol, time, hash, wallet) WHERE state IS NOT NULL;
CREATE INDEX book_rows_by_category ON book_rows (book_id, state, category, time, hash, wallet) WHERE state IS NOT NULL;
CREATE INDEX book_rows_by_confidence ON book_rows (book_id, state, confidence, time, hash, wallet) WHERE state IS NOT NULL;
CREATE INDEX book_rows_unqueued ON book_rows (book_id, time, hash, wallet) WHERE state IS NULL;

-- "Decide all like this": the same contract and function, read in the same way.
CREATE TABLE decision_rules (
    id             TEXT    NOT NULL PRIMARY KEY,
    book_id        TEXT    NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    chain          TEXT    NOT NULL,
    contract       TEXT    NOT NULL,
    function       TEXT    NOT NULL,
    read_category  TEXT    NOT NULL,
    read_treatment TEXT    NOT NULL,
    category       TEXT    NOT NULL,
    treatment      TEXT    NOT NULL,
    comment        TEXT    NOT NULL,
    made_by        TEXT    NOT NULL REFERENCES owners (id),
    made_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX decision_rules_by_book ON decision_rules (book_id, made_at, id);

-- What people made of the rows of a book. It outlives new readings.
CREATE TABLE decisions (
    book_id    TEXT    NOT NULL REFERENCES books (id),
    hash       TEXT    NOT NULL,
    wallet     TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    -- Empty in what was brought over from before a treatment was asked for.
    treatment  TEXT    NOT NULL,
    comment    TEXT    NOT NULL,
    decided_by TEXT    NOT NULL REFERENCES owners (id),
    decided_at INTEGER NOT NULL,
    signed_by  TEXT    REFERENCES owners (id),
    signed_at  INTEGER,
    -- The rule that it came from, which may have been taken back since.
    rule_id    TEXT,
    -- The verdict that whoever decided had seen, as category/treatment; empty where there was none yet.
    seen       TEXT    NOT NULL,
    PRIMARY KEY (book_id, hash, wallet)
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_by_rule ON decisions (rule_id, book_id, hash, wallet) WHERE rule_id IS NOT NULL;

-- Every decision, signature and undoing, so that nothing is lost.
CREATE TABLE decision_log (
    book_id   TEXT    NOT NULL REFERENCES books (id),
    hash      TEXT    NOT NULL,
    wallet    TEXT    NOT NULL,
    step      INTEGER NOT NULL,
    what      TEXT    NOT NULL CHECK (what IN ('decided', 'signed', 'undone')),
    category  TEXT    NOT NULL,
    treatment TEXT    NOT NULL,
    comment   TEXT    NOT NULL,
    by_id     TEXT    NOT NULL REFERENCES owners (id),
    at        INTEGER NOT NULL,
    rule_id   TEXT,
    PRIMARY KEY (book_id, hash, wallet, step)
) STRICT, WITHOUT ROWID;

-- The review queue from before there were books. `reviews` itself stays as it is, for backups that hold it; nothing writes to it any more.
INSERT INTO book_rows (book_id, hash, wallet, chain, time, category, treatment, taxable, confidence, needs_review, protocol, note,
                       amounts, contract, function, engine, job_id, part, read_at, state)
SELECT books.id, readings.hash, readings.wallet, readings.chain, 0, readings.category, readings.treatment, readings.taxable,
       readings.confidence, readings.needs_review, coalesce(readings.protocol, ''), coalesce(readings.note, ''), '', '', '', '', '', 0,
       readings.at, CASE WHEN reviews.hash IS NULL THEN 'open' ELSE 'decided' END
FROM readings JOIN books ON books.owner_id = readings.owner_id
LEFT JOIN reviews ON reviews.owner_id = readings.owner_id AND reviews.hash = readings.hash AND reviews.wallet = readings.wallet
WHERE readings.needs_review = TRUE OR reviews.hash IS NOT NULL;
INSERT INTO decisions (book_id, hash, wallet, category, treatment, comment, decided_by, decided_at, seen)
SELECT book_rows.book_id, reviews.hash, reviews.wallet, reviews.category, '', reviews.comment, reviews.owner_id, reviews.at,
       CASE WHEN book_rows.needs_review = TRUE THEN '' ELSE book_rows.category || '/' || book_rows.treatment END
FROM reviews JOIN books ON books.owner_id = reviews.owner_id
JOIN book_rows ON book_rows.book_id = books.id AND book_rows.hash = reviews.hash AND book_rows.wallet = reviews.wallet;
