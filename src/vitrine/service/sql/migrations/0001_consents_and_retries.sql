-- Who opted in or out: now, and every choice before.
CREATE TABLE consents (
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    at TEXT NOT NULL,
    PRIMARY KEY (application, device)
);
CREATE TABLE consent_history (
    id TEXT NOT NULL PRIMARY KEY,
    application TEXT NOT NULL,
    device TEXT NOT NULL,
    choice TEXT NOT NULL,
    user_id TEXT,
    at TEXT NOT NULL
);
CREATE INDEX consent_history_at ON consent_history (at, id);

-- That a person's rows were removed, and when; nothing that tells whose.
CREATE TABLE forgotten (
    id TEXT NOT NULL PRIMARY KEY,
    known_by TEXT NOT NULL,
    choices INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    at TEXT NOT NULL
);

-- First answers to requests with an Idempotency-Key, and whose requests they were.
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
