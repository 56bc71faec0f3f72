"""Collectives across rails: which orders of ranks are warned of, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricbench.plan.estimates.rail_crossing import ranks_text
from fabricbench.plan.load import load_plan, load_text

PLANS = Path(__file__).parents[1] / "integration/defects"
BY_RAIL = "0-56:8,1-57:8,2-58:8,3-59:8,4-60:8,5-61:8,6-62:8,7-63:8"
"""Eight servers of eight GPUs, rail after rail."""


def warnings(topology: str, job: str) -> list[str]:
    text = f"fabricbench: 1\nname: rails\nfabric: {{server: none, topology: {topology}}}\njobs: [{{{job}}}]\n"
    loaded = load_text(f"{text}sweep: {{data_size: [64MB]}}\n", "rails.yaml")
    return [str(each.text("warning")) for each in loaded.warnings if "rail" in each.found]


def rails(
    servers: int = 8, rails: int = 8, spines: int = 4, *, scale_up: bool = True, rate: str = "400Gbps"
) -> str:
    own = ", scale_up_link: 3.6Tbps" if scale_up else ""
    return (
        f"{{kind: rail-optimised, servers: {servers}, rails: {rails}, spines: {spines}, "
        f"host_link: 400Gbps, fabric_link: {rate}{own}}}"
    )


PODS = (
    "{kind: rail-pods, pods: 2, servers_per_pod: 4, rails: 4, spines_per_rail: 2, cores_per_spine: 2, "
    "host_link: 400Gbps, fabric_link: 400Gbps, scale_up_link: 3.6Tbps}"
)
RING = "collective: all-reduce, algorithm: ring"


@pytest.mark.parametrize(
    ("plan", "where", "first"),
    [
        (
            "rails-in-one-ring",
            "each hop between servers crosses rails; libraries run one ring per rail",
            "0-504:8",
        ),
        ("rails-without-scale-up", "each hop crosses rails (448 inside a server", "0-504:8"),
    ],
)
def test_a_ring_as_a_newcomer_writes_it_is_warned_of(plan: str, where: str, first: str) -> None:
    (found,) = load_plan(str(PLANS / f"{plan}.yaml")).warnings
    assert where in found.found
    assert f'the first with `ranks: "{first}"`' in found.hint
    assert "expect PLAN --as-one" in found.hint


def test_the_hinted_plan_has_no_warning() -> None:
    assert not load_plan(str(PLANS / "rails-each-with-a-ring.yaml")).warnings


@pytest.mark.parametrize(
    ("topology", "job"),
    [
        (rails(), RING),
        (rails(), "collective: all-reduce, algorithm: ring-bidirectional"),
        (rails(), "collective: all-gather, algorithm: ring"),
        (rails(), "collective: reduce-scatter, algorithm: ring"),
        (rails(), "collective: all-gather, algorithm: neighbour-exchange"),
        (rails(servers=3, rails=3), RING),
        (PODS, RING),
        # Servers in another order, and half of the GPUs of each.
        (rails(), f'{RING}, ranks: "24-31,0-7,16-23,8-15"'),
        (rails(), f'{RING}, ranks: "0-3,8-11,16-19,24-27"'),
        # Without a scale-up link distances 1, 2 and 4 have 7/8 of the data, and are inside servers.
        (rails(scale_up=False), "collective: all-reduce, algorithm: halving-doubling"),
        (rails(scale_up=False), "collective: reduce, algorithm: rabenseifner"),
        # Six rails: no distance that is a power of two stays on a rail.
        (rails(servers=8, rails=6), "collective: broadcast, algorithm: tree"),
    ],
)
def test_most_data_across_rails_is_warned_of(topology: str, job: str) -> None:
    (found,) = warnings(topology, job)
    assert "rails" in found
    assert "libraries run one" in found


@pytest.mark.parametrize(
    ("topology", "job"),
    [
        (rails(), f'{RING}, ranks: "{BY_RAIL}"'),
        (rails(), f'{RING}, ranks: "0-56:8"'),
        (rails(), f'{RING}, ranks: "3,11,19"'),
        (rails(servers=2, rails=4), f'{RING}, ranks: "0,4,1,5,2,6,3,7"'),
        (rails(), f'{RING}, ranks: "0-7"'),
        (PODS, f'{RING}, ranks: "0-28:4"'),
        # Ranks at distances of 8 and more are on one rail, those nearer in one server.
        (rails(), "collective: all-reduce, algorithm: halving-doubling"),
        (rails(), "collective: all-reduce, algorithm: double-binary-tree"),
        (rails(), "collective: all-reduce, algorithm: recursive-doubling"),
        (rails(), "collective: broadcast, algorithm: tree"),
        (rails(), "collective: all-gather, algorithm: bruck"),
        # All have data for all.
        (rails(), "collective: all-to-all"),
        (rails(), "collective: permutation"),
        (rails(), "collective: incast"),
        (rails(servers=8, rails=1, spines=1), RING),
        ("{kind: leaf-spine, leaves: 8, hosts_per_leaf: 8, spines: 4, host_link: 400Gbps}", RING),
    ],
)
def test_what_stays_on_its_rail_or_has_to_leave_it_is_not_warned_of(topology: str, job: str) -> None:
    assert not warnings(topology, job)


def test_a_ring_that_crosses_in_part_is_warned_of_where_uplinks_are_too_few() -> None:
    """Pairs of servers: 0 and 8 on rail 0, then 1 and 9 on rail 1: half of the hops leave the rail."""
    pairs = ",".join(f"{a + g},{a + 8 + g}" for a in range(0, 64, 16) for g in range(8))
    (found,) = warnings(rails(spines=1), f'{RING}, ranks: "{pairs}"')
    assert "32 of 64 hops between servers cross rails" in found
    assert not warnings(rails(spines=4), f'{RING}, ranks: "{pairs}"')


def test_a_variant_and_a_swept_field_are_named() -> None:
    text = f"""
fabricbench: 1
name: rails
fabric: {{topology: {rails()}}}
jobs: [{{name: test, {RING}, ranks: "0-56:8"}}]
variants:
  - {{name: rail}}
  - {{name: flat, set: {{jobs.0.ranks: all}}}}
sweep: {{data_size: [64MB]}}
"""
    (found,) = load_text(text, "rails.yaml").warnings
    assert "flat" in found.text("warning")


def test_ranks_are_written_as_plans_take_them() -> None:
    assert ranks_text([0, 8, 16]) == "0-16:8"
    assert ranks_text([4, 5, 6]) == "4-6"
    assert ranks_text([0, 8]) == "0,8"
    assert ranks_text([0, 8, 24]) == "0,8,24"
