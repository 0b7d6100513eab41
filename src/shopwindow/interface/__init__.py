"""The retail interface, as data and pure functions."""
