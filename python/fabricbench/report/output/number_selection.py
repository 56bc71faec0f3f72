"""Parses a selection of numbered items, such as `0,1,5-8` for queue pairs."""

from __future__ import annotations

import re

_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")


class ChoiceError(ValueError):
    """A selection that is malformed or names something that does not exist."""


def choose(text: str, count: int, noun: str) -> list[int]:
    """Parse a selection.

    Args:
        text: Numbers and ranges, separated by commas, such as `0,1,5-8`.
        count: Number of things in the trial; they are numbered from 0.
        noun: Name of the things, such as `queue pair`.

    Returns:
        The numbers, ascending, each once.

    Raises:
        ChoiceError: A part is malformed, empty or out of range; the text has the allowed numbers.
    """
    chosen: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ChoiceError(f'"{part.strip()}" is no {noun}; allowed: numbers and ranges, such as 0,1,5-8')
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ChoiceError(f'the range "{part.strip()}" is empty; write {last}-{first}')
        if last >= count:
            raise ChoiceError(f"no {noun} {max(first, count)}; the trial has 0 to {count - 1}")
        chosen.update(range(first, last + 1))
    return sorted(chosen)
