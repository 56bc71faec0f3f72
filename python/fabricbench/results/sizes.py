"""Formats sizes of jobs for tables and plots: data sizes or message sizes, whichever the plan sweeps."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.summary.bandwidth import message_size
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.store import Trial
from fabricbench.words import data_size

_MESSAGE = "message"


def shown_bytes(trial: Trial, summary: Summary) -> int:
    """Return the size of a job [bytes], of the kind that its plan sweeps."""
    if trial.facts.size_kind != _MESSAGE:
        return summary.data_size_bytes
    return message_size(summary.collective, summary.ranks, summary.data_size_bytes)


def shown_size(trial: Trial, summary: Summary, *, with_sweep: bool = False) -> str:
    """Return the size of a job as text, of the kind that its plan sweeps; optionally with the sweep's."""
    size = data_size(shown_bytes(trial, summary))
    return f"{size} (sweep {data_size(trial.facts.data_size_bytes)})" if with_sweep else size


def size_title(trials: Sequence[Trial]) -> str:
    """Return the title of sizes: `message size` if all trials have these, `size` if some, or `data size`."""
    kinds = {trial.facts.size_kind for trial in trials}
    return "size" if len(kinds) > 1 else "message size" if kinds == {_MESSAGE} else "data size"
