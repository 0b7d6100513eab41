"""A problem or a wish → the few characters that change in a file."""
