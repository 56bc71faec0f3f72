"""Files that the documents for developers name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_FROM_THE_ROOT = re.compile(r"`((?:crates|python|tests|tools|web|docs|plans|fuzz|\.github)/[\w./{},-]+)`")


@pytest.mark.parametrize(
    "page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/performance.md", "docs/promises.md"]
)
def test_a_path_that_a_page_names_exists(page: str) -> None:
    named = set(_FROM_THE_ROOT.findall((ROOT / page).read_text()))
    missing = sorted(each for each in named if "NAME" not in each and not (ROOT / each).exists())
    assert not missing


def test_the_map_follows_one_plan_and_one_packet() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for title in ("## One plan, from file to verdict", "## One packet, from work request to row"):
        section = text.split(title)[1].split("\n## ")[0]
        steps = re.findall(r"^\d+\. .*?(?=^\d+\. |\Z)", section, re.MULTILINE | re.DOTALL)
        assert len(steps) == 8
        assert all(_FROM_THE_ROOT.search(step) for step in steps)
