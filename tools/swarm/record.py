"""Record of a run in memory: its tables, summary and run spec; `run_trial` runs a trial and returns it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pyarrow as pa

from fabricbench.backend.registry import get_backend
from fabricbench.backend.sim import ENGINE_FACTS
from fabricbench.metrics import JobKind
from fabricbench.results.job_reports import result_rows
from fabricbench.runner.trial_facts import trial_id
from fabricbench.store.record.schema import RECORD_TABLES, conform, schema_of
from fabricbench.work import collective_of, job_kind, pattern_of

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.store import TrialFacts
    from fabricbench.store.record.tables import TableFolder

Row = dict[str, Any]

FRAME_OVERHEAD_BYTES = 82
"""Bytes of a data frame other than its payload, with those that the link adds."""
PS_BITS = 8 * 10**12
"""Picoseconds that a byte takes at 1 bit/s."""
MACHINE_FACTS = tuple(name for name in ENGINE_FACTS if name != "packet_hops")
"""Facts of a summary that depend on the code path or on the machine."""


@dataclass(frozen=True)
class Violation:
    """A law that a record breaks.

    Attributes:
        rule: Name of the law.
        found: Table, row and figures.
    """

    rule: str
    found: str


@dataclass(frozen=True)
class Record:
    """The record of one trial.

    Attributes:
        spec: The RunSpec.
        summary: The RunSummary of the backend.
        arrow: The record tables.
        results: Rows of the table `trials`.
    """

    spec: Mapping[str, Any]
    summary: Mapping[str, Any]
    arrow: Mapping[str, pa.Table]
    results: Sequence[Row]

    @cached_property
    def chunks(self) -> pl.DataFrame:
        """Table `chunks`."""
        return self.frame("chunks")

    @cached_property
    def ports(self) -> list[Row]:
        """Rows of table `ports`."""
        return self.rows("ports")

    @cached_property
    def links(self) -> list[Row]:
        """Rows of table `links`."""
        return self.rows("links")

    @cached_property
    def jobs(self) -> dict[str, JobRecord]:
        """Jobs by name; those whose rounds have several data sizes have no results here: see `parts`."""
        rows = {row["job"]: row for row in self.results}
        return {
            spec["name"]: JobRecord(
                spec,
                outcome,
                {} if "round_bytes" in collective_of(spec) else rows[spec["name"]],
                self.chunks.filter(pl.col("job") == spec["name"]),
            )
            for spec, outcome in zip(self.spec["jobs"], self.summary["jobs"], strict=True)
        }

    @cached_property
    def parts(self) -> list[JobRecord]:
        """The subject of each row of `results`: a job, or its rounds of one data size."""
        return [
            part
            for row in self.results
            for job_record in [self.jobs[row["job"]]]
            for part in [
                job_record if "round_bytes" not in job_record.collective else _of_size(job_record, row)
            ]
        ]

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table."""
        return cast("pl.DataFrame", pl.from_arrow(self.arrow[table]))

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table."""
        return cast("list[Row]", self.arrow[table].to_pylist())

    @property
    def link_layer(self) -> str:
        """Return `ethernet`, `infiniband` or `scheduled`."""
        if self.spec["fabric"]["switch"]["scheduled"] is not None:
            return "scheduled"
        return str(self.spec["fabric"]["link_layer"]["kind"])

    @property
    def takes_one_path(self) -> bool:
        """Whether every frame of a queue pair takes the same one of the equal paths."""
        return self.spec["fabric"]["load_balancing"]["kind"] in ("ecmp", "d-mod-k", "weighted", "pinned")

    @property
    def is_lossless(self) -> bool:
        """Whether no frame was lost."""
        return not any(self.summary["frames_lost"].values())

    @property
    def ends_by_itself(self) -> bool:
        """Whether nothing is cut off at the end: no job and no TCP traffic continues until others end."""
        is_open_ended = any(job["repeat"]["kind"] != "rounds" for job in self.spec["jobs"])
        return not is_open_ended and all(tcp["duration_ps"] is not None for tcp in self.spec["tcp"])

    @property
    def is_complete(self) -> bool:
        """Whether the run is complete, as all its jobs are."""
        return bool(self.summary["status"] == "complete")


@dataclass(frozen=True)
class JobRecord:
    """The part of a record about one job.

    Attributes:
        spec: Its part of the RunSpec.
        outcome: Its part of the summary.
        results: Its row of the table `trials`.
        chunks: Its rows of the table `chunks`.
    """

    spec: Mapping[str, Any]
    outcome: Mapping[str, Any]
    results: Row
    chunks: pl.DataFrame

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec["name"])

    @property
    def is_complete(self) -> bool:
        """Whether it is complete."""
        return bool(self.outcome["status"] == "complete")

    @property
    def is_collective(self) -> bool:
        """Whether it runs a collective, neither open-loop traffic nor storage."""
        return job_kind(self.spec) is JobKind.COLLECTIVE

    @property
    def is_storage(self) -> bool:
        """Whether it runs storage clients and targets."""
        return job_kind(self.spec) is JobKind.STORAGE

    @property
    def work(self) -> Mapping[str, Any]:
        """Its work."""
        work: Mapping[str, Any] = self.spec["work"]
        return work

    @property
    def collective(self) -> Mapping[str, Any]:
        """Its collective; empty for other work."""
        return collective_of(self.spec)

    @property
    def nccl(self) -> Mapping[str, Any] | None:
        """Its collective as NCCL runs it over servers; none if its algorithm runs among the ranks."""
        nccl: Mapping[str, Any] | None = self.collective.get("nccl")
        return nccl

    @property
    def pattern(self) -> Mapping[str, Any]:
        """Its collective, algorithm and data size as results show them."""
        return pattern_of(self.spec)

    @property
    def rounds_planned(self) -> int:
        """Number of its rounds, warm-up included; that of the warm-up and one if others end it."""
        return int(self.spec["repeat"].get("rounds", 1)) + int(self.collective.get("warm_up_rounds", 0))

    @property
    def is_open_ended(self) -> bool:
        """Whether it repeats until others end."""
        return bool(self.spec["repeat"]["kind"] != "rounds")

    @property
    def has_overlapping_rounds(self) -> bool:
        """Whether a rank may start a round before what it sent in the previous one has arrived.

        On unreliable connections a rank does not wait for that, unless barriers separate the rounds.
        """
        is_unreliable = "messages" in self.outcome and not self.collective.get("barrier")
        return is_unreliable and self.chunks["round"].n_unique() > 1

    @property
    def control_messages(self) -> int:
        """Largest number of messages of handshakes and barriers, which have no rows."""
        barriers = self.rounds_planned * self.ranks * self.ranks if self.collective.get("barrier") else 0
        handshakes = 2 * self.chunks.height if self.collective.get("rendezvous") else 0
        return barriers + handshakes + (self.chunks.height if self.has_clearances else 0)

    @property
    def has_clearances(self) -> bool:
        """Whether receivers of NCCL's messages may clear buffers by messages, which have no rows."""
        return self.nccl is not None and self.nccl["kind"] == "ring"

    @property
    def late(self) -> Mapping[str, int]:
        """Counts of frames that arrived after their chunk was delivered, which no row of `chunks` has."""
        late_frames: Mapping[str, int] = self.outcome.get("late", {"frames": 0, "ecn_ce_rx": 0, "cnp_tx": 0})
        return late_frames

    @property
    def ranks(self) -> int:
        """Number of its ranks."""
        return len(self.spec["hosts"])

    @cached_property
    def measured(self) -> pl.DataFrame:
        """Chunks of its complete measured rounds; all operations of a storage job."""
        if self.is_storage:
            return self.chunks
        first_round = self.outcome["warm_up_rounds"]
        return self.chunks.filter(
            pl.col("round").is_between(first_round, first_round + self.outcome["rounds"] - 1)
        )


