"""Output formats; writes data to standard output, and notes and warnings to standard error; YAML text."""

from __future__ import annotations

import os
import sys
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final

from fabricbench.words import one_line

if TYPE_CHECKING:
    from fabricbench.plan.loaded_plan import LoadedPlan

_LINE_LENGTH_MAX: Final = 4_000
"""Longest line of a message."""


class Format(StrEnum):
    """Output format of results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Verbosity(Enum):
    """How much is written to standard error beside warnings, verdict and errors."""

    QUIET = "nothing"
    NORMAL = "notes and progress"
    VERBOSE = "notes, and a line for each trial that starts or ends"


def write(text: str) -> None:
    """Write data, ending with a line feed; characters missing in the output's encoding are escaped."""
    text = text if text.endswith("\n") else f"{text}\n"
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


_is_quiet = False


def set_quiet(*, quiet: bool) -> None:
    """Set whether remarks are hidden from now on."""
    global _is_quiet  # noqa: PLW0603 -- one setting of the process
    _is_quiet = quiet


def remark(text: str) -> None:
    """Write a message for the user that `--quiet` hides."""
    if not _is_quiet:
        note(text)


def note(text: str) -> None:
    """Write a message for the user; control characters from names or files never reach the terminal."""
    sys.stdout.flush()
    try:
        sys.stderr.write("".join(f"{one_line(line, _LINE_LENGTH_MAX)}\n" for line in text.split("\n")))
    except BrokenPipeError:
        raise
    except OSError:
        return  # if standard error cannot be written either, only the exit status is left


def warn(loaded: LoadedPlan) -> None:
    """Write the warnings of a plan."""
    for warning in loaded.warnings:
        note(warning.text("warning"))


def has_colour() -> bool:
    """Return whether standard output is a terminal that accepts styles (see no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
