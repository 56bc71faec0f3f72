"""Executes statements within a transaction, and returns their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from fabricbench.store.sql.expression import Clause, Parameters
from fabricbench.store.sql.statement import Insert
from fabricbench.store.sql.table import Table

Dialect = Literal["sqlite", "postgresql"]
_MARKS: Mapping[Dialect, str] = {"sqlite": "?", "postgresql": "%s"}


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


class Cursor(Protocol):
    """A driver's cursor for an executed statement (PEP 249)."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """The columns of the result, each with its name first."""

    @property
    def rowcount(self) -> int:
        """Number of rows that were changed or removed."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows of the result."""


class Result:
    """Result of a statement; rows are read from the database on demand."""

    def __init__(self, cursor: Cursor) -> None:
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

    def one(self) -> Row:
        """Return the only row."""
        (row,) = self
        return row

    def scalars(self) -> Iterator[Any]:
        """Yield the first value of each row."""
        return (values[0] for values in self._cursor)

    def scalar(self) -> Any:
        """Return the first value of the first row; None if there are no rows."""
        return next(self.scalars(), None)


class Driver(Protocol):
    """A connection of a driver."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Execute a statement and return its cursor."""


class Connection:
    """An open transaction.

    Attributes:
        dialect: SQL dialect of the database.
    """

    def __init__(self, driver: Driver, dialect: Dialect) -> None:
        self._driver = driver
        self.dialect = dialect

    def execute(self, statement: Clause) -> Result:
        """Execute a statement."""
        parameters = Parameters(_MARKS[self.dialect])
        text = statement.render(parameters)
        return Result(self._driver.execute(text, parameters.values))

    def run(self, text: str) -> Result:
        """Execute a statement given as text without parameters."""
        return Result(self._driver.execute(text))

    def make(self, tables: Sequence[Table]) -> None:
        """Create tables with their indexes."""
        for table in tables:
            for text in table.creation(self.dialect):
                self.run(text)

    def added(self, statement: Insert) -> int:
        """Insert a row into a table with numbered rows, and return its number."""
        parameters = Parameters(_MARKS[self.dialect])
        text = statement.render(parameters)
        if self.dialect == "sqlite":  # RETURNING needs SQLite 3.35
            return int(self._driver.execute(text, parameters.values).lastrowid)
        (number,) = statement.table.key
        return int(self._driver.execute(f"{text} RETURNING {number}", parameters.values).fetchone()[0])
