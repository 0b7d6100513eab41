BEGIN TRANSACTION;
CREATE TABLE bag_lines (
    bag TEXT NOT NULL REFERENCES bags (guid) ON DELETE CASCADE,
    sequence BIGINT NOT NULL,
    upc_id BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    PRIMARY KEY (bag, sequence),
    UNIQUE (bag, upc_id)
);
INSERT INTO "bag_lines" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1,1001,2);
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
INSERT INTO "bags" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',11,22,'one',2,1,'2026-11-10T12:00:00.000Z','2026-11-10T12:00:00.000Z');
CREATE TABLE code_secrets (
    id INTEGER NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL
);
INSERT INTO "code_secrets" VALUES(1,'mark-of-a-secret');
CREATE TABLE codes (
    digest TEXT NOT NULL PRIMARY KEY,
    promotion BIGINT NOT NULL,
    issued TEXT NOT NULL,
    order_number TEXT,
    reservation TEXT,
    application TEXT,
    used TEXT
);
INSERT INTO "codes" VALUES('dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',8,'2026-11-10T12:00:00.000Z','order-1','reservation-1','one','2026-11-10T12:00:00.000Z');
INSERT INTO "codes" VALUES('eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',8,'2026-11-10T12:00:00.000Z',NULL,NULL,NULL,NULL);
CREATE TABLE consent_history (
    at TEXT NOT NULL,
    id TEXT NOT NULL,
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    PRIMARY KEY (at, id)
) WITHOUT ROWID;
INSERT INTO "consent_history" VALUES('2026-11-10T12:00:00.000Z','179431200000000000000000000000000000000000000','one','device-1','IN','user-1');
CREATE TABLE consents (
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (application, device)
) WITHOUT ROWID;
INSERT INTO "consents" VALUES('one','device-1','IN','user-1','2026-11-10T12:00:00.000Z');
CREATE TABLE forgotten (
    id TEXT NOT NULL PRIMARY KEY,
    known_by TEXT NOT NULL,
    choices INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE limits (
    name TEXT NOT NULL PRIMARY KEY,
    times TEXT NOT NULL,
    at TEXT NOT NULL
);
INSERT INTO "limits" VALUES('INVALID_CODE one 192.0.2.1','1794312000000','2026-11-10T12:00:00.000Z');
CREATE TABLE migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO "migrations" VALUES(1,'consents_and_retries');
INSERT INTO "migrations" VALUES(2,'codes_and_limits');
INSERT INTO "migrations" VALUES(3,'bags');
INSERT INTO "migrations" VALUES(4,'outbox');
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
INSERT INTO "outbox" VALUES('ffffffffffffffffffffffffffffffff','someone@example.com','{"promoId":8}','waiting','2026-11-10T12:00:00.000Z',NULL,0,NULL,'2026-11-10T12:00:00.000Z');
CREATE TABLE outbox_ends (
    state TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
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
CREATE INDEX codes_promotion ON codes (promotion, issued);
CREATE INDEX limits_at ON limits (at);
CREATE INDEX bags_changed ON bags (changed);
CREATE INDEX outbox_due ON outbox (state, due);
COMMIT;
