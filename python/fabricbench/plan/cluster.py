"""Makes plans of clusters without a file: equal servers with GPUs, a fabric that blocks nothing, NCCL.

`expect --cluster` runs these plans, one for each collective of nccl-tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from fabricbench.plan import engine
from fabricbench.plan.cluster_fabric import (
    LOAD_BALANCERS,
    OVERSUBSCRIPTION_MAX,
    SPRAYING,
    TOPOLOGIES,
    Shape,
)
from fabricbench.plan.document.document import read_file
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.fabric.node import UNEQUAL_DOMAINS, domains_allowed
from fabricbench.plan.fabric.server import Server, shipped_servers
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.nccl import Question, parse_sizes
from fabricbench.plan.profile import rate_text
from fabricbench.plan.server import load_server
from fabricbench.words import close_match_hint, same_name

COLLECTIVES: Final = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-receive")
"""Collectives of nccl-tests whose curve is expected."""
SERVERS_MAX: Final = 1_024
SIZES: Final = ",".join(str(size) for size in (8, *(16 * 4**step for step in range(16))))
"""Data sizes by default: 8 B, and powers of 4 from 16 B to 16 GB."""
_CHUNKS_MAX: Final = 150_000
"""Chunks of a trial that takes the flow model a few seconds at most."""
_ALIGNMENT: Final = 16
"""Bytes of which the part of a rank is a multiple in nccl-tests."""
Choice = tuple[str | None, str, int]
"""NCCL's algorithm, none for transfers; protocol; channels."""


@dataclass(frozen=True)
class Segment:
    """Consecutive data sizes with one choice of NCCL: those of a curve, and those of trials [bytes]."""

    choice: Choice
    sizes: Sequence[int]
    computed: Sequence[int]


def default_topology(server: str, servers: int) -> str:
    """Return the kind of the fabric of a cluster whose fabric is not given: one node uses none.

    Raises:
        PlanError: There is no such server, or its file has errors.
    """
    return "single-switch" if servers <= load_server(server).domain_servers else TOPOLOGIES[0]


