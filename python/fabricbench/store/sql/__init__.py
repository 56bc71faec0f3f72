"""What the catalog says to its database, as SQL that SQLite and PostgreSQL both take.

    expression.py   columns, values, conditions
    table.py        tables and what makes them
    statement.py    select, insert, update, delete
    connection.py   carrying them out, and rows

Names and behaviour are those of SQLAlchemy, of which this is what the catalog needs: loading all of it takes
0.2 s, longer than a small run. Migrations use SQLAlchemy itself. Every value is a parameter of its statement.
"""
