-- Who opted in or out: now, and every choice before. The columns of a primary key stand first: where they do not,
-- SQLite 3.40's integrity_check takes other columns of a table WITHOUT ROWID for NULL.
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
