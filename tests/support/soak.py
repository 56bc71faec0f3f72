"""How often what is drawn at random or hit at random is tried: `make soak` tries more than `make test`."""

from __future__ import annotations

import os

SOAKS = bool(os.environ.get("FABRICBENCH_SOAK"))


def times(few: int, many: int) -> int:
    """Return how often something is tried: so few times, or so many as the tests soak."""
    return many if SOAKS else few
