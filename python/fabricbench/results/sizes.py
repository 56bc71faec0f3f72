"""The size that a plan swept, as tables and plots show it: data sizes or message sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.analysis.bandwidth import message_size
from fabricbench.words import data_size

if TYPE_CHECKING:
    from fabricbench.analysis.summary import Summary
    from fabricbench.store import Trial

_MESSAGE = "message"


def shown_bytes(trial: Trial, summary: Summary) -> int:
    """Return the size of a job [bytes], of the kind that its plan swept."""
    if trial.facts.size_kind != _MESSAGE:
        return summary.data_size_bytes
    return message_size(summary.collective, summary.ranks, summary.data_size_bytes)


def shown_size(trial: Trial, summary: Summary, *, with_sweep: bool = False) -> str:
    """Write the size of a job, of the kind that its plan swept, and that of the sweep if it is wanted."""
    size = data_size(shown_bytes(trial, summary))
    return f"{size} (sweep {data_size(trial.facts.data_size_bytes)})" if with_sweep else size


def size_title(trials: Sequence[Trial]) -> str:
    """Name the sizes of trials: `message size` if all have such, `size` if some do, `data size` otherwise."""
    kinds = {trial.facts.size_kind for trial in trials}
    return "size" if len(kinds) > 1 else "message size" if kinds == {_MESSAGE} else "data size"
