"""`compare`: pairs of trials with their metrics and ratios as a polars frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.api.trial import Trial
from fabricbench.report.documents.comparison import compared, matched
from fabricbench.report.output.data_frames import comparison_frame
from fabricbench.results.job_reports import stored_reports

if TYPE_CHECKING:
    import polars as pl


def compare(first: Trial | Sequence[Trial], second: Trial | Sequence[Trial]) -> pl.DataFrame:
    """Compare two trials, or the trials of two runs, metric by metric.

    The trials of two runs are paired by data size and iteration; if both runs sweep fields, by the values of
    these as well; if one was measured, by collective and ranks. Trials without a partner are left out.

    Returns:
        One row for each job and metric: `data_size_bytes`, `iteration`, `job`, `metric`, `unit`, `first`,
        `second`, `ratio` (second over first) and `verdict` (`better`, `worse` or `same` for the second). A
        value that could not be measured is null, and so is a ratio without both.

    Raises:
        TypeError: An argument is neither a trial nor a sequence of trials.
        ValueError: The trials have no job in common.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_(data_size="8MB")
        >>> slow = plan.with_({"fabric.topology.fabric_link": "200Gbps"})
        >>> changes = fb.compare(fb.run(plan, workspace=workspace), fb.run(slow, workspace=workspace))
        >>> dict(changes.select("metric", "verdict").iter_rows())["busbw_gb_per_s"]
        'worse'
    """
    pairs = [
        pair
        for first_trial, second_trial in _matched(_all(first), _all(second))
        for pair in compared(stored_reports(first_trial.stored), stored_reports(second_trial.stored))
    ]
    if not pairs:
        raise ValueError("the trials have no job of the same data size in common")
    return comparison_frame(pairs)


def _all(trials: object) -> list[Trial]:
    sequence = [trials] if isinstance(trials, Trial) else trials
    if not isinstance(sequence, Sequence) or not all(isinstance(trial, Trial) for trial in sequence):
        hint = "; `fabricbench.workspace().trial` finds one by its name" if isinstance(trials, str) else ""
        raise TypeError(f"compare takes trials, or those of a run, not {trials!r:.60}{hint}")
    return list(sequence)


def _matched(first: list[Trial], second: list[Trial]) -> list[tuple[Trial, Trial]]:
    """Pair trials by swept values, size and iteration; two single trials are always a pair."""
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    if any(trial.stored.is_printed for trial in (*first, *second)):
        trials_by_attempt = {trial.stored.attempt: trial for trial in (*first, *second)}
        pairs = matched([trial.stored for trial in first], [trial.stored for trial in second])
        return [
            (trials_by_attempt[left_trial.attempt], trials_by_attempt[right_trial.attempt])
            for left_trial, right_trial in pairs
        ]
    has_axes = all(any(trial.axes for trial in side) for side in (first, second))

    def pairing_key(trial: Trial) -> tuple[object, ...]:
        return trial.stored.facts.point if has_axes else (trial.data_size_bytes, trial.iteration)

    partners = {pairing_key(trial): trial for trial in second}
    candidates = [(trial, partners.get(pairing_key(trial))) for trial in first]
    return [(left_trial, right_trial) for left_trial, right_trial in candidates if right_trial is not None]
