"""Buffer tables of SONiC as the pools of a plan: which is in which, with what, and what ports differ in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.devices.sonic_files import PORTS, made, sonic_of, values, with_pools

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.sonic_config.conversion import TrafficPriorities, fragment_of

POOL = "BUFFER_POOL/ingress_lossless_pool"


def given(*changes: tuple[str, Any], carried: TrafficPriorities | None = None) -> Fragment:
    return fragment_of(sonic_of(with_pools(*changes)), carried or TrafficPriorities())


def pools(*changes: tuple[str, Any], carried: TrafficPriorities | None = None) -> Any:
    found = {each.field: each.value for each in given(*changes, carried=carried).values}
    return found.get("fabric.switch.buffer.pools")


def test_groups_and_queues_are_in_the_pools_of_their_profiles() -> None:
    assert pools() == {
        "ingress": [
            {
                "name": "ingress_lossless_pool",
                "size": "25668KB",
                "priorities": [0, 3, 4, 6],
                "headroom": "6MB",
                "limit": {"bytes": "4000000B"},
                # Priority 3 goes by `pfc`; 4, lossless too, carries nothing and keeps what it has.
                "profiles": [{"priorities": [4], "reserved": "1248B", "limit": {"alpha": "1/8"}}],
            }
        ],
        "egress": [
            {"name": "egress_lossless_pool", "size": "31812KB", "priorities": [3, 4]},
            {
                "name": "egress_lossy_pool",
                "size": "20000000B",
                "priorities": [0, 1, 2, 6],
                "reserved": "1664B",
                "limit": {"alpha": "1/2"},
            },
        ],
    }


def test_a_plan_that_uses_both_lossless_priorities_has_both_as_such() -> None:
    (ingress,) = pools(carried=TrafficPriorities(others=frozenset({4})))["ingress"]
    assert "profiles" not in ingress
    assert ingress["priorities"] == [0, 3, 4, 6]


def test_without_a_shared_headroom_pool_headroom_is_in_the_size() -> None:
    (ingress,) = pools((f"{POOL}/xoff", None), ("BUFFER_PROFILE/pg/size", "200000"))["ingress"]
    assert ingress["headroom_in_size"] is True
    assert "headroom" not in ingress
    (same,) = pools((f"{POOL}/xoff", "0"), ("BUFFER_PROFILE/pg/size", "200000"))["ingress"]
    assert same == ingress


def test_two_profiles_of_one_pool_are_told_apart() -> None:
    queues: tuple[tuple[str, Any], ...] = (
        ("BUFFER_PROFILE/out_lossy/pool", "egress_lossless_pool"),
        ("BUFFER_POOL/egress_lossy_pool", None),
    )
    (egress,) = pools(*queues)["egress"]
    assert egress == {
        "name": "egress_lossless_pool",
        "size": "31812KB",
        "priorities": [0, 1, 2, 3, 4, 6],
        "reserved": "1664B",
        "limit": {"alpha": "1/2"},
        "profiles": [{"priorities": [3, 4]}],
    }


def test_a_pool_of_both_sides_is_on_both() -> None:
    found = pools(
        (f"{POOL}/type", "both"),
        ("BUFFER_PROFILE/out_lossy/pool", "ingress_lossless_pool"),
        ("BUFFER_POOL/egress_lossy_pool", None),
    )
    assert [pool["name"] for pool in found["egress"]] == ["ingress_lossless_pool", "egress_lossless_pool"]
    assert found["egress"][0]["size"] == found["ingress"][0]["size"]


def test_the_buffer_is_no_smaller_than_its_largest_pool() -> None:
    found = given(("BUFFER_POOL/egress_lossless_pool/size", "40000000"))
    size = next(each for each in found.values if each.field == "fabric.switch.buffer.size")
    assert (size.value, size.origin) == ("40000000B", "BUFFER_POOL|egress_lossless_pool: size")


def test_what_differs_between_ports_is_told_and_that_of_most_is_taken() -> None:
    third = ("PORT/Ethernet16", {"speed": "400000", "admin_status": "up"})
    other: tuple[tuple[str, Any], ...] = (
        ("BUFFER_PROFILE/wide", {"pool": "egress_lossy_pool", "size": "9216", "dynamic_th": "3"}),
        ("BUFFER_QUEUE/Ethernet16|0-1", {"profile": "wide"}),
        ("BUFFER_QUEUE/Ethernet16|3", {"profile": "NULL"}),
    )
    assert pools(third, *other) == pools()
    told = [each for each in given(third, *other).warnings if each.startswith("BUFFER_QUEUE")]
    assert told == [
        "BUFFER_QUEUE: queue of priority 0, 1: egress_lossy_pool, 9216 bytes reserved, limit {alpha: 8} at "
        "Ethernet16; the plan has one value for all ports: egress_lossy_pool, 1664 bytes reserved, limit "
        "{alpha: 1/2}",
        "BUFFER_QUEUE: queue of priority 2, 6: no pool at Ethernet16; the plan has one value for all ports: "
        "egress_lossy_pool, 1664 bytes reserved, limit {alpha: 1/2}",
        "BUFFER_QUEUE: queue of priority 3, 4: no pool at Ethernet16; the plan has one value for all ports: "
        "egress_lossless_pool, 0 bytes reserved, limit none",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((f"{POOL}/size", None), "worked out by SONiC; give `fabric.switch.buffer`"),
        (
            ("BUFFER_PROFILE/pg/pool", None),
            "limits of egress pools (egress_lossless_pool, egress_lossy_pool)",
        ),
    ],
)
def test_a_file_that_does_not_say_enough_for_pools_gives_one_buffer(
    change: tuple[str, Any], told: str
) -> None:
    found = given(change)
    assert "fabric.switch.buffer.pools" not in {each.field for each in found.values}
    assert "fabric.switch.buffer.lossy_alpha" in {each.field for each in found.values}
    assert any(told in each for each in found.left_out)


def test_a_group_whose_profile_sonic_works_out_is_in_the_pool_of_lossless_traffic() -> None:
    found = made(
        (f"BUFFER_PG/{','.join(PORTS)}|3-4/profile", "NULL"),
        ("DEFAULT_LOSSLESS_BUFFER_PARAMETER/AZURE", {"default_dynamic_th": "1"}),
    )
    (pool,) = next(each for each in found.values if each.field.endswith("pools")).value["ingress"]
    assert pool["priorities"] == [3, 4]
    assert pool["headroom"] == "6MB"


def test_both_forms_of_a_reference_are_one() -> None:
    older = values(("BUFFER_PROFILE/pg/pool", "[BUFFER_POOL_TABLE|ingress_lossless_pool]"))
    assert older == values(("BUFFER_PROFILE/pg/pool", "ingress_lossless_pool"))
