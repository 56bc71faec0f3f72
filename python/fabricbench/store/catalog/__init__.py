"""The catalog: a database of trials, runs, tags and views, in an SQLite file or in PostgreSQL.

database.py      transactions, checks and migrations; choice of the database by its URL
sql.py           execution of SQL text, rows, conditions with their values
sqlite.py        the driver of SQLite; postgresql.py that of PostgreSQL
migrate.py       runs the numbered SQL files of migrations/
schema.py        columns of trials and memberships, states, limits
trials.py        statements on the table of trials
"""
