"""The documents that differ between two catalogs: SQL compares the rows of both files.

A difference names categories and products; responses show the other kinds as parts of
these. So a product differs, too, where its ratings do, the id of its brand, or whether
the site has a UPC of it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from shopwindow.catalog.reading.opened import OpenedCatalog

TABLES = {"category": "category", "product": "listed"}
"""The kinds that are compared, each with the table that has a row for a document."""

DIFFERING = {
    "category": """
SELECT id FROM main.category AS now LEFT JOIN old.category AS was USING (id)
  WHERE now.document IS NOT was.document
UNION SELECT id FROM old.category WHERE id NOT IN (SELECT id FROM main.category)
ORDER BY id
""",
    "product": """
WITH other_brand (name) AS
  (SELECT name FROM main.brand AS now LEFT JOIN old.brand AS was USING (name)
     WHERE now.id IS NOT was.id
   UNION SELECT name FROM old.brand WHERE name NOT IN (SELECT name FROM main.brand))
SELECT id FROM main.listed AS now LEFT JOIN old.listed AS was USING (id)
  WHERE now.digest IS NOT was.digest
UNION SELECT id FROM old.listed WHERE id NOT IN (SELECT id FROM main.listed)
UNION SELECT product FROM main.rating AS now LEFT JOIN old.rating AS was USING (product)
  WHERE (now.one, now.two, now.three, now.four, now.five)
    IS NOT (was.one, was.two, was.three, was.four, was.five)
UNION SELECT product FROM old.rating
  WHERE product NOT IN (SELECT product FROM main.rating)
UNION SELECT product FROM main.upc
  LEFT JOIN main.stock AS now USING (upc) LEFT JOIN old.stock AS was USING (upc)
  WHERE (now.online IS 0) != (was.online IS 0)
UNION SELECT id FROM main.listed WHERE EXISTS (SELECT 1 FROM other_brand)
  AND json_extract(brand, '$[0]') IN (SELECT name FROM other_brand)
ORDER BY id
""",
}
"""The ids of the documents that the newer file has otherwise than the old one."""


def differing(
    old: OpenedCatalog | None, new: OpenedCatalog | None
) -> Iterator[tuple[str, str]]:
    """Yield kind and id of the documents that differ, in order of id.

    ``old``, ``new``: the catalogs; None: there is none. Raises
    sqlite3.Error.
    """
    uris = [opened.file.uri for opened in (new, old) if opened]
    if not uris:
        return
    with closing(sqlite3.connect(uris[0], uri=True)) as database:
        if len(uris) == 2:
            database.execute("ATTACH ? AS old", uris[1:])
        for kind, table in TABLES.items():
            query = (
                DIFFERING[kind]
                if old and new
                else f"SELECT id FROM {table} ORDER BY id"
            )
            for (id,) in database.execute(query):
                yield kind, str(id)
