"""Events in stores, in both versions of the interface (interface 2.4, 2.5)."""
