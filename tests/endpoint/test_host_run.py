"""The jobs of plans, carried out by endpoints of this machine."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa
import pytest
from tests.support.hosts import Agents, simulated

from fabricbench import _core
from fabricbench.plan.load import load_fields, load_plan
from fabricbench.store.schema import conform

# What names a chunk, and what of it the plan decides.
PLANNED = (
    *("job", "transfer", "part", "round", "qp", "udp_source_port", "src_rank", "dst_rank"),
    *("src_host", "dst_host", "step", "channel", "block", "payload_bytes", "status"),
)


def spec_of(plan: str, *overrides: str) -> str:
    return load_plan(plan, overrides).trials[0].spec_json


def spec_of_jobs(*jobs: dict[str, Any], hosts: int, **transport: Any) -> str:
    named = [{"name": f"job{index}", "step_overhead": "0s"} | job for index, job in enumerate(jobs)]
    topology = {"kind": "single-switch", "hosts": hosts, "host_link": "100Gbps"}
    fields = {
        "fabricbench": 1,
        "name": "endpoints",
        "fabric": {"topology": topology},
        "transport": transport,
        "jobs": named,
    }
    return load_fields(fields).trials[0].spec_json


def planned(table: pa.Table) -> list[dict[str, Any]]:
    order = [(name, "ascending") for name in ("job", "transfer", "part", "round")]
    rows: list[dict[str, Any]] = table.select(PLANNED).sort_by(order).to_pylist()
    return rows


def check(agents: Agents) -> pa.Table:
    """Check the rows of a drained run: those of the simulator, within one clock."""
    table = agents.rows()
    for batch in table.to_batches():
        conform("chunks", batch, _core.unmeasured(agents.driver))
    assert planned(table) == planned(simulated(agents.spec_json))
    for row in table.to_pylist():
        assert row["status"] == "complete"
        assert row["start_ps"] <= row["delivered_ps"] <= row["completed_ps"], row
        assert row["fct_ps"] == row["completed_ps"] - row["start_ps"]
    return table


def halves(count: int) -> list[list[int]]:
    return [list(range(count // 2)), list(range(count // 2, count))]


@pytest.mark.parametrize(
    ("plan", "overrides", "hosts"),
    [
        ("jct-alltoall", ["sweep.data_size=[1MB]"], 8),
        ("jct-allreduce-ring", ["sweep.data_size=[1MB]"], 8),
        ("jct-halving-doubling", ["sweep.data_size=[1MB]"], 8),
    ],
)
def test_shipped_plans_give_the_rows_of_the_simulator(plan: str, overrides: list[str], hosts: int) -> None:
    agents = Agents(spec_of(plan, *overrides), halves(hosts))
    agents.prepare()
    counters = agents.drain()
    table = check(agents)
    assert all(told["wrong_bytes"] == told["unknown_chunks"] == 0 for told in counters)
    assert sum(table["rx_frames"].to_pylist()) >= table.num_rows
