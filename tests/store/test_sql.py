"""Statements say what they are asked to, whatever their values hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from fabricbench.store.sql.connection import Connection
from fabricbench.store.sql.expression import Condition, any_of, call, count
from fabricbench.store.sql.statement import delete, insert, insert_found, select, union_all, update
from fabricbench.store.sql.table import INTEGER, TEXT, Column, Table

notes = Table(
    "notes",
    Column("number", INTEGER),
    Column("text", TEXT),
    Column("kind", TEXT, nullable=True, default="plain"),
    key=("number",),
    is_counted=True,
)
TEXTS = ("100 %", "100 x", "a_b", "axb", "'; DROP TABLE notes; --", "\\", "/")


@pytest.fixture
def connection() -> Iterator[Connection]:
    with closing(sqlite3.connect(":memory:")) as driver:
        connection = Connection(driver, "sqlite")
        connection.make([notes])
        for text in TEXTS:
            connection.added(insert(notes, {"text": text}))
        yield connection


def texts(connection: Connection, condition: Condition) -> list[str]:
    query = select(notes.c.text).where(condition).order_by(notes.c.number)
    return list(connection.execute(query).scalars())


def test_rows_are_numbered_and_get_the_defaults(connection: Connection) -> None:
    number = connection.added(insert(notes, {"text": "last"}))
    row = connection.execute(select(notes).where(notes.c.number == number)).one()
    assert row.mapping == {"number": len(TEXTS) + 1, "text": "last", "kind": "plain"}
    assert (row.text, tuple(row)) == ("last", (len(TEXTS) + 1, "last", "plain"))


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_a_value_and_no_part_of_the_statement(connection: Connection, text: str) -> None:
    assert texts(connection, notes.c.text == text) == [text]
    assert text in texts(connection, notes.c.text.contains(text))
    assert texts(connection, notes.c.text.startswith(text)) == [text]


@pytest.mark.parametrize(
    ("part", "found"), [("0 %", ["100 %"]), ("_", ["a_b"]), ("/", ["/"]), ("\\", ["\\"])]
)
def test_what_patterns_are_made_of_stands_for_itself(
    connection: Connection, part: str, found: list[str]
) -> None:
    assert texts(connection, notes.c.text.contains(part)) == found


def test_nothing_is_among_no_values(connection: Connection) -> None:
    assert texts(connection, notes.c.text.in_([])) == []
    assert texts(connection, ~notes.c.text.in_([])) == list(TEXTS)


def test_conditions_keep_together_what_belongs_together(connection: Connection) -> None:
    first, second, third = (notes.c.number == number for number in (1, 2, 3))
    assert texts(connection, (first | second) & ~second) == [TEXTS[0]]
    assert texts(connection, any_of(first, second) & ~(first & third)) == list(TEXTS[:2])
    assert texts(connection, notes.c.number.between(2, 3)) == list(TEXTS[1:3])


def test_values_come_in_the_order_of_the_text(connection: Connection) -> None:
    both = union_all(
        select(notes, call("upper", "x").label("mark")).where(notes.c.number == 2),
        select(notes, call("upper", "y").label("mark")).where(notes.c.number == 1),
    ).subquery("both")
    query = select(both.c.number, both.c.mark).where(both.c.kind == "plain").order_by(both.c.number.desc())
    assert [tuple(row) for row in connection.execute(query)] == [(2, "X"), (1, "Y")]
    assert [tuple(row) for row in connection.execute(query.limit(1).offset(1))] == [(1, "Y")]


def test_only_rows_that_meet_the_conditions_change(connection: Connection) -> None:
    connection.execute(update(notes).where(notes.c.number == 1).values({"kind": "new", "text": "other"}))
    connection.execute(insert_found(notes, ["text"], select(notes.c.kind).where(notes.c.kind == "new")))
    assert connection.execute(delete(notes).where(notes.c.number.between(2, 7))).rowcount == 6
    assert texts(connection, notes.c.number >= 0) == ["other", "new"]
    assert connection.execute(select(count()).select_from(notes)).scalar() == 2


def test_comparing_with_nothing_is_a_fault_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="null"):
        _ = notes.c.kind == None  # noqa: E711
