"""Generates a random plan from an integer: scenarios of long transfers on realistic fabrics.

The scenarios of `tools.swarm.generate` take milliseconds, so their transfers are short and their settings
extreme. To judge a model of long transfers, these plans are used as well: hosts of 100 to 400 Gb/s, 64 to
1,000 full packets to each peer, fabrics from non-blocking to 8:1 oversubscription.
"""

from __future__ import annotations

from typing import Any

from tools.swarm.closed_forms import PATTERNS, fitting_ranks, is_shared
from tools.swarm.fabrics import Fields
from tools.swarm.random_draws import Draw

_SEED_OFFSET = 1_000_000
"""Offset of the seeds here, so that they differ from those of `generate.plan_of`."""
_PACKET = 4096
_RATES = ("100Gbps", "200Gbps", "400Gbps")
_WEIGHTED_PATTERNS = (("all-to-all", "parallel"),) * 8 + (("incast", "parallel"),) * 2
"""Patterns with a higher weight, by repetition: the all-to-all of most jobs, and the most congested one."""
_PARTITIONED = ("all-reduce", "reduce-scatter", "reduce")
_UNPARTITIONED = ("tree", "recursive-doubling")
"""Algorithms whose messages are the whole data."""


def long_plan_of(seed: int) -> dict[str, Any]:
    """Return the plan of a seed, as the fields of its YAML."""
    draw = Draw(_SEED_OFFSET + seed)
    topology, hosts = _topology(draw)
    switch: Fields = {"pfc": "on"} if draw.chance(0.75) else {}
    transport: Fields = {"qp_mode": draw.pick(("per_chunk", "per_pair"))}
    transport["qps_per_rank_pair"] = draw.pick((1, 1, 1, 4))
    balancing = draw.pick(("ecmp",) * 6 + ("spray-round-robin", "adaptive"))
    if balancing != "ecmp":
        transport["recovery"] = "selective"
    control = draw.pick((None,) * 6 + ("dcqcn", "dcqcn", "swift", "timely"))
    if control is not None:
        transport["rate_control"] = control
    if control == "dcqcn":
        switch["ecn"] = "on"
    return {
        "fabricbench": 1,
        "name": f"long-{seed}",
        "seed": seed,
        "fabric": {"topology": topology, "server": "none", "switch": switch, "load_balancing": balancing},
        "transport": transport,
        "jobs": [_job(draw, hosts)],
    }


def _topology(draw: Draw) -> tuple[Fields, int]:
    """Return a topology and its number of hosts."""
    rate = draw.pick(_RATES)
    link = {"rate": draw.pick((rate, rate, "400Gbps")), "length": "30m"}
    kinds = (
        "single-switch",
        "leaf-spine",
        "leaf-spine",
        "leaf-spine",
        "fat-tree",
        "rail-optimised",
        "rail-pods",
    )
    fields: Fields = {"kind": draw.pick(kinds), "host_link": {"rate": rate, "length": "3m"}}
    if fields["kind"] == "single-switch":
        return fields | {"hosts": (hosts := draw.pick((4, 8, 16)))}, hosts
    fields["fabric_link"] = link
    if fields["kind"] == "leaf-spine":
        leaves, hosts_per_leaf = draw.pick((2, 4)), draw.pick((4, 8))
        spines = draw.pick((1, 2, 4, 8))
        return fields | {
            "leaves": leaves,
            "hosts_per_leaf": hosts_per_leaf,
            "spines": spines,
        }, leaves * hosts_per_leaf
    if fields["kind"] == "rail-optimised":
        servers, rails = draw.pick((4, 8)), draw.pick((2, 4))
        return fields | {"servers": servers, "rails": rails, "spines": draw.pick((1, 2, 4))}, servers * rails
    fields["core_link"] = link
    if fields["kind"] == "fat-tree":
        fields |= {"pods": 2, "leaves_per_pod": 2, "hosts_per_leaf": 4}
        return fields | {"aggs_per_pod": draw.pick((1, 2, 4)), "cores_per_agg": draw.pick((1, 2, 4))}, 16
    fields |= {"pods": 2, "servers_per_pod": 4, "rails": 2, "links_per_core": 1}
    return fields | {"spines_per_rail": draw.pick((1, 2)), "cores_per_spine": draw.pick((1, 2))}, 16


def _job(draw: Draw, hosts: int) -> Fields:
    collective, algorithm = draw.pick(PATTERNS + _WEIGHTED_PATTERNS)
    ranks = fitting_ranks(algorithm, hosts if draw.chance(0.7) else hosts // 2, 1)
    hosts_of_ranks = draw.some(range(hosts), ranks) if draw.chance(0.5) else range(ranks)
    size = draw.spread(64 * _PACKET, 1_000 * _PACKET)
    if is_shared(collective) or (collective in _PARTITIONED and algorithm not in _UNPARTITIONED):
        size *= ranks
    return {
        "ranks": ",".join(map(str, hosts_of_ranks)),
        "collective": collective,
        "algorithm": algorithm,
        "data_size": size,
    }
