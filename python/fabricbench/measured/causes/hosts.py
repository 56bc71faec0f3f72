"""Finds causes of low bandwidth between memory and adapter: path from the GPU, ACS, PCIe slot, path MTU.

Rules: `path_to_adapter`, `access_control`, `slot`, `small_mtu`. `mtu_limit` returns a path MTU that limits
the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricbench.measured.causes.evidence import (
    FALL_MIN,
    LIKELY,
    POSSIBLE,
    Suspect,
    each_adapter,
    each_adapter_at_most,
    fallen,
    is_near,
    reached,
    tool,
)
from fabricbench.measured.causes.settings import MTU, comparison
from fabricbench.measured.nccl_logs.hardware import LINE_RATES, PCIE, PcieLink, slower_ports
from fabricbench.measured.nccl_logs.rails import DISTANCES
from fabricbench.measured.rule_input import ETHERNET_HEADERS, GOOD, RuleInput

_LARGE_PACKETS = 1.13
"""Ratio of the payload rate of PCIe writes of 256 B to that of 128 B."""


def path_to_adapter(case: RuleInput) -> Iterator[Suspect]:
    """An adapter with a long path to its GPU."""
    logged = [kind for kind in ("SYS", "NODE", "PHB") if kind in case.facts.paths and case.crosses]
    listed, numbered = _nearest(case), _by_number(case)
    if not (logged or listed or numbered) or (case.ratio is not None and case.ratio >= GOOD):
        return
    kind, evidence, is_close = listed[0] if listed else "", [listed[1]] if listed else [], bool(listed)
    if logged:
        kind = logged[0]
        rate = case.facts.paths[kind]
        evidence = [f"{case.facts.where[f'path {kind}']} (GPU to adapter: {kind})", *evidence]
        evidence += (
            [f"NCCL's graph search counts on {rate:g} GB/s there, {case.plateau:.4g} were reached"]
            if case.plateau
            else []
        )
        is_close |= case.carried is not None and case.carried <= 1.1 * rate * (case.adapters or 1)
    if numbered:
        kind = "SYS" if "SYS" in (kind, numbered[0]) else kind or numbered[0]
        evidence = [*evidence, numbered[1]]
    yield Suspect(
        "far-adapter",
        f"data between GPU and adapter cross {_CROSSED[kind]}",
        LIKELY if kind == "SYS" or (is_close and not _is_without_direct(case)) else POSSIBLE,
        [*evidence, *reached(case)],
        "`nvidia-smi topo -m`: GPU and adapter should be PIX or PXB; ranks on the other NUMA node, "
        "`numactl`, BIOS NPS, "
        "relaxed ordering; `ib_write_bw --use_cuda` by GPU and adapter shows the pair that is slow",
    )


_LEVELS = {"PHB": "PHB", "3": "PHB", "SYS": "SYS", "4": "SYS", "5": "SYS"}
"""Values of NCCL_NET_GDR_LEVEL that allow paths over a host bridge, and over the link between processors."""
_NUMBERS = (((2, 8), 5), ((2, 12), 6), ((2, 26), 7))
"""Number of `PATH_SYS` in versions of NCCL before each of these (src/graph/topo.h); `PATH_PHB` is one less.
In later versions it is 8 or 9, and 7 is a path by a chip-to-chip link in some of them."""
_FARTHEST_NEAR = 7
"""The largest number of a path without a host bridge, in any version."""


def _by_number(case: RuleInput) -> tuple[str, str] | None:
    """Return the kind and the line of the longest path whose number NCCL logs, if it is PHB or SYS.

    The number of the limit is that of NCCL_NET_GDR_LEVEL, if set; otherwise the meaning of a number depends
    on the version. A number that may be PHB or SYS is taken as PHB.
    """
    rails = case.facts.rails
    if not rails.direct or not case.crosses:
        return None
    distance, limit, seen = max(rails.direct.values(), key=lambda direct: direct[0])
    level = _LEVELS.get((case.setting("NCCL_NET_GDR_LEVEL") or ("", ""))[1].upper())
    system = next((number for version, number in _NUMBERS if rails.version and rails.version < version), None)
    if level is not None:
        system = limit if level == "SYS" else limit + 1
    if system is not None:
        kind = {system: "SYS", system - 1: "PHB"}.get(distance)
        return (kind, f"{seen}: {distance} is {kind}") if kind else None
    if distance < _FARTHEST_NEAR or (distance == _FARTHEST_NEAR and rails.version):
        return None
    return "PHB", f"{seen}: {distance} is PHB or SYS, by the version of NCCL"


def _is_without_direct(case: RuleInput) -> bool:
    """Return whether GPU Direct RDMA is off, not for distance: NCCL then reports PHB for any adapter."""
    facts = case.facts
    return not facts.gdr_far and (bool(facts.gdr_off) or (facts.gdr[False] > 0 and not facts.gdr[True]))


_CROSSED = {
    "SYS": "the link between processors",
    "NODE": "the host bridges of a NUMA node",
    "PHB": "a host bridge",
}


def _nearest(case: RuleInput) -> tuple[str, str] | None:
    """Return the least distance of any GPU to its nearest adapter, with its line, if it is NODE or SYS."""
    nearest = list(case.facts.rails.nearest.values())
    if not nearest:
        return None
    kind, seen = min(nearest, key=lambda distance_and_line: DISTANCES.index(distance_and_line[0]))
    count = f"{len(nearest)} GPU{'s' if len(nearest) > 1 else ''} without a nearer adapter than {kind}"
    return (kind, f"{seen} ({count})") if kind in ("NODE", "SYS") else None


def access_control(case: RuleInput) -> Iterator[Suspect]:
    """PCIe Access Control Services, which redirect peer traffic to the root complex."""
    facts = case.facts
    if facts.acs:
        yield Suspect(
            "acs",
            "PCIe ACS is on: traffic between GPU and adapter goes up to the root complex and back",
            LIKELY,
            [str(facts.acs[0]), f"{len(facts.acs)} bridges with it", *reached(case)],
            "`setpci` or BIOS turns it off; `lspci -vvv | grep ACSCtl` must show SrcValid- ReqRedir- for "
            "all bridges",
        )
    elif (
        case.ratio is not None
        and not facts.acs_off
        and not _was_better(case)
        and 0.25 <= case.ratio <= 0.65
        and not case.is_pair
        and not fallen(case)
        and not facts.transports["NET/Socket"]
        and not facts.networks["Socket"]
    ):
        yield Suspect(
            "acs",
            "about half of the rate of each adapter: peer traffic may take the PCIe root complex (ACS or "
            "IOMMU on)",
            POSSIBLE,
            reached(case),
            "`sudo lspci -vvv | grep ACSCtl`: SrcValid+ on a bridge above a GPU or adapter is it; "
            "NCCL_NET_GDR_LEVEL=0 "
            "that is not slower speaks for it",
            is_guess=True,
        )


def _was_better(case: RuleInput) -> bool:
    """Return whether another run of the same hosts reached more bandwidth than ACS allows."""
    best, peak = case.line_rate, case.hardware_peak
    return best is not None and peak is not None and peak > 0.7 * best


def slot(case: RuleInput) -> Iterator[Suspect]:
    """A PCIe slot that is narrower or older than the port; none whose rate is below a measured one."""
    bandwidth, most, rate = each_adapter(case), each_adapter_at_most(case), case.hardware.rate_gbps
    stated = _narrow_links(case)
    if stated:
        yield _stated_slot(case, stated)
        return
    if bandwidth is None or most is None or case.ratio is None or case.ratio >= GOOD or fallen(case):
        return
    if slower_ports(case.facts.hardware, rate) or (case.facts.hardware.links and not _is_hidden(case)):
        return  # a port of the file is slow, or the links of adapters are in it, and none is narrow
    fitting = [
        (name, limit)
        for name, limit in PCIE
        if 0.82 * limit <= bandwidth
        and most <= _LARGE_PACKETS * limit
        and _LEAST_SLOT * (rate or 0) / 8 <= limit < 0.98 * (rate or 0) / 8
    ]
    if fitting:
        name, limit = fitting[0]
        yield Suspect(
            "pcie-slot",
            f"an adapter carries what a slot of PCIe {name} carries",
            POSSIBLE,
            [
                f"{bandwidth:.4g} GB/s for each adapter; {name} carries {limit:.3g} GB/s, with large packets "
                f"{_LARGE_PACKETS * limit:.3g}",
                *reached(case),
            ],
            _SLOT_TEST,
            is_guess=True,
        )


_SLOT_TEST = (
    "`lspci -vv -s ADAPTER | grep LnkSta`: speed and width of the adapter, the GPU and the bridges between; "
    "`ib_write_bw` from host memory has the same limit"
)
_LEAST_SLOT = 0.25
"""Least rate of a slot as a fraction of the port's, such as Gen3 x16 for 400 Gb/s: less is a rare fault."""


