"""Statements select and change the intended rows, whatever characters their values contain."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from fabricbench.store.catalog.sql import (
    Connection,
    Sql,
    all_of,
    any_of,
    contains,
    joined,
    one_of,
    starts_with,
)

TEXTS = ("100 %", "100 x", "a_b", "axb", "'; DROP TABLE notes; --", "\\", "/", "?", "%s")


@pytest.fixture
def connection() -> Iterator[Connection]:
    with closing(sqlite3.connect(":memory:")) as driver:
        connection = Connection(driver, "sqlite")
        connection.execute_script(
            "-- A table; of notes\nCREATE TABLE notes (\n    number SERIAL NOT NULL, text TEXT,\n"
            "    kind TEXT DEFAULT 'plain', PRIMARY KEY (number)\n);\nCREATE INDEX by_text ON notes (text);\n"
        )
        for text in TEXTS:
            connection.insert("notes", {"text": text})
        yield connection


def texts(connection: Connection, condition: Sql) -> list[str]:
    return list(connection.execute("SELECT text FROM notes WHERE", condition, "ORDER BY number").scalars())


def test_rows_are_numbered_and_get_the_defaults(connection: Connection) -> None:
    number = connection.insert_numbered("notes", {"text": "last"}, "number")
    (row,) = connection.execute(Sql("SELECT * FROM notes WHERE number = ?", number))
    assert row.mapping == {"number": len(TEXTS) + 1, "text": "last", "kind": "plain"}
    assert (row.text, tuple(row)) == ("last", (len(TEXTS) + 1, "last", "plain"))


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_a_value_and_no_part_of_the_statement(connection: Connection, text: str) -> None:
    assert texts(connection, Sql("text = ?", text)) == [text]
    assert text in texts(connection, contains("text", text))
    assert texts(connection, starts_with("text", text)) == [text]


@pytest.mark.parametrize(
    ("part", "matches"), [("0 %", ["100 %"]), ("_", ["a_b"]), ("/", ["/"]), ("\\", ["\\"])]
)
def test_characters_of_patterns_match_themselves(
    connection: Connection, part: str, matches: list[str]
) -> None:
    assert texts(connection, contains("text", part)) == matches


def test_no_value_is_one_of_none_and_all_of_none_is_true(connection: Connection) -> None:
    assert texts(connection, one_of("text", [])) == []
    assert texts(connection, joined("NOT", one_of("text", []))) == list(TEXTS)
    assert texts(connection, all_of()) == list(TEXTS)


def test_conditions_are_grouped(connection: Connection) -> None:
    first, second, third = (Sql("number = ?", number) for number in (1, 2, 3))
    assert texts(connection, all_of(any_of(first, second), joined("NOT", second))) == [TEXTS[0]]
    assert texts(connection, all_of(any_of(first, second), joined("NOT", all_of(first, third)))) == list(
        TEXTS[:2]
    )


def test_values_are_in_the_order_of_the_text(connection: Connection) -> None:
    both = joined(
        *(Sql("SELECT number, upper(?) AS mark FROM notes WHERE number = ?", "x", 2), "UNION ALL"),
        Sql("SELECT number, upper(?) AS mark FROM notes WHERE number = ?", "y", 1),
    )
    query = joined("SELECT mark FROM (", both, Sql(") AS both WHERE number < ? ORDER BY number DESC", 9))
    assert list(connection.execute(query).scalars()) == ["X", "Y"]
    assert list(connection.execute(query, Sql("LIMIT ? OFFSET ?", 1, 1)).scalars()) == ["Y"]


def test_only_rows_that_meet_the_conditions_change(connection: Connection) -> None:
    connection.update("notes", {"kind": "new", "text": "other"}, Sql("number = ?", 1))
    connection.insert("notes", {"text": "a", "kind": "b"}, {"text": "c", "kind": "d"})
    assert connection.execute(Sql("DELETE FROM notes WHERE number BETWEEN ? AND ?", 2, 9)).rowcount == 8
    assert texts(connection, all_of()) == ["other", "a", "c"]
    assert connection.execute("SELECT kind FROM notes WHERE number = 1").scalar() == "new"
