-- Single-use codes: digests, never the codes; the order that has won one.
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

-- Which secret the digests are made with: there is one row at most.
CREATE TABLE code_secrets (
    id INTEGER NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL
);

-- What is admitted so many times in a while: when it was of late, as milliseconds since 1970.
CREATE TABLE limits (
    name TEXT NOT NULL PRIMARY KEY,
    times TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX limits_at ON limits (at);
