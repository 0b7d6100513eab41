"""Shopping bags of guest users (interface 2.7, 4.8)."""
