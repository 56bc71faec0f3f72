"""A finished trial in Python: identity, summary, result tables, figures, simulated predictions, report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.api.causes import Diagnosis
from fabricbench.api.frames import RecordFrames, check_table
from fabricbench.api.plots import Plots
from fabricbench.report.documents.port_map import table_of_trial
from fabricbench.report.html.run_page import write_report
from fabricbench.report.output.atomic_files import atomic_file, check_page_name
from fabricbench.report.output.data_frames import summary_frame
from fabricbench.report.output.notebook_cell import trials_cell
from fabricbench.report.output.perfetto import (
    CHUNKS_MAX,
    Chosen,
    TooManyChunksError,
    has_chunks,
    write_trace_file,
)
from fabricbench.results.axes import axes_label
from fabricbench.results.job_reports import ComparisonTrials, stored_reports
from fabricbench.store import Trial as StoredTrial, Workspace as Store
from fabricbench.words import data_size

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


class Trial(RecordFrames):
    """A finished trial: one run of the simulator, with its record, or an imported result, without.

    Example:
        >>> run[0]
        <Trial ... jct-alltoall, 16 MB: complete>
        >>> run[0].chunks.height
        56
    """

    def __init__(self, stored: StoredTrial, store: Store) -> None:
        """Take a trial of a store; `fabricbench.workspace` and `fabricbench.run` return trials."""
        self._stored = stored
        self._store = store

    @property
    def id(self) -> str:
        """Hash of specification and engine, 12 hexadecimal digits: the same id is the same result.

        Example:
            >>> len(run[0].id)
            12
        """
        return self._stored.id

    @property
    def plan(self) -> str:
        """Name of the plan.

        Example:
            >>> run[0].plan
            'jct-alltoall'
        """
        return self._stored.facts.plan

    @property
    def tag(self) -> str:
        """Tag that the user gave to the run; may be empty.

        Example:
            >>> run[0].tag
            'example'
        """
        return self._stored.facts.tag

    @property
    def variant(self) -> str:
        """Name of the variant of the plan; `base` if it has none.

        Example:
            >>> run[0].variant
            'base'
        """
        return self._stored.facts.variant

    @property
    def iteration(self) -> int:
        """Number of the iteration, from 0.

        Example:
            >>> run[0].iteration
            0
        """
        return self._stored.facts.iteration

    @property
    def axes(self) -> dict[str, Any]:
        """Fields that the plan sweeps, by their dotted paths, with their values as the plan writes them.

        Example:
            >>> run[0].axes
            {}
        """
        return dict(self._stored.facts.axes)

    @property
    def data_size_bytes(self) -> int:
        """Data size of the sweep's step [bytes].

        Example:
            >>> run[0].data_size_bytes
            16777216
        """
        return self._stored.facts.data_size_bytes

    @property
    def status(self) -> str:
        """`complete`, or `incomplete` if a chunk never completed.

        Example:
            >>> run[0].status
            'complete'
        """
        return self._stored.status

    @property
    def notes(self) -> list[str]:
        """Notes on its result: reason for the choice of its backend, error bound of a model.

        Example:
            >>> run[0].notes
            []
        """
        return list(self._stored.notes)

    @property
    def run_spec(self) -> dict[str, Any]:
        """The complete specification that was run.

        Example:
            >>> run[0].run_spec["transport"]["mtu_bytes"]
            4096
        """
        return dict(self._stored.facts.run_spec)

    @property
    def stored(self) -> StoredTrial:
        """The trial in the workspace: message, times, machine, cost of the engine.

        Example:
            >>> run[0].stored.engine["packet_hops"] > 100_000
            True
        """
        return self._stored

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The metrics of each job, as in `run --format csv`, without columns that have no value.

        Example:
            >>> run[0].summary["frames_lost"].to_list()
            [0]
        """
        return summary_frame(stored_reports(self._stored, ComparisonTrials(self._family)))

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table of the record as a polars frame; docs/records.md explains the columns.

        Args:
            table: `chunks`, `ports`, `priorities`, `links`, `paths`, `reordering`, `series`, `connections`,
                `events` or `trials`.

        Raises:
            ValueError: There is no such table.
            StoreError: The file is missing or cannot be read.

        Example:
            >>> run[0].frame("ports").equals(run[0].ports)
            True
        """
        import polars as pl

        return pl.DataFrame(self.arrow(table))

    def lazy(self, table: str) -> pl.LazyFrame:
        """Return a table of the record as a lazy frame, so that a filter reads only the necessary parts.

        Raises:
            ValueError: There is no such table.
            StoreError: The file is missing or cannot be read.

        Example:
            >>> run[0].lazy("chunks").select("fct_ps").collect().height
            56
        """
        import polars as pl

        check_table(table)
        return pl.scan_parquet(self._stored.tables.opened(table))

    def arrow(self, table: str) -> pa.Table:
        """Return a table of the record as an Arrow table.

        Raises:
            ValueError: There is no such table.
            StoreError: The file is missing or cannot be read.

        Example:
            >>> run[0].arrow("chunks").num_rows
            56
        """
        check_table(table)
        return self._stored.tables.table(table)

    @cached_property
    def port_map(self) -> pl.DataFrame:
        """Each rank with chassis, port, switch port, addresses, queue pairs and DSCP, as `show --ports`.

        Raises:
            ValueError: It is an imported result, which has no ranks at ports.

        Example:
            >>> run[0].port_map["ip"].to_list()[:2]
            ['10.0.0.1', '10.0.0.2']
        """
        return self._of_spec("port_map")

    @cached_property
    def queue_pairs(self) -> pl.DataFrame:
        """Every queue pair with ranks, hosts, addresses, source port, destination QP number and DSCP.

        Raises:
            ValueError: It is an imported result, which has no queue pairs.

        Example:
            >>> run[0].queue_pairs.height
            56
        """
        return self._of_spec("queue_pairs")

    def _of_spec(self, table: str) -> pl.DataFrame:
        import polars as pl

        rows = table_of_trial(self._stored, table)
        if rows is None:
            raise ValueError(f"trial {self.id} was imported and has no ranks at ports")
        return pl.DataFrame(rows)

    @property
    def plot(self) -> Plots:
        """Its figures: `.plot.cdf()`, `.plot.timeline()` and so on.

        Example:
            >>> run[0].plot.timeline().layout.yaxis.title.text
            'sending rank'
        """
        return Plots([self._stored], self._stored, lambda: self._store.twins([self._stored]))

    def diagnose(self) -> Diagnosis:
        """Return why its jobs are slow, as `explain` does: causes with evidence and remedies.

        Raises:
            StoreError: A table of its record is missing or cannot be read.

        Example:
            >>> run[0].diagnose().slow_jobs
            []
        """
        return Diagnosis(self._stored)

    def write_timeline(
        self, path: str | Path, *, jobs: Collection[str] = (), ranks: Collection[int] = ()
    ) -> None:
        """Write a timeline for Perfetto (ui.perfetto.dev), as `export --table timeline`.

        Args:
            path: The file, replaced if it exists; compressed if its name ends in `.gz`.
            jobs: Names of the jobs to write; all by default.
            ranks: Sending ranks to write; all by default.

        Raises:
            ValueError: The record has no rows of chunks, or more than a trace may have.
            OutputFileError: The file cannot be written.

        Example:
            >>> run[0].write_timeline(workspace / "timeline.json", ranks=range(4))
        """
        if not has_chunks(self._stored):
            raise ValueError(f"trial {self.id} has no rows of chunks: its plan observes a summary alone")
        chosen = Chosen(frozenset(jobs), frozenset(ranks))
        target = Path(path)
        try:
            with atomic_file(target) as stream:
                write_trace_file(self._stored, chosen, target.name, stream)
        except TooManyChunksError as error:
            message = f"{error.count:,} chunks; allowed: {CHUNKS_MAX:,}; choose by ranks or jobs"
            raise ValueError(message) from error

    def twins(self) -> Sequence[Trial]:
        """Return the trials of the same run spec by other backends, newest first.

        The twin of a measured trial is its prediction by the simulator, if one was requested.

        Example:
            >>> run[0].twins()
            []
        """
        return [Trial(twin, self._store) for twin in self._store.twins([self._stored])]

    def write_report(self, path: str | Path) -> None:
        """Write the report of the run that this trial belongs to, its detailed plots about this one.

        Args:
            path: The HTML file; replaced if it exists.

        Raises:
            OutputFileError: It cannot be written, or its name is that of another format than HTML.

        Example:
            >>> run[0].write_report(workspace / "report.html")
        """
        check_page_name(Path(path))
        twins = self._store.twins(self._store.suite(self._stored))
        write_report(self._family, self._stored, Path(path), twins=twins)

    @property
    def _family(self) -> Sequence[StoredTrial]:
        family = self._store.family(self._stored)
        # In the catalog, a later run of the same trial may have replaced it.
        return family if self.id in {member.id for member in family} else [*family, self._stored]

    def __repr__(self) -> str:
        variant = "" if self.variant == "base" else self.variant
        parts = [self.plan, variant, axes_label(self._stored), data_size(self.data_size_bytes)]
        return f"<Trial {self.id} {', '.join(part for part in parts if part)}: {self.status}>"

    def _repr_html_(self) -> str:
        """Return the trial as HTML for the cell of a notebook."""
        return trials_cell(f"Trial {self.id}", stored_reports(self._stored, ComparisonTrials(self._family)))
