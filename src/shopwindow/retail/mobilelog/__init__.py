"""The log that applications on phones write to (interface 2.3, 4.6)."""
