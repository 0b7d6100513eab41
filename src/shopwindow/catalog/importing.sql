-- Run between the feeds and the query of `catalog import`.

-- From now on SQL reaches no file, no network and no extension.
SET enable_external_access = false;
-- The bar writes to standard output where the program is no file.
SET enable_progress_bar = false;
SET lock_configuration = true;

-- What a query of `catalog import` may call beside DuckDB's own functions.

CREATE MACRO hashed(text) AS ('0x' || substr(sha256(text::VARCHAR), 1, 16))::UBIGINT;
CREATE MACRO every_other_digit(digits, first) AS
    list_sum([substr(digits, place, 1)::INT FOR place IN range(first, length(digits) + 1, 2)]);

-- A whole number of at most so many digits, always the same for the same text: shop_id(uuid, 12).
CREATE MACRO shop_id(text, digits) AS
    (1 + hashed(text)::HUGEINT % (10::HUGEINT ** digits - 1)::HUGEINT)::BIGINT;

-- The digits of a UPC, EAN or GTIN with the check digit that they lack.
CREATE MACRO with_check_digit(digits) AS
    digits || ((10 - (3 * every_other_digit(reverse(digits), 1) + every_other_digit(reverse(digits), 2)) % 10) % 10)::INT;

-- An EAN-13, always the same for the same text. It begins with 2: GS1 leaves these numbers to each retailer.
CREATE MACRO shop_barcode(text) AS
    with_check_digit('2' || lpad((hashed(text) % 100000000000)::VARCHAR, 11, '0'));

-- A text for an address: `boots-co` of `Boots & Co.`.
CREATE MACRO slug(text) AS trim(regexp_replace(lower(text), '[^a-z0-9]+', '-', 'g'), '-');

-- A text on one line, without blanks at its ends and without two in a row.
CREATE MACRO one_line(text) AS trim(regexp_replace(text, '\s+', ' ', 'g'));

-- A text with a capital letter at the beginning of each word.
CREATE MACRO title(text) AS array_to_string(
    [upper(word[1]) || lower(word[2:]) FOR word IN regexp_extract_all(text, '[A-Za-z]+|[^A-Za-z]+')], '');
