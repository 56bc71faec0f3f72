"""A plan at rates scaled down: what is divided, what is multiplied, what stays, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import SMALL, errors_of, plan_of

import fabricbench as fb
from fabricbench.cli.main import run
from fabricbench.plan.expand import expand
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.rate_scale import DELAYS, scaled

CLOSE = """\
fabricbench: 1
name: close
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: {rate: 400Gbps, length: 0m}}
  switch: {pipeline_latency: 1ns}
  nic: {latency: 1ns}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep: {data_size: [1MB, 4MB]}
"""


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every number and text of a run spec by its path."""
    if isinstance(value, dict):
        return {
            place: leaf for key, each in value.items() for place, leaf in leaves(each, (*path, key)).items()
        }
    if isinstance(value, list):
        numbered = enumerate(value)
        return {
            place: leaf for key, each in numbered for place, leaf in leaves(each, (*path, str(key))).items()
        }
    return {path: value}


def spec_of(text: str) -> dict[str, Any]:
    return dict(expand(plan_of(text))[0].run_spec)


@pytest.mark.parametrize(
    "extra", ["", "  rate_control: dcqcn\n", "  rate_control: swift\n", "  rate_control: timely\n"]
)
@pytest.mark.parametrize("scale", [2, 1000])
def test_rates_are_divided_timers_multiplied_and_the_rest_stays(extra: str, scale: int) -> None:
    text = SMALL.replace("transport: {mtu: 4096, ack_every: 2}\n", f"transport:\n  mtu: 4096\n{extra}")
    text = text.replace("    host_link: 400Gbps\n", "    host_link: 400Gbps\n  switch: {ecn: alibaba}\n")
    plain, other = leaves(spec_of(text)), leaves(spec_of(f"{text}scale: {scale}\n"))
    assert plain.keys() == other.keys()
    for path, value in plain.items():
        name = next(part for part in reversed(path) if not part.isdigit())
        if name.endswith("_bps") and value is not None:
            assert other[path] * scale == value, path
        elif name.endswith("_ps") and name not in DELAYS and value is not None:
            assert other[path] == value * scale, path
        else:
            assert other[path] == value, path
    assert any(plain[path] != other[path] for path in plain)


def test_a_scale_of_one_changes_nothing_to_the_byte() -> None:
    assert [each.spec_json for each in expand(plan_of(SMALL))] == [
        each.spec_json for each in expand(plan_of(SMALL + "scale: 1\n"))
    ]
    spec = expand(plan_of(SMALL))[0].run_spec
    assert scaled(spec, 1) is spec


@pytest.mark.parametrize("scale", [2, 1000])
def test_where_delays_grow_as_well_a_run_takes_exactly_as_many_times_as_long(
    scale: int, tmp_path: Path
) -> None:
    path = tmp_path / "close.yaml"
    path.write_text(CLOSE)
    plain = fb.run(fb.load(path), workspace=tmp_path / "w")
    delays = {"fabric.switch.pipeline_latency": f"{scale}ns", "fabric.nic.latency": f"{scale}ns"}
    other = fb.run(fb.load(path).with_(delays, scale=scale), workspace=tmp_path / "w")
    for one, many in zip(plain, other, strict=True):
        (first,), (second,) = ((each.stored.summary or {})["jobs"] for each in (one, many))
        assert second["end_ps"] == scale * first["end_ps"]


@pytest.mark.parametrize("collective", ["all-to-all", "all-reduce", "all-gather"])
def test_with_delays_a_large_collective_takes_nearly_as_many_times_as_long(
    collective: str, tmp_path: Path
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.replace("all-to-all", collective).replace("[16MB, 32MB]", "[16MB]"))
    times = [
        fb.run(fb.load(path).with_(scale=scale), workspace=tmp_path / "w").summary["completion_time_ms"][0]
        for scale in (1, 100)
    ]
    # Delays weigh a hundredth: the scaled run is faster than a hundred times, by what they were.
    assert 0.9 < times[1] / (100 * times[0]) <= 1.0


def test_a_rate_below_what_links_may_have_is_refused_with_its_line() -> None:
    told = errors_of(SMALL + "scale: 500000\n")
    assert "plan.yaml:9: fabric.topology.host_link" in told
    assert "at a scale of 500000" in told
    assert "hint: a smaller `scale`" in told


@pytest.mark.parametrize("found", ["0", "-1", "1.5", "two", "1000001"])
def test_what_is_no_scale_is_refused_with_its_line(found: str) -> None:
    assert "plan.yaml:17: scale: found" in errors_of(f"{SMALL}scale: {found}\n")


