"""Runs of collectives as NCCL runs them: which jobs have NCCL, and the choices of its rules for the engine.

The rules choose algorithm, protocol, channels and chunks for each data size; see `fabricbench.plan.nccl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal

from fabricbench.plan import engine
from fabricbench.plan._run_spec import NcclChannel, NcclConfig, NcclProtocol
from fabricbench.plan.fabric.node import Node
from fabricbench.plan.fabric.server import MBYTE_BITS
from fabricbench.plan.jobs.library import Library, Nccl, NoLibrary
from fabricbench.plan.jobs.places import gpus_by_server
from fabricbench.plan.sweep.sizes import job_sizes, trial_sizes

if TYPE_CHECKING:
    from fabricbench.plan.engine import NcclAnswer, NcclChosen
    from fabricbench.plan.fabric.server import ScaleUp, Server
    from fabricbench.plan.jobs.model import Job
    from fabricbench.plan.model import Plan

COLLECTIVES: Final[Mapping[str, Any]] = {
    "all-reduce": {"collective": "AllReduce"},
    "all-gather": {"collective": "AllGather"},
    "reduce-scatter": {"collective": "ReduceScatter"},
    "broadcast": {"collective": "Broadcast"},
    "reduce": {"collective": "Reduce"},
    "all-to-all": "all_to_all",
    "send-receive": "send_receive",
}
"""Collectives by name, in the core's JSON. Those without `collective` are transfers between ranks, which have
no algorithm and which the tuner does not estimate."""
_TRAFFIC: Final[Mapping[str, Any]] = {**COLLECTIVES, "gather": "all_to_all", "scatter": "all_to_all"}
"""Collectives that are run as NCCL runs them; gather and scatter are transfers as those of an all-to-all."""
ALGORITHMS: Final[Mapping[str, Mapping[str, str]]] = {
    "all-reduce": {"ring": "ring", "double-binary-tree": "tree"},
    "all-gather": {"ring": "ring"},
    "reduce-scatter": {"ring": "ring"},
}
"""Value of `NCCL_ALGO` for the algorithms of a job that NCCL has, by collective."""
_STEPS: Final = 8
"""Steps of a buffer of NCCL (`NCCL_STEPS`)."""
_SLICE_STEPS: Final = 2
"""Steps of a slice of a ring with the protocol Simple."""
_PROTOCOLS: Final[Mapping[str, NcclProtocol]] = {"LL": "ll", "LL128": "ll128", "Simple": "simple"}
_NAMES: Final[Mapping[str, str]] = {"Ring": "ring", "Tree": "tree", "NVLS": "nvls", "NVLSTree": "nvls-tree"}
"""Algorithms that the engine runs, by NCCL's name; NVLS on one node."""
PEERS: Final = "peers"
"""Name of transfers between ranks, which have no algorithm of NCCL."""


def obstacle(plan: Plan, job: Job) -> str:
    """Return why NCCL does not run a job, in words; empty if it does."""
    node = plan.fabric.node
    if node is None:
        return "hosts that are no servers with GPUs"
    if job.arrivals is not None or job.storage is not None:
        return "a storage job" if job.storage is not None else "open-loop traffic"
    if job.collective not in _TRAFFIC:
        return f"collective {job.collective}"
    if job.algorithm is not None and job.algorithm not in ALGORITHMS.get(job.collective, {}):
        return f"algorithm {job.algorithm} of {job.collective}"
    if job.software != "none" or job.rendezvous is not None or job.copies_own_block:
        return "software, handshakes or copies of MPI"
    gpus = gpus_by_server(plan, job)
    of_server = node.server.gpus
    partial = next((one for one, own in gpus.items() if len(own) < of_server), None)
    if partial is not None:
        return f"{len(gpus[partial])} of the {of_server} GPUs of server {partial}"
    if len(set(_servers_by_node(node, gpus).values())) > 1:
        return "other servers of one scale-up domain than of another"
    return ""


