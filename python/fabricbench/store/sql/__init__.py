"""The SQL of the catalog, in a form that both SQLite and PostgreSQL accept.

    expression.py   columns, values, conditions
    table.py        tables and the statements that create them
    statement.py    select, insert, update, delete
    connection.py   execution of statements, and rows

Names and behaviour are those of SQLAlchemy, limited to what the catalog needs: importing all of it takes
0.2 s, longer than a small run. Migrations use SQLAlchemy itself. Every value is a parameter of its statement.
"""
