"""Schemas and settings for an editor: it marks a mistake while it is written."""
