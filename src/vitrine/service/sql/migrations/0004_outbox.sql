-- Mail that is to be sent: a row a recipient, deleted once a server has accepted it. `due`: when it may be tried, and
-- while a sender has it, until when nobody else may; `lease` is that sender's. `deferred`: how often it was put off.
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

-- How many mails ended how: sent, dead.
CREATE TABLE outbox_ends (
    state TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);
