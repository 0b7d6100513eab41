"""What is asked of a catalog, and how it is shown: pure views over `catalog.protocol`."""
