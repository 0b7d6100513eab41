"""A finished catalog, opened: rows by id, and lists as arrays by rank."""
