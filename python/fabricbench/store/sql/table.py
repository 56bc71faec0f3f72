"""Tables: their columns, indexes and CREATE statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricbench.store.sql.expression import Expression, Parameters, quoted

INTEGER = "INTEGER"
BIGINT = "BIGINT"
TEXT = "TEXT"
DOUBLE = "DOUBLE PRECISION"


def varchar(length: int) -> str:
    """Return the type of texts up to a length in characters."""
    return f"VARCHAR({length})"


class Column(Expression):
    """A column.

    Attributes:
        name: Its name.
        type: Its SQL type.
        nullable: Whether it may be null.
        default: Default value in the database; None if rows must have a value.
        source: The table or query that it belongs to; None before it is part of one.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        nullable: bool = False,
        default: str | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(self._qualified)
        self.name = name
        self.type = kind
        self.nullable = nullable
        self.default = default
        self.source = source

    def _qualified(self, _: Parameters) -> str:
        return quoted(self.name) if self.source is None else f"{quoted(self.source.name)}.{quoted(self.name)}"

    @property
    def is_integer(self) -> bool:
        """Whether its values are integers, not texts."""
        return self.type in {INTEGER, BIGINT}

    @property
    def length(self) -> int | None:
        """Largest length of its texts in characters; None for no limit."""
        digits = self.type.removeprefix("VARCHAR(").removesuffix(")")
        return int(digits) if digits.isdecimal() else None

    def of(self, source: Source) -> Column:
        """Return the same column of another table or query."""
        return Column(self.name, self.type, nullable=self.nullable, default=self.default, source=source)

    def definition(self, *, is_counted: bool) -> str:
        """Return its definition in CREATE TABLE; the database numbers rows if `is_counted`."""
        default = "" if self.default is None else f" DEFAULT '{self.default}'"
        kind = "SERIAL" if is_counted else self.type
        return f"{quoted(self.name)} {kind}{default}{'' if self.nullable else ' NOT NULL'}"


class Columns:
    """Columns by name."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = {column.name: column for column in columns}

    def __getattr__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns.values())


class Source:
    """A table or query to select rows from.

    Attributes:
        name: Its name in statements.
        c: Its columns.
    """

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self.name = name
        self.c = Columns([column.of(self) for column in columns])

    def render(self, _: Parameters) -> str:
        """Return the text after FROM."""
        return quoted(self.name)


class InOrder(Source):
    """A join of two tables in which SQLite scans the first and looks up the second."""

    def __init__(self, first: Source, second: Source) -> None:
        super().__init__(first.name, ())
        self._both = (first, second)

    def render(self, parameters: Parameters) -> str:
        """Return the text after FROM."""
        return " CROSS JOIN ".join(each.render(parameters) for each in self._both)


class Index:
    """An index of a table.

    Attributes:
        name: Its name.
        columns: Names of its columns.
        unique: Whether no two rows may have the same values in them.
        where: Condition on the indexed rows, in SQL; empty for all rows.
        only_in: The only database that has it; empty if both do.
    """

    def __init__(
        self, name: str, *columns: str, unique: bool = False, where: str = "", only_in: str = ""
    ) -> None:
        self.name = name
        self.columns = columns
        self.unique = unique
        self.where = where
        self.only_in = only_in

    def creation(self, table: str) -> str:
        """Return the statement that creates it."""
        kind = "UNIQUE INDEX" if self.unique else "INDEX"
        where = f" WHERE {self.where}" if self.where else ""
        return f"CREATE {kind} {self.name} ON {table} ({', '.join(self.columns)}){where}"


class Table(Source):
    """A table of a database."""

    def __init__(
        self,
        name: str,
        *columns: Column,
        key: tuple[str, ...],
        is_counted: bool = False,
        indexes: tuple[Index, ...] = (),
    ) -> None:
        """Define a table.

        Args:
            name: Its name.
            columns: Its columns.
            key: Names of the columns of the primary key.
            is_counted: Whether the database numbers its rows in the single column of the key.
            indexes: Its indexes.
        """
        super().__init__(name, columns)
        self.key = key
        self.is_counted = is_counted
        self.indexes = indexes

    def creation(self, dialect: str) -> Iterator[str]:
        """Yield the statements that create it, in `sqlite` or `postgresql`."""
        counted = self.key if self.is_counted and dialect == "postgresql" else ()
        parts = [column.definition(is_counted=column.name in counted) for column in self.c]
        yield f"CREATE TABLE {self.name} ({', '.join(parts)}, PRIMARY KEY ({', '.join(self.key)}))"
        for index in self.indexes:
            if index.only_in in {"", dialect}:
                yield index.creation(self.name)
