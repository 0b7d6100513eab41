"""A value and its schema → what is refused, in an editor's words, and what was meant."""
