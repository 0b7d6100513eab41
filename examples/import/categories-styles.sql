-- Styles, each below the department of its first product: products.json.
SELECT
    shop_id('style ' || style, 9) AS id,
    title(style) AS name,
    'https://www.example/shop/style/' || slug(style) AS url,
    shop_id(arg_min(category, rowid), 9) AS parent
FROM products
GROUP BY style
ORDER BY min(rowid)