def _of_size(job: JobRecord, row: Row) -> JobRecord:
    """Return the rounds of one data size of a job, numbered from 0."""
    cycle, size = job.work["round_bytes"], row["data_size_bytes"]
    indices = [index for index, round_bytes in enumerate(cycle) if round_bytes == size]
    number = pl.col("round") // len(cycle) * len(indices) + (pl.col("round") % len(cycle)).replace_strict(
        indices, list(range(len(indices))), default=None, return_dtype=pl.Int64
    )
    is_of_size = pl.col("round").mod(len(cycle)).is_in(indices)
    repeat = dict(job.spec["repeat"])
    if "rounds" in repeat:
        repeat["rounds"] = repeat["rounds"] // len(cycle) * len(indices)
    late = dict.fromkeys(job.late, 0)
    return JobRecord(
        {
            **job.spec,
            "repeat": repeat,
            "work": {**job.work, "pattern": {**job.pattern, "data_bytes": size}},
        },
        {**job.outcome, "status": row["status"], "rounds": row["rounds"], "late": late},
        row,
        job.chunks.filter(is_of_size).with_columns(number.alias("round")),
    )


class _Tables:
    """Tables in memory, with the interface that the analysis reads."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._tables = tables

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        stored = self._tables[table]
        yield from (stored if columns is None else stored.select(list(columns))).to_batches()


@dataclass(frozen=True)
class _Collector:
    """Observer of a run that collects its rows."""

    batches: Mapping[str, list[pa.RecordBatch]]

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.batches[table].append(conform(table, batch))

    def progressed(self, progress: Progress) -> None:
        """Do nothing."""


def run_trial(
    planned: PlannedTrial, *, threads: int = 1, path: str = "auto", fast_forward: bool = True
) -> Record:
    """Run a trial in memory, results included."""
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in RECORD_TABLES}

    backend = get_backend("sim", {"path": path, "fast_forward": fast_forward})
    result = backend.run(planned, _Collector(batches), threads=threads)
    summary = {**result.summary, **result.engine}
    tables = {name: pa.Table.from_batches(rows, schema_of(name)) for name, rows in batches.items()}
    facts = SimpleNamespace(
        id=trial_id(planned, backend),
        plan="swarm",
        variant=planned.variant,
        iteration=planned.iteration,
        run_spec=planned.run_spec,
    )
    results = result_rows(
        cast("TrialFacts", facts), cast("Mapping[str, Any]", summary), cast("TableFolder", _Tables(tables))
    )
    return Record(
        cast("Mapping[str, Any]", planned.run_spec),
        cast("Mapping[str, Any]", summary),
        tables,
        results.to_pylist(),
    )
