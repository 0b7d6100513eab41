"""Kinds that a content folder declares for itself in `collections.yaml`."""
