"""Hints at names that are nearly what was written."""

from __future__ import annotations

import pytest
from tests.plan.examples import errors_of, with_line

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
        ("bus_bw", "did you mean `busbw_gb_per_s` or `busbw_gb_per_s_min` or `busbw_ratio`?"),
        ("frame_lost", "did you mean `frames_lost`?"),
        ("fct_", "did you mean `fct_8`?"),
        ("jitter", ""),
        ("", ""),
    ],
)
def test_names_that_begin_so_come_before_one_that_looks_like_it(found: str, hint: str) -> None:
    assert close_match_hint(found, NAMES) == hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("    spines: 4\n", "    spines: 4\n    gpus_per_host: 8\n", "a plan has `fabric.server: {gpus: 8}`"),
        ("mtu: 4096", "mtu: 9000", "a port with an MTU of 9000 carries packets of 4096"),
        ("  topology:\n", "\ttopology:\n", "indent with spaces: YAML allows no tabs there"),
    ],
)
def test_what_other_tools_take_has_a_hint(old: str, new: str, hint: str) -> None:
    assert hint in errors_of(with_line(old, new))
