-- Products with uuids, one price and one stock figure: products.json.
--
-- An id must be a whole number: it is worked out from the uuid, so it is the same every night, and `reference` keeps
-- the way back. A product that cannot be counted is no product for us: each gets one variant, with a bar code of the
-- numbers that GS1 leaves to stores. Names that repeat stay as they are, for the id tells products apart.
SELECT
    shop_id(id, 12) AS id,
    id AS reference,
    name,
    one_line(description) AS description,
    upper(style) AS "typeName",
    'House Brand' AS brand,
    [shop_id('style ' || style, 9), shop_id(category, 9)] AS categories,
    {"primary": image} AS images,
    {regular: price} AS price,
    [{upc: shop_barcode(id), sku: shop_id(id, 12)}] AS upcs,
    {
        GENDER: CASE gender_affinity WHEN 'M' THEN ['Men'] WHEN 'F' THEN ['Women'] END,
        STYLE: [style],
        DEPARTMENT: [category],
        ALSO: aliases
    } AS attributes,
    promoted AS featured
FROM products
