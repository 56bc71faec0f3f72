"""Runs trials concurrently with one backend, without a record, and returns their summaries."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from fabricbench.backend.protocol import Backend, JobSummary, Progress, RefusedError, RunSummary
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    import pyarrow as pa

_PS_PER_US: Final = 1_000_000


class UnrecordedTrials:
    """Runs trials concurrently, and waits for them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._stopped = threading.Event()

    def summaries(self, trials: Sequence[PlannedTrial]) -> list[RunSummary]:
        """Return the summary of each trial; the longest trials begin first.

        Raises:
            RefusedError: The backend does not cover one of them.
            KeyboardInterrupt: The user stopped it.
        """
        outcomes = self.outcomes(trials)
        for outcome in outcomes:
            if isinstance(outcome, RefusedError):
                raise outcome
        return [outcome for outcome in outcomes if not isinstance(outcome, RefusedError)]

    def times_us(self, trials: Sequence[PlannedTrial]) -> list[list[float]]:
        """Return the completion times of the jobs of each trial [us]; see `summaries`."""
        return [[_time_us(job) for job in summary["jobs"]] for summary in self.summaries(trials)]

    def outcomes(self, trials: Sequence[PlannedTrial]) -> list[RunSummary | RefusedError]:
        """Return the summary of each trial, or why the backend does not cover it; see `summaries`."""
        order = sorted(range(len(trials)), key=lambda index: -trials[index].data_size_bytes)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            runs: dict[int, Future[RunSummary | RefusedError]] = {
                index: pool.submit(self._run, trials[index]) for index in order
            }
            try:
                return [runs[index].result() for index in range(len(trials))]
            except BaseException:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _run(self, trial: PlannedTrial) -> RunSummary | RefusedError:
        try:
            return self._backend.run(trial, self, threads=1).summary
        except RefusedError as refused:
            return refused

    def progressed(self, progress: Progress) -> None:  # noqa: ARG002 -- it shows none
        """Stop the trial if the user has; see `Observer.progressed`."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of tables, which are not stored; see `Observer.rows`."""


def _time_us(job: JobSummary) -> float:
    end_ps = job["end_ps"]
    assert end_ps is not None, "a flow without failures ends"
    return (end_ps - job["start_ps"]) / _PS_PER_US
