"""The database of the service: tables carried out on SQLite and PostgreSQL, in one
spelling of SQL.

`database` is the database of a process, whose requests take `turns` to write. `engine`
is the port that `sqlite` and `postgresql` implement. `tables` lists the engine's own
tables, which have a module each, and brings a database to their form. `prune` and
`removals` do something to all tables alike.
"""
