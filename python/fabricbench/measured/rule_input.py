"""`RuleInput`, input of the rules about low bandwidth: results, log, hosts and expected bandwidth of a file.

Its properties derive values that several rules use, such as the judged result and its fraction of the target
(the expected bandwidth). `Point` is one result, `Hardware` the adapters of a host; `bus_bandwidth` computes
the bandwidth of a result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fabricbench.measured.file_text.line import EvidenceLine
from fabricbench.measured.nccl_logs.debug_facts import DebugFacts, setting
from fabricbench.measured.nccl_logs.ras_report import RasReport
from fabricbench.measured.nccl_tests.bandwidth_check import KINDS, bandwidths
from fabricbench.measured.runs import described
from fabricbench.measured.switches.model import SwitchCounters

GOOD: Final = 0.9
"""Fraction of the bound above which nothing is missing: headers take 2 % at an MTU of 4096, 8 % at 1024."""
LARGE_BYTES: Final = 64 << 20
"""Size from which latency is negligible: 64 MiB take 1.3 ms at 400 Gb/s, a step some 10 us."""
_BY_PAIRS: Final = ("alltoall", "sendrecv", "gather")
_WITHOUT_LAW: Final = ("scatter", "hypercube")
"""Kinds whose load of adapters is unknown: a scatter's root may use its neighbours' adapters (PXN) or not."""
_PAIRS: Final = ("osu_bw", "osu_bibw", "imb-pingpong", "imb-pingping", "imb-uniband", "imb-biband")
"""Benchmarks of a pair of processes, which use an adapter each unless the library stripes over several."""
_OF_TWO: Final = (("imb-sendrecv", 2),)
"""Benchmarks of a ring of processes, with the number of processes at which the ring is a pair."""
_OF_HARDWARE: Final = ("nic", "host", "device", "NCCL_IB_HCA", "UCX_NET_DEVICES")
"""Settings that change the adapters of a run."""
_LATENCIES: Final = re.compile(r"_lat\b|_lat$|latency|multi_lat")
ETHERNET_HEADERS: Final = 82
"""Of each RoCE frame, with preamble and gap [B]."""
_INFINIBAND_HEADERS: Final = 30
"""Of each packet of InfiniBand, local and base transport header and both CRCs, at least [B]."""


@dataclass(frozen=True)
class Point:
    """A result: its size, its bandwidth and its line.

    Attributes:
        benchmark: The program.
        kind: The measured operation, by the name of nccl-tests without `_perf`.
        ranks: Number of ranks.
        size_bytes: Its data size.
        placement: `in-place`, `out-of-place` or empty.
        time_us: Its time; none where a rate is measured.
        busbw: Bus bandwidth; of perftest the rate of one direction [GB/s].
        wrong: Number of wrong values by the benchmark's own check.
        line: Its line.
        settings: Settings of the measurement that the file has.
        differs: Those of them in which runs of the file differ.
        is_judged: Whether the network is judged by results of its type and operation.
        chosen: `algorithm`, `protocol` and `channels` of NCCL, as far as the log has them.
    """

    benchmark: str
    kind: str
    ranks: int
    size_bytes: int
    placement: str
    time_us: float | None
    busbw: float | None
    wrong: int
    line: int
    settings: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    is_judged: bool = True
    chosen: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def run(self) -> tuple[str, int, str]:
        """Key of its run: benchmark, ranks and the settings in which runs differ."""
        return self.benchmark, self.ranks, described(self.differs)


@dataclass(frozen=True)
class Hardware:
    """Adapters of a host, given by the user or a plan.

    Attributes:
        adapters: Number of adapters; none if unknown.
        rate_gbps: Rate of one [Gb/s]; none if unknown.
        source: Origin of these values, in words.
    """

    adapters: int | None = None
    rate_gbps: float | None = None
    source: str = ""


@dataclass(frozen=True)
class RuleInput:
    """Input of the rules: results and facts of a file, hardware, expected bandwidth, counters.

    Attributes:
        points: Its results.
        facts: Facts from its lines.
        hardware: Adapters of the hosts.
        perftest: Settings that perftest prints.
        expected: Least and most bandwidth of a model for each size [GB/s].
        switches: Counters of switches and hosts.
        uplinks: Names of their ports towards the next tier, or patterns of them.
        ras: NCCL's RAS report; none if the file is no such report.
    """

    points: Sequence[Point]
    facts: DebugFacts
    hardware: Hardware
    perftest: Mapping[str, str]
    expected: Mapping[int, tuple[float, float]]
    switches: Sequence[SwitchCounters] = ()
    uplinks: Sequence[str] = ()
    ras: RasReport | None = None

    @property
    def is_perftest(self) -> bool:
        """Whether it is one pair of hosts and no collective."""
        return bool(self.perftest)

    @cached_property
    def is_pair(self) -> bool:
        """Whether two processes measure with several messages in flight, so that small sizes are enough."""
        runs = {(point.benchmark, point.ranks) for point in self.points}
        return self.is_perftest or (bool(runs) and all(run[0] in _PAIRS or run in _OF_TWO for run in runs))

    @cached_property
    def judged(self) -> list[Point]:
        """Results by which the network is judged: of several types and operations those of one."""
        return [point for point in self.points if point.is_judged]

    @cached_property
    def large(self) -> list[Point]:
        """Results limited by bandwidth: of 64 MiB or more (of a pair 64 KiB), else of the largest size."""
        rated = [point for point in self.judged if point.busbw]
        least = 64 << 10 if self.is_pair else LARGE_BYTES
        largest = max((point.size_bytes for point in rated), default=0)
        return [point for point in rated if point.size_bytes >= min(least, largest)]

    @cached_property
    def best(self) -> Point | None:
        """The judged result: of the best large result of each run, the one farthest below its bound.

        With a model, of the best result of each modelled size and placement, the one farthest below the
        model. Latencies are used only if there is nothing else.
        """
        rates = [point for point in self.large if not _LATENCIES.search(point.benchmark)] or self.large
        modelled = [point for point in rates if point.size_bytes in self.expected]
        groups: dict[tuple[object, ...], Point] = {}
        for point in modelled or rates:
            key = (*point.run, *((point.size_bytes, point.placement) if modelled else ()))
            former = groups.setdefault(key, point)
            if (point.busbw or 0.0) > (former.busbw or 0.0):
                groups[key] = point
        bounded = [point for point in groups.values() if modelled or self.share(point) is not None]

        def reached(point: Point) -> float:
            bound = self.expected[point.size_bytes][0] if modelled else self.share(point)
            return (point.busbw or 0.0) / (bound or 1.0)

        return min(bounded or groups.values(), key=reached, default=None)

    @property
    def plateau(self) -> float | None:
        """The bandwidth of the judged result [GB/s]."""
        return self.best.busbw if self.best else None

    @cached_property
    def of_run(self) -> list[Point]:
        """The results of the judged run, of all sizes."""
        return [point for point in self.judged if point.busbw and self.best and point.run == self.best.run]

    @property
    def peak(self) -> float | None:
        """Most bandwidth of a host's adapters in one direction, at any size of the judged run [GB/s]."""
        shares = ((point.busbw or 0.0, self.share(point)) for point in self.of_run)
        return max((bus / share for bus, share in shares if share), default=None)

    @property
    def hardware_peak(self) -> float | None:
        """Most bandwidth of these hosts' adapters in one direction, any size of any run [GB/s], if known."""
        best = self.best
        if best is None:
            return None
        of_best = [best.differs.get(name, "") for name in _OF_HARDWARE]
        same = [
            point
            for point in self.points
            if point.busbw
            and (point.benchmark, point.ranks) == (best.benchmark, best.ranks)
            and [point.differs.get(name, "") for name in _OF_HARDWARE] == of_best
        ]
        shares = ((point.busbw or 0.0, self.share(point)) for point in same)
        return max((bus / share for bus, share in shares if share), default=None)

    @property
    def carried(self) -> float | None:
        """Bandwidth of a host's adapters in one direction at the judged result [GB/s]; none if unknown."""
        share = self.share(self.best) if self.best else None
        return self.best.busbw / share if self.best and self.best.busbw and share else None

    def share(self, point: Point) -> float | None:
        """Return bus bandwidth of a result over the bandwidth of a host's adapters in one direction.

        It is 1 for a ring, which loads each adapter with the bus bandwidth. Ranks of an all-to-all share the
        adapters of their host, and n - L of the n - 1 peers of a rank are on other hosts, with L ranks on a
        host. In a ring of neighbours one rank of each host sends to another host, and all input of a gather's
        root uses the adapters of one rank. None if unknown: without L, and for kinds without such a law.
        """
        kind, ranks = point.kind, point.ranks
        if self.is_perftest or kind not in (*_BY_PAIRS, *_WITHOUT_LAW):
            return 1.0
        local = self.ranks_of_a_host(point)
        if local is None or kind in _WITHOUT_LAW or ranks <= local:
            return None
        if kind == "alltoall":
            return (ranks - 1) / (local * (ranks - local))
        adapters = self.adapters
        if adapters is None:
            return None
        of_a_rank = max(1, adapters // local) / adapters
        return of_a_rank if kind == "sendrecv" else of_a_rank * (ranks - 1) / (ranks - local)

    def ranks_of_a_host(self, point: Point) -> int | None:
        """Return the number of ranks on each host for a result; none if unknown or not equal on all hosts."""
        ranks = point.ranks
        nodes = self.nodes_of(point) or (2 if ranks == 2 else None)
        return ranks // nodes if nodes and ranks % nodes == 0 else None

    @property
    def nodes(self) -> int | None:
        """Hosts that take part in the judged result."""
        return self.nodes_of(self.best)

    def nodes_of(self, point: Point | None) -> int | None:
        """Return the number of hosts of a result, or of the whole file; none if unknown."""
        if self.is_perftest:
            return 2
        own = point.settings.get("host", "") if point and point.differs else ""
        if own and not own.endswith("..."):
            return len(own.split(", "))
        return len(self.facts.hosts) or self.facts.nodes

    @property
    def local_ranks(self) -> int | None:
        """Ranks of a host in the judged run; the most if hosts differ."""
        of_best = self.ranks_of_a_host(self.best) if self.best and self.facts.devices else None
        listed = Counter(host for _, host in {(rank, host) for rank, _, host, _ in self.facts.devices})
        return self.facts.local_ranks or of_best or max(listed.values(), default=None)

    @property
    def crosses(self) -> bool:
        """Whether data cross a network; true if unknown."""
        return (self.nodes or 2) > 1 or any(
            transport.startswith("NET/") for transport in self.facts.transports
        )

    @property
    def adapters(self) -> int | None:
        """Adapters that should be used."""
        if self.is_pair:
            return 1
        return self.hardware.adapters or (len(self.facts.adapters) or None)

    @property
    def payload_share(self) -> float:
        """Fraction of a line rate that is payload, at the MTU in the file, else at 4096 B."""
        mtu = self.mtu_bytes or 4096
        kinds = {*self.facts.adapters.values(), self.perftest_setting("link type")}
        is_ethernet = bool(kinds & {"RoCE", "Ethernet"}) and not kinds & {"IB", "InfiniBand"}
        return mtu / (mtu + (ETHERNET_HEADERS if is_ethernet or not self.mtu_bytes else _INFINIBAND_HEADERS))

    @property
    def mtu_bytes(self) -> int | None:
        """Path MTU in the file; none without one."""
        mtu_text = self.perftest_setting("mtu").split("[")[0]
        return int(mtu_text) if mtu_text.isdecimal() and int(mtu_text) else self.facts.mtu_bytes

    def perftest_setting(self, name: str) -> str:
        """Return a setting that perftest prints for the judged run; empty without it."""
        own = self.best.settings.get(name, "") if self.best else ""
        return own or self.perftest.get(name, "")

    def setting(self, *names: str) -> tuple[str, str, EvidenceLine] | None:
        """Return the first of some variables that is set in the judged run, with its line."""
        differs = self.best.differs if self.best else {}
        for name in names:
            if name not in differs:
                variable = setting(self.facts, name)
            elif differs[name] and self.best:
                variable = name, differs[name], EvidenceLine(self.best.line, f"{name}={differs[name]}")
            else:
                variable = None
            if variable:
                return variable
        return None

    @property
    def line_rate(self) -> float | None:
        """Rate of all adapters of a host in one direction [GB/s], headers included."""
        if self.adapters is None or self.hardware.rate_gbps is None:
            return None
        return self.adapters * self.hardware.rate_gbps / 8

    @property
    def bound(self) -> float | None:
        """The bus bandwidth of the judged result at the line rate [GB/s]; none if unknown."""
        share = self.share(self.best) if self.best else None
        return None if self.line_rate is None or share is None else self.line_rate * share

    @property
    def target(self) -> float | None:
        """Expected bandwidth of the judged result [GB/s]: by a model, else its bound less headers."""
        if self.best is not None and self.best.size_bytes in self.expected:
            return self.expected[self.best.size_bytes][0]
        return None if self.bound is None else 0.98 * self.bound

    @property
    def is_latency(self) -> bool:
        """Whether latency was measured: such results are no evidence about a rate."""
        return self.best is not None and bool(_LATENCIES.search(self.best.benchmark))

    @property
    def ratio(self) -> float | None:
        """Measured fraction of the target; none if either is unknown or latency was measured."""
        if not self.crosses or self.plateau is None or not self.target or self.is_latency:
            return None
        return self.plateau / self.target

    def explained_by(self, bandwidth: float | None) -> float | None:
        """Return the fraction of the missing bandwidth explained by a limit of `bandwidth` [GB/s]."""
        if bandwidth is None or self.plateau is None or not self.target or self.target <= self.plateau:
            return None
        return min(1.0, max(0.0, (self.target - bandwidth) / (self.target - self.plateau)))

    @property
    def is_above(self) -> bool:
        """Whether the measured bandwidth is above the range of the model, or above the line rate."""
        if self.ratio is None or self.plateau is None:
            return False
        size = self.best.size_bytes if self.best else 0
        if size in self.expected:
            return self.plateau > 1.1 * self.expected[size][1]
        return self.plateau > 1.02 * (self.bound or self.plateau)


def bus_bandwidth(kind_name: str, ranks: int, size_bytes: int, time_us: float | None) -> float | None:
    """Return the bus bandwidth of a result [GB/s]; none if its kind or its time is unknown."""
    kind = KINDS.get(kind_name)
    if kind is None or not time_us or not size_bytes:
        return None
    return bandwidths(kind, ranks, size_bytes, time_us)[1]