@dataclass(frozen=True)
class Cluster:
    """Equal servers, their fabric and NCCL.

    Attributes:
        server: A shipped server's name, or a file of one.
        servers: Number of servers.
        topology: One of `TOPOLOGIES`. `rail-optimised`: a switch for each adapter of a server.
            `leaf-spine`: up to four servers on a leaf, with all their adapters.
        switch: SONiC configuration of the switches; by default PFC and SONiC's marking for lossless queues.
        version: Version of NCCL.
        variables: Environment variables of NCCL.
        config: Configuration of the switches in place of a file, as `Fragment.record`.
        nics: Adapters of a server that are connected; by default all.
        tiers: Tiers of switches; by default 1 for `single-switch` and 2 otherwise.
        oversubscription: Capacity of the leaves towards hosts, as a multiple of that of their uplinks.
        load_balancing: Load balancing of the switches; by default that of the server's transport.
    """

    server: str
    servers: int
    topology: str = TOPOLOGIES[0]
    switch: Path | None = None
    version: str = NCCL_VERSION
    variables: Mapping[str, str] | None = None
    config: Mapping[str, Any] | None = None
    nics: int | None = None
    tiers: int | None = None
    oversubscription: int = 1
    load_balancing: str | None = None

    def check(self) -> list[str]:
        """Check what a plan would not report by the names of the options.

        Returns:
            Variables of NCCL that change neither graphs nor choices.

        Raises:
            PlanError: An input is not allowed.
        """
        if self.topology not in TOPOLOGIES:
            hint = close_match_hint(self.topology, TOPOLOGIES)
            raise option_problem("--topology", f'"{self.topology}"', ", ".join(TOPOLOGIES), hint)
        server = self._server
        if not 1 <= self.servers <= SERVERS_MAX:
            raise option_problem("--servers", str(self.servers), f"1 to {SERVERS_MAX}")
        if not server.nics:
            raise option_problem("--cluster", f"{self.server} without adapters", "servers with an adapter")
        self._check_fabric()
        if self.ranks < 2:
            raise option_problem("--servers", "1 of one GPU", "2 or more")
        if self.servers % self._domain_servers:
            found = f"{self.servers} in scale-up domains of {server.domain_servers}"
            raise option_problem("--servers", found, domains_allowed(server.domain_servers), UNEQUAL_DOMAINS)
        if self.switch is not None and not self.switch.is_file():
            hint = "`sudo cat /etc/sonic/config_db.json` on the switch"
            raise option_problem("--switch", f'no file "{self.switch}"', "a file", hint)
        return self.question(COLLECTIVES[0], "1GB").answer()["ignored"]

    def _check_fabric(self) -> None:
        """Check what differs from a fabric of two tiers without oversubscription."""
        available = load_server(self.server).nics
        if self.nics is not None and not 1 <= self.nics <= available:
            raise option_problem("--adapters", str(self.nics), f"1 to {available}, as {self.server} has")
        balancer = self.load_balancing
        if balancer is not None and balancer not in LOAD_BALANCERS:
            hint = close_match_hint(balancer, LOAD_BALANCERS)
            raise option_problem("--load-balancing", f'"{balancer}"', ", ".join(LOAD_BALANCERS), hint)
        if not 1 <= self.oversubscription <= OVERSUBSCRIPTION_MAX:
            allowed = f"1 to {OVERSUBSCRIPTION_MAX}"
            raise option_problem("--oversubscription", str(self.oversubscription), allowed)
        if self.tiers is not None and (refusal := self._shape.refusal(self.tiers)):
            raise option_problem("--tiers", *refusal)

    def question(self, collective: str, sizes: str) -> Question:
        """Return the question for NCCL's choices of a collective at some sizes."""
        return Question(self.server, None, self.servers, self.version, self.variables, collective, sizes)

    @property
    def nodes(self) -> int:
        """Number of NCCL's nodes: servers, or scale-up domains of several."""
        return self.servers // self._domain_servers

    @property
    def _domain_servers(self) -> int:
        """Servers of a node: those that a scale-up domain joins, or all if they are fewer."""
        return min(self._server.domain_servers, self.servers)

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return self.servers * self._server.gpus

    @property
    def has_rules(self) -> bool:
        """Whether there are rules of this version of NCCL."""
        try:
            self.question(COLLECTIVES[0], "1GB").answer()
        except PlanError as error:
            return all(problem.place.source != "--nccl" for problem in error.problems)
        return True

    @property
    def adapters(self) -> int:
        """Number of adapters of a server."""
        return self._server.nics

    @property
    def adapter_rate_bps(self) -> int:
        """Rate of an adapter."""
        assert self._server.nic is not None, "a server with adapters has `nic`"
        return self._server.nic.rate_bps

    @property
    def has_rails(self) -> bool:
        """Whether each adapter of a server has a switch of its own."""
        return self.topology == TOPOLOGIES[0]

    @property
    def is_sprayed(self) -> bool:
        """Whether packets of a queue pair take several paths, as by EFA's SRD."""
        if self.load_balancing is not None:
            return self.load_balancing in SPRAYING
        return self._server.nic is not None and self._server.nic.transport == "srd"

    def fields(self, collective: str, sizes: list[int], seeds: int = 1) -> dict[str, Any]:
        """Return the fields of the plan of a collective at some data sizes.

        In send-receive each rank has a partner on another node, if there are several, as the ranks at the end
        of a node have in nccl-tests, whose time is that of the slowest.
        """
        job: dict[str, Any] = {
            "name": collective,
            "collective": collective,
            "library": {"nccl": {"version": self.version, "env": dict(self.variables or {})}},
        }
        if collective == "send-receive":
            job |= self._dealt_out()
        switch: dict[str, Any] = {"pfc": "on", "ecn": "sonic"}
        if self.switch is not None:
            switch = {"config": str(self.switch.absolute())}
        elif self.config is not None:
            switch = {"config": self.config}
        fabric = {"topology": self._topology(), "server": self._server_fields(), "switch": switch}
        transport = {"rate_control": "dcqcn"}
        nic = self._server.nic
        assert nic is not None, "a server with adapters has `nic`"
        if nic.latency_ps:
            # Half of what the plugin reports on each side.
            fabric["nic"] = {"latency": f"{nic.latency_ps // 2}ps"}
        if self.load_balancing is not None:
            fabric["load_balancing"] = self.load_balancing
        elif self.is_sprayed:
            fabric["load_balancing"] = "spray-random"
        if self.is_sprayed:
            transport["recovery"] = "selective"
        return {
            "fabricbench": 1,
            "name": f"{Path(self.server).stem}-x{self.servers}",
            "backend": "flow",
            "iterations": seeds,
            "fabric": fabric,
            "transport": transport,
            "jobs": [job],
            "sweep": {"data_size": [f"{size}B" for size in sizes]},
            "observe": {"chunks": "summary"},
        }

    def _dealt_out(self) -> dict[str, Any]:
        """Return the fields of a job whose ranks are dealt out to the nodes in turn."""
        if self._domain_servers == 1:
            return {"mapping": "round-robin"}
        gpus = self.ranks // self.nodes
        return {"ranks": [node * gpus + gpu for gpu in range(gpus) for node in range(self.nodes)]}

    @cached_property
    def _server(self) -> Server:
        server = load_server(self.server)
        if self.nics is None or self.nics == server.nics:
            return server
        return server.model_copy(update={"nics": self.nics, "nic_of_gpu": None})

    def _server_fields(self) -> Any:
        """Return the server as a plan has it: by name, or the content of its file."""
        is_shipped = self.server in shipped_servers()
        has_all = self.nics in (None, load_server(self.server).nics)
        if is_shipped and has_all:
            return self.server
        path = shipped_servers()[self.server] if is_shipped else Path(self.server)
        fields = read_file(path, self.server).data
        if has_all:
            return fields
        about = ("description", "sources", "nic_of_gpu")
        return {name: value for name, value in fields.items() if name not in about} | {"nics": self.nics}

    @property
    def _shape(self) -> Shape:
        return Shape(
            kind="single-switch" if self.nodes == 1 else self.topology,
            servers=self.servers,
            adapters=self.adapters,
            tiers=self.tiers,
            oversubscription=self.oversubscription,
        )

    def _topology(self) -> dict[str, Any]:
        """Return a topology at the rate of the adapters.

        The adapters of one node, which it does not use, are on one switch.
        """
        return self._shape.topology(rate_text(self.adapter_rate_bps))


