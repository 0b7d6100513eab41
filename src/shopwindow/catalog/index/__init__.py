"""The index behind the catalog: one SQLite file, its rows, search and facets."""
