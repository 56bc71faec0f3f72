"""A backend without an engine: the rows of an all-to-all that never happened, slow or broken on request."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from fabricbench.backend.protocol import RefusedError, RunResult
from fabricbench.store.record.earlier_versions import OF_THE_SIMULATOR
from fabricbench.store.record.schema import schema_of
from fabricbench.work import pattern_of

PS_PER_BYTE = 20


@dataclass
class FakeBackend:
    """Makes `copies` of one row for each ordered pair of ranks, in batches, with a pause after each.

    Attributes:
        copies: How often the rows of a job are repeated.
        batch_rows: Rows of each batch.
        pause_s: Sleep after each batch, so that a run can be interrupted.
        is_noisy: Fill some columns with random numbers, so that the rows do not compress.
        unfinished: How many chunks of each job never complete.
        error: Raised after the first batch.
        on_first_batch: Called after the first batch.
    """

    copies: int = 1
    batch_rows: int = 1000
    pause_s: float = 0.0
    is_noisy: bool = False
    unfinished: int = 0
    error: BaseException | None = None
    on_first_batch: Callable[[], None] | None = None
    name: str = "fake"
    version: str = "1"
    engine_version: str = "0.0.1"
    observed: Mapping[str, Any] = field(default_factory=lambda: OF_THE_SIMULATOR)

    @classmethod
    def from_environment(cls) -> FakeBackend:
        """Read the settings of a process that tests start: FAKE_COPIES, FAKE_PAUSE_S and so on."""
        return cls(
            copies=int(os.environ.get("FAKE_COPIES", "1")),
            pause_s=float(os.environ.get("FAKE_PAUSE_S", "0")),
            is_noisy="FAKE_NOISE" in os.environ,
            unfinished=int(os.environ.get("FAKE_UNFINISHED", "0")),
        )

    def run(self, planned: Any, observer: Any, *, threads: int | None) -> RunResult:
        spec = planned.run_spec
        started = time.monotonic()
        jobs = [self._job(spec, job, observer) for job in spec["jobs"]]
        for table, rows in self._fabric_rows(spec).items():
            observer.rows(table, rows)
        is_complete = all(job["status"] == "complete" for job in jobs)
        wall_s = time.monotonic() - started
        summary: Any = {
            "status": "complete" if is_complete else "incomplete",
            "end_ps": max((job["end_ps"] or 0) for job in jobs),
            "jobs": jobs,
            "frames_sent": 100,
            "frames_delivered": 98,
            "frames_lost": {"buffer_full": 2},
            "frames_in_flight": 0,
            "window_ps": 1000,
        }
        engine = {
            "packet_hops": 400,
            "events": 50,
            "fast_windows": 10,
            "exact_windows": 1,
            "fast_forward_ps": 0,
            "cpu_s": wall_s,
            "wall_s": wall_s,
            "peak_rss_bytes": 1 << 20,
            "threads": threads or 1,
        }
        return RunResult(summary, engine)

    def _job(self, spec: Any, job: Any, observer: Any) -> dict[str, Any]:
        rows = chunk_rows(job, spec["seed"]) * self.copies
        for row in rows[len(rows) - self.unfinished :]:
            row.update(status="unfinished", completed_ps=None, delivered_ps=None, fct_ps=None)
        for begin in range(0, len(rows), self.batch_rows):
            part = batch(rows[begin : begin + self.batch_rows])
            observer.rows("chunks", with_noise(part, begin) if self.is_noisy else part)
            if begin == 0 and self.on_first_batch:
                self.on_first_batch()
            if begin == 0 and self.error:
                raise self.error
            observer.progressed(_progress(begin, len(rows)))
            time.sleep(self.pause_s)
        complete = not self.unfinished
        ends = [row["completed_ps"] for row in rows if row["completed_ps"] is not None]
        return {
            "name": job["name"],
            "status": "complete" if complete else "incomplete",
            "start_ps": job["start_ps"],
            "end_ps": max(ends) if complete else None,
            "rounds": int(complete),
            "chunks": len(rows),
            "chunks_complete": len(ends),
            "chunks_failed": 0,
            "reason": "" if complete else f"{self.unfinished} chunks never completed, first transfer 3",
        }

    def _fabric_rows(self, spec: Any) -> Mapping[str, pa.RecordBatch]:
        hosts = [host for job in spec["jobs"] for host in job["hosts"]]
        ports = [port_row(f"host{host}", 0, pfc_rx=host) for host in hosts]
        ports += [port_row("leaf0", 1, queue_max_bytes=5000), port_row("spine0", 2, queue_max_bytes=7000)]
        links = [
            link_row("host0", "leaf0", 1, 90),
            link_row("leaf0", "spine0", 2, 30),
            link_row("spine0", "leaf0", 2, 10),
        ]
        where = {"node": "leaf0", "port": 0, "priority": None, "qp": None, "job": None}
        series = [{"metric": "tx_bytes", **where, "time_ps": 5, "value": spec["seed"]}]
        return {"ports": batch(ports), "links": batch(links), "series": batch(series)}


@dataclass
class SharedFakeBackend(FakeBackend):
    """One whose trials may run side by side; what befalls them goes by their data size.

    Attributes:
        gate: A folder in which each trial leaves a file called by its data size when it is done.
        after: The name of the file that a trial waits for.
        refused: Sizes that it refuses.
        killed: Sizes whose process ends itself.
        share: Cores that a trial may use, which its summary tells as `window_ps`.
    """

    gate: Path = Path()
    after: Mapping[int, str] = field(default_factory=dict)
    refused: tuple[int, ...] = ()
    killed: tuple[int, ...] = ()
    share: int = 0

    def sharing(self, cores: int) -> SharedFakeBackend:
        return replace(self, share=cores)

    def run(self, planned: Any, observer: Any, *, threads: int | None) -> RunResult:
        size = planned.data_size_bytes
        while size in self.after and not (self.gate / self.after[size]).exists():
            time.sleep(0.01)
        if size in self.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if size in self.refused:
            raise RefusedError("jobs", "a", "b", "do c")
        result = super().run(planned, observer, threads=threads)
        if self.gate != Path():
            (self.gate / str(size)).touch()
        return RunResult({**result.summary, "window_ps": self.share}, result.engine)


def _progress(done: int, total: int) -> dict[str, Any]:
    return {
        "delivered_bytes": done,
        "total_bytes": total,
        "sim_ps": done,
        "packet_hops": done,
        "wall_s": 0.1,
        "samples": [],
    }


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows)


def with_noise(rows: pa.RecordBatch, seed: int) -> pa.RecordBatch:
    random = Random(seed)
    for name in ("tx_bytes", "rx_bytes", "latency_max_ps", "udp_source_port"):
        noise = pa.py_buffer(random.randbytes(8 * rows.num_rows))
        column = pa.Array.from_buffers(pa.int64(), rows.num_rows, [None, noise])
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def chunk_rows(job: Any, seed: int = 1) -> list[dict[str, Any]]:
    """One complete chunk for each ordered pair of ranks; completion times differ and depend on the seed."""
    hosts = job["hosts"]
    ranks = len(hosts)
    pairs = [(src, dst) for src in range(ranks) for dst in range(ranks) if src != dst]
    payload_bytes = pattern_of(job)["data_bytes"] // ranks
    base_ps = payload_bytes * PS_PER_BYTE * (ranks - 1)
    return [
        chunk_row(
            job=job["name"],
            transfer=index,
            qp=index,
            src_rank=src,
            dst_rank=dst,
            src_host=hosts[src],
            dst_host=hosts[dst],
            payload_bytes=payload_bytes,
            fct_ps=base_ps + index * 1000 + seed % 1000,
            start_ps=job["start_ps"],
        )
        for index, (src, dst) in enumerate(pairs)
    ]


def chunk_row(*, start_ps: int = 0, fct_ps: int | None = 1000, **given: Any) -> dict[str, Any]:
    """One row of `chunks`, complete unless `fct_ps` is none."""
    completed_ps = None if fct_ps is None else start_ps + fct_ps
    measured = {
        "job": "test",
        "udp_source_port": 50_000,
        "dst_rank": 1,
        "dst_host": 1,
        "status": "unfinished" if fct_ps is None else "complete",
        "payload_bytes": 4096,
        "start_ps": start_ps,
        "delivered_ps": completed_ps,
        "completed_ps": completed_ps,
        "fct_ps": fct_ps,
        "unloaded_ps": None,
        "tx_frames": 1,
        "tx_bytes": 4158,
        "rx_frames": 1,
        "rx_bytes": 4158,
        "latency_min_ps": 2_000_000,
        "latency_mean_ps": 3_000_000.0,
        "latency_max_ps": 4_000_000,
    }
    return _zeros("chunks") | measured | given


def port_row(node: str, tier: int, **given: Any) -> dict[str, Any]:
    of_infiniband = dict.fromkeys(("flow_control_tx", "flow_control_rx", "credit_wait_ps"))
    return _zeros("ports") | of_infiniband | {"node": node, "tier": tier, "peer": "other"} | given


def _zeros(table: str) -> dict[str, Any]:
    return dict.fromkeys(schema_of(table).names, 0)


def link_row(source: str, target: str, tier: int, busy_ps: int) -> dict[str, Any]:
    return {
        "from": source,
        "from_port": 0,
        "to": target,
        "to_port": 0,
        "tier": tier,
        "rate_bps": 400_000_000_000,
        "frames": 1,
        "bytes": 4158,
        "busy_ps": busy_ps,
    }
