"""The WSGI service: it answers what a file cannot, from a release and a database."""
