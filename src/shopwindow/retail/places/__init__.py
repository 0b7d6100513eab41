"""Where places are, and how far apart: what a search for stores needs."""
