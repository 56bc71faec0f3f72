"""Runs of collectives as NCCL runs them: which jobs have NCCL, and the choices of its rules for the engine.

The rules choose algorithm, protocol, channels and chunks for each data size; see `fabricbench.plan.nccl`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from fabricbench.plan import engine
from fabricbench.plan._run_spec import NcclChannel, NcclConfig, NcclProtocol
from fabricbench.plan.fabric.server import MBYTE_BITS
from fabricbench.plan.jobs.library import Library, Nccl, NoLibrary
from fabricbench.plan.jobs.places import gpus_by_server, rank_places
from fabricbench.plan.sweep.sizes import job_sizes, trial_sizes

if TYPE_CHECKING:
    from fabricbench.plan.engine import NcclAnswer, NcclChosen
    from fabricbench.plan.fabric.server import Server
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
"""Algorithms that the engine runs, by NCCL's name; NVLS on one server."""
PEERS: Final = "peers"
"""Name of transfers between ranks, which have no algorithm of NCCL."""


def obstacle(plan: Plan, job: Job) -> str:
    """Return why NCCL does not run a job, in words; empty if it does."""
    server = plan.fabric.server
    if server is None:
        return "hosts that are no servers with GPUs"
    if job.arrivals is not None or job.storage is not None:
        return "a storage job" if job.storage is not None else "open-loop traffic"
    if job.collective not in _TRAFFIC:
        return f"collective {job.collective}"
    if job.algorithm is not None and job.algorithm not in ALGORITHMS.get(job.collective, {}):
        return f"algorithm {job.algorithm} of {job.collective}"
    if job.software != "none" or job.rendezvous is not None or job.copies_own_block:
        return "software, handshakes or copies of MPI"
    gpus = gpus_by_server(rank_places(plan, job))
    partial = next((one for one, own in gpus.items() if len(own) < server.gpus), None)
    if partial is not None:
        return f"{len(gpus[partial])} of the {server.gpus} GPUs of server {partial}"
    return ""


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


def server_count(plan: Plan, job: Job) -> int:
    """Return the number of servers with ranks of a job."""
    return len({server for server, _ in rank_places(plan, job)})


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
    server = plan.fabric.server
    assert server is not None, "`obstacle` names it"
    variables = dict(nccl.env)
    if job.algorithm is not None:
        variables.setdefault("NCCL_ALGO", ALGORITHMS[job.collective][job.algorithm])
    query = {
        "hardware": {"regular": server.with_adapters_of(plan.fabric.topology.host_link.rate_bps).hardware()},
        "servers": server_count(plan, job),
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
    server, answer = plan.fabric.server, choices(plan, job, nccl, data_bytes)
    chosen = answer["operations"][0]["chosen"]
    assert server is not None, "`obstacle` names it"
    assert chosen is not None, "`check_library` refuses variables that allow nothing"
    protocol = _PROTOCOLS[chosen["protocol"]]
    if chosen["algorithm"] is None:
        return PEERS, {
            "kind": "peers",
            "protocol": protocol,
            "concurrent": chosen["concurrent_peers"] or 1,
            "channels": chosen["channels"],
            "chunk_bytes": chosen["chunk_bytes"],
            "pxn": _has_pxn(server, nccl.env),
            "scale_up": {"rate_bps": _gpu_bps(server, answer), "latency_ps": _latency_ps(server)},
        }
    algorithm = _NAMES[chosen["algorithm"]]
    is_ring, is_nvls = algorithm == "ring", algorithm in {"nvls", "nvls-tree"}
    rate_bps = _gpu_bps(server, answer, is_nvls=is_nvls)
    common = {
        "protocol": protocol,
        "chunk_bytes": chosen["chunk_bytes"],
        "slice_bytes": chosen["slice_bytes"],
        "window_messages": _STEPS // (_SLICE_STEPS if is_ring and protocol == "simple" else 1),
    }
    if server_count(plan, job) == 1:
        return algorithm, {  # type: ignore[return-value]
            "kind": "one-server",
            "algorithm": algorithm,
            "channels": chosen["channels"],
            "scale_up": {"rate_bps": rate_bps, "latency_ps": _latency_ps(server)},
            **common,
        }
    # With NVLS a GPU sends all its data to the switch, and 1/g of the sums. In rings and chains of g GPUs the
    # last one sends to the network: a GPU sends (g - 1)/g of all channels inside its server. A single GPU has
    # no hops.
    gpus = server.gpus
    rate_bps = int(rate_bps / (1 + 1 / gpus)) if is_nvls else rate_bps * gpus // max(1, gpus - 1)
    scale_up = {
        "hops": 1 if is_nvls else gpus - 1,
        "rate_bps": rate_bps // chosen["channels"],
        "latency_ps": _latency_ps(server),
    }
    channels = _channels(server, answer, algorithm, chosen["channels"])
    kind = "ring" if is_ring else "tree"
    return algorithm, {"kind": kind, "channels": channels, "scale_up": scale_up, **common}  # type: ignore[return-value]


def _gpu_bps(server: Server, answer: NcclAnswer, *, is_nvls: bool = False) -> int:
    """Return the rate at which NCCL's kernels move data from a GPU to others of its server [bit/s].

    It is that of NCCL's rules, which is below that of the data sheet (370.8 of 450 GB/s of Hopper); with NVLS
    at the rules' efficiency.
    """
    assert server.scale_up is not None, "`check_server` refuses it"
    rate_bps = server.scale_up.rate_bps
    if answer["nvlink_of_gpu"] is not None:
        rate_bps = min(rate_bps, answer["nvlink_of_gpu"] * MBYTE_BITS)
    return int(rate_bps * answer["nvls_efficiency"]) if is_nvls else rate_bps


def _latency_ps(server: Server) -> int:
    """Return the latency between two GPUs of a server [ps]."""
    assert server.scale_up is not None, "`check_server` refuses it"
    return server.scale_up.latency_ps


def is_modelled(chosen: NcclChosen) -> bool:
    """Whether the engine runs a choice of NCCL."""
    return chosen["algorithm"] is None or chosen["algorithm"] in _NAMES


def _channels(server: Server, answer: NcclAnswer, algorithm: str, count: int) -> list[NcclChannel]:
    """Return the channels: each uses the adapters of a channel of the search in turn."""
    nics = answer[{"ring": "ring_nics", "tree": "tree_nics", "nvls-tree": "nvls_nics"}[algorithm]]  # type: ignore[literal-required]
    alternate = algorithm == "ring" and _alternate(server, answer)
    channels: list[NcclChannel] = []
    for channel in range(count):
        receive, send = nics[channel % len(nics)]
        if alternate:
            send = receive
        gpu = next(gpu for gpu, own in enumerate(server.nics_by_gpu()) if receive in own)
        channels.append({"gpu": gpu, "receive_nic": receive, "send_nic": send})
    return channels


def _alternate(server: Server, answer: NcclAnswer) -> bool:
    """Whether every second server takes the ring of the pair, so that data leave and enter on one rail.

    Two rings of a pair then use each of their two adapters in both directions once on each server, as two
    rings that each keep to one of them.
    """
    return any(
        first != second - server.gpus
        for first, second in ((ring[0], ring[server.gpus]) for ring in answer["rings"])
    )


def _has_pxn(server: Server, variables: Mapping[str, str]) -> bool:
    """Whether data for another rail go by the GPU of that rail, an NVLink neighbour."""
    is_off = variables.get("NCCL_PXN_DISABLE") == "1" or variables.get("NCCL_P2P_PXN_LEVEL") == "0"
    return server.scale_up is not None and not is_off
