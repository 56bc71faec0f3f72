"""SQL of the catalog: text with values, its execution within a transaction, and the rows of a result.

Statements are text that both SQLite and PostgreSQL accept, with `?` in place of each value. `Connection`
handles the differences between both: placeholders, numbers of new rows, types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

Dialect = Literal["sqlite", "postgresql"]
_ESCAPE = "/"


class Sql:
    """Part of a statement: text with `?` in place of each value, and the values in the order of the text."""

    __slots__ = ("text", "values")

    def __init__(self, text: str, *values: object) -> None:
        self.text = text
        self.values = values


def joined(*parts: str | Sql, separator: str = " ") -> Sql:
    """Join parts of a statement with their values."""
    statements = [Sql(part) if isinstance(part, str) else part for part in parts]
    return Sql(
        separator.join(part.text for part in statements),
        *(value for part in statements for value in part.values),
    )


def all_of(*conditions: str | Sql) -> Sql:
    """Return the condition that all conditions are true; true without any."""
    return joined("(", joined(*conditions, separator=" AND "), ")") if conditions else Sql("1 = 1")


def any_of(*conditions: str | Sql) -> Sql:
    """Return the condition that at least one of some conditions is true."""
    return joined("(", joined(*conditions, separator=" OR "), ")")


def one_of(expression: str, values: Iterable[object]) -> Sql:
    """Return the condition that an expression has one of some values."""
    values = tuple(values)
    if not values:  # PostgreSQL does not accept empty lists
        return Sql("1 = 0")
    return Sql(f"{expression} IN ({', '.join('?' * len(values))})", *values)


def contains(expression: str, text: str) -> Sql:
    """Return the condition that a text contains another; no character of it is a pattern."""
    return Sql(f"{expression} LIKE ? ESCAPE '{_ESCAPE}'", f"%{_escaped(text)}%")


def starts_with(expression: str, text: str) -> Sql:
    """Return the condition that a text starts with another; no character of it is a pattern."""
    return Sql(f"{expression} LIKE ? ESCAPE '{_ESCAPE}'", f"{_escaped(text)}%")


def _escaped(text: str) -> str:
    for special in (_ESCAPE, "%", "_"):
        text = text.replace(special, _ESCAPE + special)
    return text


class Row:
    """A row of a result: its values by column name, and in order."""

    __slots__ = ("_values", "mapping")

    def __init__(self, mapping: dict[str, Any], values: Sequence[Any]) -> None:
        self.mapping = mapping
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.mapping[name]
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)


class _Cursor(Protocol):
    """A driver's cursor for an executed statement (PEP 249)."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...

    @property
    def rowcount(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


class Result:
    """Result of a statement; rows are read from the database on demand."""

    def __init__(self, cursor: _Cursor) -> None:
        self._cursor = cursor

    def __iter__(self) -> Iterator[Row]:
        names = [column[0] for column in self._cursor.description or ()]
        return (Row(dict(zip(names, values, strict=True)), values) for values in self._cursor)

    @property
    def rowcount(self) -> int:
        """Number of rows that were changed or removed."""
        return self._cursor.rowcount

    def all(self) -> list[Row]:
        """Return all rows."""
        return list(self)

    def first(self) -> Row | None:
        """Return the first row; None if there are no rows."""
        return next(iter(self), None)

    def scalars(self) -> Iterator[Any]:
        """Yield the first value of each row."""
        return (values[0] for values in self._cursor)

    def scalar(self) -> Any:
        """Return the first value of the first row; None if there are no rows."""
        return next(self.scalars(), None)


class _Driver(Protocol):
    """A connection of a driver."""

    def execute(self, query: Any, params: Any = ..., /) -> Any: ...


class Connection:
    """An open transaction.

    Attributes:
        dialect: SQL dialect of the database.
    """

    def __init__(self, driver: _Driver, dialect: Dialect) -> None:
        self._driver = driver
        self.dialect = dialect

    def execute(self, *parts: str | Sql) -> Result:
        """Execute a statement, the parts of which are joined by spaces."""
        return Result(self._executed(joined(*parts)))

    def _executed(self, statement: Sql) -> Any:
        if self.dialect == "sqlite":
            return self._driver.execute(statement.text, statement.values)
        return self._driver.execute(statement.text.replace("?", "%s"), statement.values)

    def execute_script(self, script: str) -> None:
        """Execute the statements of an SQL file, in which `SERIAL` is the type of a numbered column."""
        if self.dialect == "sqlite":  # it numbers the rows of a primary key that is an INTEGER
            script = script.replace(" SERIAL ", " INTEGER ")
        lines = [line for line in script.splitlines() if not line.startswith("--")]
        for text in "\n".join(lines).split(";\n"):
            self._driver.execute(text.removesuffix(";"))

    def insert(self, table: str, *rows: Mapping[str, object]) -> None:
        """Insert one or more rows, all with the columns of the first, in its order."""
        self._executed(_insertion(table, rows))

    def insert_numbered(self, table: str, row: Mapping[str, object], number: str) -> int:
        """Insert a row, and return its number, which the database gives it in the column `number`."""
        statement = _insertion(table, [row])
        if self.dialect == "sqlite":  # RETURNING needs SQLite 3.35
            return int(self._executed(statement).lastrowid)
        return int(self._executed(joined(statement, f"RETURNING {number}")).fetchone()[0])

    def update(self, table: str, values: Mapping[str, object], where: Sql) -> None:
        """Change the values of some columns in the rows that meet a condition."""
        changes = joined(*(Sql(f'"{name}" = ?', value) for name, value in values.items()), separator=", ")
        self.execute(f"UPDATE {table} SET", changes, "WHERE", where)


def _insertion(table: str, rows: Sequence[Mapping[str, object]]) -> Sql:
    names = ", ".join(f'"{name}"' for name in rows[0])
    marks = f"({', '.join('?' * len(rows[0]))})"
    values = (value for row in rows for value in row.values())
    return Sql(f"INSERT INTO {table} ({names}) VALUES {', '.join([marks] * len(rows))}", *values)
