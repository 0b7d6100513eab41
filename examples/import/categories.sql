-- A tree of categories of which every row has its whole path: categories.json.
--
-- A category may be listed under several parents; ours has one: the one of its own path. Where that parent is no row of
-- the feed, the nearest one above it is that is. A category without a name is called by its id.
WITH known AS (SELECT list(id) AS ids FROM categories)
SELECT
    shop_id(id, 12) AS id,
    coalesce(name, id) AS name,
    'https://www.example/category/' || id AS url,
    shop_id([place.id FOR place IN list_reverse(path[:-2]) IF list_contains(known.ids, place.id)][1], 12) AS parent
FROM categories, known
