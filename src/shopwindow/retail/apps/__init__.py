"""Mobile applications: their API keys and their configuration (interface 2.1, 4.2)."""
