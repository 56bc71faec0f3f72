"""Writes a trial as a trace for Perfetto and chrome://tracing, in the Trace Event Format.

There is a process for each job, a thread for each of its ranks, and a slice for each chunk (a transfer from
rank to rank) from its first byte offered to its last acknowledgement. Overlapping chunks of a rank are in
additional threads of that rank, because slices of one thread must be nested. Samples of ports and queue pairs
are counters, events of the fabric are instants. Times are in microseconds, exact to the picosecond.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from gzip import GzipFile
from typing import IO, TYPE_CHECKING, Any, Final

from fabricbench.analysis.record.tables import observed_chunks
from fabricbench.store import Trial

if TYPE_CHECKING:
    import polars as pl


CHUNKS_MAX: Final = 1_000_000
"""Maximum slices that Perfetto opens with ease, at about 200 bytes of JSON each."""

_COLUMNS: Final = (
    *("job", "src_rank", "dst_rank", "round", "step", "qp", "status", "payload_bytes", "start_ps"),
    *("delivered_ps", "completed_ps", "retransmits", "ecn_ce_rx"),
)
_FABRIC: Final = 0
"""Process of counters and instants; jobs follow."""


class TooManyChunksError(Exception):
    """A trace would have too many slices.

    Attributes:
        count: Number of selected chunks.
    """

    def __init__(self, count: int) -> None:
        super().__init__(f"{count:,} chunks")
        self.count = count


@dataclass(frozen=True)
class Chosen:
    """Selection of chunks.

    Attributes:
        jobs: Only chunks of these jobs; all if empty.
        ranks: Only chunks that one of these ranks sends or receives; all if empty.
    """

    jobs: Collection[str] = field(default_factory=frozenset)
    ranks: Collection[int] = field(default_factory=frozenset)


def has_chunks(trial: Trial) -> bool:
    """Return whether the record has rows of chunks, all or a sample of them."""
    return trial.has("chunks") and observed_chunks(trial.facts.run_spec) != "summary"


def write_trace_file(trial: Trial, chosen: Chosen, name: str, stream: IO[bytes]) -> None:
    """Write the trace of a finished trial as `write_trace`, compressed if the file's name ends in `.gz`."""
    if not name.lower().endswith(".gz"):
        write_trace(trial, chosen, stream)
        return
    with GzipFile("", "wb", 6, stream, 0) as packed:
        write_trace(trial, chosen, packed)


def write_trace(
    trial: Trial, chosen: Chosen, stream: IO[bytes] | GzipFile, chunks_max: int = CHUNKS_MAX
) -> None:
    """Write the trace of a finished trial.

    Raises:
        TooManyChunksError: More than `chunks_max` were selected; nothing is written then.
        StoreError: A table is missing or cannot be read.
    """
    chunks = _chunks(trial, chosen)
    if chunks.height > chunks_max:
        raise TooManyChunksError(chunks.height)
    facts = trial.facts
    about = {"trial": facts.id, "plan": facts.plan, "variant": facts.variant, "engine": facts.engine_version}
    header = json.dumps({"displayTimeUnit": "ns", "otherData": about})
    stream.write(f'{header[:-1]}, "traceEvents": [\n'.encode())
    separator = ""
    for event in _events(trial, chunks, chosen):
        stream.write((separator + event).encode())
        separator = ",\n"
    stream.write(b"\n]}\n")


def _events(trial: Trial, chunks: pl.DataFrame, chosen: Chosen) -> Iterator[str]:
    yield _name("process", _FABRIC, None, "fabric")
    yield from _slices(trial, chunks)
    if trial.has("series"):
        yield from _counters(trial, chosen)
    if trial.has("events"):
        yield from _instants(trial)


def _chunks(trial: Trial, chosen: Chosen) -> pl.DataFrame:
    """Return the started chunks, in order of time within each rank."""
    import polars as pl

    filters = [pl.col("start_ps").is_not_null()]
    if chosen.jobs:
        filters.append(pl.col("job").is_in(list(chosen.jobs)))
    if chosen.ranks:
        ranks = list(chosen.ranks)
        filters.append(pl.col("src_rank").is_in(ranks) | pl.col("dst_rank").is_in(ranks))
    parts = [pl.DataFrame(batch).filter(*filters) for batch in trial.tables.batches("chunks", _COLUMNS)]
    if not parts:
        return pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.Int64))
    return pl.concat(parts).sort("job", "src_rank", "start_ps", "qp")


