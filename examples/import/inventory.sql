-- How many of each product can be ordered: products.json.
SELECT shop_barcode(id) AS upc, current_stock AS site FROM products
