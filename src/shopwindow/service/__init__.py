"""The WSGI service: what a file cannot answer, live from a release."""