def _servers_by_node(node: Node, servers: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return the numbers of servers in each of their nodes, from their numbers in the fabric."""
    places = [divmod(server, node.servers) for server in sorted(servers)]
    return {number: tuple(server for _, server in group) for number, group in groupby(places, itemgetter(0))}


@dataclass(frozen=True)
class JobNodes:
    """Nodes of a job that NCCL runs: servers, or the servers of the job in scale-up domains of several.

    Attributes:
        node: A node of the fabric.
        servers: Servers of the job in each node, by their numbers in the node.
        count: Number of nodes.
    """

    node: Node
    servers: tuple[int, ...]
    count: int

    @classmethod
    def of(cls, plan: Plan, job: Job) -> JobNodes:
        """Return the nodes of a job."""
        node = plan.fabric.node
        assert node is not None, "`obstacle` names it"
        by_node = _servers_by_node(node, gpus_by_server(plan, job))
        return cls(node, next(iter(by_node.values())), len(by_node))

    @property
    def server(self) -> Server:
        """Each server."""
        return self.node.server

    @property
    def gpus(self) -> int:
        """GPUs of the job on a node."""
        return len(self.servers) * self.server.gpus

    def query(self, rate_bps: int) -> dict[str, Any]:
        """Return them as NCCL's rules read them, in the core's JSON, with adapters of a rate."""
        server = self.server.with_adapters_of(rate_bps)
        return {
            "hardware": {"regular": Node(server, len(self.servers)).hardware()},
            "servers": self.count * len(self.servers),
        }

    def adapter(self, number: int) -> int:
        """Return the number of an adapter in the node of the fabric, from that among the job's of a node."""
        server, nic = divmod(number, self.server.nics)
        return self.servers[server] * self.server.nics + nic

    def gpu_of(self, adapter: int) -> int:
        """Return the first GPU near an adapter, by their numbers in the node of the fabric."""
        return next(gpu for gpu, own in enumerate(self.node.nics_by_gpu()) if adapter in own)


def nccl_of(plan: Plan, job: Job) -> Nccl | None:
    """Return NCCL's settings of a job that NCCL runs; none of any other.

    A job that names no library has NCCL where its servers have several GPUs, and all of them take part.
    """
    server = plan.fabric.server
    if job.library is None and (server is None or server.gpus == 1):
        return None
    library = Library() if job.library is None else job.library
    return None if isinstance(library, NoLibrary) or obstacle(plan, job) else library.nccl


def has_nccl(plan: Plan) -> bool:
    """Whether NCCL runs a job of the plan."""
    return any(nccl_of(plan, job) is not None for job in plan.jobs)


def qp_mode(plan: Plan) -> Literal["per_chunk", "per_pair"]:
    """Return what has queue pairs of its own: with NCCL each pair of ranks, unless the plan chooses."""
    is_written = "qp_mode" in plan.transport.model_fields_set
    return "per_pair" if not is_written and has_nccl(plan) else plan.transport.qp_mode


def chunks_observed(plan: Plan) -> Literal["all", "sample", "summary"]:
    """Return which chunks have a row: with NCCL, whose slices are many, a sample, unless the plan chooses."""
    is_written = "chunks" in plan.observe.model_fields_set
    return "sample" if not is_written and has_nccl(plan) else plan.observe.chunks


def choices(plan: Plan, job: Job, nccl: Nccl, data_bytes: int) -> NcclAnswer:
    """Return NCCL's graphs and its choice for a job with a data size.

    Raises:
        SpecError: The rules of the version are not known, or a variable does not take its value.
    """
    variables = dict(nccl.env)
    if job.algorithm is not None:
        variables.setdefault("NCCL_ALGO", ALGORITHMS[job.collective][job.algorithm])
    query = {
        **JobNodes.of(plan, job).query(plan.fabric.topology.host_link.rate_bps),
        "version": nccl.version,
        "variables": list(variables.items()),
        "traffic": _TRAFFIC[job.collective],
        # All sizes of the plan at once: the search for graphs takes far longer than the choice for a size.
        "sizes": sorted(
            {data_bytes, *(size for trial in trial_sizes(plan) for size in job_sizes(plan, job, trial))}
        ),
    }
    answer = _answer(json.dumps(query))
    return answer | {"operations": [each for each in answer["operations"] if each["bytes"] == data_bytes]}


@lru_cache(maxsize=256)
def _answer(query_json: str) -> NcclAnswer:
    return engine.nccl_choices(json.loads(query_json))


def run_of(plan: Plan, job: Job, nccl: Nccl, data_bytes: int) -> tuple[str, NcclConfig]:
    """Return the name of NCCL's algorithm for a data size, and the collective as the engine runs it."""
    nodes, answer = JobNodes.of(plan, job), choices(plan, job, nccl, data_bytes)
    chosen, latency_ps = answer["operations"][0]["chosen"], _scale_up(nodes).latency_ps
    assert chosen is not None, "`check_library` refuses variables that allow nothing"
    protocol = _PROTOCOLS[chosen["protocol"]]
    if chosen["algorithm"] is None:
        return PEERS, {
            "kind": "peers",
            "protocol": protocol,
            "concurrent": chosen["concurrent_peers"] or 1,
            "channels": chosen["channels"],
            "chunk_bytes": chosen["chunk_bytes"],
            "pxn": answer["pxn"],
            "scale_up": {"rate_bps": _gpu_bps(nodes, answer), "latency_ps": latency_ps},
        }
    algorithm = _NAMES[chosen["algorithm"]]
    is_ring, is_nvls = algorithm == "ring", algorithm in {"nvls", "nvls-tree"}
    rate_bps = _gpu_bps(nodes, answer, is_nvls=is_nvls)
    common = {
        "protocol": protocol,
        "chunk_bytes": chosen["chunk_bytes"],
        "slice_bytes": chosen["slice_bytes"],
        "window_messages": _STEPS // (_SLICE_STEPS if is_ring and protocol == "simple" else 1),
    }
    gpus, heads = nodes.gpus, len(answer["nvls_nics"])
    if nodes.count == 1:
        few_heads = {"heads": heads} if is_nvls and heads < gpus else {}
        return algorithm, {  # type: ignore[return-value]
            "kind": "one-server",
            "algorithm": algorithm,
            "channels": chosen["channels"],
            "scale_up": {"rate_bps": rate_bps, "latency_ps": latency_ps},
            **few_heads,
            **common,
        }
    # With NVLS a GPU sends all its data to the switch, and the sums of its head. In rings and chains of g
    # GPUs the last one sends to the network: a GPU sends (g - 1)/g of all channels inside its node. A single
    # GPU has no hops.
    rate_bps = int(rate_bps / (1 + 1 / heads)) if is_nvls else rate_bps * gpus // max(1, gpus - 1)
    scale_up = {
        "hops": 1 if is_nvls else gpus - 1,
        "rate_bps": rate_bps // chosen["channels"],
        "latency_ps": latency_ps,
    }
    channels = _channels(nodes, answer, algorithm, chosen["channels"])
    kind = "ring" if is_ring else "tree"
    return algorithm, {"kind": kind, "channels": channels, "scale_up": scale_up, **common}  # type: ignore[return-value]


def _scale_up(nodes: JobNodes) -> ScaleUp:
    """Return the scale-up domain of a node."""
    assert nodes.server.scale_up is not None, "`check_server` refuses it"
    return nodes.server.scale_up


def _gpu_bps(nodes: JobNodes, answer: NcclAnswer, *, is_nvls: bool = False) -> int:
    """Return the rate at which NCCL's kernels move data from a GPU to others of its node [bit/s].

    It is that of NCCL's rules, which is below that of the data sheet (370.8 of 450 GB/s of Hopper); with NVLS
    at the rules' efficiency.
    """
    rate_bps = _scale_up(nodes).rate_bps
    if answer["nvlink_of_gpu"] is not None:
        rate_bps = min(rate_bps, answer["nvlink_of_gpu"] * MBYTE_BITS)
    return int(rate_bps * answer["nvls_efficiency"]) if is_nvls else rate_bps


def is_modelled(chosen: NcclChosen) -> bool:
    """Whether the engine runs a choice of NCCL."""
    return chosen["algorithm"] is None or chosen["algorithm"] in _NAMES


def _channels(nodes: JobNodes, answer: NcclAnswer, algorithm: str, count: int) -> list[NcclChannel]:
    """Return the channels: each uses the adapters of a channel of the search in turn."""
    nics = answer[{"ring": "ring_nics", "tree": "tree_nics", "nvls-tree": "nvls_nics"}[algorithm]]  # type: ignore[literal-required]
    alternate = algorithm == "ring" and _alternate(nodes, answer)
    channels: list[NcclChannel] = []
    for channel in range(count):
        receive, send = (nodes.adapter(nic) for nic in nics[channel % len(nics)])
        if alternate:
            send = receive
        channels.append({"gpu": nodes.gpu_of(receive), "receive_nic": receive, "send_nic": send})
    return channels


def _alternate(nodes: JobNodes, answer: NcclAnswer) -> bool:
    """Whether every second node takes the ring of the pair, so that data leave and enter on one rail.

    Two rings of a pair then use each of their two adapters in both directions once on each node, as two
    rings that each keep to one of them.
    """
    return any(
        first != second - nodes.gpus
        for first, second in ((ring[0], ring[nodes.gpus]) for ring in answer["rings"])
    )
