"""Hints at names that are nearly what was written."""

from __future__ import annotations

import pytest

from fabricbench.words import close_match_hint

NAMES = (
    "busbw_gb_per_s",
    "busbw_gb_per_s_min",
    "busbw_ratio",
    "frames_lost",
    *(f"fct_{n}" for n in range(9)),
)


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        ("busbw", "did you mean `busbw_gb_per_s` or `busbw_gb_per_s_min` or `busbw_ratio`?"),
        ("busbw_gb_per", "did you mean `busbw_gb_per_s` or `busbw_gb_per_s_min`?"),
        ("frame_lost", "did you mean `frames_lost`?"),
        ("fct_", "did you mean `fct_8`?"),
        ("jitter", ""),
        ("", ""),
    ],
)
def test_names_that_begin_so_come_before_one_that_looks_like_it(found: str, hint: str) -> None:
    assert close_match_hint(found, NAMES) == hint
