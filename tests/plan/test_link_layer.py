"""InfiniBand in a plan: its defaults, and what is refused with it."""

import pytest
from tests.plan.examples import SMALL, errors_of, golden, plan_of, with_line

MISTAKES = golden("link_layer")


def fabric_with(fields: str) -> str:
    return with_line("fabric:", f"fabric:\n{fields}")


@pytest.mark.parametrize("case", MISTAKES, ids=[case["by"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str]) -> None:
    assert errors_of(with_line(case["replace"], case["by"])) == case["expect"]


def test_dcqcn_has_no_marks_to_react_to() -> None:
    text = fabric_with("  link_layer: infiniband").replace("ack_every: 2", "rate_control: dcqcn")
    assert "transport.rate_control: found rate control with `link_layer: infiniband`" in errors_of(text)


def test_ethernet_is_the_default() -> None:
    spec = plan_of(SMALL).fabric.run_spec(3, [])
    assert spec["link_layer"] == {"kind": "ethernet"}
    assert spec == plan_of(fabric_with("  link_layer: ethernet")).fabric.run_spec(3, [])


def test_infiniband_brings_its_defaults() -> None:
    spec = plan_of(fabric_with("  link_layer: infiniband")).fabric.run_spec(3, [])
    assert spec["link_layer"] == {
        "kind": "infiniband",
        "vl_buffer_bytes": 131_072,
        "credit_interval_ps": 256_000,
    }
    assert spec["load_balancing"] == {"kind": "d-mod-k"}
    assert (spec["switch"]["forwarding"], spec["switch"]["pipeline_latency_ps"]) == ("cut-through", 130_000)
    assert spec["nic"]["latency_ps"] == 300_000


def test_what_a_plan_gives_stands_before_the_defaults_of_infiniband() -> None:
    fields = """\
  link_layer: {infiniband: {vl_buffer: 8320B, credit_interval: 1us}}
  load_balancing: adaptive
  switch: {pipeline_latency: 90ns}
  nic: {latency: 250ns}"""
    spec = plan_of(fabric_with(fields)).fabric.run_spec(3, [])
    assert spec["load_balancing"] == {"kind": "adaptive"}
    assert (spec["switch"]["forwarding"], spec["switch"]["pipeline_latency_ps"]) == ("cut-through", 90_000)
    assert spec["nic"]["latency_ps"] == 250_000
    assert spec["link_layer"] == {
        "kind": "infiniband",
        "vl_buffer_bytes": 8_320,
        "credit_interval_ps": 1_000_000,
    }
