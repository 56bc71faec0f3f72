"""Statements: finding, adding, changing and removing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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


class Query:
    """Something that finds rows, and can be selected from."""

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        raise NotImplementedError

    def _columns(self) -> list[Column]:
        raise NotImplementedError

    def subquery(self, name: str) -> Source:
        """Return what it finds under a name, to be selected from."""
        return _Subquery(self, name, self._columns())


class _Subquery(Source):
    def __init__(self, query: Query, name: str, columns: Sequence[Column]) -> None:
        super().__init__(name, columns)
        self._query = query

    def render(self, parameters: Parameters) -> str:
        """Return what stands after FROM."""
        return f"({self._query.render(parameters)}) AS {quoted(self.name)}"


@dataclass(frozen=True)
class Select(Query):
    """A query; each method returns one that says more."""

    _selected: tuple[Expression, ...]
    _sources: tuple[Source, ...]
    _conditions: tuple[Condition, ...] = ()
    _order: tuple[Expression, ...] = ()
    _groups: tuple[Expression, ...] = ()
    _is_distinct: bool = False
    _limit: int | None = None
    _offset: int = 0

    def select_from(self, source: Source) -> Self:
        """Find what is selected in these rows, of which no column is."""
        return replace(self, _sources=(source,))

    def where(self, *conditions: Condition) -> Self:
        """Find only rows that meet these conditions, too."""
        return replace(self, _conditions=(*self._conditions, *conditions))

    def order_by(self, *order: Expression) -> Self:
        """Order by these."""
        return replace(self, _order=order)

    def group_by(self, *groups: Expression) -> Self:
        """Make one row of those that have these values in common."""
        return replace(self, _groups=groups)

    def distinct(self) -> Self:
        """Find equal rows once."""
        return replace(self, _is_distinct=True)

    def limit(self, count: int) -> Self:
        """Find at most so many rows."""
        return replace(self, _limit=count)

    def offset(self, count: int) -> Self:
        """Leave out so many rows before them; together with `limit`."""
        return replace(self, _offset=count)

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        # In the order of the text, so that the values are, too.
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
    """Find some columns, all of a table or query, or what is computed of them."""
    selected = [column for each in wanted for column in (each.c if isinstance(each, Source) else (each,))]
    sources = {each.source.name: each.source for each in selected if isinstance(each, Column) and each.source}
    return Select(tuple(selected), tuple(sources.values()))


@dataclass(frozen=True)
class Union(Query):
    """The rows of several queries, which have the same columns."""

    _queries: tuple[Select, ...]

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        return " UNION ALL ".join(query.render(parameters) for query in self._queries)

    def _columns(self) -> list[Column]:
        return self._queries[0]._columns()


def union_all(*queries: Select) -> Union:
    """Find the rows of several queries; those of the first name the columns."""
    return Union(queries)


@dataclass(frozen=True)
class Insert:
    """Adds a row, or those that a query finds.

    Attributes:
        table: Where to.
    """

    table: Table
    _names: tuple[str, ...]
    _from: tuple[object, ...] | Select

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        into = f"INSERT INTO {quoted(self.table.name)} ({', '.join(map(quoted, self._names))})"
        if isinstance(self._from, Select):
            return f"{into} {self._from.render(parameters)}"
        return f"{into} VALUES ({', '.join(map(parameters.add, self._from))})"


def insert(table: Table, values: Mapping[str, object]) -> Insert:
    """Add a row."""
    return Insert(table, tuple(values), tuple(values.values()))


def insert_found(table: Table, names: Sequence[str], query: Select) -> Insert:
    """Add what a query finds, as the columns of these names."""
    return Insert(table, tuple(names), query)


@dataclass(frozen=True)
class Update:
    """Changes rows; each method returns one that says more."""

    _table: Table
    _values: Mapping[str, object] = field(default_factory=dict)
    _conditions: tuple[Condition, ...] = ()

    def where(self, *conditions: Condition) -> Self:
        """Change only rows that meet these conditions, too."""
        return replace(self, _conditions=(*self._conditions, *conditions))

    def values(self, values: Mapping[str, object]) -> Self:
        """Put these in."""
        return replace(self, _values={**self._values, **values})

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        changes = ", ".join(
            f"{quoted(name)} = {parameters.add(value)}" for name, value in self._values.items()
        )
        return f"UPDATE {quoted(self._table.name)} SET {changes}{all_of(self._conditions, parameters)}"


def update(table: Table) -> Update:
    """Change rows of a table."""
    return Update(table)


@dataclass(frozen=True)
class Delete:
    """Removes rows."""

    _table: Table
    _conditions: tuple[Condition, ...] = ()

    def where(self, *conditions: Condition) -> Self:
        """Remove only rows that meet these conditions, too."""
        return replace(self, _conditions=(*self._conditions, *conditions))

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and hand over its values."""
        return f"DELETE FROM {quoted(self._table.name)}{all_of(self._conditions, parameters)}"


def delete(table: Table) -> Delete:
    """Remove rows of a table."""
    return Delete(table)


def _selected(wanted: Expression, parameters: Parameters) -> str:
    name = f" AS {quoted(wanted.name)}" if isinstance(wanted, Labelled) else ""
    return f"{wanted.render(parameters)}{name}"
