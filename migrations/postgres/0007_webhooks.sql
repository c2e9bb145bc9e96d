-- Where owners are told of events. Times are milliseconds since 1970.
CREATE TABLE webhook_endpoints (
    id               TEXT    NOT NULL PRIMARY KEY,
    owner_id         TEXT    NOT NULL REFERENCES owners (id),
    url              TEXT    NOT NULL,
    -- Names of the events that it wants, with a space between them.
    events           TEXT    NOT NULL,
    -- What is sent is signed with it, so it is kept as it is and not as a hash.
    secret           BYTEA   NOT NULL,
    -- The one before it signs too, for as long as its owner may need to change over.
    old_secret       BYTEA,
    old_secret_until BIGINT,
    created_at       BIGINT  NOT NULL,
    disabled_at      BIGINT,
    disabled_reason  TEXT,
    -- Whoever holds an endpoint sends to it, one message at a time.
    holder           TEXT    NOT NULL DEFAULT '',
    held_until       BIGINT  NOT NULL DEFAULT 0,
    -- When it was last its turn: the one that waited longest comes first.
    served_at        BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX webhook_endpoints_by_owner ON webhook_endpoints (owner_id, created_at, id);

-- One message to one endpoint, as it is sent.
CREATE TABLE webhook_deliveries (
    seq         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    endpoint_id TEXT    NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    kind        TEXT    NOT NULL,
    -- What it is about: messages about the same arrive in order.
    subject     TEXT    NOT NULL,
    payload     TEXT    NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
    created_at  BIGINT  NOT NULL,
    -- Since when it has been tried: that long it may take.
    begun_at    BIGINT  NOT NULL,
    attempts    BIGINT  NOT NULL DEFAULT 0,
    tried_at    BIGINT,
    due_at      BIGINT  NOT NULL,
    ended_at    BIGINT,
    -- How the last attempt was answered, and why it failed.
    status      BIGINT,
    failure     TEXT
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at, seq) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_subject ON webhook_deliveries (endpoint_id, subject, seq) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint_id, seq);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);

-- The size of the pool of which an owner was told that it runs low or is used up: once a period, and again when it has grown.
CREATE TABLE quota_told (
    owner_id     TEXT    NOT NULL REFERENCES owners (id),
    period       TEXT    NOT NULL,
    low_of       BIGINT  NOT NULL,
    exhausted_of BIGINT,
    told_at      BIGINT  NOT NULL,
    PRIMARY KEY (owner_id, period)
);
CREATE INDEX quota_told_by_age ON quota_told (told_at);

-- Version of the engine and digest of the rules; empty for readings from before it was written down.
ALTER TABLE readings ADD COLUMN rules TEXT NOT NULL DEFAULT '';

-- A turn, and in the same transaction what its owner is told of the pool. `store/sqlite/quota.rs` does the same.
CREATE FUNCTION taxon_turn_told(
    p_payer text, p_resets text, p_period text, p_limit bigint, p_call text, p_key text, p_request text,
    p_now bigint, p_hold bigint, p_meter boolean,
    p_settled text[], p_outcomes text[], p_categories text[], p_chains text[], p_wanted text[]
) RETURNS TABLE (o_period text, o_settled text[], o_wanted text[]) LANGUAGE plpgsql AS $$
BEGIN
    SELECT turned.o_period, turned.o_settled, turned.o_wanted INTO o_period, o_settled, o_wanted
        FROM taxon_turn(p_payer, p_resets, p_period, p_limit, p_call, p_key, p_request, p_now, p_hold, p_meter,
                        p_settled, p_outcomes, p_categories, p_chains, p_wanted) AS turned;
    IF p_limit IS NOT NULL AND p_payer NOT LIKE 'anon:%' THEN
        PERFORM taxon_tell_quota(p_payer, o_period, p_limit, 'refused' = ANY (o_settled || o_wanted), coalesce(p_now, taxon_now()));
    END IF;
    RETURN NEXT;
END $$;

CREATE FUNCTION taxon_tell_quota(p_owner text, p_period text, p_limit bigint, p_refused boolean, p_now bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_used         bigint;
    v_low_of       bigint;
    v_exhausted_of bigint;
    v_exhausted    boolean;
    v_low          boolean;
    v_kind         text;
BEGIN
    v_used := coalesce((SELECT used FROM pools WHERE payer = p_owner AND period = p_period), 0);
    v_exhausted := p_refused OR v_used >= p_limit;
    v_low := p_limit > 0 AND v_used >= p_limit - p_limit / 10;
    IF NOT (v_exhausted OR v_low) THEN
        RETURN;
    END IF;
    SELECT low_of, exhausted_of INTO v_low_of, v_exhausted_of FROM quota_told WHERE owner_id = p_owner AND period = p_period;
    v_exhausted := v_exhausted AND coalesce(v_exhausted_of, -1) < p_limit;
    v_low := v_low AND coalesce(v_low_of, -1) < p_limit;
    -- A payer that is no owner, or one that is being erased, is told nothing.
    PERFORM 1 FROM owners WHERE id = p_owner AND email LIKE '%@%' FOR KEY SHARE;
    IF NOT FOUND OR NOT (v_exhausted OR v_low) THEN
        RETURN;
    END IF;
    -- Nobody is told that it runs low after it was used up.
    INSERT INTO quota_told (owner_id, period, low_of, exhausted_of, told_at)
        VALUES (p_owner, p_period, p_limit, CASE WHEN v_exhausted THEN p_limit END, p_now)
        ON CONFLICT (owner_id, period) DO UPDATE SET low_of = excluded.low_of,
            exhausted_of = coalesce(excluded.exhausted_of, quota_told.exhausted_of), told_at = excluded.told_at;
    FOREACH v_kind IN ARRAY array_remove(ARRAY[CASE WHEN v_low THEN 'quota.low' END,
                                               CASE WHEN v_exhausted THEN 'quota.exhausted' END], NULL) LOOP
        INSERT INTO webhook_deliveries (id, endpoint_id, kind, subject, payload, created_at, begun_at, due_at)
            SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), id, v_kind, 'quota ' || p_period,
                   json_build_object(
                       'type', v_kind,
                       'timestamp', to_char(to_timestamp(p_now / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                       'data', json_build_object('period', p_period, 'pool', p_limit, 'used', v_used))::text,
                   p_now, p_now, p_now
            FROM webhook_endpoints
            WHERE owner_id = p_owner AND disabled_at IS NULL AND ' ' || events || ' ' LIKE '% ' || v_kind || ' %'
            FOR KEY SHARE;
    END LOOP;
END $$;
