"""The catalog: a database of trials, runs, tags and views, in an SQLite file or in PostgreSQL.

databases.py     choice of the database by its URL
database.py      transactions, checks and migrations; sqlite.py and postgresql.py: connections and errors
sql.py           execution of SQL text, rows, conditions with their values
migrate.py       runs the numbered SQL files of migrations/
schema.py        columns of trials and memberships, states, limits; rows.py: validation of rows
trials.py        statements on the table of trials; trial.py: a trial as an object
memberships.py   the runs that a trial belongs to; outcomes.py: metrics and digests of finished trials
process_identity.py: identity of the process of an attempt at a trial
"""
