"""A sequence of finished trials in Python: summary, selection, result tables and figures of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from fabricbench.api.frames import RecordFrames, check_table
from fabricbench.api.plots import Plots
from fabricbench.api.trial import Trial
from fabricbench.report.documents.comparison import UnknownReferenceError, of_variants
from fabricbench.report.documents.twins import NoTwinError, twins_of
from fabricbench.report.output.data_frames import search_frame, summary_frame, twins_frame, variants_frame
from fabricbench.report.output.notebook_cell import trials_cell
from fabricbench.results.job_reports import reports_of_run
from fabricbench.searched import Searched
from fabricbench.store import Trial as StoredTrial
from fabricbench.words import counted

if TYPE_CHECKING:
    import polars as pl


class Trials(RecordFrames, Sequence[Trial]):
    """Ordered sequence of finished trials, such as those of a run.

    `trials[0]` is the first, `trials[1:]` the others; a loop iterates over all.

    Example:
        >>> run.summary.select("data_size_bytes", "status").rows()
        [(16777216, 'complete'), (33554432, 'complete')]
        >>> run.ports["trial"].n_unique()
        2
    """

    def __init__(self, trials: Sequence[Trial], search_results: Sequence[Searched] = ()) -> None:
        """Take trials, and the results of their search if there was one."""
        self._trials = tuple(trials)
        self._search_results = tuple(search_results)

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
        """The metrics of each job of each trial, as in `run --format csv`, without empty columns.

        Example:
            >>> [round(each, 1) for each in run.summary["ideal_percent"]]
            [97.2, 98.1]
        """
        return summary_frame(reports_of_run([trial.stored for trial in self._trials]))

    @cached_property
    def found(self) -> pl.DataFrame:
        """Results of the plan's search: a row for each variant, size and combination of swept values.

        `holds` is the value of `field` with which the criteria hold, as a plan writes it, and `fails` the
        nearest tried value with which they do not; null if no tried value does so. `find` is `highest`
        or `lowest`, `tried` counts values, and `data_size_bytes` is null where no sizes are swept. After them
        is a column for each swept field, by its dotted path. Without a search there is no row.

        Example:
            >>> import fabricbench as fb
            >>> plan = fb.load("bmwg-burst").with_({"sweep": None, "search.steps": 3})
            >>> fb.run(plan, workspace=workspace).found.select("holds", "fails", "tried").rows()
            [('513KB', '1MB', 5)]
            >>> run.found.height
            0
        """
        return search_frame(self._search_results)

    def by_variant(self, reference: str | None = None) -> pl.DataFrame:
        """Compare the variants of the run with one of them, as `compare --by variant` does.

        Args:
            reference: Name of the variant to compare with; the plan's own by default.

        Returns:
            One row for each job, variant and metric at each size and iteration: `job`, `metric`, `unit`,
            `first` (the reference), `second` (the variant), `ratio` (second over first), `verdict`, and
            identity of both trials. A ratio is null where a job is not complete.

        Raises:
            ValueError: The trials are of a plan without variants, or none is of the reference.

        Example:
            >>> import fabricbench as fb
            >>> changes = [{"name": "ideal"}, {"name": "slow", "set": {"jobs.0.step_overhead": "1us"}}]
            >>> plan = fb.load("jct-alltoall").with_(variants=changes, data_size="1MB")
            >>> rows = fb.run(plan, workspace=workspace).by_variant()
            >>> rows.filter(metric="completion_time_ms")["second_variant"].to_list()
            ['slow']
        """
        stored = [trial.stored for trial in self._trials]
        if not stored or stored[0].facts.reference is None:
            raise ValueError("the trials are of a plan without variants")
        try:
            return variants_frame(of_variants(stored, stored[0], reference))
        except UnknownReferenceError as error:
            raise ValueError(str(error)) from error

    def by_twin(self) -> pl.DataFrame:
        """Compare the run with its prediction by the simulator, as `compare --by twin` does.

        The predictions are the trials of the same run specs in the workspace, as `run(plan, twin=True)`
        makes them; a simulated run is compared with its measurements.

        Returns:
            One row for each job of each measured trial: `measured_...` and `predicted_...` trial, time [ms]
            and bandwidths [GB/s], `deviation_percent`, the likely `causes` as one text, and in `missing` why
            there is no prediction.

        Raises:
            ValueError: There is no trial, or the run was simulated and never measured.

        Example:
            >>> run.by_twin()
            Traceback (most recent call last):
            ...
            ValueError: the run was simulated, and no other backend measured a trial of it
        """
        try:
            return twins_frame(twins_of([trial.stored for trial in self._trials], self._others))
        except NoTwinError as error:
            raise ValueError(str(error)) from error

    @property
    def _others(self) -> list[StoredTrial]:
        """Trials of the same run specs by other backends."""
        return [twin.stored for trial in self._trials for twin in trial.twins()]

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table of all trials as one frame, with the id of the trial in a first column `trial`.

        Args:
            table: `chunks`, `ports`, `priorities`, `links`, `paths`, `reordering`, `series`, `connections`,
                `events` or `trials`.

        Raises:
            ValueError: There is no such table.
            StoreError: The file of a trial is missing or cannot be read.

        Example:
            >>> run.frame("chunks").columns[0]
            'trial'
        """
        import polars as pl

        check_table(table)
        if not self._trials:
            return pl.DataFrame()
        frames = [
            trial.frame(table).select(pl.lit(trial.id).alias("trial"), pl.all()) for trial in self._trials
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def plot(self) -> Plots:
        """Their figures; figures of one trial show the last trial, and `trials[i].plot` another one.

        Raises:
            ValueError: There is no trial.

        Example:
            >>> len(run.plot.bandwidth().data) > 0
            True
        """
        if not self._trials:
            raise ValueError("there is no trial to draw")
        stored = [trial.stored for trial in self._trials]
        return Plots(stored, stored[-1], lambda: self._others)

    def __repr__(self) -> str:
        lines = [f"  {trial!r}" for trial in self._trials[:20]]
        omitted = len(self._trials) - len(lines)
        omission = [f"  and {omitted} more"] if omitted else []
        return "\n".join([f"<{counted(len(self), 'trial')}>", *lines, *omission])

    def _repr_html_(self) -> str:
        """Return the trials as HTML for the cell of a notebook."""
        return trials_cell(
            counted(len(self), "trial"), reports_of_run([trial.stored for trial in self._trials])
        )
