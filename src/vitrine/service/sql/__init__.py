"""The store: the shop's verbs in SQL, one spelling for SQLite and PostgreSQL."""
