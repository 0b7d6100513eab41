"""A finished file: its rows by id, lists of products as arrays by rank, and stock."""
