"""Loads the data of figures on first use: tables of a trial, values derived from them, results of its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.faults.recovery import steps
from fabricbench.analysis.links.uplinks import EgressDistribution, switch_uplinks
from fabricbench.analysis.links.utilisation import link_use_percent
from fabricbench.analysis.record.tables import observed_chunks
from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.tcp_connections import ConnectionResult, connection_results
from fabricbench.figures import theme
from fabricbench.figures.chunks.timeline_lanes import Window
from fabricbench.figures.event_marks import Mark, marks_of
from fabricbench.figures.links.layout import DirectedLink
from fabricbench.figures.results.completion_times import TenantSample, tenant_samples
from fabricbench.figures.scales import TimeScale, time_scale
from fabricbench.results.isolation_by_seed import KeptRow, kept_rows
from fabricbench.results.job_reports import ComparisonTrials
from fabricbench.results.result_rows import ResultRow, rows_of
from fabricbench.store import Trial

if TYPE_CHECKING:
    import polars as pl


_IDLE_BELOW = 0.2
"""Fraction of the run before which everything has to be over for the rest to be idle."""
_MARGIN = 1.1
"""Time that is drawn before an idle rest, relative to the time of the last completion or change."""


class Subject:
    """A trial and the results of its run; each table is opened once, when a figure needs it.

    `chunks` is not loaded into memory. Reading may raise a `StoreError`.
    """

    def __init__(
        self, trial: Trial, rows: Callable[[], Sequence[ResultRow]], window: Window | None = None
    ) -> None:
        """Create the data source for a trial.

        Args:
            trial: The trial.
            rows: Returns the results for figures that show them.
            window: The window of zoomable figures; all by default.
        """
        self.trial = trial
        self.window: Window | None = window
        self._rows = rows

    @cached_property
    def rows(self) -> Sequence[ResultRow]:
        """The results."""
        return self._rows()

    def of_job(self, job: str) -> Subject:
        """Return the same data limited to a job, for figures that show some jobs."""
        return Subject(self.trial, lambda: self.rows, Window(job=job))

    @cached_property
    def chunks(self) -> pl.LazyFrame:
        """Table `chunks`, lazy."""
        import polars as pl

        return pl.scan_parquet(self.trial.tables.opened("chunks"))

    @cached_property
    def channels(self) -> pl.DataFrame:
        """Table `channels`."""
        return self._frame("channels")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """Table `ports`."""
        return self._frame("ports")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Table `links`."""
        return self._frame("links")

    @cached_property
    def series(self) -> pl.DataFrame:
        """Table `series`."""
        return self._frame("series")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Table `events`."""
        return self._frame("events")

    @property
    def job_colours(self) -> dict[str, str]:
        """The colour of each job of the trial."""
        return theme.job_colours([job["name"] for job in self.trial.facts.run_spec["jobs"]])

    @property
    def record(self) -> Record:
        """The trial as a record of `fabricbench.analysis`."""
        return Record(self.trial.facts.run_spec, self.trial.summary or {}, self.trial.tables)

    @property
    def chunks_observed(self) -> str:
        """Which chunks have rows: `all`, a `sample` or none (`summary`)."""
        return observed_chunks(self.trial.facts.run_spec)

    @property
    def end_ps(self) -> int:
        """End of the run [ps]."""
        return int(self.record.summary["end_ps"])

    @property
    def time_scale(self) -> TimeScale:
        """The unit of every time axis of the run."""
        return time_scale(self.end_ps)

    @property
    def time_range(self) -> list[float]:
        """Begin and end of every time axis of the run, in its unit: the whole run, or the window."""
        begin_ps, end_ps = (self.window or Window()).span_ps(self.end_ps)
        return [begin_ps / self.time_scale.ps, end_ps / self.time_scale.ps]

    @cached_property
    def marks(self) -> list[Mark]:
        """Failures, repairs and convergences."""
        return marks_of(steps(self.record))

    @cached_property
    def idle_from_ps(self) -> int | None:
        """Time after which nothing completes or changes [ps], if most of the run is later; otherwise none."""
        import polars as pl

        if not self.trial.has("chunks") or self.chunks_observed == "summary":
            return None
        last = self.chunks.select(pl.col("completed_ps").max()).collect().item()
        times_ps = [last or 0, *(mark.time_ps for mark in self.marks)]
        idle_from_ps = int(_MARGIN * max(times_ps))
        return idle_from_ps if 0 < idle_from_ps < _IDLE_BELOW * self.end_ps else None

    @cached_property
    def sampled(self) -> set[str]:
        """The quantities that were sampled."""
        metrics: set[str] = set()
        for batch in self.trial.tables.batches("series", ["metric"]):
            metrics |= set(batch.column(0).unique().to_pylist())
        return metrics

    def has_rows(self, table: str) -> bool:
        """Return whether the record has rows of a table."""
        import pyarrow.parquet as pq

        return self.trial.has(table) and pq.read_metadata(self.trial.tables.opened(table)).num_rows > 0

    @cached_property
    def fabric(self) -> tuple[list[DirectedLink], dict[str, int]]:
        """Every direction of every cable with its use, and the tier of each node."""
        tiers = dict(self.ports.select("node", "tier").iter_rows())
        return [self._directed_link(row) for row in self.links.iter_rows(named=True)], tiers

    @property
    def racks(self) -> dict[int, str]:
        """The switch at the first port of each host; empty if ports were not recorded."""
        if not self.trial.has("ports"):
            return {}
        hosts = self.ports.filter(tier=0).sort("port", descending=True)
        numbers = hosts["node"].str.extract(r"^host(\d+)$").cast(int)
        return dict(zip(numbers.to_list(), hosts["peer"].to_list(), strict=True))

    def _directed_link(self, row: dict[str, Any]) -> DirectedLink:
        return DirectedLink(
            source=str(row["from"]),
            source_port=int(row["from_port"]),
            target=str(row["to"]),
            target_port=int(row["to_port"]),
            rate_bps=int(row["rate_bps"]),
            frames=row["frames"],
            wire_bytes=int(row["bytes"]),
            busy_ps=int(row["busy_ps"]),
            use_percent=link_use_percent(int(row["busy_ps"]), self.end_ps),
        )

    @cached_property
    def uplinks(self) -> list[EgressDistribution]:
        """Every switch with several uplinks."""
        tables = self.trial.tables
        return switch_uplinks(tables.batches("ports"), tables.batches("links"), self.end_ps)

    @cached_property
    def connections(self) -> list[ConnectionResult]:
        """The TCP connections, those with most timeouts first."""
        return connection_results(self.trial.tables)

    @cached_property
    def tenants(self) -> list[TenantSample]:
        """The jobs of one trial that were also run alone."""
        return tenant_samples(self.rows)

    @cached_property
    def kept(self) -> list[KeptRow]:
        """Each job's bus bandwidth relative to itself alone, if there are several iterations."""
        return kept_rows((row.trial, row.summary, row.alone) for row in self.rows)

    @cached_property
    def queue_pairs(self) -> dict[int, str]:
        """Job and ranks of the queue pairs whose rate was sampled."""
        import polars as pl

        sampled = self.series["qp"].drop_nulls().unique().to_list()
        if not sampled:
            return {}
        columns = ["qp", "job", "src_rank", "dst_rank"]
        pairs = self.chunks.filter(pl.col("qp").is_in(sampled)).select(columns).unique().collect()
        return {qp: f"{job} {source}>{target}" for qp, job, source, target in pairs.iter_rows()}

    def _frame(self, table: str) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(self.trial.tables.table(table))


def subject_of(trial: Trial, trials: Sequence[Trial], window: Window | None = None) -> Subject:
    """Return the data source of a trial, with the trials whose results are compared."""
    return Subject(trial, lambda: rows_of(trials, trial, ComparisonTrials(trials)), window)
