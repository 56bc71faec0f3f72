"""Runs on endpoints of this machine: agents of one process, each with an address of the loopback network."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from fabricbench import _core

PATIENCE_S: Final = 60.0
# From preparation to the common start.
LEAD_NS: Final = 50_000_000


@dataclass
class Agents:
    """Agents that play all hosts of a run spec.

    Attributes:
        spec_json: The RunSpec.
        hosts: The hosts of each agent.
        driver: What carries their chunks.
        settings: Settings of all of them, beside their addresses.
        start_ns: The common start on the monotonic clock, once they are started.
    """

    spec_json: str
    hosts: Sequence[Sequence[int]]
    driver: str = "roce"
    settings: Mapping[str, Any] = field(default_factory=dict)
    runs: list[_core.HostRun] = field(default_factory=list)
    start_ns: int = 0

    def prepare(self) -> None:
        """Open the sockets of all agents, and connect them."""
        common = {"allowed_peers": ["127.0.0.0/8"], "verify": True}
        for agent, hosts in enumerate(self.hosts):
            settings = json.dumps({"address": f"127.0.0.{agent + 1}"} | common | dict(self.settings))
            run = _core.HostRun(self.spec_json, hosts=hosts, driver=self.driver, settings_json=settings)
            self.runs.append(run)
        both = zip(self.runs, self.hosts, strict=True)
        peers = {host: run.addresses() for run, hosts in both for host in hosts}
        with ThreadPoolExecutor(len(self.runs)) as pool:
            list(pool.map(lambda run: run.connect(peers), self.runs))

    def start(self) -> None:
        self.start_ns = time.monotonic_ns() + LEAD_NS
        for run in self.runs:
            run.start(self.start_ns)

    def keep_alive_until(self, is_over: Callable[[], bool]) -> None:
        """Keep all agents alive until something is so."""
        limit = time.monotonic() + PATIENCE_S
        while not is_over():
            if time.monotonic() > limit:
                raise TimeoutError([run.progress() for run in self.runs])
            for run in self.runs:
                run.keep_alive()
            time.sleep(0.005)

    def drain(self) -> list[dict[str, int]]:
        """Start, wait until all are drained, and return the counters of each."""
        self.start()
        self.keep_alive_until(lambda: all(run.progress()["state"] != "running" for run in self.runs))
        states = [run.progress() for run in self.runs]
        assert [told["state"] for told in states] == ["drained"] * len(self.runs), states
        assert all(told["delivered_bytes"] == told["total_bytes"] for told in states)
        return [run.counters() for run in self.runs]

    def rows(self) -> pa.Table:
        """Return table `chunks` of a run that has ended."""
        sent, received = ([getattr(run, half)() for run in self.runs] for half in ("sent", "received"))
        batches = _core.chunk_rows(
            self.spec_json, driver=self.driver, sent=sent, received=received, shifts_ps={}
        )
        return pa.Table.from_batches(batches)


def simulated(spec_json: str) -> pa.Table:
    """Return table `chunks` of the same run in the simulator."""
    batches: list[pa.RecordBatch] = []

    def take(table: str, batch: pa.RecordBatch) -> None:
        if table == "chunks":
            batches.append(batch)

    _core.run(spec_json, on_progress=None, on_batch=take)
    return pa.Table.from_batches(batches)
