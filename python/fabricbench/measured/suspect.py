"""A cause that may be behind a measurement, with its confidence, evidence and test.

`certain` is what a line says outright, `likely` what a line and a ratio say together, `possible` what a ratio
alone does not exclude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

CERTAIN, LIKELY, POSSIBLE = 3, 2, 1
CONFIDENCE: Final[Mapping[int, str]] = {CERTAIN: "certain", LIKELY: "likely", POSSIBLE: "possible"}
AS_EXPECTED: Final = "as-expected"


@dataclass(frozen=True)
class Suspect:
    """A cause that may be behind a measurement.

    Attributes:
        cause: Its name.
        sentence: What it is.
        confidence: `CERTAIN`, `LIKELY` or `POSSIBLE`.
        evidence: What says so, each with its line or its numbers.
        tells: The test or counter that tells it apart from others.
        explains: Which part of what is missing to the target it explains, 0 to 1; none if that is not known.
        is_guess: Whether a ratio alone speaks for it, which a line of the file may rule out.
        adds_to: Causes that it adds to: it is shown right after the first of them.
    """

    cause: str
    sentence: str
    confidence: int
    evidence: Sequence[str]
    tells: str
    explains: float | None = None
    is_guess: bool = False
    adds_to: Sequence[str] = ()
