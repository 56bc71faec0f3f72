"""Runs trials concurrently without a record, for times only."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from fabricbench.backend.protocol import Backend, Progress
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    import pyarrow as pa

_PS_PER_US: Final = 1_000_000


class UnrecordedTrials:
    """Runs trials with one backend, as many at once as there are cores, and waits for them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._stopped = threading.Event()

    def times_us(self, trials: Sequence[PlannedTrial]) -> list[list[float]]:
        """Return the completion times of the jobs of each trial [us]; the longest trials begin first.

        Raises:
            RefusedError: The backend does not cover a trial.
            KeyboardInterrupt: The user stopped it.
        """
        order = sorted(range(len(trials)), key=lambda index: -trials[index].data_size_bytes)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            runs = {index: pool.submit(self._times_us, trials[index]) for index in order}
            try:
                return [runs[index].result() for index in range(len(trials))]
            except BaseException:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _times_us(self, trial: PlannedTrial) -> list[float]:
        jobs: Sequence[Mapping[str, Any]] = self._backend.run(trial, self, threads=1).summary["jobs"]
        assert all(job["end_ps"] is not None for job in jobs), "a flow without failures ends"
        return [(job["end_ps"] - job["start_ps"]) / _PS_PER_US for job in jobs]

    def progressed(self, progress: Progress) -> None:  # noqa: ARG002 -- it shows none
        """Stop the trial if the user has; see `Observer.progressed`."""
        if self._stopped.is_set():
            raise KeyboardInterrupt

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of tables, which are not stored; see `Observer.rows`."""
