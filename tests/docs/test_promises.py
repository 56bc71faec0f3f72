"""What docs/promises.md names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_what_holds_it_and_that_exists() -> None:
    rows = [line for line in (ROOT / "docs/promises.md").read_text().splitlines() if line.startswith("| ")]
    promises = [line.split("|")[2] for line in rows if line.split("|")[1].strip() != "promise"]
    assert len(promises) > 20
    for held_by in promises:
        names = re.findall(r"`([^`]+)`", held_by)
        assert names, held_by
        for name in names:
            assert (ROOT / name).exists(), name
