"""The only writers of the command line: data to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from enum import StrEnum


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write(text: str) -> None:
    """Write data, ending with a line feed."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def note(text: str) -> None:
    """Write a message for the user."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")


def has_colour() -> bool:
    """Tell whether data goes to a terminal that may be shown styles (see no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