def _is_hidden(case: RuleInput) -> bool:
    return bool(case.facts.failures.get("could not read /sys") or case.facts.hardware.hidden)


def _narrow_links(case: RuleInput) -> list[PcieLink]:
    """Return the PCIe links of adapters that are slower than their ports by lines of the file."""
    if _is_hidden(case) or (case.ratio is not None and case.ratio >= GOOD):
        return []
    most, rate = each_adapter_at_most(case), case.hardware.rate_gbps
    return [
        link
        for link in case.facts.hardware.links.values()
        if link.is_narrow(rate) and (most is None or most <= _LARGE_PACKETS * link.gb_per_s)
    ]


def _stated_slot(case: RuleInput, links: Sequence[PcieLink]) -> Suspect:
    first = links[0]
    port = first.port_gb_per_s or (case.hardware.rate_gbps or 0.0) / 8
    return Suspect(
        "pcie-slot",
        f"the PCIe link of an adapter carries {first.gb_per_s:.3g} GB/s each way, its port {port:.4g} GB/s",
        LIKELY if is_near(case, first.gb_per_s) else POSSIBLE,
        [
            str(first.seen),
            f"{len(links)} of {len(case.facts.hardware.links)} links of adapters are so narrow",
            *reached(case),
        ],
        _SLOT_TEST,
    )


