"""WRED by colour and markers: what a plan says is what the engine is told."""

from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import SMALL, assert_refused, golden, plan_of

from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import expand
from fabricbench.report.studies.tested_fabric import ecn_text

MISTAKES = golden("colours")


def text(switch: str) -> str:
    """Return the small plan with fields of its switches."""
    return SMALL.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n  switch: {switch}\n")


def switch_of(switch: str) -> Any:
    return expand(plan_of(text(switch)))[0].run_spec["fabric"]["switch"]


@pytest.mark.parametrize("case", MISTAKES, ids=[case["add"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str], tmp_path: Path) -> None:
    assert_refused(tmp_path, text(case["add"]), case["expect"])


def test_without_colours_the_engine_is_told_of_none() -> None:
    switch = switch_of("{ecn: sonic}")
    assert "wred" not in switch["ecn"]
    assert "markers" not in switch


def test_a_colour_has_what_ecn_has_unless_it_says_otherwise() -> None:
    wred = switch_of(
        "{ecn: {kmin: 1KB, kmax: 2KB, pmax: 10%, wred: {yellow: {kmin: 0, ecn: off}, red: off}}}"
    )
    green = {"kmin_bytes": 1024, "kmax_bytes": 2048, "pmax_ppm": 100_000, "ecn": True}
    yellow = green | {"kmin_bytes": 0, "ecn": False}
    assert wred["ecn"]["wred"] == {"green": green, "yellow": yellow, "red": None}
    alike = switch_of("{ecn: {kmin: 1KB, kmax: 2KB, pmax: 10%, wred: on}}")["ecn"]["wred"]
    assert alike == {"green": green, "yellow": green, "red": green}


def test_markers_are_written_out_with_their_defaults() -> None:
    markers = switch_of(
        "{ecn: {preset: sonic, wred: on}, markers: [{hosts: 0-1, colour: red}, {cir: 1Gbps, pir: 2Gbps}, "
        "{priorities: [3], cir: 1Gbps, ebs: 0}]}"
    )["markers"]
    burst = {"cir_bps": 10**9, "cbs_bytes": 64 << 10}
    assert markers == [
        {"hosts": [0, 1], "priorities": None, "colouring": {"kind": "fixed", "colour": "red"}},
        {
            "hosts": None,
            "priorities": None,
            "colouring": {"kind": "two-rate", **burst, "pir_bps": 2 * 10**9, "pbs_bytes": 64 << 10},
        },
        {"hosts": None, "priorities": [3], "colouring": {"kind": "single-rate", **burst, "ebs_bytes": 0}},
    ]


def test_wred_of_some_switches_is_enough_for_markers() -> None:
    ecn = "{preset: sonic, wred: {yellow: {kmin: 50KB, kmax: 200KB}}}"
    settings = (
        f"switch: {{markers: [{{colour: yellow}}]}}\n  switch_settings: [{{switches: [spine*], ecn: {ecn}}}]"
    )
    plan = plan_of(SMALL.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n  {settings}\n"))
    assert plan.fabric.switch.markers


def test_tcp_that_is_not_ecn_capable_needs_wred_in_a_priority_of_ecn() -> None:
    def plan(switch: str, congestion: str) -> str:
        return (
            text(switch)
            + f"tcp: [{{ranks: 0-3, collective: incast, rate: 1Gbps, congestion: {congestion}}}]\n"
        )

    marked = "{ecn: {preset: sonic, priorities: [3, 0]%s}}"
    with pytest.raises(PlanError, match=r"`ecn.wred: on` drops what is not"):
        plan_of(plan(marked % "", "cubic"))
    assert plan_of(plan(marked % ", wred: on", "cubic")).fabric.switch.ecn
    dropped = ", wred: {green: {ecn: off}, yellow: off, red: off}"
    assert plan_of(plan(marked % dropped, "cubic")).fabric.switch.ecn
    with pytest.raises(PlanError, match="dctcp in priority 0, which no switch marks"):
        plan_of(plan(marked % dropped, "dctcp"))


def test_a_report_says_what_happens_to_each_colour() -> None:
    wred = "{yellow: {ecn: off}, red: off}"
    trial = expand(plan_of(text(f"{{ecn: {{kmin: 1KB, kmax: 2KB, pmax: 10%, wred: {wred}}}}}")))[0]
    thresholds = "dropped from 1 KB to 2 KB, 10 %"
    expected = f"WRED: green marked or {thresholds}; yellow {thresholds}; red passes"
    assert ecn_text(trial.run_spec) == expected
