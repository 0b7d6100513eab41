"""Categories, products, search and availability, and the index that answers for them."""
