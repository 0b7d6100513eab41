"""Checked content → a release: files, whole and immutable."""
