"""One record of a feed: read, checked by itself, and the rows and words that follow from it."""
