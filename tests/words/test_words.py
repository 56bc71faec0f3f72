"""Counts are written with their nouns in one way."""

import pytest

from fabricbench.words import counted, plural


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (12_345, "12,345 trials")]
)
def test_a_noun_is_in_the_plural_unless_it_is_one(number: int, text: str) -> None:
    assert counted(number, "trial") == text
    assert text.endswith(plural(number, "trial"))
