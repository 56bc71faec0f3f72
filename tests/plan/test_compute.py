"""Time to compute in each round: in the RunSpec only where there is any, refused where nobody computes."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.plan.examples import errors_of, plan_of

import fabricbench as fb
from fabricbench.backend.hosts import _check
from fabricbench.backend.protocol import RefusedError
from fabricbench.plan.expand import expand
from fabricbench.work import collective_of

PLAN = """\
fabricbench: 1
name: synthetic
fabric: {topology: {kind: single-switch, hosts: 8}}
jobs:
  - {name: step, collective: all-reduce, data_size: 1MB, compute: 100us, repeat: 4}
"""


def load(text: str) -> fb.Plan:
    return fb.load(YAML(typ="safe", pure=True).load(text))


def test_it_is_in_the_run_spec() -> None:
    for text, expected in ((PLAN, 100_000_000), (PLAN.replace("compute: 100us, ", ""), 0)):
        assert collective_of(expand(plan_of(text))[0].run_spec["jobs"][0])["compute_ps"] == expected


def test_open_loop_traffic_and_storage_have_no_rounds_to_compute_in() -> None:
    arrivals = PLAN.replace("all-reduce", "permutation").replace(
        "repeat: 4", "arrivals: {load: 50%, duration: 1ms}"
    )
    assert "jobs.0.compute: found time to compute in each round of open-loop traffic" in errors_of(arrivals)


@pytest.mark.parametrize("backend", ["flow", "hosts"])
def test_other_backends_refuse_it_by_its_name(backend: str, tmp_path: Path) -> None:
    if backend == "hosts":
        with pytest.raises(RefusedError, match="compute_ps"):
            _check(expand(plan_of(PLAN))[0].run_spec)
        return
    with pytest.raises(fb.PlanError, match="compute"):
        fb.run(load(PLAN.replace(", repeat: 4", "")).with_({"backend": "flow"}), workspace=tmp_path)


def test_each_round_takes_so_much_longer(tmp_path: Path) -> None:
    plan = load(PLAN)
    with_it, without = (
        fb.run(plan.with_({"jobs.0.compute": time}), workspace=tmp_path)[0].summary.row(0, named=True)
        for time in ("100us", "0s")
    )
    more_ms = with_it["completion_time_ms"] - without["completion_time_ms"]
    assert more_ms == pytest.approx(0.1, abs=0.005)
    assert with_it["busbw_gb_per_s"] == pytest.approx(without["busbw_gb_per_s"], rel=0.03)
    roofline_ms = (1 << 20) * 8 * 14 / 8 / 400e9 * 1e3
    assert with_it["jct_ratio"] == pytest.approx(with_it["completion_time_ms"] / (0.1 + roofline_ms))
