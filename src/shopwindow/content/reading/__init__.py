"""A file of the content folder → its text, its value, and where values stand in it."""
