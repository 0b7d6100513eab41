"""A request → the one Call that it means, or every fault in it."""
