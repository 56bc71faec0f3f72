"""Calls the compiled engine for a plan: algorithms, checks, topology, port map, paths, estimates, NCCL.

This is the only module of `plan` that uses the compiled core. Algorithms are listed only in the engine; the
plan has no list of its own.
"""

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from fabricbench import _core
from fabricbench._core import SpecError as SpecError
from fabricbench.plan.jobs import STORAGE

if TYPE_CHECKING:
    # For the rest of the plan to name; only with an alias is a name exported to type checkers.
    from fabricbench._core import (
        BusiestLink as BusiestLink,
        Description as Description,
        DirectionLoad as DirectionLoad,
        Estimate as Estimate,
        LinkDescription as LinkDescription,
        LoadedLink as LoadedLink,
        NcclAnswer as NcclAnswer,
        NcclChosen as NcclChosen,
        PathChoice as PathChoice,
        PortDescription as PortDescription,
        QueuePairDescription as QueuePairDescription,
    )


SIMULATOR: Final = "sim"
"""Name of the backend that runs plans by default."""
FLOW: Final = "flow"
"""Name of the backend that runs plans with fluid flows."""
AUTO: Final = "auto"
"""Name of the backend that is one of these two for each trial; see `plan.estimates.flow_error`."""
ESTIMATED: Final = (SIMULATOR, FLOW, AUTO)
"""Backends whose trials are estimated before they run."""


@cache
def algorithms() -> dict[str, tuple[str, ...]]:
    """Return the algorithms of each collective, the default first."""
    algorithms_by_collective: dict[str, tuple[str, ...]] = {}
    for collective, algorithm in _core.patterns():
        algorithms_by_collective[collective] = (*algorithms_by_collective.get(collective, ()), algorithm)
    return algorithms_by_collective


def default_algorithm(collective: str) -> str:
    """Return the algorithm of a job that names none: the first in the engine's list."""
    return algorithms()[collective][0]


def shares(collective: str, ranks: int) -> int:
    """Return the number of messages of equal size in the data size of a collective of `ranks` ranks."""
    if collective == STORAGE:
        return 1
    return _core.shares(collective, ranks)


def refusal(collective: str, algorithm: str, ranks: int) -> "SpecError | None":
    """Return the reason why `ranks` ranks cannot run an algorithm; none if they can."""
    try:
        _core.supports(collective, algorithm, ranks)
    except _core.SpecError as error:
        return error
    return None


def roce_mtu(port_mtu_bytes: int) -> "int | None":
    """Return the largest RoCE MTU that fits a port's Ethernet MTU with its headers; none below 320 bytes."""
    return _core.roce_mtu(port_mtu_bytes)


def describe(spec_json: str) -> "Description":
    """Return the nodes, links and queue pairs of a run spec that has been checked."""
    return _core.describe(spec_json)


@lru_cache(maxsize=64)
def rank_pairs(spec_json: str) -> tuple[tuple[int, int], ...]:
    """Return the pairs of ranks between which there are queue pairs; none if the engine refuses the spec."""
    try:
        return tuple((qp["src_rank"], qp["dst_rank"]) for qp in _core.describe(spec_json)["qps"])
    except _core.SpecError:
        return ()


def port_map(spec_json: str) -> "list[PortDescription] | None":
    """Return each rank of a run spec at each port that it uses; none if the engine refuses the spec."""
    try:
        return _core.port_map(spec_json)
    except _core.SpecError:
        return None


def path_choices(spec_json: str) -> "list[PathChoice]":
    """Return the port by which the data of each queue pair leaves each switch with several next hops.

    Empty where load balancing sends packets of a queue pair by several paths.
    """
    return _core.path_choices(spec_json)


def oversubscription(spec_json: str) -> "list[tuple[int, int]]":
    """Return the capacity of each tier towards hosts and away from them, if it has uplinks [bit/s]."""
    return _core.oversubscription(spec_json)


def is_oversubscribed(spec_json: str) -> bool:
    """Whether a tier of the fabric has more capacity towards the hosts than away from them."""
    return any(down_bps > up_bps for down_bps, up_bps in oversubscription(spec_json))


def estimate(spec_json: str, backend: str = SIMULATOR) -> "Estimate | None":
    """Return the estimated cost of a run spec, without building its chunks; none if the engine refuses it.

    Flows are estimated for backend `flow`, packets for any other.
    """
    try:
        return _core.estimate_flow(spec_json) if backend == FLOW else _core.estimate(spec_json)
    except _core.SpecError:
        return None


def check(spec_json: str, backend: str = SIMULATOR) -> "list[SpecError]":
    """Return the reasons why the engine would refuse a run spec; an empty list if it would run it.

    The flow model checks it for backend `flow`, the simulator for any other.
    """
    return _core.check_flow(spec_json) if backend == FLOW else _core.check(spec_json)


def busiest_link(spec_json: str) -> "BusiestLink | None":
    """Return the link to which the hash assigns most queue pairs of one step, without a run.

    None if no data cross between switches, if packets of a queue pair take several paths, or if the flow
    model, which computes it, does not cover the run spec.
    """
    try:
        return _core.busiest_link(spec_json)
    except _core.SpecError:
        return None


def link_loads(spec_json: str) -> "list[LoadedLink]":
    """Return all cables with the loads of both directions by each job, from the paths of its queue pairs.

    Raises:
        SpecError: The flow model, which computes them, does not cover the run spec.
    """
    return _core.link_loads(spec_json)


def version() -> str:
    """Return the version of the engine.

    Raises:
        ImportError: It is missing or does not fit this interpreter.
    """
    return _core.__version__


def nccl_choices(query: Mapping[str, Any]) -> "NcclAnswer":
    """Return the graphs, channels and choices of NCCL for a query of crate `nccl`.

    Raises:
        SpecError: The rules of the version are not known, or a variable does not take its value.
    """
    return _core.nccl_choices(json.dumps(query))
