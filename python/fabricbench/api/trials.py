"""Several finished trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from fabricbench.api.frames import RecordFrames
from fabricbench.api.plots import Plots
from fabricbench.api.trial import Trial

if TYPE_CHECKING:
    import polars as pl


class Trials(RecordFrames, Sequence[Trial]):
    """Finished trials, such as those of a run, in their order.

    `trials[0]` is the first, `trials[1:]` the others, and a loop goes through all.

    Example:
        >>> run.summary.select("data_size_bytes", "status").rows()
        [(16777216, 'complete'), (33554432, 'complete')]
        >>> run.ports["trial"].n_unique()
        2
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        """Take trials."""
        self._trials = tuple(trials)

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> Trials: ...
    def __getitem__(self, index: int | slice) -> Trial | Trials:
        if isinstance(index, slice):
            return Trials(self._trials[index])
        return self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Every metric of each job of each trial, as `run --format csv` has them.

        Example:
            >>> [round(each, 1) for each in run.summary["ideal_percent"]]
            [97.2, 98.1]
        """
        from fabricbench.report.frames import summary_frame
        from fabricbench.report.trials import reports_of_run

        return summary_frame(reports_of_run([trial.stored for trial in self._trials]))

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table of all trials as one frame, with the id of the trial in a first column `trial`.

        Args:
            table: `chunks`, `ports`, `priorities`, `links`, `paths`, `series`, `events` or `trials`.

        Raises:
            StoreError: The file of a trial is missing or cannot be read.

        Example:
            >>> run.frame("chunks").columns[0]
            'trial'
        """
        import polars as pl

        if not self._trials:
            return pl.DataFrame()
        frames = [
            trial.frame(table).select(pl.lit(trial.id).alias("trial"), pl.all()) for trial in self._trials
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def plot(self) -> Plots:
        """Their figures; those about one trial show the last, and `trials[i].plot` shows another.

        Raises:
            ValueError: There is no trial.

        Example:
            >>> len(run.plot.bandwidth().data) > 0
            True
        """
        if not self._trials:
            raise ValueError("there is no trial to draw")
        return Plots([trial.stored for trial in self._trials], self._trials[-1].stored)

    def __repr__(self) -> str:
        lines = [f"  {trial!r}" for trial in self._trials[:20]]
        more = len(self._trials) - len(lines)
        rest = [f"  and {more} more"] if more else []
        return "\n".join([f"<{len(self)} trials>", *lines, *rest])
