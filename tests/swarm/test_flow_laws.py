"""Laws of the flow model on random plans."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from tools.swarm.differences import flow_violations
from tools.swarm.generate import plan_of
from tools.swarm.record import run_trial

from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.registry import get_backend
from fabricbench.plan import engine
from fabricbench.plan.errors import PlanError
from fabricbench.runner import loading

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.backend.protocol import Progress
    from fabricbench.plan.expand import PlannedTrial

SEEDS = range(1, 120)


class Chunks:
    """Keeps the rows of chunks."""

    def __init__(self) -> None:
        self.rows_: list[dict[str, Any]] = []

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        if table == "chunks":
            self.rows_ += batch.to_pylist()

    def progressed(self, progress: Progress) -> None:
        pass


def trials() -> list[PlannedTrial]:
    found = []
    for seed in SEEDS:
        try:
            planned = loading.load_fields(plan_of(seed)).trials[0]
        except PlanError:
            continue
        if not engine.check(planned.spec_json, engine.FLOW):
            found.append(planned)
    return found


def fastest_bps(spec: Any) -> int:
    """Return the rate of the fastest link that a spec names."""
    if isinstance(spec, dict):
        return max([spec.get("rate_bps") or 0, *map(fastest_bps, spec.values())])
    return max(map(fastest_bps, spec), default=0) if isinstance(spec, list) else 0


def test_no_chunk_is_faster_than_the_fastest_link_and_each_is_complete() -> None:
    chosen = trials()
    ran = 0
    for planned in chosen:
        chunks = Chunks()
        try:
            summary = get_backend("flow").run(planned, chunks, threads=1).summary
        except RefusedError as error:
            if error.field != "fabric.switch.pfc":
                raise
            continue
        ran += 1
        assert summary["status"] == "complete"
        bps = fastest_bps(json.loads(planned.spec_json)["fabric"])
        for row in chunks.rows_:
            least_ps = row["payload_bytes"] * 8 * 10**12 // bps
            assert row["delivered_ps"] - row["start_ps"] >= least_ps, row
            assert row["completed_ps"] >= row["delivered_ps"], row
    assert ran > 5, f"{ran} of {len(chosen)} plans ran"


@pytest.mark.parametrize("place", [0, 2])
def test_the_same_plan_gives_the_same_rows(place: int) -> None:
    planned = trials()[place]
    first, again = Chunks(), Chunks()
    for chunks in (first, again):
        get_backend("flow").run(planned, chunks, threads=1)
    assert first.rows_ == again.rows_


def test_packets_that_take_a_multiple_of_what_flows_take_are_told() -> None:
    topology = {"kind": "single-switch", "hosts": 4}
    job = {"name": "test", "collective": "all-reduce", "data_size": 1 << 20}
    plan = {"fabricbench": 1, "name": "idle", "fabric": {"topology": topology}, "jobs": [job]}
    (planned,) = loading.load_fields(plan).trials
    record = run_trial(planned)
    assert not list(flow_violations(planned, record))
    (outcome,) = record.summary["jobs"]
    slow = {**record.summary, "jobs": [{**outcome, "end_ps": 3 * outcome["end_ps"]}]}
    (violation,) = flow_violations(planned, dataclasses.replace(record, summary=slow))
    assert "idle fabric" in violation.rule
