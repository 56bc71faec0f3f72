"""A real backend: it sends the bytes of an all-to-all over two UDP sockets on loopback, in real time.

Each chunk goes in datagrams of the MTU, one at a time: the next is sent once its acknowledgement has come,
and the same again after a timeout. Some datagrams are lost on purpose, before they are sent. What software at
the ends of a path cannot see, such as marks, queues and latencies of frames, is not measured.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from fabricbench.backend.protocol import Observer, RefusedError, RunResult
from fabricbench.plan import engine

LOSS: Final = 0.02
TIMEOUT_S: Final = 0.002
HEADER_BYTES: Final = 4
UNMEASURED: Final = ("ecn_ce_rx", "cnp_tx", "cnp_rx")
_NOTHING: Final = ("unloaded_ps", "latency_min_ps", "latency_mean_ps", "latency_max_ps", *UNMEASURED)


@dataclass
class Loopback:
    """Carries out all-to-alls in which each rank sends to each other one, one chunk after the other.

    Attributes:
        version: Version of its results.
        runs: How many trials it has run.
    """

    version: str = "1"
    name: str = "loopback"
    engine_version: str = "test"
    runs: int = 0
    observed: Mapping[str, Any] = field(
        default_factory=lambda: {"chunks": {"at": "endpoint", "unmeasured": UNMEASURED}}
    )

    def run(self, planned: Any, observer: Observer, *, threads: int | None) -> RunResult:  # noqa: ARG002
        self.runs += 1
        (job,) = planned.run_spec["jobs"]
        if (job["collective"], job["algorithm"]) != ("all-to-all", "parallel"):
            raise RefusedError("jobs[0].collective", job["collective"], "all-to-all, by algorithm parallel")
        with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
            wire = Wire(one, other, planned.run_spec)
            for number, pair in enumerate(engine.describe(planned.spec_json)["qps"]):
                row = wire.chunk(job, number, pair)
                observer.rows("chunks", pa.RecordBatch.from_pylist([row], schema=_schema(row)))
                observer.progressed(wire.progress(job))
        end_ps = wire.now_ps()
        outcome: Any = {"name": job["name"], "status": "complete", "start_ps": 0, "end_ps": end_ps}
        outcome |= {"rounds": 1, "chunks": wire.chunks, "chunks_complete": wire.chunks, "chunks_failed": 0}
        outcome |= {"reason": ""}
        summary: Any = {"status": "complete", "end_ps": end_ps, "jobs": [outcome]}
        return RunResult(summary, {"datagrams": wire.datagrams, "wall_s": end_ps / 1e12})


class Wire:
    """Two sockets that speak to each other, and a clock."""

    def __init__(self, one: socket.socket, other: socket.socket, spec: Mapping[str, Any]) -> None:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        one.settimeout(TIMEOUT_S)
        other.settimeout(1)
        self._one, self._other = one, other
        self._mtu_bytes = spec["transport"]["mtu_bytes"]
        self._losses = random.Random(spec["seed"])
        self._started = time.perf_counter_ns()
        self.chunks = self.datagrams = self.delivered_bytes = 0

    def now_ps(self) -> int:
        return (time.perf_counter_ns() - self._started) * 1000

    def chunk(self, job: Mapping[str, Any], number: int, pair: Mapping[str, Any]) -> dict[str, Any]:
        """Send a chunk, check that each byte came, and return its row."""
        payload = random.Random(number).randbytes(job["data_bytes"] // len(job["hosts"]))
        start_ps, sent, before = self.now_ps(), 0, self.datagrams
        received = bytearray()
        for begin in range(0, len(payload), self._mtu_bytes):
            sent += self._part(payload[begin : begin + self._mtu_bytes], received)
        delivered_ps = self.now_ps()
        assert received == payload
        self.chunks += 1
        self.delivered_bytes += len(payload)
        arrived = self.datagrams - before
        copied = ("qp", "part", "src_rank", "dst_rank", "src_host", "dst_host", "step", "channel")
        row = {name: pair[name] for name in copied} | dict.fromkeys(_NOTHING)
        row |= {"job": job["name"], "transfer": number, "status": "complete", "payload_bytes": len(payload)}
        row |= {"start_ps": start_ps, "delivered_ps": delivered_ps, "completed_ps": delivered_ps}
        row |= {"fct_ps": delivered_ps - start_ps, "udp_source_port": self._one.getsockname()[1]}
        row |= {"tx_frames": sent, "tx_bytes": sent * self._mtu_bytes}
        row |= {"rx_frames": arrived, "rx_bytes": arrived * self._mtu_bytes}
        row |= dict.fromkeys(("frames_delta", "retransmits", "timeouts"), sent - arrived)
        return row | dict.fromkeys(("round", "block", "naks", "out_of_order"), 0)

    def _part(self, part: bytes, received: bytearray) -> int:
        """Send a datagram until it is acknowledged; return how often."""
        sent = 1
        while self._losses.random() < LOSS:
            sent += 1
            self._wait_in_vain()
        self._one.sendto(part, self._other.getsockname())
        content, sender = self._other.recvfrom(1 << 16)
        received += content
        self.datagrams += 1
        self._other.sendto(len(received).to_bytes(HEADER_BYTES, "big"), sender)
        assert int.from_bytes(self._one.recv(HEADER_BYTES), "big") == len(received)
        return sent

    def _wait_in_vain(self) -> None:
        try:
            self._one.recv(HEADER_BYTES)
        except TimeoutError:
            return
        raise AssertionError("an acknowledgement of what was not sent")

    def progress(self, job: Mapping[str, Any]) -> Any:
        total_bytes = job["data_bytes"] // len(job["hosts"]) * len(job["hosts"]) * (len(job["hosts"]) - 1)
        now_ps = self.now_ps()
        told = {"delivered_bytes": self.delivered_bytes, "total_bytes": total_bytes, "samples": []}
        return told | {"sim_ps": now_ps, "wall_s": now_ps / 1e12}


def _schema(row: Mapping[str, Any]) -> pa.Schema:
    """Return the types of a row in which a column may have no value at all."""
    kinds = {name: pa.string() if isinstance(value, str) else pa.int64() for name, value in row.items()}
    return pa.schema(list((kinds | {"latency_mean_ps": pa.float64()}).items()))
