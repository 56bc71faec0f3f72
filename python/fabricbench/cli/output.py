"""The only writers of the command line: data to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from fabricbench.words import one_line

if TYPE_CHECKING:
    from fabricbench.plan.loaded import LoadedPlan

_LINE_LENGTH_MAX: Final = 4_000
"""Longest line of a message."""


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write(text: str) -> None:
    """Write data, ending with a line feed; what the encoding of standard output has not, as an escape."""
    text = text if text.endswith("\n") else f"{text}\n"
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def note(text: str) -> None:
    """Write a message for the user; what a name or a file brought along never steers the terminal."""
    sys.stdout.flush()
    try:
        sys.stderr.write("".join(f"{one_line(line, _LINE_LENGTH_MAX)}\n" for line in text.split("\n")))
    except BrokenPipeError:
        raise
    except OSError:
        return  # where standard error takes nothing either, the exit status has to say it


def warn(loaded: LoadedPlan) -> None:
    """Write what is odd about a plan."""
    for warning in loaded.warnings:
        note(warning.text("warning"))


def has_colour() -> bool:
    """Tell whether data goes to a terminal that may be shown styles (see no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
