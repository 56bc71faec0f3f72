"""Host profiles: what a plan takes on, what wins over it, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.profile import read_profile
from fabricbench.work import collective_of

PLAN = """\
fabricbench: 1
name: small
profile: host.yaml
fabric: {topology: {kind: single-switch, hosts: 4}}
jobs:
  - {collective: all-to-all}
sweep: {data_size: [64KB]}
"""


def parameter(value: object) -> dict[str, object]:
    return {"value": value, "residual_median": 0.5, "residual_max": 2, "samples": 3, "basis": "a sweep"}


def profile(**changes: Any) -> dict[str, Any]:
    return {
        "fabricbench_profile": 1,
        "made": {
            "date": "2026-11-24T02:00:00+00:00",
            "fabricbench": "0.2.0",
            "backend": "hosts",
            "plan": "calibrate",
            "scale": 1,
            "iterations": 3,
        },
        "parameters": {
            "send_overhead": parameter("300ns"),
            "receive_overhead": parameter("700ns"),
            "latency": parameter("2us"),
            "rate": parameter("97Gbps"),
            "window": parameter(64),
        },
        **changes,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN)
    write(tmp_path, profile())
    return tmp_path


def write(folder: Path, content: dict[str, Any]) -> None:
    (folder / "host.yaml").write_text(json.dumps(content, indent=2))


def values(folder: Path, *overrides: str) -> dict[str, Any]:
    """Return what a profile may give, of the first trial of the plan."""
    spec = load_plan(str(folder / "plan.yaml"), overrides).trials[0].run_spec
    job = spec["jobs"][0]
    return {
        "send": collective_of(job).get("send_overhead_ps", 0),
        "receive": collective_of(job).get("receive_overhead_ps", 0),
        "latency": spec["fabric"]["nic"]["latency_ps"],
        "rate": spec["fabric"]["topology"]["host_link"]["rate_bps"],
        "window": spec["transport"]["window_packets"],
    }


MEASURED = {"send": 300_000, "receive": 700_000, "latency": 2_000_000, "rate": 97 * 10**9, "window": 64}


def test_the_values_of_a_profile_take_the_place_of_defaults(folder: Path) -> None:
    assert values(folder) == MEASURED


@pytest.mark.parametrize(
    ("override", "name", "value"),
    [
        ("fabric.nic.latency=1us", "latency", 1_000_000),
        ("fabric.topology.host_link=50Gbps", "rate", 50 * 10**9),
        ("fabric.topology.host_link={rate: 50Gbps, length: 1m}", "rate", 50 * 10**9),
        ("transport.window=8", "window", 8),
        ("jobs.0.send_overhead=0", "send", 0),
    ],
)
def test_what_the_plan_writes_wins(folder: Path, override: str, name: str, value: int) -> None:
    assert values(folder, override) == MEASURED | {name: value}


def test_a_part_of_a_mapping_leaves_the_rest_to_the_profile(folder: Path) -> None:
    assert (
        values(folder, "fabric.topology.host_link={length: 1m}", "fabric.nic={drain_rate: 1Gbps}") == MEASURED
    )


def test_a_variant_that_replaces_a_mapping_takes_the_profile_too(folder: Path) -> None:
    (folder / "plan.yaml").write_text(
        PLAN
        + "variants:\n"
        + "  - {name: as-measured, set: {fabric.nic: {receive_buffer: 1MB}}}\n"
        + "  - {name: faster, set: {fabric.nic: {latency: 1us}}}\n"
    )
    found = load_plan(str(folder / "plan.yaml")).trials
    latencies = {each.variant: each.run_spec["fabric"]["nic"]["latency_ps"] for each in found}
    assert latencies == {"as-measured": 2_000_000, "faster": 1_000_000}


def test_a_scaled_plan_has_hosts_as_they_were_measured(folder: Path) -> None:
    assert values(folder, "scale=100") == MEASURED


def test_open_loop_traffic_has_no_overheads(folder: Path) -> None:
    job = "jobs=[{collective: permutation, arrivals: {load: 10%, duration: 100us}}]"
    assert values(folder, job) == MEASURED | {"send": 0, "receive": 0}


def test_what_could_not_be_measured_is_left_to_the_plan(folder: Path) -> None:
    found = profile()
    del found["parameters"]["window"]
    write(folder, found)
    assert values(folder) == MEASURED | {"window": 1 << 23}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fabricbench_profile": 2}, "fabricbench_profile: found 2; allowed: 1"),
        ({"parameters": {"latency": parameter("fast")}}, 'parameters.latency.value: found "fast"'),
        ({"parameters": {"latncy": parameter("1us")}}, "parameters.latncy: found an unknown key"),
        ({"parameters": {"window": parameter(0)}}, "parameters.window.value: found 0"),
        ({"parameters": {"rate": {"value": "1Gbps"}}}, "parameters.rate.residual_median: found nothing"),
    ],
)
def test_a_bad_profile_is_refused_with_file_line_and_field(
    folder: Path, changes: dict[str, Any], said: str
) -> None:
    write(folder, profile(**changes))
    with pytest.raises(PlanError) as refused:
        load_plan(str(folder / "plan.yaml"))
    first = refused.value.problems[0]
    assert said in str(first)
    assert (first.place.source, first.place.line is not None) == (str(folder / "host.yaml"), True)


def test_a_wrong_date_is_no_date(folder: Path) -> None:
    found = profile()
    found["made"]["date"] = "yesterday"
    write(folder, found)
    with pytest.raises(PlanError, match=r'made.date: found "yesterday"'):
        read_profile(folder / "host.yaml")


def test_a_value_that_the_engine_refuses_is_shown_in_the_profile(folder: Path) -> None:
    found = profile()
    found["parameters"]["send_overhead"] = parameter("100000s")
    write(folder, found)
    with pytest.raises(PlanError, match=r"host\.yaml:[0-9]+: jobs\.0\.send_overhead"):
        load_plan(str(folder / "plan.yaml"))


def test_a_missing_profile_is_named_with_the_line_of_the_plan(folder: Path) -> None:
    (folder / "host.yaml").unlink()
    with pytest.raises(PlanError, match=r'plan\.yaml:3: profile: found no file "host\.yaml"'):
        load_plan(str(folder / "plan.yaml"))


def test_a_plan_that_is_no_file_reads_none() -> None:
    with pytest.raises(PlanError, match="of a plan that is no file"):
        load_text(PLAN.replace("host.yaml", "/etc/passwd"), "<text>")