def test_published_results_are_left_out_of_a_scaled_plan_with_a_warning() -> None:
    assert load_plan("jct-alltoall").variants[0].published is not None
    loaded = load_plan("jct-alltoall", ["scale=1000"])
    assert loaded.variants[0].published is None
    assert any("left out at a scale of 1000" in str(each) for each in loaded.warnings)
    assert not load_text(SMALL + "scale: 2\n", "plan.yaml").warnings


def test_the_command_takes_a_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "close.yaml"
    path.write_text(CLOSE)
    where = ["--workspace", str(tmp_path / "w"), "--format", "json"]
    assert run(["run", str(path), "--scale", "2", *where]) == 0
    first = json.loads(capsys.readouterr().out)["trials"][0]
    (trial,) = [each for each in fb.workspace(tmp_path / "w").trials() if each.id == first["id"]]
    assert trial.run_spec["fabric"]["topology"]["host_link"]["rate_bps"] == 200_000_000_000


TCP = """\
tcp:
  - {name: background, ranks: "0,1", collective: permutation, rate: 1Gbps}
"""


def test_timers_of_tcp_end_at_the_longest_that_is_allowed_with_a_warning() -> None:
    text = SMALL + TCP
    plain, other = spec_of(text)["tcp"][0], spec_of(f"{text}scale: 4000\n")["tcp"][0]
    assert other["rto_max_ps"] == 10**15
    assert other["rto_min_ps"] == min(4_000 * plain["rto_min_ps"], 10**15)
    told = [str(each) for each in load_text(f"{text}scale: 4000\n", "plan.yaml").warnings]
    assert any("tcp.0.rto_max: found 240000s at a scale of 4000" in each for each in told)
    assert not any("rto" in str(each) for each in load_text(f"{text}scale: 10\n", "plan.yaml").warnings)


def test_the_interval_of_dynamic_ecn_ends_at_the_longest_with_a_warning() -> None:
    ecn = "{preset: sonic, dynamic: {interval: 100us}}"
    text = SMALL.replace("fabric:\n", f"fabric:\n  switch: {{ecn: {ecn}}}\n")

    def interval_ps(scale: int) -> int:
        ecn_spec = spec_of(f"{text}scale: {scale}\n")["fabric"]["switch"]["ecn"]
        return int(ecn_spec["dynamic"]["interval_ps"])

    assert interval_ps(1_000) == 10**11
    assert interval_ps(80_000) == 10**12
    told = [str(each) for each in load_text(f"{text}scale: 80000\n", "plan.yaml").warnings]
    assert any("fabric.switch.ecn.dynamic.interval: found 8s at a scale of 80000" in each for each in told)


def test_latencies_too_short_for_links_so_slow_are_raised_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "close.yaml"
    path.write_text(CLOSE)
    loaded = load_plan(str(path), ["scale=10000"])
    fabric = loaded.trials[0].run_spec["fabric"]
    # A frame of 65,535 bytes takes 13.107 ms at 40 Mb/s.
    assert fabric["nic"]["latency_ps"] == fabric["switch"]["pipeline_latency_ps"] == 819_187
    assert any("adapters and switches take 819.187ns at least" in str(each) for each in loaded.warnings)
    (row, *_) = fb.run(fb.load(path).with_(scale=10_000), workspace=tmp_path / "w")
    assert (row.stored.summary or {})["status"] == "complete"


def test_reactions_to_pauses_are_raised_with_the_latencies_that_they_include() -> None:
    times = "  switch: {pfc: {reaction: 600ns, response: 10ns}, buffer: {pipeline: 300ns}}\n"
    times += "  nic: {pause_reaction: 700ns, pause_response: 20ns}\n"
    text = SMALL.replace("fabric:\n", f"fabric:\n{times}", 1)
    fabric = expand(plan_of(text + "scale: 16000\n"))[0].run_spec["fabric"]
    switch, nic = fabric["switch"], fabric["nic"]
    pfc = switch["pfc"]
    assert pfc is not None
    assert pfc["reaction_ps"] == switch["pipeline_latency_ps"] > 600_000
    assert nic["pause_reaction_ps"] == nic["latency_ps"] > 700_000
    # The other times are what the plan has, whatever the rate.
    assert (pfc["response_ps"], nic["pause_response_ps"]) == (10_000, 20_000)
    assert switch["buffer"]["pipeline_ps"] == 300_000
