"""The time of day of a machine is set while data flows: a run goes by the monotonic clock alone.

In a virtual machine, whose time can be set for real (FABRICBENCH_RDMA_VM names its folder).
Two agents and their controllers run there, with certificates: `time_of_day.py`.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
from tests.hosts.time_of_day import AHEAD_S, LIMIT_BPS, ROUNDS, SIZE_BYTES
from tests.verbs.machines import Machines, python

from fabricbench.store import Workspace
from fabricbench.store.catalog.trial import Trial

pytestmark = pytest.mark.slow
CASES: Final[list[dict[str, Any]]] = [
    {"name": "roce", "driver": "roce", "jumps": ["three days", "ten years ago"]},
    {"name": "tcp", "driver": "tcp", "jumps": ["three days", "ten years ago"]},
    {"name": "roce-armed", "driver": "roce", "at_start": "ten years ago", "jumps": []},
    {"name": "tcp-armed", "driver": "tcp", "at_start": "three days", "jumps": []},
]
NAMES: Final = [case["name"] for case in CASES]
DISTURBED: Final = [case["name"] for case in CASES if case["jumps"]]
ARMED: Final = [case["name"] for case in CASES if not case["jumps"]]


class Told:
    """What a machine has told of its runs."""

    def __init__(self, share: Path) -> None:
        self.share = share
        self.results = json.loads((share / "results.json").read_text())

    def trial(self, name: str) -> Trial:
        """Return the one trial of a run, which is complete."""
        result = self.results[name]
        assert result["status"] == 0, result["said"]
        (trial,) = Workspace.open(self.share / name).trials()
        assert trial.status == "complete"
        return trial

    def chunks(self, name: str) -> list[dict[str, Any]]:
        """Return the chunks of a run, all of which have arrived."""
        rows: list[dict[str, Any]] = self.trial(name).tables.table("chunks").to_pylist()
        assert len(rows) == 2 * ROUNDS
        assert {(row["status"], row["payload_bytes"]) for row in rows} == {("complete", SIZE_BYTES // 2)}
        return rows

    def since_start_ps(self, name: str, at_ns: int) -> int:
        """Return when something was, in times of the record."""
        return int(at_ns - self.results[name]["start_ns"]) * 1_000


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    machines = Machines(tmp_path_factory.mktemp("machines"))
    try:
        machines.run(1, python("-m", "tests.hosts.time_of_day", *map(json.dumps, CASES)), seconds=1_500)
    finally:
        machines.end()
    return Told(machines.share(1))


@pytest.mark.parametrize("name", DISTURBED)
def test_the_time_of_day_jumps_while_data_flows(told: Told, name: str) -> None:
    rows, result = told.chunks(name), told.results[name]
    assert [jump["name"] for jump in result["jumps"]] == ["three days", "ten years ago"]
    at_ps = [told.since_start_ps(name, jump["after_ns"]) for jump in result["jumps"]]
    # Bytes were seen to pass before, between and after.
    seen_ps = [told.since_start_ps(name, at_ns) for at_ns in result["flowing_ns"]]
    assert 0 < seen_ps[0] < at_ps[0] < seen_ps[1] < at_ps[1] < seen_ps[2]
    # The record has chunks that were delivered before, between and after, and such as were under way.
    assert any(row["delivered_ps"] < at_ps[0] for row in rows)
    assert any(at_ps[0] < row["start_ps"] and row["delivered_ps"] < at_ps[1] for row in rows)
    assert any(at_ps[1] < row["start_ps"] for row in rows)
    assert any(row["start_ps"] < each < row["delivered_ps"] for row in rows for each in at_ps)
    assert max(row["delivered_ps"] for row in rows) > seen_ps[2]


@pytest.mark.parametrize("name", ARMED)
def test_the_time_of_day_jumps_between_arming_and_start(told: Told, name: str) -> None:
    result = told.results[name]
    (jump,) = result["at_start"]
    assert result["began_ns"] < jump["before_ns"] < result["start_ns"]
    assert len(told.chunks(name)) == 2 * ROUNDS


@pytest.mark.parametrize("name", NAMES)
def test_times_are_those_of_the_monotonic_clock(told: Told, name: str) -> None:
    rows, trial = told.chunks(name), told.trial(name)
    ended_ps = told.since_start_ps(name, told.results[name]["ended_ns"])
    for row in rows:
        assert 0 <= row["start_ps"] < min(row["delivered_ps"], row["completed_ps"])
        assert max(row["delivered_ps"], row["completed_ps"]) < ended_ps
        assert 0 < row["fct_ps"] < ended_ps
    (job,) = trial.results
    took_ps = job["completion_time_ms"] * ROUNDS * 1e9
    # A burst of a millisecond comes on top of the limit.
    limit_ps = ROUNDS * SIZE_BYTES // 2 * 8 * 10**12 / LIMIT_BPS
    assert limit_ps - 2e9 < took_ps < ended_ps


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_right_and_both_clocks_known_to_be_one(told: Told, name: str) -> None:
    for host in told.trial(name).engine["hosts"]:
        assert host["endpoint"]["wrong_bytes"] == 0
        assert abs(host["clock_offset_ns"]) <= host["clock_error_ns"] < 10**9
        assert host["clock_drift_ns"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_catalog_tells_the_time_of_day(told: Told, name: str) -> None:
    trial, case = told.trial(name), next(case for case in CASES if case["name"] == name)
    last = [case.get("at_start", ""), *case["jumps"]][-1]
    started, ended = (datetime.fromisoformat(each) for each in (trial.started_at, trial.ended_at or ""))
    assert abs((ended - started).total_seconds() - AHEAD_S[last]) < 600


@pytest.mark.parametrize("command", ["run", "check"])
def test_certificates_that_are_not_valid_yet_are_refused_by_the_time_of_day(told: Told, command: str) -> None:
    refused = told.results["refused"][command]
    assert refused["status"] == 2, refused["said"]
    assert "certificate is refused: certificate is not yet valid" in flat(refused["said"])
    assert "is the time of day right here and at the host?" in flat(refused["said"])


def flat(said: str) -> str:
    """Return what was said without its line breaks."""
    return " ".join(said.split())
