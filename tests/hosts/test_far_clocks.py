"""Clocks of hosts that differ by hours: what two of them measured still goes together."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hosts.links import Routed
from tests.hosts.processes import Hosts

from fabricbench.store import Workspace

pytestmark = pytest.mark.slow
AHEAD_S = (100_000, 7_000_000)


def test_monotonic_clocks_far_apart_have_one_start(tmp_path: Path) -> None:
    network = Routed(*(("--time", "--monotonic", str(seconds)) for seconds in AHEAD_S))
    hosts = Hosts(tmp_path, 2, "20Mbps", network)
    try:
        finished = hosts.run(tmp_path / "workspace")
    finally:
        hosts.end()
    assert finished.returncode == 0, finished.stderr
    (trial,) = Workspace.open(tmp_path / "workspace").trials()
    errors_ps = 0
    for told, ahead_s in zip(trial.engine["hosts"], AHEAD_S, strict=True):
        assert abs(told["clock_offset_ns"] - ahead_s * 10**9) <= told["clock_error_ns"] < 10**8
        errors_ps += told["clock_error_ns"] * 1_000
    for row in trial.tables.table("chunks").to_pylist():
        assert row["delivered_ps"] > row["start_ps"] - errors_ps
        assert row["completed_ps"] > row["delivered_ps"] - errors_ps
        assert row["completed_ps"] < 60 * 10**12
