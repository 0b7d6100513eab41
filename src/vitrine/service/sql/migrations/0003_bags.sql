-- Bags, each with its guest user. last_sequence is the highest number that a line ever had: none is used again.
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
