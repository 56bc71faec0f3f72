"""Formats text for messages: counts, sizes, user input on one line, suggested names, install commands."""

import json
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final

_JOINT: Final = re.compile("[-_ ]")
_AMERICAN_IZE: Final = re.compile("iz(?=e|ing|ation)")
_COMPLETIONS_MAX: Final = 5
"""Most suggested names that begin with the text of the user."""


def one_line(text: str, length_max: int) -> str:
    """Return text of a user for a single line: escaped for terminals, and shortened.

    Line ends, control characters, marks of text direction, and halves of surrogate pairs are written as
    escapes. The middle of a too long text is cut.
    """
    if len(text) > length_max:
        end = length_max // 4
        text = f"{text[: length_max - end - 3]}...{text[-end:]}"
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def counted(number: int, noun: str) -> str:
    """Format a count with its noun, in the plural unless it is 1."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Return the noun of a count, in the plural unless it is 1."""
    return noun if number == 1 else f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def runs_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of numbers that follow each other."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def data_size(size_bytes: int) -> str:
    """Format a data size in the largest unit that leaves at most two decimals (1 KB is 1024 bytes)."""
    for unit, scale in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if size_bytes >= scale and (size_bytes * 100) % scale == 0:
            return f"{size_bytes / scale:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size_bytes} B"


def same_name(written: object, allowed: Iterable[str]) -> str | None:
    """Return the only name that differs in hyphens, capitals or spelling; none if there is no single one.

    `rail_optimized` is `rail-optimised`, and `AllReduce` is `all-reduce`.
    """
    if not isinstance(written, str):
        return None
    matches = [name for name in allowed if _normalised(name) == _normalised(written)]
    return matches[0] if len(matches) == 1 else None


def _normalised(name: str) -> str:
    """Return a name without hyphens, spaces and capitals, in British spelling, for comparison."""
    joined = _JOINT.sub("", name.lower())
    return _AMERICAN_IZE.sub("is", joined).replace("neighbor", "neighbour")


def close_match_hint(found: object, allowed: Iterable[object]) -> str:
    """Suggest the allowed names that begin with the found text, if they are few, or else the nearest one.

    Hyphens, underscores and capitals do not count: `bus_bw` begins `busbw_ratio`.
    """
    names = [str(name) for name in allowed]
    completions = [name for name in names if found and name.startswith(str(found))]
    if not completions and (matching_name := same_name(str(found), names)):
        completions = [matching_name]
    if not completions and (start := _normalised(str(found))):
        completions = [name for name in names if _normalised(name).startswith(start)]
    suggestions = (
        completions if 0 < len(completions) <= _COMPLETIONS_MAX else get_close_matches(str(found), names, n=1)
    )
    return f"did you mean {' or '.join(f'`{name}`' for name in suggestions)}?" if suggestions else ""


def plan_value(value: object) -> str:
    """Return the value of a swept field as text: text unchanged, other values on one line as in a plan."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace('"', "")


def axes_text(axes: Iterable[tuple[str, object]]) -> str:
    """Format the values of swept fields: `fabric.switch.ecn.kmin 100KB, transport.window 64`."""
    return ", ".join(f"{name} {plan_value(value)}" for name, value in axes)


def install_hint(extra: str, package: str = "") -> str:
    """Return a command that installs the libraries of an extra of fabricbench, into the Python that runs.

    It names the libraries, so that it works for every kind of installation of fabricbench.

    Args:
        extra: Name of the extra.
        package: Library to name if fabricbench is not installed as a package.
    """
    from importlib.metadata import PackageNotFoundError, requires

    extra_marker = re.compile(rf"\s*;.*extra == ['\"]{re.escape(extra)}['\"].*")
    try:
        requirements = [
            extra_marker.sub("", requirement)
            for requirement in requires("fabricbench") or ()
            if extra_marker.search(requirement)
        ]
    except PackageNotFoundError:
        requirements = []
    libraries = " ".join(f"'{requirement}'" for requirement in requirements or [package or extra])
    return f"{_python()} -m pip install {libraries}"


def _python() -> str:
    """Return the command for the Python that runs, in a shell in this folder."""
    python = sys.executable or "python3"
    with suppress(OSError):  # a deleted folder
        return python.removeprefix(f"{Path.cwd()}/")
    return python
