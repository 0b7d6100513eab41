-- Departments, from the products that name them: products.json.
SELECT
    shop_id(category, 9) AS id,
    title(category) AS name,
    'https://www.example/shop/' || slug(category) AS url
FROM products
GROUP BY category
ORDER BY min(rowid)
