-- A database of form 5, the last whose tables shared one list of steps; written as the program of then wrote it.

CREATE TABLE migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE consents (
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (application, device)
) WITHOUT ROWID;
CREATE TABLE consent_history (
    at TEXT NOT NULL,
    id TEXT NOT NULL,
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    PRIMARY KEY (at, id)
) WITHOUT ROWID;
CREATE TABLE forgotten (
    id TEXT NOT NULL PRIMARY KEY,
    known_by TEXT NOT NULL,
    choices INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE retries (
    application TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    outcome TEXT NOT NULL,
    device TEXT,
    user_id TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (application, method, path, idempotency_key)
);
CREATE INDEX retries_at ON retries (at);
INSERT INTO migrations VALUES (1, 'consents_and_retries');
CREATE TABLE codes (
    digest TEXT NOT NULL PRIMARY KEY,
    promotion BIGINT NOT NULL,
    issued TEXT NOT NULL,
    order_number TEXT,
    reservation TEXT,
    application TEXT,
    used TEXT
);
CREATE INDEX codes_promotion ON codes (promotion, issued);
CREATE TABLE code_secrets (
    id INTEGER NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL
);
CREATE TABLE limits (
    name TEXT NOT NULL PRIMARY KEY,
    times TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX limits_at ON limits (at);
INSERT INTO migrations VALUES (2, 'codes_and_limits');
CREATE TABLE bags (
    guid TEXT NOT NULL PRIMARY KEY,
    bag_id BIGINT NOT NULL UNIQUE,
    user_id BIGINT NOT NULL UNIQUE,
    application TEXT NOT NULL,
    revision BIGINT NOT NULL,
    last_sequence BIGINT NOT NULL,
    made TEXT NOT NULL,
    changed TEXT NOT NULL
);
CREATE INDEX bags_changed ON bags (changed);
CREATE TABLE bag_lines (
    bag TEXT NOT NULL REFERENCES bags (guid) ON DELETE CASCADE,
    sequence BIGINT NOT NULL,
    upc_id BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    PRIMARY KEY (bag, sequence),
    UNIQUE (bag, upc_id)
);
INSERT INTO migrations VALUES (3, 'bags');
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    recipient TEXT NOT NULL,
    document TEXT NOT NULL,
    state TEXT NOT NULL,
    due TEXT NOT NULL,
    lease TEXT,
    deferred INTEGER NOT NULL,
    reason TEXT,
    at TEXT NOT NULL
);
CREATE INDEX outbox_due ON outbox (state, due);
CREATE TABLE outbox_ends (
    state TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO migrations VALUES (4, 'outbox');
CREATE TABLE rates (
    name TEXT NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX rates_full_at ON rates (full_at);
CREATE TABLE digest_keys (
    id INTEGER NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO migrations VALUES (5, 'rates');

INSERT INTO consents VALUES ('one', 'device-1', 'IN', 'user-1', '2026-11-10T12:00:00.000Z');
INSERT INTO consent_history VALUES ('2026-11-10T12:00:00.000Z', '1794312000000k', 'one', 'device-1', 'IN', 'user-1');
INSERT INTO forgotten VALUES ('f1', 'user', 2, 1, '2026-11-10T12:00:00.000Z');
INSERT INTO retries VALUES ('one', 'POST', 'order/v1/bags', 'key-1', 'digest', '{"value":{"bag":{"bagId":11,"owner":{"userId":22}}},"etag":null}', NULL, NULL, '2026-11-10T12:00:00.000Z');
INSERT INTO codes VALUES ('d1', 8, '2026-11-10T12:00:00.000Z', 'order-1', 'reservation-1', 'one', '2026-11-10T12:00:00.000Z');
INSERT INTO code_secrets VALUES (1, 'mark-of-a-secret');
INSERT INTO limits VALUES ('keyed digest', '1794312000000', '2026-11-10T12:00:00.000Z');
INSERT INTO bags VALUES ('g1', 11, 22, 'one', 2, 1, '2026-11-10T12:00:00.000Z', '2026-11-10T12:00:00.000Z');
INSERT INTO bag_lines VALUES ('g1', 1, 1001, 2);
INSERT INTO outbox VALUES ('m1', 'someone@example.com', '{"promoId":8}', 'waiting', '2026-11-10T12:00:00.000Z', NULL, 0, NULL, '2026-11-10T12:00:00.000Z');
INSERT INTO outbox_ends VALUES ('sent', 3);
INSERT INTO rates VALUES ('keyed digest', 1794312000000000);
INSERT INTO digest_keys VALUES (1, 'c0ffee');
