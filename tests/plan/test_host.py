"""Shipped host profiles, costs of messages and clocks: what a plan takes on, and what is said of bad ones."""

from __future__ import annotations

from typing import Any

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_text
from fabricbench.plan.profile import read_profile, shipped_nics

PLAN = """\
fabricbench: 1
name: small
host: {host}
fabric:
  topology: {{kind: single-switch, hosts: 4}}
{fabric}
transport: {transport}
jobs:
  - {{collective: all-to-all}}
sweep: {{data_size: [64KB]}}
"""


def spec_of(host: str = "{}", fabric: str = "", transport: str = "{}") -> Any:
    text = PLAN.format(host=host, fabric=fabric, transport=transport)
    return load_text(text, "plan.yaml").trials[0].run_spec


def problem_of(host: str = "{}", fabric: str = "", transport: str = "{}") -> str:
    with pytest.raises(PlanError) as error:
        spec_of(host, fabric, transport)
    return str(error.value)


def test_an_ideal_host_changes_nothing_of_a_run_spec() -> None:
    plain = spec_of()
    assert plain == spec_of("{nic: ideal}")
    assert "messages" not in plain["fabric"]["nic"]
    assert "clocks" not in plain["fabric"]


def test_each_value_of_a_shipped_profile_has_a_source_and_reaches_the_run_spec() -> None:
    assert list(shipped_nics()) == ["connectx-5-100g"]
    for path in shipped_nics().values():
        profile = read_profile(path).profile
        assert profile.source
        assert all(each.source for each in profile.fields)
    spec = spec_of("{nic: connectx-5-100g}")
    nic = spec["fabric"]["nic"]
    assert spec["fabric"]["topology"]["host_link"]["rate_bps"] == 100_000_000_000
    assert nic["messages"]["message_cost_ps"] == 258_000
    assert nic["messages"]["message_interval_ps"] == 60_000
    assert nic["messages"]["start_bytes"] == 32_768
    assert (nic["receive_buffer_bytes"], nic["cnp_above_bytes"]) == (262_016, 131_008)
    control = spec["transport"]["rate_control"]
    assert (control["kind"], control["cnp_interval_ps"]) == ("dcqcn", 3_540_000_000)


def test_what_a_plan_writes_wins() -> None:
    fabric, transport = "  nic: {message_cost: 1us, latency: 300ns}", "{rate_control: line-rate}"
    spec = spec_of("{nic: connectx-5-100g}", fabric, transport)
    assert spec["fabric"]["nic"]["messages"]["message_cost_ps"] == 1_000_000
    assert spec["fabric"]["nic"]["latency_ps"] == 300_000
    assert spec["transport"]["rate_control"] == {"kind": "line-rate"}
    assert spec["fabric"]["nic"]["messages"]["message_interval_ps"] == 60_000


def test_adapters_can_be_variants() -> None:
    text = PLAN.format(host="{}", fabric="", transport="{}")
    text += "variants:\n  - {name: ideal}\n  - {name: real, set: {host.nic: connectx-5-100g}}\n"
    trials = load_text(text, "plan.yaml").trials
    assert ["messages" in trial.run_spec["fabric"]["nic"] for trial in trials] == [False, True]


def test_clocks_reach_the_run_spec() -> None:
    hosts = "[{host: 2, drift: -3.5ppm}, {host: 0, offset: 2us}]"
    spec = spec_of(fabric=f"  clocks: {{offset: 1us, drift: 20ppm, jitter: 5ns, hosts: {hosts}}}")
    assert spec["fabric"]["clocks"] == {
        "offset_ps_max": 1_000_000,
        "drift_ppb_max": 20_000,
        "jitter_ps_max": 5_000,
        "hosts": [
            {"host": 2, "offset_ps": 0, "rate_ppb": 999_996_500},
            {"host": 0, "offset_ps": 2_000_000, "rate_ppb": 1_000_000_000},
        ],
    }


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("{nic: connectx-5}", '"connectx-5"; allowed: ideal, connectx-5-100g'),
        ("{nic: 5}", "host.nic"),
        ("{adapter: ideal}", "adapter"),
        ("connectx-5-100g", "host"),
    ],
)
def test_an_adapter_that_is_not_there_is_refused_by_name(host: str, found: str) -> None:
    message = problem_of(host)
    assert found in message
    assert message.startswith("error: plan.yaml:3:")


@pytest.mark.parametrize(
    ("fabric", "found"),
    [
        ("  clocks: {drift: -3ppm}", "fabric.clocks.drift"),
        ("  clocks: {drift: 2000ppm}", "at most 1000ppm"),
        ("  clocks: {drift: 20}", "a drift such as 20ppm"),
        ("  clocks: {offset: 2s}", "at most 1s"),
        ("  clocks: {jitter: 2s}", "at most 1s"),
        ("  clocks: {hosts: [{host: 4}]}", "hosts 0 to 3 of this topology"),
        ("  clocks: {hosts: [{host: 1}, {host: 1}]}", "host 1 again"),
        ("  clocks: {drift: 20ppm}\n  switch: {forwarding: cut-through}", "clocks with cut-through switches"),
        ("  nic: {drain_rate: 10Gbps, receive_buffer: 64KB, cnp_above: 64KB}", "not below the buffer"),
        ("  nic: {transfer_start: {size: 4KB}}", "rate"),
        ("  nic: {message_cost: 258}", "fabric.nic.message_cost"),
    ],
)
def test_a_bad_clock_or_nic_is_refused_with_its_field(fabric: str, found: str) -> None:
    message = problem_of(fabric=fabric)
    assert found in message
    assert message.startswith("error: plan.yaml:")


def test_costs_of_messages_need_messages() -> None:
    fabric = "  nic: {message_interval: 60ns}"
    message = problem_of(fabric=fabric, transport="{recovery: selective}")
    assert "fabric.nic.message_interval" in message
    assert "`recovery: selective`" in message


def test_dcqcn_without_marks_needs_receivers_that_notify() -> None:
    assert "without ECN" in problem_of(transport="{rate_control: dcqcn}")
    fabric = "  nic: {drain_rate: 10Gbps, cnp_above: 1MB}"
    assert spec_of(fabric=fabric, transport="{rate_control: dcqcn}")["fabric"]["nic"]["cnp_above_bytes"]


def test_delays_of_adapters_stay_when_rates_are_scaled() -> None:
    text = PLAN.format(host="{nic: connectx-5-100g}", fabric="  clocks: {offset: 1us}", transport="{}")
    spec: Any = load_text(text, "plan.yaml", ["scale=100"]).trials[0].run_spec
    messages = spec["fabric"]["nic"]["messages"]
    assert (messages["message_cost_ps"], messages["start_rate_bps"]) == (258_000, 900_000_000)
    assert spec["fabric"]["clocks"]["offset_ps_max"] == 1_000_000
