"""SQL expressions: columns, values, functions and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

_ESCAPE = "/"


class Parameters:
    """The values of a statement, in the order of their placeholders in its text."""

    def __init__(self, mark: str) -> None:
        """Set the placeholder of a driver."""
        self.values: list[object] = []
        self._mark = mark

    def add(self, value: object) -> str:
        """Append a value and return its placeholder."""
        self.values.append(value)
        return self._mark


class Clause(Protocol):
    """A part of a statement, or a whole one."""

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""


class Expression:
    """Something that has a value in each row.

    Comparing expressions creates a condition, so expressions are not hashable and `==` returns no bool.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, render: Callable[[Parameters], str]) -> None:
        """Set the function that renders it."""
        self._render = render

    def render(self, parameters: Parameters) -> str:
        """Return it as text, and append its values to the parameters."""
        return self._render(parameters)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return _binary(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return _binary(self, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return _binary(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return _binary(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return _binary(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return _binary(self, ">=", other)

    def between(self, least: object, most: object) -> Condition:
        """Return whether it is in a range, including both ends."""
        return (self >= least) & (self <= most)

    def in_(self, values: Clause | Iterable[object]) -> Condition:
        """Return whether it is one of some values, or in the result of a query."""
        if isinstance(values, Iterable):
            return _in_values(self, list(values))
        return Condition(lambda parameters: f"{self.render(parameters)} IN ({values.render(parameters)})")

    def is_not_null(self) -> Condition:
        """Return whether it has a value."""
        return Condition(lambda parameters: f"{self.render(parameters)} IS NOT NULL")

    def contains(self, text: str) -> Condition:
        """Return whether it contains a text."""
        return _like(self, f"%{_escaped(text)}%")

    def startswith(self, text: str) -> Condition:
        """Return whether it starts with a text."""
        return _like(self, f"{_escaped(text)}%")

    def desc(self) -> Order:
        """Return a descending order by it."""
        return Order(lambda parameters: f"{self.render(parameters)} DESC")

    def asc(self) -> Order:
        """Return an ascending order by it."""
        return Order(lambda parameters: f"{self.render(parameters)} ASC")

    def label(self, name: str) -> Labelled:
        """Name it in the result of a query."""
        return Labelled(self._render, name)


class Condition(Expression):
    """A boolean expression."""

    def __and__(self, other: Condition) -> Condition:
        return Condition(lambda parameters: f"({self.render(parameters)} AND {other.render(parameters)})")

    def __or__(self, other: Condition) -> Condition:
        return Condition(lambda parameters: f"({self.render(parameters)} OR {other.render(parameters)})")

    def __invert__(self) -> Condition:
        return Condition(lambda parameters: f"NOT ({self.render(parameters)})")


class Labelled(Expression):
    """An expression with a name."""

    def __init__(self, render: Callable[[Parameters], str], name: str) -> None:
        super().__init__(render)
        self.name = name


class Order(Expression):
    """A direction to order by."""

    def nulls_first(self) -> Order:
        """Put rows without a value first."""
        return Order(lambda parameters: f"{self.render(parameters)} NULLS FIRST")

    def nulls_last(self) -> Order:
        """Put rows without a value last."""
        return Order(lambda parameters: f"{self.render(parameters)} NULLS LAST")


def quoted(name: str) -> str:
    """Return a name of a table or column, quoted for statements."""
    return f'"{name}"'


def listed(parts: Iterable[Clause], parameters: Parameters) -> str:
    """Return parts of a statement, separated by commas."""
    return ", ".join(part.render(parameters) for part in parts)


def rendered(value: object, parameters: Parameters) -> str:
    """Return an expression as text, or the placeholder of any other value."""
    return value.render(parameters) if isinstance(value, Expression) else parameters.add(value)


def all_of(conditions: Iterable[Condition], parameters: Parameters) -> str:
    """Return the clause WHERE, with a leading space; empty without conditions."""
    text = " AND ".join(condition.render(parameters) for condition in conditions)
    return text and f" WHERE {text}"


def call(name: str, *arguments: object) -> Expression:
    """Return a call of a database function with some values."""
    return Expression(
        lambda parameters: f"{name}({', '.join(rendered(each, parameters) for each in arguments)})"
    )


def any_of(*conditions: Condition) -> Condition:
    """Return whether at least one of some conditions is true."""
    return Condition(lambda parameters: f"({' OR '.join(each.render(parameters) for each in conditions)})")


def count() -> Expression:
    """Count rows."""
    return Expression(lambda _: "count(*)")


def count_all() -> Expression:
    """Count the rows of the result, in each row and before a limit."""
    return Expression(lambda _: "count(*) OVER ()")


def count_distinct(value: Expression) -> Expression:
    """Count the distinct values."""
    return Expression(lambda parameters: f"count(DISTINCT {value.render(parameters)})")


def cast(value: Expression, kind: str) -> Expression:
    """Return a value converted to another SQL type."""
    return Expression(lambda parameters: f"CAST({value.render(parameters)} AS {kind})")


def case(condition: Condition, value: Expression) -> Expression:
    """Return a value where a condition is true, and null elsewhere, without evaluating the value there."""
    return Expression(
        lambda parameters: f"CASE WHEN {condition.render(parameters)} THEN {value.render(parameters)} END"
    )


def value_of(query: Clause) -> Expression:
    """Return the single value of a query, which may refer to the enclosing row."""
    return Expression(lambda parameters: f"({query.render(parameters)})")


def null() -> Expression:
    """Return null."""
    return Expression(lambda _: "NULL")


def row_number(partition_by: Expression, order_by: Expression) -> Expression:
    """Number the rows of each partition in an order, from 1."""
    return Expression(
        lambda parameters: (
            f"row_number() OVER (PARTITION BY {partition_by.render(parameters)}"
            f" ORDER BY {order_by.render(parameters)})"
        )
    )


def _binary(left: Expression, operator: str, right: object) -> Condition:
    if right is None:
        raise AssertionError("nothing compares with null; `is_not_null` asks for it")
    return Condition(lambda parameters: f"{left.render(parameters)} {operator} {rendered(right, parameters)}")


def _in_values(left: Expression, values: list[object]) -> Condition:
    if not values:  # PostgreSQL does not accept empty lists
        return Condition(lambda _: "1 = 0")
    return Condition(
        lambda parameters: f"{left.render(parameters)} IN ({', '.join(map(parameters.add, values))})"
    )


def _like(value: Expression, pattern: str) -> Condition:
    return Condition(
        lambda parameters: f"{value.render(parameters)} LIKE {parameters.add(pattern)} ESCAPE '{_ESCAPE}'"
    )


def _escaped(text: str) -> str:
    """Return a text with its special pattern characters escaped."""
    for special in (_ESCAPE, "%", "_"):
        text = text.replace(special, _ESCAPE + special)
    return text