def _slices(trial: Trial, chunks: pl.DataFrame) -> Iterator[str]:
    pids = {job["name"]: number for number, job in enumerate(trial.facts.run_spec["jobs"], _FABRIC + 1)}
    end_ps = int((trial.summary or {}).get("end_ps") or 0)
    lanes, owner, threads = _Lanes(), None, 0
    tids: dict[tuple[str, int, int], int] = {}
    named: set[str] = set()
    for row in chunks.iter_rows(named=True):
        job, rank, start_ps = row["job"], row["src_rank"], row["start_ps"]
        if job not in named:
            named.add(job)
            yield _name("process", pids[job], None, f"job {job}")
        if owner != (job, rank):
            owner, lanes = (job, rank), _Lanes()
        # Incomplete chunks last to the end of the run.
        until_ps = row["completed_ps"] if row["completed_ps"] is not None else max(end_ps, start_ps)
        lane = lanes.place(start_ps, until_ps)
        if (tid := tids.get((job, rank, lane))) is None:
            threads += 1
            tid = tids[job, rank, lane] = threads
            more = "" if lane == 0 else f", {lane + 1} at once"
            yield _name("thread", pids[job], tid, f"rank {rank} sends{more}")
        yield _event(
            ph="X",
            pid=pids[job],
            tid=tid,
            ts=start_ps,
            dur=until_ps - start_ps,
            name=f"to rank {row['dst_rank']}",
            cat=row["status"],
            args={
                "step": row["step"],
                "round": row["round"],
                "payload_bytes": row["payload_bytes"],
                "delivered_us": None if row["delivered_ps"] is None else row["delivered_ps"] / 1e6,
                "queue_pair": row["qp"],
                "retransmits": row["retransmits"],
                "ecn_ce_rx": row["ecn_ce_rx"],
            },
        )


class _Lanes:
    """Lanes for spans that may overlap, assigned in order of their starts."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._count = 0

    def place(self, start: int, end: int) -> int:
        """Return the lowest lane that is free at `start`, and occupy it until `end`."""
        while self._busy and self._busy[0][0] <= start:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane, self._count = self._count, self._count + 1
        heapq.heappush(self._busy, (end, lane))
        return lane


def _counters(trial: Trial, chosen: Chosen) -> Iterator[str]:
    """Yield the samples of ports, and those of the queue pairs of selected jobs."""
    for batch in trial.tables.batches("series"):
        for row in batch.to_pylist():
            if row["job"] is not None and chosen.jobs and row["job"] not in chosen.jobs:
                continue
            yield _event(
                ph="C",
                pid=_FABRIC,
                ts=row["time_ps"],
                name=_counter_name(row),
                args={row["metric"]: row["value"]},
            )


def _counter_name(row: Mapping[str, Any]) -> str:
    source = f"{row['node']} port {row['port']}"
    source += "" if row["priority"] is None else f" priority {row['priority']}"
    return (
        f"{source} {row['metric']}"
        if row["qp"] is None
        else f"{source} queue pair {row['qp']} {row['metric']}"
    )


def _instants(trial: Trial) -> Iterator[str]:
    for batch in trial.tables.batches("events"):
        for row in batch.to_pylist():
            yield _event(
                ph="i",
                s="p",
                pid=_FABRIC,
                tid=0,
                ts=row["time_ps"],
                name=f"{row['node']}: {row['kind']}",
                args={"detail": row["detail"]},
            )


def _name(kind: str, pid: int, tid: int | None, name: str) -> str:
    owner = {"pid": pid} if tid is None else {"pid": pid, "tid": tid}
    return json.dumps({"ph": "M", "name": f"{kind}_name", **owner, "args": {"name": name}})


def _event(*, ts: int, dur: int | None = None, **content: Any) -> str:
    """Format an event; picoseconds become decimal microseconds without the rounding of floats."""
    times = f'"ts": {_us(ts)}' + ("" if dur is None else f', "dur": {_us(dur)}')
    return f"{json.dumps(content)[:-1]}, {times}}}"


def _us(ps: int) -> str:
    return f"{ps // 10**6}.{ps % 10**6:06d}"
