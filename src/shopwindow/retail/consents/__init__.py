"""Opting in and out of messages (interface 2.2, 4.3)."""
