-- A pool belongs to the owner, so that a second key makes no second pool. `pool` is a contracted volume; without one the
-- tier's own size stands. A metered key is billed by the event and has no pool.
ALTER TABLE owners ADD COLUMN tier TEXT NOT NULL DEFAULT 'dev';
ALTER TABLE owners ADD COLUMN pool BIGINT;
ALTER TABLE keys ADD COLUMN metered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE keys ADD COLUMN last_used_at BIGINT;

-- What was classified, once per payer, period and hash. A payer is an owner's id, or `anon:` and an address; a period is a
-- UTC month, or a UTC day for anonymous callers; times are milliseconds since 1970.
CREATE TABLE entries (
    payer      TEXT   NOT NULL,
    period     TEXT   NOT NULL,
    hash       TEXT   NOT NULL,
    billed     TEXT   NOT NULL CHECK (billed IN ('pool', 'metered', 'free')),
    category   TEXT   NOT NULL,
    chain      TEXT   NOT NULL,
    key_id     TEXT   NOT NULL,
    request_id TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (payer, period, hash)
);
CREATE INDEX entries_by_time ON entries (at);
CREATE FUNCTION taxon_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger rows are append-only';
END $$;
CREATE TRIGGER entries_are_append_only BEFORE UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION taxon_append_only();

-- How many entries were billed to the pool: the sum of them, kept beside so that nobody counts 120,000 rows.
CREATE TABLE pools (
    payer  TEXT   NOT NULL,
    period TEXT   NOT NULL,
    used   BIGINT NOT NULL,
    PRIMARY KEY (payer, period)
);

-- Places taken by calls in flight. A call that never comes back loses them when they expire.
CREATE TABLE holds (
    payer      TEXT   NOT NULL,
    period     TEXT   NOT NULL,
    hash       TEXT   NOT NULL,
    call_id    TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (payer, period, hash, call_id)
);

-- Metered classifications on their way to the billing rail, in order: whoever writes here holds the payer's lock.
CREATE TABLE outbox (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payer        TEXT   NOT NULL,
    period       TEXT   NOT NULL,
    hash         TEXT   NOT NULL,
    delivered_at BIGINT
);
CREATE INDEX outbox_waiting ON outbox (payer, seq) WHERE delivered_at IS NULL;
CREATE INDEX outbox_by_entry ON outbox (payer, period, hash) WHERE delivered_at IS NULL;

-- Why a payer's events wait, and until when.
CREATE TABLE delays (
    payer    TEXT   NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    until    BIGINT NOT NULL,
    reason   TEXT   NOT NULL
);

-- Work that one instance at a time does.
CREATE TABLE leases (
    name   TEXT   NOT NULL PRIMARY KEY,
    holder TEXT   NOT NULL,
    until  BIGINT NOT NULL
);

-- When each caller was let in, in microseconds. Losing it costs a minute of limits, so it is not logged.
CREATE UNLOGGED TABLE windows (
    who  TEXT     NOT NULL PRIMARY KEY,
    hits BIGINT[] NOT NULL
);

CREATE FUNCTION taxon_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE FUNCTION taxon_period(p_resets text, p_now bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(to_timestamp(p_now / 1000.0) AT TIME ZONE 'UTC',
                   CASE p_resets WHEN 'daily' THEN 'YYYY-MM-DD' ELSE 'YYYY-MM' END)
$$;

-- A true sliding window on the database's clock: 0 when the caller is let in, else the microseconds until the oldest of its hits
-- leaves the window. A clock that was set back moves the hits with it, so it frees nobody and locks nobody out.
CREATE FUNCTION taxon_hit(p_who text, p_most bigint, p_span bigint, p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_hits bigint[];
    v_now  bigint;
    v_back bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'rate windows need the isolation level read committed';
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    LOOP
        SELECT hits INTO v_hits FROM windows WHERE who = p_who FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO windows (who, hits) VALUES (p_who, '{}') ON CONFLICT (who) DO NOTHING;
    END LOOP;
    v_now := coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000000));
    v_back := greatest(0, coalesce(v_hits[cardinality(v_hits)], 0) - v_now);
    SELECT coalesce(array_agg(hit - v_back ORDER BY at), '{}') INTO v_hits
        FROM unnest(v_hits) WITH ORDINALITY AS past (hit, at) WHERE hit - v_back > v_now - p_span;
    IF cardinality(v_hits) >= p_most THEN
        IF v_back > 0 THEN
            UPDATE windows SET hits = v_hits WHERE who = p_who;
        END IF;
        RETURN greatest(1, v_hits[cardinality(v_hits) - p_most + 1] + p_span - v_now);
    END IF;
    UPDATE windows SET hits = v_hits || v_now WHERE who = p_who;
    RETURN 0;
END $$;

-- One turn of a call at the ledger, in one round trip: what it settles, then what it wants. `store/turn.rs` says the rules;
-- both engines must give the same answers.
CREATE FUNCTION taxon_turn(
    p_payer text, p_resets text, p_period text, p_limit bigint, p_call text, p_key text, p_request text,
    p_now bigint, p_hold bigint, p_meter boolean,
    p_settled text[], p_outcomes text[], p_categories text[], p_chains text[], p_wanted text[]
) RETURNS TABLE (o_period text, o_settled text[], o_wanted text[]) LANGUAGE plpgsql AS $$
DECLARE
    v_now     bigint;
    v_room    bigint;
    v_used    bigint;
    v_billed  bigint := 0;
    v_hashes  text[];
    v_entered boolean[];
    v_own     boolean[];
    v_others  boolean[];
    v_entries integer[] := '{}';
    v_cleared text[] := '{}';
    v_voided  text[] := '{}';
    v_taken   text[] := '{}';
    v_count   integer := cardinality(p_settled);
