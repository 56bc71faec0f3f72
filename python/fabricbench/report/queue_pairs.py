"""Queue pairs by number: reading a choice such as `0,1,5-8`, and listing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fabricbench.report.text_table import Column, Row, render

_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")


class QueuePairChoiceError(ValueError):
    """A choice of queue pairs that cannot be read or names one that does not exist."""


def choose(text: str, count: int) -> list[int]:
    """Read a choice of queue pairs.

    Args:
        text: Numbers and ranges, separated by commas, such as `0,1,5-8`.
        count: Queue pairs of the run; they are numbered from 0.

    Returns:
        The numbers, ascending, each once.

    Raises:
        QueuePairChoiceError: With what was found and what is allowed.
    """
    chosen: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise QueuePairChoiceError(
                f'"{part.strip()}" is no queue pair; allowed: numbers and ranges, such as 0,1,5-8'
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise QueuePairChoiceError(f'the range "{part.strip()}" is empty; write {last}-{first}')
        if last >= count:
            raise QueuePairChoiceError(f"no queue pair {max(first, count)}; the trial has 0 to {count - 1}")
        chosen.update(range(first, last + 1))
    return sorted(chosen)


_TEXTS = ("job", "source host", "target host", "source address", "target address")
_HEADS = (
    "QP", "job", "part", "channel", "source rank", "target rank", "source host", "target host",
    "source address", "target address", "UDP port",
)  # fmt: skip
_COLUMNS = [Column(tuple(head.split()), is_text=head in _TEXTS) for head in _HEADS]


def listing(pairs: Iterable[Sequence[object]]) -> str:
    """List queue pairs as a table.

    Args:
        pairs: For each its number, job, part, channel, sending and receiving rank, host, address, UDP port.
    """
    return render(_COLUMNS, [Row([str(value) for value in pair]) for pair in pairs], colour=False)
