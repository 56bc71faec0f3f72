"""`Suspect`: a possible cause of a measurement, with its confidence, evidence and test.

`certain`: a line of the file states it. `likely`: a line and a ratio support it. `possible`: only a ratio
supports it.
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
    """A possible cause of a measurement.

    Attributes:
        cause: Its name.
        sentence: Description.
        confidence: `CERTAIN`, `LIKELY` or `POSSIBLE`.
        evidence: Lines and numbers that support it.
        tells: Test or counter that separates it from other causes.
        explains: Fraction of the missing bandwidth that it explains, 0 to 1; none if unknown.
        is_guess: Whether its only evidence is a ratio; a line of the file may rule it out.
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
