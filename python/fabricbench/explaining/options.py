"""Options for the explanation of a file, and the checks that the command and the server share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fabricbench.importing import PORT_PATTERNS, Hardware, SwitchCounters, UserFacts, has_port
from fabricbench.plan.cluster import Cluster, option_problem
from fabricbench.plan.devices.nccl_graphs import Graph
from fabricbench.plan.fields.quantities import UnitError, parse_rate
from fabricbench.plan.loaded_plan import LoadedPlan


@dataclass(frozen=True)
class FileOptions:
    """Options for the explanation of a file.

    Attributes:
        plan: The plan of its fabric; `None` to search the workspace for one.
        cluster: The cluster in place of a plan; may be none.
        has_version: Whether the user stated the version of NCCL of the cluster; else it is the log's.
        given: Ranks and benchmark, if the file does not have them.
        hardware: Adapters of a host and their rate.
        switches: Counters of switches.
        uplinks: Names of their ports towards the next tier, or patterns of them.
        graphs: NCCL's graphs of a host, of its NCCL_GRAPH_DUMP_FILE.
    """

    plan: LoadedPlan | None = None
    cluster: Cluster | None = None
    has_version: bool = False
    given: UserFacts = field(default_factory=UserFacts)
    hardware: Hardware = field(default_factory=Hardware)
    switches: Sequence[SwitchCounters] = ()
    uplinks: Sequence[str] = ()
    graphs: Sequence[Graph] = ()


def hardware_of(adapters: int | None, rate: str | None) -> Hardware:
    """Return the adapters of a host and their rate from the options.

    Raises:
        PlanError: The rate is none.
    """
    if rate is None:
        return Hardware(adapters, None, "--adapters" if adapters else "")
    try:
        bps = parse_rate(rate)
    except UnitError as error:
        raise option_problem("--rate", error.found, error.allowed) from error
    return Hardware(adapters, bps / 1e9, "--adapters and --rate" if adapters else "--rate")


def check_uplinks(switches: Sequence[SwitchCounters], uplinks: Sequence[str]) -> None:
    """Check that uplinks are among the ports of the counters.

    Raises:
        PlanError: One of them is not.
    """
    for port in uplinks:
        if not has_port(switches, port):
            found = f"{port}, and no port of that name"
            raise option_problem(
                "--uplinks", found, PORT_PATTERNS, "`fabricbench counters FILE` has their names"
            )
