"""Lists by seed each job's bandwidth next to others relative to alone, and other jobs' load on its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabricbench.analysis.comparison.isolation import Spread, spread
from fabricbench.analysis.links.path_overlap import Placement, placements
from fabricbench.analysis.record.tables import ALL, observed_chunks
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import PAUSES
from fabricbench.results.axes import axes_label
from fabricbench.results.sizes import shown_size
from fabricbench.results.solo_trials import Alone
from fabricbench.store import Trial
from fabricbench.words import counted

MAX_TRIALS = 200
"""Largest number of trials whose paths are read."""
_MAX_PAIRS = 8


@dataclass(frozen=True)
class KeptRow:
    """Bus bandwidth of a job relative to alone, in one iteration.

    Attributes:
        name: The job, with its variant and data size if there are several.
        iteration: The iteration.
        kept_percent: Bus bandwidth next to others, relative to alone [%].
        pauses: Pause frames that its hosts received; none without PFC.
        placement: Overlap of its paths with those of others, as text; empty if unknown.
        mean_overlap: Mean number of chunks of others on the link of one of its own; none if unknown.
    """

    name: str
    iteration: int
    kept_percent: float
    pauses: float | int | None
    placement: str
    mean_overlap: float | None

    @property
    def label(self) -> str:
        """Iteration and placement, as text."""
        return ", ".join(part for part in (f"iteration {self.iteration}", self.placement) if part)


def kept_rows(results: Iterable[tuple[Trial, Summary, Alone | None]]) -> list[KeptRow]:
    """Return each job in each iteration, if there are several; paths are read of at most `MAX_TRIALS` trials.

    Raises:
        StoreError: A table cannot be read.
    """
    completed = [
        (trial, summary, alone.kept_percent)
        for trial, summary, alone in results
        if alone is not None and alone.kept_percent is not None
    ]
    if len({trial.facts.iteration for trial, _, _ in completed}) < 2:
        return []
    sizes = {(summary.job, summary.data_size_bytes) for _, summary, _ in completed}
    many_sizes = len(sizes) > len({job for job, _ in sizes})
    many_variants = len({trial.facts.variant for trial, _, _ in completed}) > 1
    of_trial: dict[str, dict[str, Placement]] = {}
    rows = []
    for trial, summary, kept_percent in completed:
        has_all_chunks = observed_chunks(trial.facts.run_spec) == ALL
        if trial.id not in of_trial and len(of_trial) < MAX_TRIALS and has_all_chunks:
            of_trial[trial.id] = placements(trial.tables)
        placement = of_trial.get(trial.id, {}).get(summary.job)
        size = f", {shown_size(trial, summary)}" if many_sizes else ""
        variant = f", {trial.facts.variant}" if many_variants else ""
        variant += f", {axes}" if (axes := axes_label(trial)) else ""
        rows.append(
            KeptRow(
                f"{summary.job}{variant}{size}",
                trial.facts.iteration,
                kept_percent,
                summary.value(PAUSES.name),
                _text(placement) if placement else "",
                placement.mean_overlap if placement else None,
            )
        )
    return rows


def _text(placement: Placement) -> str:
    shown = "; ".join(pair.text for pair in placement.pairs[:_MAX_PAIRS])
    unnamed = len(placement.pairs) - _MAX_PAIRS
    return shown if unnamed <= 0 else f"{shown}; and {counted(unnamed, 'more rank pair')}"


def kept_spreads(rows: Sequence[KeptRow]) -> dict[str, Spread]:
    """Return the distribution of each job's relative bandwidth over the iterations."""
    names = dict.fromkeys(row.name for row in rows)
    spreads = {name: spread([row.kept_percent for row in rows if row.name == name]) for name in names}
    return {name: spread_of_job for name, spread_of_job in spreads.items() if spread_of_job}
