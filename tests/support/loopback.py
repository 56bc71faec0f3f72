"""A real backend: the transport in real time, over two UDP sockets of this host.

It runs the program `fabricbench-loopback`, which sends each chunk of an all-to-all on its own queue pair,
loses some packets on purpose and compares every byte. What software at the ends of a path cannot see, such as
queues and latencies of frames, is not measured.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from fabricbench.backend.protocol import Observer, RefusedError, RunResult
from fabricbench.plan import engine
from fabricbench.store.record.schema import observed_schema
from fabricbench.work import pattern_of

REPOSITORY: Final = Path(__file__).parents[2]
PROGRAM: Final = "fabricbench-loopback"
LOSS_ONE_IN: Final = 50
# In real time and on a shared machine: what a plan says is meant for adapters.
TIMEOUT_PS: Final = 20 * 10**9
RETRY_COUNT: Final = 100
LIMIT_PS: Final = 60 * 10**12
# Windows of all chunks together fit the buffer of a socket.
WINDOW_PACKETS: Final = 16
UNMEASURED: Final = ("ecn_ce_rx", "cnp_tx", "cnp_rx")
_NOTHING: Final = ("unloaded_ps", "latency_min_ps", "latency_mean_ps", "latency_max_ps", *UNMEASURED)


def build() -> Path:
    """Build the program, unless `cargo test` of the workspace has, and return where it is."""
    command = ["cargo", "build", "--quiet", "--locked", "--workspace", "--exclude", "fabricbench-python"]
    command += ["--bin", PROGRAM, "--message-format", "json"]
    finished = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    built = [json.loads(line).get("executable") for line in finished.stdout.splitlines()]
    (program,) = filter(None, built)
    return Path(program)


@dataclass
class Loopback:
    """Carries out all-to-alls in which each rank sends to each other one, all chunks at once.

    Attributes:
        program: What `build` returned.
        version: Version of its results.
        runs: How many trials it has run.
    """

    program: Path
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
        pattern = pattern_of(job)
        if (pattern["collective"], pattern["algorithm"]) != ("all-to-all", "parallel"):
            field = "jobs[0].work.pattern.collective"
            raise RefusedError(field, pattern["collective"], "all-to-all, by algorithm parallel")
        pairs = engine.describe(planned.spec_json)["qps"]
        facts = self._facts(describe(planned.run_spec, len(pairs)))
        start_ps = min(transfer["start_ps"] for transfer in facts["transfers"])
        port = facts["udp_ports"][0]
        both = enumerate(zip(pairs, facts["transfers"], strict=True))
        rows = [chunk(job["name"], number, *each, start_ps=start_ps, port=port) for number, each in both]
        schema = observed_schema("chunks", UNMEASURED)
        observer.rows("chunks", pa.RecordBatch.from_pylist(rows, schema=schema))
        end_ps = facts["duration_ps"]
        total_bytes = sum(row["payload_bytes"] for row in rows)
        told: Any = {"delivered_bytes": total_bytes, "total_bytes": total_bytes, "samples": []}
        observer.progressed(told | {"sim_ps": end_ps, "wall_s": end_ps / 1e12})
        outcome: Any = {"name": job["name"], "status": "complete", "start_ps": 0, "end_ps": end_ps}
        outcome |= {"rounds": 1, "chunks": len(rows), "chunks_complete": len(rows), "chunks_failed": 0}
        outcome |= {"reason": ""}
        summary: Any = {"status": "complete", "end_ps": end_ps, "jobs": [outcome]}
        datagrams = sum(row["tx_frames"] for row in rows)
        return RunResult(summary, {"datagrams": datagrams, "wall_s": end_ps / 1e12})

    def _facts(self, description: Mapping[str, Any]) -> Any:
        """Run the program; it fails unless every byte has arrived."""
        command, given = [self.program], json.dumps(description)
        return json.loads(
            subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout
        )


def describe(spec: Mapping[str, Any], chunks: int) -> dict[str, Any]:
    """Return what the program is told of a run spec with so many chunks."""
    (job,), transport = spec["jobs"], spec["transport"]
    transfer = {"verb": "write", "bytes": pattern_of(job)["data_bytes"] // len(job["hosts"])}
    kept = ("mtu_bytes", "message_bytes", "ack_every", "recovery", "ooo_window_packets")
    return {name: transport[name] for name in kept} | {
        "seed": spec["seed"],
        "loss_one_in": LOSS_ONE_IN,
        "window_packets": WINDOW_PACKETS,
        "timeout_ps": TIMEOUT_PS,
        "retry_count": RETRY_COUNT,
        "limit_ps": LIMIT_PS,
        "transfers": [transfer] * chunks,
    }


def chunk(
    job: str, number: int, pair: Mapping[str, Any], facts: Mapping[str, Any], *, start_ps: int, port: int
) -> dict[str, Any]:
    """Return the row of a chunk, with times since the start of the run."""
    copied = ("qp", "part", "src_rank", "dst_rank", "src_host", "dst_host", "step", "channel")
    row = {name: pair[name] for name in copied} | dict.fromkeys(_NOTHING)
    row |= {"job": job, "transfer": number, "status": "complete", "payload_bytes": facts["bytes"]}
    row |= {name: facts[name] - start_ps for name in ("start_ps", "delivered_ps", "completed_ps")}
    row |= {"fct_ps": facts["delivered_ps"] - facts["start_ps"], "udp_source_port": port}
    row |= {"busbw_gb_per_s": 1000 * row["payload_bytes"] / row["fct_ps"]}
    row |= {"tx_frames": facts["sent_frames"], "tx_bytes": facts["sent_bytes"]}
    row |= {"rx_frames": facts["received_frames"], "rx_bytes": facts["received_bytes"]}
    row |= {"frames_delta": facts["sent_frames"] - facts["received_frames"]}
    row |= {name: facts[name] for name in ("retransmits", "timeouts", "naks", "out_of_order")}
    return row | dict.fromkeys(("round", "block"), 0)
