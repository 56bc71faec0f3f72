"""Draws servers with GPUs for a fabric, and collectives that NCCL runs on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.swarm.random_draws import Draw

Fields = dict[str, Any]

SHARE = 0.15
"""Share of plans with servers."""
RAILS = ("rail-optimised", "rail-pods")
SHIPPED = {8: ("dgx-h100", "dgx-a100", "hgx-h200", "hgx-b200", "p5", "p5en"), 4: ("gh200-quad",)}
"""Shipped servers that form a domain of their own, by the number of adapters, which is that of their GPUs."""
RANKS_MAX = 32
"""Most GPUs of a plan: each step of a ring sends a message for each channel and server."""
_VERSIONS = (
    "2.18",
    "2.19",
    "2.20",
    "2.21",
    "2.22",
    "2.23",
    "2.24",
    "2.26",
    "2.27",
    "2.28",
    "2.29",
    "2.30",
    "2.31",
)
_COLLECTIVES = (
    *("all-reduce",) * 4,
    *("all-gather", "reduce-scatter", "all-to-all", "all-to-all", "send-receive", "broadcast", "reduce"),
)
_ALGORITHMS = {
    "all-reduce": ("ring", "ring", "tree", "tree", "^nvlstree", "^nvls,nvlstree,collnetdirect,collnetchain"),
}


def server(draw: Draw, topology: Fields, hosts: int) -> tuple[Fields | str | None, int, int]:
    """Return a server whose adapters the hosts of a topology are, its GPUs and its adapters.

    The server is absent where that of the topology's rails applies.
    """
    if topology["kind"] in RAILS:
        nics = topology["rails"]
        topology.pop("scale_up_link", None)
    else:
        nics = draw.pick([count for count in range(1, hosts // 2 + 1) if hosts % count == 0])
    if nics in SHIPPED and hosts // nics * nics <= RANKS_MAX and draw.chance(0.5):
        return draw.pick(SHIPPED[nics]), nics, nics
    if topology["kind"] in RAILS and nics > 1 and draw.chance(0.3):
        return None, nics, nics
    counts = [nics, nics, *(nics // per_gpu for per_gpu in (2, 3) if nics % per_gpu == 0), 2 * nics, 3 * nics]
    counts += [draw.whole(1, 6)]
    gpus = draw.pick([count for count in counts if count * (hosts // nics) <= RANKS_MAX])
    fields: Fields = {"gpus": gpus, "nics": nics}
    if gpus == nics and topology["kind"] in RAILS and draw.chance(0.5):
        fields = {}
    if draw.chance(0.3) and gpus >= nics:
        fields["nic_of_gpu"] = [gpu % nics for gpu in range(gpus)]
    fields |= _hardware(draw)
    return fields, gpus, nics


def _hardware(draw: Draw) -> Fields:
    """Return fields of a server of which all others are those of the default one."""
    fields: Fields = {}
    if draw.chance(0.7):
        fields["scale_up"] = {
            "rate": draw.pick(("25GB/s", "100GB/s", "300GB/s", "450GB/s", "900GB/s")),
            "latency": draw.pick(("0", "500ns", "1us")),
        }
        if draw.chance(0.2):
            fields["scale_up"] |= {"kind": "mesh", "links": draw.pick((1, 4, 6))}
    if draw.chance(0.3):
        fields["compute_capability"] = draw.pick((7.0, 8.0, 9.0, 10.0))
    if draw.chance(0.2):
        fields["pcie"] = {
            "generation": draw.whole(3, 6),
            "gpus_per_switch": draw.whole(1, 2),
            "layout": draw.pick(("switch", "two-switches", "nic-at-cpu", "cpu")),
        }
    if draw.chance(0.2):
        processor = draw.pick(("intel-skylake", "amd-zen2", "amd-zen4", "arm"))
        fields["cpu"] = {"processor": processor, "numa_nodes": draw.whole(1, 2)}
    if draw.chance(0.1):
        fields["nic"] = {"gpu_direct": False}
    return fields


def gpus_of(servers: Sequence[int], gpus: int) -> list[int]:
    """Return the numbers of all GPUs of some servers."""
    return [server * gpus + gpu for server in servers for gpu in range(gpus)]


def nccl_job(draw: Draw, name: str, servers: Sequence[int], gpus: int, packets: int, unit: int) -> Fields:
    """Return a job that NCCL runs over all GPUs of some servers.

    Args:
        draw: Draws.
        name: Its name.
        servers: Its servers.
        gpus: GPUs of a server.
        packets: Most packets of all servers together.
        unit: Payload of a packet [bytes].
    """
    collective = draw.pick(_COLLECTIVES)
    ranks = gpus_of(servers, gpus)
    if collective == "send-receive" and len(ranks) % 2:
        collective = "all-gather"
    most = max(1, packets // (3 * len(servers)))
    size = max(1, draw.whole(1, most) if draw.chance(0.4) else draw.spread(1, most)) * unit
    size = max(1, size + draw.pick((-1, 0, 0, 1)))
    if collective in ("all-gather", "all-to-all"):
        size = -(-size // len(ranks)) * len(ranks)
    job: Fields = {
        "name": name,
        "ranks": ",".join(str(rank) for rank in ranks),
        "collective": collective,
        "data_size": size,
    }
    if draw.chance(0.6 if collective == "send-receive" else 0.2):
        job["mapping"] = "round-robin"
    if draw.chance(0.8):
        job["library"] = _nccl(draw, collective)
    elif collective == "all-reduce" and draw.chance(0.5):
        job["algorithm"] = draw.pick(("ring", "double-binary-tree"))
    if draw.chance(0.3):
        job["root"] = draw.whole(0, len(ranks) - 1) if collective in ("broadcast", "reduce") else 0
    return job


def _nccl(draw: Draw, collective: str) -> Fields | str:
    env: Fields = {}
    if draw.chance(0.75):
        env["NCCL_ALGO"] = draw.pick(_ALGORITHMS.get(collective, ("ring",)))
    if draw.chance(0.5):
        env["NCCL_PROTO"] = draw.pick(("LL", "LL128", "Simple", "Simple", "^LL", "^LL128"))
    if draw.chance(0.3):
        env["NCCL_MIN_NCHANNELS"] = draw.pick((1, 2, 4, 8, 16, 32))
    if draw.chance(0.2):
        env["NCCL_MAX_NCHANNELS"] = draw.pick((1, 2, 4, 32))
    if draw.chance(0.3):
        env["NCCL_PXN_DISABLE"] = draw.pick((0, 1))
    if draw.chance(0.1):
        env["NCCL_BUFFSIZE"] = draw.pick((65_536, 1_048_576))
    if not env and draw.chance(0.5):
        return "nccl"
    return {"nccl": {"version": draw.pick(_VERSIONS), "env": env} if draw.chance(0.7) else {"env": env}}