BEGIN
    -- Each statement must see what the last holder of the lock has written.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the ledger needs the isolation level read committed';
    END IF;
    o_settled := '{}';
    o_wanted := '{}';
    -- A reservation that a crash forgets is as good as one that expired; only what is settled must be on disk.
    IF v_count = 0 THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(p_payer, 20261115));
    v_now := coalesce(p_now, taxon_now());
    o_period := coalesce(p_period, greatest(
        taxon_period(p_resets, v_now) COLLATE "C",
        (SELECT max(pools.period COLLATE "C") FROM pools WHERE payer = p_payer)));
    v_used := coalesce((SELECT used FROM pools WHERE payer = p_payer AND period = o_period), 0);
    DELETE FROM holds WHERE payer = p_payer AND period = o_period
        AND (expires_at <= v_now OR expires_at > v_now + 2 * p_hold);
    v_room := p_limit - v_used
        - (SELECT count(DISTINCT hash) FROM holds WHERE payer = p_payer AND period = o_period);

    v_hashes := p_settled || p_wanted;
    SELECT array_agg(EXISTS (SELECT 1 FROM entries e WHERE e.payer = p_payer AND e.period = o_period AND e.hash = asked.hash)
                     ORDER BY at),
           array_agg(EXISTS (SELECT 1 FROM holds h WHERE h.payer = p_payer AND h.period = o_period AND h.hash = asked.hash
                             AND h.call_id = p_call) ORDER BY at),
           array_agg(EXISTS (SELECT 1 FROM holds h WHERE h.payer = p_payer AND h.period = o_period AND h.hash = asked.hash
                             AND h.call_id <> p_call) ORDER BY at)
        INTO v_entered, v_own, v_others
        FROM unnest(v_hashes) WITH ORDINALITY AS asked (hash, at);

    FOR i IN 1 .. v_count LOOP
        IF v_entered[i] AND p_outcomes[i] <> 'void' THEN
            o_settled := o_settled || 'repeat'::text;
        ELSIF NOT (v_own[i] OR v_others[i]) AND v_room < 1 THEN
            o_settled := o_settled || 'refused'::text;
        ELSIF p_outcomes[i] = 'void' THEN
            IF v_own[i] AND NOT v_others[i] THEN v_room := v_room + 1; END IF;
            v_voided := v_voided || v_hashes[i];
            o_settled := o_settled || 'void'::text;
        ELSIF p_outcomes[i] = 'free' THEN
            IF v_own[i] OR v_others[i] THEN v_room := v_room + 1; END IF;
            v_entries := v_entries || i;
            v_cleared := v_cleared || v_hashes[i];
            o_settled := o_settled || 'free'::text;
        ELSE
            IF NOT (v_own[i] OR v_others[i]) THEN v_room := v_room - 1; END IF;
            IF p_limit IS NOT NULL THEN v_billed := v_billed + 1; END IF;
            v_entries := v_entries || i;
            v_cleared := v_cleared || v_hashes[i];
            o_settled := o_settled || 'billed'::text;
        END IF;
    END LOOP;
    FOR i IN v_count + 1 .. cardinality(v_hashes) LOOP
        IF v_entered[i] THEN
            o_wanted := o_wanted || 'repeat'::text;
        ELSIF p_limit IS NULL THEN
            o_wanted := o_wanted || 'held'::text;
        ELSIF v_own[i] OR v_others[i] OR v_room >= 1 THEN
            IF NOT (v_own[i] OR v_others[i]) THEN v_room := v_room - 1; END IF;
            v_taken := v_taken || v_hashes[i];
            o_wanted := o_wanted || 'held'::text;
        ELSE
            o_wanted := o_wanted || 'refused'::text;
        END IF;
    END LOOP;

    DELETE FROM holds WHERE payer = p_payer AND period = o_period
        AND (hash = ANY (v_cleared) OR (hash = ANY (v_voided) AND call_id = p_call));
    INSERT INTO entries (payer, period, hash, billed, category, chain, key_id, request_id, at)
        SELECT p_payer, o_period, p_settled[n],
               CASE WHEN p_outcomes[n] = 'free' THEN 'free' WHEN p_limit IS NULL THEN 'metered' ELSE 'pool' END,
               p_categories[n], p_chains[n], p_key, p_request, v_now
        FROM unnest(v_entries) AS n;
    IF p_meter AND p_limit IS NULL THEN
        INSERT INTO outbox (payer, period, hash)
            SELECT p_payer, o_period, p_settled[n] FROM unnest(v_entries) WITH ORDINALITY AS made (n, at)
            WHERE p_outcomes[n] <> 'free' ORDER BY at;
    END IF;
    IF cardinality(v_entries) > 0 THEN
        INSERT INTO pools (payer, period, used) VALUES (p_payer, o_period, v_billed)
            ON CONFLICT (payer, period) DO UPDATE SET used = pools.used + excluded.used;
    END IF;
    INSERT INTO holds (payer, period, hash, call_id, expires_at)
        SELECT p_payer, o_period, taken, p_call, v_now + p_hold FROM unnest(v_taken) AS taken
        ON CONFLICT (payer, period, hash, call_id) DO UPDATE SET expires_at = excluded.expires_at;
    RETURN NEXT;
END $$;
