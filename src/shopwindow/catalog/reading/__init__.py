"""A catalog, opened: what its file says of products and categories, and what it finds."""
