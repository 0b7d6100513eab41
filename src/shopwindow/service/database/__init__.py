"""The database: tables carried out on SQLite and PostgreSQL, in one spelling of SQL."""
