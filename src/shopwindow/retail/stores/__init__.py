"""The stores of the retailer, and the search for them (interface 4.11)."""
