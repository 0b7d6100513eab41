"""Brings releases to object stores: what is sent, which one is current, what is purged."""