def collectives_named(names: Iterable[str]) -> list[str]:
    """Return the collectives of some names, each once; all of them without a name.

    Raises:
        PlanError: There is no such collective.
    """
    found = {name: same_name(name, COLLECTIVES) for name in names}
    for name, collective in found.items():
        if collective is None:
            hint = close_match_hint(name, COLLECTIVES)
            raise option_problem("--collective", f'"{name}"', ", ".join(COLLECTIVES), hint)
    return list(dict.fromkeys(filter(None, found.values()))) or list(COLLECTIVES)


def _rounded(cluster: Cluster, collective: str, sizes: Sequence[int]) -> list[int]:
    """Return data sizes rounded down to equal parts of ranks, as nccl-tests does; without those of 0."""
    unit = _ALIGNMENT * cluster.ranks if engine.shares(collective, cluster.ranks) > 1 else 1
    rounded = sorted({size // unit * unit for size in sizes} - {0})
    if not rounded:
        allowed = f"at least {unit} bytes for the {collective} of {cluster.ranks} ranks"
        raise option_problem("--sizes", f"at most {max(sizes)} bytes", allowed)
    return rounded


def segments(cluster: Cluster, collective: str, sizes: str) -> Iterator[Segment]:
    """Yield the segments of data sizes, as `parse_sizes` reads them.

    Of a segment all trials run that have few chunks; of longer ones, if none has few, the first and the last
    with at most twice the chunks of its smallest size, and the double of that size counts as one.

    Raises:
        PlanError: The sizes are not allowed.
    """
    shown = _rounded(cluster, collective, parse_sizes(sizes))
    candidates = sorted({*shown, *(2 * size for size in shown)})
    text = ",".join(map(str, candidates))
    operations = cluster.question(collective, text).answer()["operations"]
    for choice, group in groupby(operations, lambda operation: _choice(operation["chosen"])):
        members = list(group)
        shown_sizes = [one["bytes"] for one in members if one["bytes"] in shown]
        if not shown_sizes:
            continue
        chunks = {
            one["bytes"]: _chunks(cluster, collective, one)
            for one in members
            if one["bytes"] in shown or (len(shown_sizes) > 1 and one["bytes"] == 2 * shown_sizes[0])
        }
        limit = max(_CHUNKS_MAX, 2 * chunks[shown_sizes[0]])
        short = [size for size in shown_sizes if chunks[size] <= _CHUNKS_MAX]
        long = [size for size in chunks if _CHUNKS_MAX < chunks[size] <= limit]
        long = long if len(short) + len(long) <= 1 else [long[0], long[-1]] if not short and long else long
        yield Segment(choice, shown_sizes, sorted({*short, *long}))


def _choice(chosen: Mapping[str, Any] | None) -> Choice:
    if chosen is None:
        return None, "", 0
    return chosen["algorithm"], chosen["protocol"], chosen["channels"]


def _chunks(cluster: Cluster, collective: str, operation: Mapping[str, Any]) -> int:
    """Return about how many chunks the flow model simulates for an operation as NCCL runs it.

    On one node a chunk is that of all channels. On rails two nodes stand for all in a ring and in an
    all-to-all. The chunks of an all-to-all count once for each message of a channel: all ranks share their
    adapters among many peers, whose rates change with each.
    """
    chosen, nodes = operation["chosen"], cluster.nodes
    if chosen is None:
        return 0
    of_channel: int = chosen["messages"]
    messages: int = chosen["channels"] * of_channel
    if chosen["algorithm"] is None:
        if nodes == 1:
            return messages * cluster.ranks * (cluster.ranks if collective == "all-to-all" else 1)
        if collective != "all-to-all":
            return messages * cluster.ranks
        simulated = min(nodes, 2) if cluster.has_rails else nodes
        return messages * of_channel * cluster.ranks * cluster.ranks * simulated // nodes
    if nodes == 1:
        return 2 * of_channel * cluster.ranks
    if chosen["algorithm"] == "Ring":
        return messages * 2 * (1 if cluster.has_rails else nodes)
    chunks: int = -(-operation["bytes"] // chosen["chunk_bytes"])
    return chunks * 2 * nodes


def option_problem(option: str, found: str, allowed: str, hint: str = "") -> PlanError:
    """Return the error of an option."""
    return PlanError([Problem(Place(option), "", found, allowed, hint)])
