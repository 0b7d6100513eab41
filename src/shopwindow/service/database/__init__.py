"""The database of the service: tables carried out on SQLite and PostgreSQL, in one
spelling of SQL.

`database` has the port that both engines implement; `sqlite` and `postgresql` are the
engines, and `late` stands in for one that cannot be reached yet. `tables` lists the
engine's own tables, which have a module each. `migrate`, `prune` and `forget` do
something to all tables alike.
"""
