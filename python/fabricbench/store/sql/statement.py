"""Statements: select, insert, update and delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Self

from fabricbench.store.sql.expression import (
    Condition,
    Expression,
    Labelled,
    Parameters,
    all_of,
    listed,
    quoted,
)
from fabricbench.store.sql.table import Column, Source, Table


class Statement:
    """A statement, or a partial one."""

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        raise NotImplementedError

    def _with(self, **changes: object) -> Self:
        """Return a copy with other attributes."""
        other = copy(self)
        vars(other).update(changes)
        return other


class Query(Statement):
    """Something that returns rows, and can be selected from."""

    def _columns(self) -> list[Column]:
        raise NotImplementedError

    def subquery(self, name: str) -> Source:
        """Return the query as a named source, to be selected from."""
        return _Subquery(self, name, self._columns())


class _Subquery(Source):
    def __init__(self, query: Query, name: str, columns: Sequence[Column]) -> None:
        super().__init__(name, columns)
        self._query = query

    def render(self, parameters: Parameters) -> str:
        """Return the text after FROM."""
        return f"({self._query.render(parameters)}) AS {quoted(self.name)}"


class Select(Query):
    """A SELECT statement; each method returns an extended copy."""

    def __init__(self, selected: tuple[Expression, ...], sources: tuple[Source, ...]) -> None:
        self._selected = selected
        self._sources = sources
        self._conditions: tuple[Condition, ...] = ()
        self._order: tuple[Expression, ...] = ()
        self._groups: tuple[Expression, ...] = ()
        self._is_distinct = False
        self._limit: int | None = None
        self._offset = 0

    def select_from(self, source: Source) -> Self:
        """Select from these rows, for queries without columns of a source."""
        return self._with(_sources=(source,))

    def where(self, *conditions: Condition) -> Self:
        """Select only rows that also meet these conditions."""
        return self._with(_conditions=(*self._conditions, *conditions))

    def order_by(self, *order: Expression) -> Self:
        """Order by these."""
        return self._with(_order=order)

    def group_by(self, *groups: Expression) -> Self:
        """Group the rows with equal values of these."""
        return self._with(_groups=groups)

    def distinct(self) -> Self:
        """Remove duplicate rows."""
        return self._with(_is_distinct=True)

    def limit(self, count: int) -> Self:
        """Select at most `count` rows."""
        return self._with(_limit=count)

    def offset(self, count: int) -> Self:
        """Skip the first `count` rows; only together with `limit`."""
        return self._with(_offset=count)

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        # In the order of the text, so that the values have the same order.
        text = f"SELECT {'DISTINCT ' if self._is_distinct else ''}"
        text += ", ".join(_selected(each, parameters) for each in self._selected)
        text += f" FROM {listed(self._sources, parameters)}"
        text += all_of(self._conditions, parameters)
        text += f" GROUP BY {listed(self._groups, parameters)}" if self._groups else ""
        text += f" ORDER BY {listed(self._order, parameters)}" if self._order else ""
        if self._limit is not None:
            text += f" LIMIT {parameters.add(self._limit)} OFFSET {parameters.add(self._offset)}"
        return text

    def _columns(self) -> list[Column]:
        return [
            each if isinstance(each, Column) else Column(each.name, "")
            for each in self._selected
            if isinstance(each, Column | Labelled)
        ]


def select(*wanted: Expression | Source) -> Select:
    """Select columns, all columns of a source, or expressions."""
    selected = [column for each in wanted for column in (each.c if isinstance(each, Source) else (each,))]
    sources = {each.source.name: each.source for each in selected if isinstance(each, Column) and each.source}
    return Select(tuple(selected), tuple(sources.values()))


class Union(Query):
    """The rows of several queries with the same columns."""

    def __init__(self, queries: tuple[Select, ...]) -> None:
        self._queries = queries

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        return " UNION ALL ".join(query.render(parameters) for query in self._queries)

    def _columns(self) -> list[Column]:
        return self._queries[0]._columns()


def union_all(*queries: Select) -> Union:
    """Combine the rows of several queries; the first one names the columns."""
    return Union(queries)


class Insert(Statement):
    """Inserts a row, or the result of a query.

    Attributes:
        table: Target table.
    """

    def __init__(self, table: Table, names: tuple[str, ...], source: tuple[object, ...] | Select) -> None:
        self.table = table
        self._names = names
        self._source = source

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        into = f"INSERT INTO {quoted(self.table.name)} ({', '.join(map(quoted, self._names))})"
        if isinstance(self._source, Select):
            return f"{into} {self._source.render(parameters)}"
        return f"{into} VALUES ({', '.join(map(parameters.add, self._source))})"


def insert(table: Table, values: Mapping[str, object]) -> Insert:
    """Insert a row."""
    return Insert(table, tuple(values), tuple(values.values()))


class InsertMany(Statement):
    """Inserts several rows with the same columns."""

    def __init__(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        self._table = table
        self._rows = rows

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        names = ", ".join(map(quoted, self._rows[0]))
        rows = ", ".join(f"({', '.join(map(parameters.add, row.values()))})" for row in self._rows)
        return f"INSERT INTO {quoted(self._table.name)} ({names}) VALUES {rows}"


def insert_many(table: Table, rows: Sequence[Mapping[str, object]]) -> InsertMany:
    """Insert one or more rows that all have the columns of the first, in its order."""
    return InsertMany(table, rows)


def insert_found(table: Table, names: Sequence[str], query: Select) -> Insert:
    """Insert the result of a query into the named columns."""
    return Insert(table, tuple(names), query)


class Update(Statement):
    """Updates rows; each method returns an extended copy."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._values: Mapping[str, object] = {}
        self._conditions: tuple[Condition, ...] = ()

    def where(self, *conditions: Condition) -> Self:
        """Update only rows that also meet these conditions."""
        return self._with(_conditions=(*self._conditions, *conditions))

    def values(self, values: Mapping[str, object]) -> Self:
        """Set these values."""
        return self._with(_values={**self._values, **values})

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        changes = ", ".join(
            f"{quoted(name)} = {parameters.add(value)}" for name, value in self._values.items()
        )
        return f"UPDATE {quoted(self._table.name)} SET {changes}{all_of(self._conditions, parameters)}"


def update(table: Table) -> Update:
    """Update rows of a table."""
    return Update(table)


class Delete(Statement):
    """Deletes rows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._conditions: tuple[Condition, ...] = ()

    def where(self, *conditions: Condition) -> Self:
        """Delete only rows that also meet these conditions."""
        return self._with(_conditions=(*self._conditions, *conditions))

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        return f"DELETE FROM {quoted(self._table.name)}{all_of(self._conditions, parameters)}"


def delete(table: Table) -> Delete:
    """Delete rows of a table."""
    return Delete(table)


def _selected(wanted: Expression, parameters: Parameters) -> str:
    name = f" AS {quoted(wanted.name)}" if isinstance(wanted, Labelled) else ""
    return f"{wanted.render(parameters)}{name}"
