"""Pools of buffers, and several switches in one chip: what a plan says is what the engine is told."""

from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import SMALL, assert_refused, golden, plan_of

from fabricbench.plan.expand import expand
from fabricbench.plan.fabric.switches.pools import SONIC_POOLS

MISTAKES = golden("pools")


def text(fields: str) -> str:
    """Return the small plan with fields of its fabric."""
    return SMALL.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n  {fields}\n")


def fabric_of(fields: str) -> Any:
    return expand(plan_of(text(fields)))[0].run_spec["fabric"]


def pools_of(fields: str) -> Any:
    fabric = fabric_of(f"switch: {{pfc: on, buffer: {{size: 64MB, pools: {fields}}}}}")
    return fabric["switch"]["buffer"]["pools"]


@pytest.mark.parametrize("case", MISTAKES, ids=[case["add"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str], tmp_path: Path) -> None:
    assert_refused(tmp_path, text(case["add"]), case["expect"])


def test_a_pool_without_priorities_has_all_that_no_other_names() -> None:
    fields = "{ingress: [{name: a, size: 30MB, priorities: [3]}, {name: b, size: 1MB}]}"
    first, rest = pools_of(fields)["ingress"]
    assert (first["priorities"], rest["priorities"]) == ([3], [0, 1, 2, 4, 5, 6, 7])
    assert (first["xoff"], first["headroom_bytes"], first["limit"]) == (None, None, None)


def test_thresholds_of_pools_are_written_out() -> None:
    xoff = "{bytes: 10MB, offset: 1MB, pauses: host-ports}"
    ingress = f"[{{name: a, size: 20MB, headroom: 1MB, xoff: {xoff}}}]"
    egress = "[{name: q, size: 10MB, reserved: 1518, limit: {alpha: 8}}]"
    pools = pools_of(f"{{ingress: {ingress}, egress: {egress}}}")
    assert pools["ingress"][0]["xoff"] == {
        "bytes": 10 << 20,
        "offset_bytes": 1 << 20,
        "pauses": "host-ports",
    }
    assert pools["ingress"][0]["headroom_bytes"] == 1 << 20
    assert pools["egress"] == [
        {
            "name": "q",
            "priorities": list(range(8)),
            "size_bytes": 10 << 20,
            "reserved_bytes": 1518,
            "limit": {"kind": "dynamic", "alpha": {"numerator": 8, "denominator": 1}},
        }
    ]
    default = pools_of("{ingress: [{name: a, size: 20MB, xoff: on}]}")["ingress"][0]["xoff"]
    assert default == {"bytes": None, "offset_bytes": 16 << 10, "pauses": "holders"}


@pytest.mark.parametrize("preset", SONIC_POOLS)
def test_presets_fit_the_buffers_of_their_switches(preset: str) -> None:
    size = {"sonic-trident3": "36MB", "sonic-tomahawk5": "180MB"}[preset]
    fields = f"switch: {{pfc: on, buffer: {{size: {size}, pools: {preset}}}}}"
    pools = fabric_of(fields)["switch"]["buffer"]["pools"]
    assert [pool["name"] for pool in pools["ingress"]] == ["ingress_lossless_pool"]
    assert pools["egress"][0]["priorities"] == [3]


def test_chips_are_written_out() -> None:
    assert fabric_of("chips: [{name: asic, switches: [leaf0, spine1]}]")["chips"] == [
        {"name": "asic", "switches": ["leaf0", "spine1"]}
    ]
    assert "chips" not in fabric_of("switch: {pfc: on}")
