"""A public library, published by shopwindow."""
