"""One integer, one plan: long transfers on fabrics where links and spines fail.

The scenarios of `tools.swarm.long` on leaves and spines, or pods with aggregation switches, of which a link
or a switch goes down in the course of the run, for good or for a time, or a link is slower from a time on.
Retransmission timeouts are as short as operators set them where failures count, so that runs take
milliseconds.
"""

from __future__ import annotations

from typing import Any

from tools.swarm.draw import Draw
from tools.swarm.fabrics import Fields
from tools.swarm.long import long_plan_of

_APART = 2_000_000
"""Seeds here are others than those of the other scenarios."""
_FAILURES = ("link-down",) * 6 + ("switch-down",) * 2 + ("link-rate",) * 2


def failing_plan_of(seed: int) -> dict[str, Any]:
    """Return the plan of a seed, the fields as YAML has them."""
    draw = Draw(_APART + seed)
    plan = long_plan_of(_APART + seed)
    topology, links, switches = _topology(draw)
    plan["name"] = f"failing-{seed}"
    plan["fabric"] |= {
        "topology": topology,
        "load_balancing": "ecmp",
        "switch": plan["fabric"]["switch"] | {"pfc": "on"},
        "convergence_time": f"{draw.pick((0, 1, 20, 100, 300))}us",
        "failures": [_failure(draw, links, switches) for _ in range(draw.whole(1, 2))],
    }
    plan["transport"] |= {
        "recovery": draw.pick(("go_back_n", "selective")),
        "timeout": draw.pick(("200us", "500us", "1ms")),
    }
    for job in plan["jobs"]:
        job["ranks"] = f"0-{min(16, len(job['ranks'].split(','))) - 1}"
    return plan


def _topology(draw: Draw) -> tuple[Fields, list[str], list[str]]:
    """Return a topology of 16 hosts, its links between switches, and the switches that it can do without."""
    rate = draw.pick(("100Gbps", "200Gbps", "400Gbps"))
    rates = {"host_link": rate, "fabric_link": draw.pick((rate, "400Gbps"))}
    if draw.chance(0.3):
        fields = {"kind": "fat-tree", "pods": 2, "leaves_per_pod": 2, "hosts_per_leaf": 4, "aggs_per_pod": 2}
        fields |= rates | {"cores_per_agg": 2, "core_link": rates["fabric_link"]}
        links = [f"leaf{leaf}-agg{leaf // 2 * 2 + agg}" for leaf in range(4) for agg in range(2)]
        return fields, links, [f"agg{agg}" for agg in range(4)]
    leaves, spines = draw.pick((2, 4)), draw.pick((2, 4, 8))
    fields = {"kind": "leaf-spine", "leaves": leaves, "hosts_per_leaf": 16 // leaves, "spines": spines}
    links = [f"leaf{leaf}-spine{spine}" for leaf in range(leaves) for spine in range(spines)]
    return fields | rates, links, [f"spine{spine}" for spine in range(spines)]


def _failure(draw: Draw, links: list[str], switches: list[str]) -> Fields:
    fields: Fields = {"at": f"{draw.whole(0, 500)}us", "kind": draw.pick(_FAILURES)}
    if fields["kind"] == "switch-down":
        fields["switch"] = draw.pick(switches)
    else:
        fields["link"] = draw.pick(links)
    if fields["kind"] == "link-rate":
        return fields | {"rate": draw.pick(("10Gbps", "50Gbps"))}
    return fields | ({"for": f"{draw.whole(10, 1_000)}us"} if draw.chance(0.4) else {})
