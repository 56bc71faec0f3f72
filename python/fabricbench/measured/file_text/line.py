"""`Line`, a line of a file with its number, and `EvidenceLine`, a line shown as evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_NOISE = re.compile(
    r"\bNCCL (INFO|WARN|TRACE|version)|Conflicting CPU frequency|CPU Frequency is not max"
    r"|^\s*(warning|note)\b|^\s*\[|^\S+:\d+:\d+ ",
    re.IGNORECASE,
)
"""Lines that libraries write between the rows of a table."""


@dataclass(frozen=True)
class Line:
    """A line and its number, from 1."""

    number: int
    text: str

    @property
    def is_noise(self) -> bool:
        """Whether a library wrote it."""
        return bool(_NOISE.search(self.text))

    def with_text(self, text: str) -> Line:
        """Return a line of this number with another text."""
        return replace(self, text=text)


SHOWN_MAX = 160
"""Most characters of a line shown as evidence."""


@dataclass(frozen=True)
class EvidenceLine:
    """A line that is evidence: its number, and its text without the prefix of a launcher or logger."""

    line: int
    text: str

    def __str__(self) -> str:
        """Return it as evidence."""
        return f"line {self.line}: {self.text}"
