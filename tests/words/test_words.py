"""Counts are written with their nouns in one way, and what a user wrote as one line."""

import pytest

from fabricbench.words import counted, one_line, plural


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (12_345, "12,345 trials")]
)
def test_a_noun_is_in_the_plural_unless_it_is_one(number: int, text: str) -> None:
    assert counted(number, "trial") == text
    assert text.endswith(plural(number, "trial"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a b", "a b"),
        ("gr\u00f6\u00dfe \u00b5", "gr\u00f6\u00dfe \u00b5"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31m\0\x7f", "\\x1b[31m\\x00\\x7f"),
        ("\u202eabc\u2028", "\\u202eabc\\u2028"),
        ("\ud800", "\\ud800"),
        ("x" * 100 + "y" * 100, "x" * 12 + "..." + "y" * 5),
    ],
)
def test_what_a_user_wrote_stays_on_a_line_and_steers_no_terminal(text: str, line: str) -> None:
    assert one_line(text, 20) == line