def small_mtu(case: RuleInput) -> Iterator[Suspect]:
    """A path MTU of 1024 or less."""
    facts = case.facts
    mtu = case.mtu_bytes
    if not mtu or mtu > 1024 or (case.ratio is not None and case.ratio >= GOOD and not mtu_limit(case)):
        return
    mtu_text = case.perftest_setting("mtu").split("[")[0]
    evidence = [f"{tool(case)}: Mtu {mtu_text}"] if mtu_text.isdecimal() else [str(facts.where["mtu"])]
    share = mtu / (mtu + ETHERNET_HEADERS)
    evidence.append(
        f"headers of {ETHERNET_HEADERS} B for each packet leave {100 * share:.1f} % of the line rate; 4096 "
        "leaves 98 %"
    )
    explains = case.explained_by(case.target * share / 0.98 if case.target else None)
    compared = comparison(case)
    is_compared = compared is not None and compared.is_by(MTU)
    evidence += compared.evidence if compared is not None and is_compared else []
    lower = _port_at(case, share)
    if lower:
        evidence.append(f"{lower} Gb/s less these headers are {lower * share:.4g} Gb/s, as measured")
    is_likely = case.ratio is None or (explains or 0.0) >= 0.5 or is_compared
    if case.ratio is not None and case.ratio >= GOOD:
        is_likely = _is_limit(case)
    yield Suspect(
        "small-mtu",
        f"the path MTU is {mtu} B: an interface with an MTU of 1500 gives RoCE no more",
        LIKELY if is_likely else POSSIBLE,
        [*evidence, *reached(case)],
        "`ip link set dev IFACE mtu 9000` on hosts and switches, then `ibv_devinfo` says active_mtu 4096; "
        "it also "
        "quarters the packets that the adapter has to handle",
        explains,
        adds_to=("bond-one-port", "slower-port") if lower else (),
    )


def _is_limit(case: RuleInput) -> bool:
    """Return whether the best bandwidth is at 1 MiB or more, or at several sizes, so that it is a limit."""
    best = max((point.busbw or 0.0 for point in case.of_run), default=0.0)
    sizes = {point.size_bytes for point in case.of_run if (point.busbw or 0.0) >= 0.98 * best}
    return len(sizes) > 2 or max(sizes, default=0) >= FALL_MIN


def mtu_limit(case: RuleInput) -> int | None:
    """Return the path MTU if it explains most of 3 % or more of missing bandwidth; none with a model."""
    mtu = case.mtu_bytes
    if not mtu or mtu > 1024 or case.expected or case.ratio is None or not case.target or case.ratio > 0.97:
        return None
    explains = case.explained_by(case.target * mtu / (mtu + ETHERNET_HEADERS) / 0.98)
    return mtu if (explains or 0.0) >= 0.5 else None


def _port_at(case: RuleInput, share: float) -> int | None:
    """Return the lower port rate whose payload at this MTU equals the bandwidth of each adapter, to 1.5 %."""
    per_adapter, rate = each_adapter(case), case.hardware.rate_gbps
    if per_adapter is None or rate is None:
        return None
    fitting = (
        lower for lower in LINE_RATES if lower < rate and 0.985 <= 8 * per_adapter / (lower * share) <= 1.005
    )
    return next(fitting, None)
