"""Rules that name the likely causes of a measurement, each from its evidence.

A cause is named only with its evidence: a line of the file, or a ratio of what was measured to a rate that
the file, the user or a plan gives. Each names the test or counter that tells it apart from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from fabricbench.measured.examined import (
    AS_EXPECTED,
    CERTAIN,
    GOOD,
    LARGE_BYTES,
    LIKELY,
    LINE_RATES,
    PCIE,
    POSSIBLE,
    Examined,
    Suspect,
)
from fabricbench.measured.host_causes import lost_packets, not_ready, slow_receiver
from fabricbench.measured.nccl_debug import DebugFacts, Seen, adapter_names, setting
from fabricbench.measured.ras_causes import communicator_errors, lost_processes, ranks_behind, ranks_differ
from fabricbench.measured.switch_causes import (
    LOSSLESS_DROPS,
    READS_THEM,
    congestion_denied,
    congestion_evidence,
    link_errors,
    lossless_drops,
    uplink_spread,
)


def _shares(case: Examined) -> list[str]:
    """Say how much was reached of what, if that is known."""
    if case.ratio is None or case.plateau is None or case.target is None:
        return []
    what = (
        "the model expects" if case.expected else f"{case.adapters} x {case.hardware.rate_gbps:g} Gb/s carry"
    )
    several = case.best is not None and len({point.benchmark for point in case.large}) > 1
    name = f"{case.best.benchmark}: " if several and case.best is not None else ""
    return [f"{name}{case.plateau:.4g} GB/s reached, {case.target:.4g} GB/s {what}: {100 * case.ratio:.0f} %"]


def suspects(case: Examined) -> list[Suspect]:
    """Return the causes that the evidence allows, the likeliest first, equal ones in the rules' order."""
    found = [each for rule in _RULES for each in rule(case)]
    if _has_reached(case):
        found = [each for each in found if each.confidence == CERTAIN or each.cause in _AT_THE_TARGET]
    certain = any(each.confidence >= LIKELY for each in found)
    kept = [each for each in found if not (certain and each.cause in _ONLY_WITHOUT_OTHERS)]
    return sorted(kept, key=_rank)


def _rank(cause: Suspect) -> tuple[int, int]:
    """Return the order of a cause: drops of a lossless queue after those that spoil the measurement alone."""
    if cause.cause == LOSSLESS_DROPS and cause.confidence == LIKELY:
        return 1, 0
    spoils = cause.cause in _SPOILING and cause.confidence == CERTAIN
    return 0 if spoils else 2, -cause.confidence


def _has_reached(case: Examined) -> bool:
    """Whether all large results are what is expected, not the best alone: a model's range is of each size."""
    if case.ratio is None or case.ratio < GOOD:
        return False
    is_modelled = case.best is not None and case.best.size_bytes in case.expected
    return is_modelled or not (_fallen(case) or _is_uneven(_repeated(case)))


def wrong_values(case: Examined) -> Iterator[Suspect]:
    """Values that the benchmark's own check found wrong."""
    wrong = [point for point in case.points if point.wrong]
    if wrong:
        first = wrong[0]
        yield Suspect(
            "wrong-values",
            "data arrive damaged: bandwidth says nothing before that is mended",
            CERTAIN,
            [
                f"line {first.line}: {first.wrong} wrong values at {first.size_bytes} B; {len(wrong)} "
                "results in all"
            ],
            "run again with `-c 1` and NCCL_NET_GDR_LEVEL=0, then NCCL_P2P_DISABLE=1: the one that mends "
            "it names "
            "the way; `dmesg` for Xid, ECC and AER errors",
        )


def failed(case: Examined) -> Iterator[Suspect]:
    """A run that ended with an error."""
    facts = case.facts
    completions = sorted(facts.completions.items(), key=lambda each: each[0] == _FLUSHED)
    found: list[tuple[int | str, Seen]] = [*facts.errors.items(), *completions]
    if not found and not facts.failed:
        return
    sentence, tells = _ERRORS.get(found[0][0] if found else None, _ERRORS[None])
    lines = [*(seen for _, seen in found[:1]), *facts.failed[:1]]
    yield Suspect("run-failed", sentence, CERTAIN, list(dict.fromkeys(map(str, lines))), tells)


_NUMBERED: Final = re.compile(r"_\d+(?::\d+)?$")
"""How the name of an adapter ends, and that of its kind does not: `mlx5_0`, `mlx5_0:1`, not `mlx5`."""
_FLUSHED: Final = 5
"""`IBV_WC_WR_FLUSH_ERR` of what was posted to a queue pair that had failed before."""
_MEMORY: Final = (
    "an adapter may not read or write the memory that it was given: registration, peer memory or IOMMU",
    "NCCL_NET_GDR_LEVEL=0, then NCCL_IB_PCI_RELAXED_ORDERING=0: the one with which it runs names the way; "
    "`dmesg` for errors of IOMMU, mlx5 and Xid",
)
_ERRORS: Final[Mapping[int | str | None, tuple[str, str]]] = {
    "ibv_reg_mr": (
        "an adapter could not register memory: too little may be locked, or peer memory is not there",
        "`ulimit -l` of the job must say unlimited; `lsmod | grep nvidia_peermem`; NCCL_NET_GDR_LEVEL=0 that "
        "helps means peer memory",
    ),
    "ibv_modify_qp": (
        "a queue pair could not be connected: the peer's GID has no route, or GIDs, VLANs or RoCE versions "
        "of both do not fit",
        "`show_gids` of both hosts: the same kind at NCCL_IB_GID_INDEX; `ib_write_bw -x GID` and `rping` "
        "between these two adapters",
    ),
    "socket": (
        "processes do not reach each other by TCP before any data flow: another interface, or a firewall",
        "NCCL_SOCKET_IFNAME must name an interface on which all hosts reach each other; `ping` the address "
        "of that line",
    ),
    4: _MEMORY,
    10: _MEMORY,
    12: (
        "a peer acknowledged nothing until all retries were over: frames do not arrive at all, or stay away "
        "longer than NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT allow",
        "`ib_write_bw` between these two adapters with the same GID (-x) and MTU (-m): if it fails too, it "
        "is the route, GID, MTU or VLAN; else local_ack_timeout_err, link_downed and PFC storms (`show pfcwd "
        "stats`) during the run, `dmesg` for link flaps",
    ),
    13: (
        "a receiver had no buffer ready until all retries were over: its process hangs, or ended first",
        "the first error of the peer's own log; rnr_nak_retry_err and out_of_buffer of its adapter",
    ),
    _FLUSHED: (
        "a queue pair was flushed after an error that this file does not have",
        "the first `Got completion` or `WARN` of all ranks: NCCL_DEBUG=WARN of every process in one file",
    ),
    None: (
        "the run ended with an error before all sizes were measured",
        "the first `NCCL WARN` of all ranks: NCCL_DEBUG=WARN of every process in one file; `dmesg` for Xid",
    ),
}
"""By the call that failed, or `ibv_wc_status` of verbs."""


def separate_processes(case: Examined) -> Iterator[Suspect]:
    """Processes that know nothing of each other: nccl-tests without MPI."""
    facts = case.facts
    ranks = {rank for rank, *_ in facts.devices}
    alone = len(ranks) == 1 and len(facts.devices) == 1 and (facts.ranks or 1) == 1
    if facts.first_ranks > 1:
        yield Suspect(
            "separate-processes",
            "every process measured alone: nccl-tests was built without MPI, and nothing crossed the network",
            CERTAIN,
            [
                f"{facts.first_ranks} processes say that they are rank 0, first "
                f"{facts.where.get('devices') or facts.where['first']}"
            ],
            "`make clean && make MPI=1`, then one list of ranks 0 to n-1 stands before one table",
        )
    elif alone:
        yield Suspect(
            "one-rank",
            "one rank takes part: its bus bandwidth is 0 by definition, (n - 1) / n of it crosses anything",
            CERTAIN,
            [str(facts.where["devices"])],
            "start more ranks: `-g 8` for the GPUs of a host, `mpirun -np N` and MPI=1 for several hosts",
        )


def sockets(case: Examined) -> Iterator[Suspect]:
    """TCP in place of RDMA."""
    facts = case.facts
    disabled = setting(facts, "NCCL_IB_DISABLE")
    disabled = disabled if disabled and disabled[1] != "0" else None
    forbidden = disabled or (
        chosen if (chosen := setting(facts, "NCCL_NET")) and chosen[1] == "Socket" else None
    )
    uses = facts.networks["Socket"] + facts.ways["NET/Socket"] + bool(forbidden)
    others = [way for way in facts.ways if way.startswith("NET/") and way != "NET/Socket"]
    if not uses or others or (facts.networks["IB"] and not facts.ways["NET/Socket"]) or not case.crosses:
        return
    seen = facts.where.get("via NET/Socket") or facts.where.get("network")
    evidence = [str(seen)] if seen else []
    why = [facts.failures[name] for name in facts.failures if name != "could not read /sys"]
    evidence += [str(each) for each in why]
    evidence += [str(forbidden[2])] if forbidden else []
    yield Suspect(
        "sockets",
        "NCCL moves data by TCP sockets: no RDMA adapter was found or it may not be used",
        CERTAIN,
        [*evidence, *_shares(case)],
        "`ibv_devinfo` inside the same container or job must list the adapters (/dev/infiniband, "
        "libibverbs, memlock "
        "unlimited); then the log says `NET/IB : Using`",
    )


def no_gpu_direct(case: Examined) -> Iterator[Suspect]:
    """RDMA by way of host memory."""
    facts = case.facts
    by_rdma = [way for way in facts.ways if way.startswith("NET/") and way != "NET/Socket"]
    without = facts.gdr[False] if by_rdma else 0
    off = setting(facts, "NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT")
    is_set_off = off is not None and off[1] in ("0", "LOC")
    if facts.ways["NET/Socket"] and not by_rdma:
        return
    if facts.gdr[True] and not facts.gdr_off and not without:
        return
    if not (without or facts.gdr_off or is_set_off):
        return
    evidence = [str(each) for each in facts.gdr_off[:2]]
    if without:
        count = f"{without} of {without + facts.gdr[True]} channels between hosts without /GDRDMA"
        evidence.append(f"{count}, first {facts.where['no gdr']}")
    if off and is_set_off:
        evidence.append(str(off[2]))
    yield Suspect(
        "gpu-direct-off",
        "data between GPU and adapter take the way through host memory: GPU Direct RDMA is off",
        CERTAIN if facts.gdr_off or is_set_off else LIKELY,
        [*evidence, *_shares(case)],
        "`lsmod | grep nvidia_peermem` (or DMA-BUF), then the log has `via NET/IB/0/GDRDMA`; `ib_write_bw "
        "--use_cuda=0` against the same without it is the test of one pair",
    )


def no_peer_to_peer(case: Examined) -> Iterator[Suspect]:
    """Shared memory in place of NVLink or PCIe between the GPUs of a host."""
    facts = case.facts
    off = setting(facts, "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
    is_set_off = off is not None and off[1] in ("1", "LOC", "0" if off[0] == "NCCL_P2P_LEVEL" else "LOC")
    by_memory = facts.ways["SHM"] and not facts.ways["P2P"]
    if not (is_set_off or by_memory):
        return
    evidence = [str(off[2])] if off and is_set_off else []
    if facts.ways["SHM"]:
        evidence.append(f"{facts.ways['SHM']} channels by shared memory, first {facts.where['via SHM']}")
    yield Suspect(
        "peer-to-peer-off",
        "GPUs of a host exchange data by shared memory, not by NVLink or PCIe",
        CERTAIN if is_set_off and not case.crosses else LIKELY,
        evidence,
        "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; `nvidia-smi topo -m` and `nvidia-smi nvlink -s` show "
        "links, and the "
        "log then has `via P2P`; without it in a virtual machine, see ACS and fabric manager",
    )


def few_adapters(case: Examined) -> Iterator[Suspect]:
    """Fewer adapters than there are."""
    facts, used = case.facts, len(case.facts.adapters)
    chosen = setting(facts, "NCCL_IB_HCA")
    named = _named(chosen[1]) if chosen else []
    has = case.hardware.adapters
    evidence: list[str] = []
    confidence = 0
    count = used or len(named)
    if has and count and count < has and not case.is_perftest:
        evidence.append(f"{count} of {has} adapters ({case.hardware.source})")
        confidence = CERTAIN
    local = facts.local_ranks or (_most_of_a_host(facts) if facts.devices else None)
    ranks = max((point.ranks for point in case.points), default=0)
    if not has and count and (local or ranks) >= 4 * count and not case.is_perftest:
        evidence.append(
            f"{count} for {local} GPUs of a host"
            if local
            else f"{count} for {ranks} ranks on one host or more"
        )
        confidence = LIKELY if local and not used else POSSIBLE
    if not confidence or not case.crosses:
        return
    evidence += [str(chosen[2])] if chosen else []
    evidence += [str(facts.where["adapters"])] if used else []
    rate = case.hardware.rate_gbps
    if rate and case.carried:
        evidence.append(
            f"{case.plateau:.4g} GB/s are {case.carried / (rate / 8):.2f} adapters of {rate:g} Gb/s"
        )
    yield Suspect(
        "few-adapters",
        "NCCL uses fewer adapters than the host has" if has else "few adapters serve many GPUs",
        confidence,
        evidence,
        "leave NCCL_IB_HCA out or name all, `ibstat` must say Active and LinkUp for each; bandwidth must "
        "rise by one "
        "adapter's with each that is added",
    )


def _named(value: str) -> list[str]:
    """Return the adapters that NCCL_IB_HCA names; none if it leaves some out, or has beginnings of names."""
    names = [each for each in value.removeprefix("=").split(",") if each]
    is_whole = value[:1] == "=" or all(_NUMBERED.search(name) for name in names)
    return names if is_whole and value[:1] != "^" else []


def _most_of_a_host(facts: DebugFacts) -> int:
    hosts = [host for _, _, host, _ in facts.devices]
    return max(hosts.count(host) for host in set(hosts))


def bonded(case: Examined) -> Iterator[Suspect]:
    """One queue pair on a bond takes one of its ports."""
    names = [name for name in adapter_names(case.facts) if "bond" in name]
    chosen = setting(case.facts, "NCCL_IB_HCA")
    names += [chosen[1]] if chosen and "bond" in chosen[1] and not names else []
    names += [name for name in [case.perftest.get("nic", "")] if "bond" in name]
    if not names:
        return
    pairs = setting(case.facts, "NCCL_IB_QPS_PER_CONNECTION")
    count = (
        int(pairs[1]) if pairs and pairs[1].isdecimal() else int(case.perftest.get("queue pairs", "1") or 1)
    )
    half = case.ratio is not None and case.ratio <= 0.65
    if count > 1 and not half:
        return
    known = f"adapter {names[0]}, {count} queue pair{'s' if count > 1 else ''} for a connection"
    yield Suspect(
        "bond-one-port",
        "the hash of the bond puts the queue pairs of a connection on one of its ports",
        LIKELY if half or count == 1 else POSSIBLE,
        [
            known,
            *([str(pairs[2])] if pairs else ["NCCL_IB_QPS_PER_CONNECTION is not set: 1"]),
            *_shares(case),
        ],
        "NCCL_IB_QPS_PER_CONNECTION=4 with NCCL_IB_SPLIT_DATA_ON_QPS=0; tx bytes of both ports (`ethtool "
        "-S`), or give "
        "NCCL the ports without a bond",
    )


def path_to_adapter(case: Examined) -> Iterator[Suspect]:
    """An adapter that is far from its GPU."""
    far = [kind for kind in ("SYS", "NODE", "PHB") if kind in case.facts.paths and case.crosses]
    if not far or (case.ratio is not None and case.ratio >= GOOD):
        return
    kind = far[0]
    ways = {
        "SYS": "the link between processors",
        "NODE": "the host bridges of a NUMA node",
        "PHB": "a host bridge",
    }
    rate = case.facts.paths[kind]
    evidence = [f"{case.facts.where[f'path {kind}']} (GPU to adapter: {kind})"]
    is_close = case.carried is not None and case.carried <= 1.1 * rate * (case.adapters or 1)
    evidence += (
        [f"NCCL's graph search counts on {rate:g} GB/s there, {case.plateau:.4g} were reached"]
        if case.plateau
        else []
    )
    yield Suspect(
        "far-adapter",
        f"data between GPU and adapter cross {ways[kind]}",
        LIKELY if kind == "SYS" or is_close else POSSIBLE,
        [*evidence, *_shares(case)],
        "`nvidia-smi topo -m`: GPU and adapter should be PIX or PXB; ranks on the other NUMA node, "
        "`numactl`, BIOS NPS, "
        "relaxed ordering; `ib_write_bw --use_cuda` by GPU and adapter shows the pair that is slow",
    )


def access_control(case: Examined) -> Iterator[Suspect]:
    """PCIe Access Control Services send peer traffic by the root complex."""
    facts = case.facts
    if facts.acs:
        yield Suspect(
            "acs",
            "PCIe ACS is on: traffic between GPU and adapter goes up to the root complex and back",
            LIKELY,
            [str(facts.acs[0]), f"{len(facts.acs)} bridges with it", *_shares(case)],
            "`setpci` or BIOS turns it off; `lspci -vvv | grep ACSCtl` must show SrcValid- ReqRedir- for "
            "all bridges",
        )
    elif (
        case.ratio is not None
        and 0.25 <= case.ratio <= 0.65
        and not case.is_perftest
        and not facts.ways["NET/Socket"]
        and not facts.networks["Socket"]
    ):
        yield Suspect(
            "acs",
            "about half of the rate of each adapter: peer traffic may take the PCIe root complex (ACS or "
            "IOMMU on)",
            POSSIBLE,
            _shares(case),
            "`sudo lspci -vvv | grep ACSCtl`: SrcValid+ on a bridge above a GPU or adapter is it; "
            "NCCL_NET_GDR_LEVEL=0 "
            "that is not slower speaks for it",
        )


def slower_port(case: Examined) -> Iterator[Suspect]:
    """A port at a lower rate than was said."""
    rate, each = case.hardware.rate_gbps, _each_adapter(case)
    if rate is None or each is None or case.ratio is None or case.ratio >= GOOD:
        return
    gbps = 8 * each
    fitting = [lower for lower in LINE_RATES if lower < rate and 0.9 * lower <= gbps <= 0.995 * lower]
    if fitting:
        yield Suspect(
            "slower-port",
            f"an adapter carries what a port of {fitting[-1]} Gb/s carries, not one of {rate:g} Gb/s",
            POSSIBLE,
            [
                f"{gbps:.4g} Gb/s for each adapter: {100 * gbps / fitting[-1]:.0f} % of {fitting[-1]} Gb/s",
                *_shares(case),
            ],
            "`ibstat` (Rate) or `ethtool` (Speed) of both ends and of the switch; a splitter cable or a "
            "second host "
            "port that is not used; tx bytes of each port",
        )


def _each_adapter(case: Examined) -> float | None:
    if case.carried is None or not case.adapters or not case.crosses:
        return None
    return case.carried / case.adapters


def slot(case: Examined) -> Iterator[Suspect]:
    """A PCIe slot that is narrower than the port."""
    each, rate = _each_adapter(case), case.hardware.rate_gbps
    if each is None or case.ratio is None or case.ratio >= GOOD:
        return
    fitting = [
        (name, most)
        for name, most in PCIE
        if 0.82 * most <= each <= 1.02 * most and most < 0.98 * (rate or 0) / 8
    ]
    if fitting:
        name, most = fitting[-1]
        yield Suspect(
            "pcie-slot",
            f"an adapter carries what a slot of PCIe {name} carries",
            POSSIBLE,
            [f"{each:.4g} GB/s for each adapter, some {most:g} GB/s is the most of {name}", *_shares(case)],
            "`lspci -vv -s ADAPTER | grep LnkSta`: speed and width of the adapter, the GPU and the bridges "
            "between; "
            "`ib_write_bw` from host memory has the same limit",
        )


def small_mtu(case: Examined) -> Iterator[Suspect]:
    """A path MTU of 1024 or less."""
    facts = case.facts
    mtu = facts.mtu_bytes
    said = case.perftest.get("mtu", "").split("[")[0]
    evidence = [str(facts.where["mtu"])] if mtu else []
    if said.isdecimal():
        mtu, evidence = int(said), [f"perftest: Mtu {said}"]
    if not mtu or mtu > 1024:
        return
    share = mtu / (mtu + 82)
    evidence.append(
        f"headers of 82 B for each packet leave {100 * share:.1f} % of the line rate; 4096 leaves 98 %"
    )
    enough = case.ratio is not None and case.ratio >= 0.9 * share / 0.98
    yield Suspect(
        "small-mtu",
        f"the path MTU is {mtu} B: an interface with an MTU of 1500 gives RoCE no more",
        LIKELY if enough or case.ratio is None else POSSIBLE,
        [*evidence, *_shares(case)],
        "`ip link set dev IFACE mtu 9000` on hosts and switches, then `ibv_devinfo` says active_mtu 4096; "
        "it also "
        "quarters the packets that the adapter has to handle",
    )


def one_queue_pair(case: Examined) -> Iterator[Suspect]:
    """Perftest with one queue pair or small messages."""
    if not case.is_perftest or case.ratio is None or case.ratio >= GOOD:
        return
    if case.perftest.get("rdma_cm", "OFF").startswith("ON"):
        yield Suspect(
            "rdma-cm",
            "connected by rdma_cm, which takes another GID, MTU or service level than the default",
            POSSIBLE,
            ["perftest: rdma_cm QPs ON", *_shares(case)],
            "the same without -R, and with -x GID and -m 4096; compare `Mtu`, `GID index` and the DSCP of "
            "both",
        )
    if case.perftest.get("queue pairs", "1") == "1":
        yield Suspect(
            "one-queue-pair",
            "one queue pair: one path through the fabric, one engine of the adapter",
            POSSIBLE,
            ["perftest: Number of qps 1", *_shares(case)],
            "`-q 4`: more by much means collisions or a limit of one queue pair; the same means the port, "
            "PCIe or MTU",
        )


def hidden_topology(case: Examined) -> Iterator[Suspect]:
    """NCCL cannot see PCIe, as in a virtual machine."""
    seen = case.facts.failures.get("could not read /sys")
    if seen is None:
        return
    yield Suspect(
        "hidden-topology",
        "NCCL cannot read the PCIe topology, as in virtual machines, and takes defaults for its paths",
        LIKELY if case.ratio is None or case.ratio < GOOD else POSSIBLE,
        [str(seen), *_shares(case)],
        "NCCL_TOPO_FILE of the provider, ATS and ACS as it says; NCCL_TOPO_DUMP_FILE shows what NCCL takes",
    )


def forced_choice(case: Examined) -> Iterator[Suspect]:
    """Variables that hold NCCL back."""
    slowing = {
        "NCCL_PROTO": ("LL",),
        "NCCL_MAX_NCHANNELS": ("1", "2"),
        "NCCL_PXN_DISABLE": ("1",),
        "NCCL_SHM_DISABLE": ("1",),
        "NCCL_NVLS_ENABLE": ("0",),
        "NCCL_IB_SPLIT_DATA_ON_QPS": ("1",),
    }
    set_ones = [
        found
        for name, values in slowing.items()
        if (found := setting(case.facts, name)) and found[1] in values
    ]
    if not set_ones or (case.ratio is not None and case.ratio >= GOOD):
        return
    yield Suspect(
        "forced-choice",
        "variables hold NCCL to a slower choice than its own",
        POSSIBLE,
        [str(each[2]) for each in set_ones],
        "the same without them",
    )


def cross_rail(case: Examined) -> Iterator[Suspect]:
    """Traffic between rails."""
    facts = case.facts
    cross = setting(facts, "NCCL_CROSS_NIC")
    seen = facts.where.get("crossNic")
    several = (case.adapters or 0) > 1
    if not several or not case.crosses or not ((cross and cross[1] != "0") or seen):
        return
    if case.ratio is not None and case.ratio >= GOOD:
        return
    evidence = [str(cross[2])] if cross else []
    evidence += [str(seen)] if seen else []
    yield Suspect(
        "cross-rail",
        "rings change rails between hosts: their traffic crosses the spines, where ECMP may collide",
        POSSIBLE,
        [*evidence, *_shares(case)],
        "NCCL_CROSS_NIC=0 against 1; tx bytes of each uplink of a rail switch; `fabricbench expect` with "
        "both",
    )


def uneven(case: Examined) -> Iterator[Suspect]:
    """The same size now fast, now slow, or uplinks of which some carry more than others."""
    worst = _repeated(case)
    evidence, confidence = uplink_spread(case)
    if _is_uneven(worst):
        evidence = [f"{len(worst)} runs of one size: {min(worst):.4g} to {max(worst):.4g} GB/s", *evidence]
        confidence = max(confidence, LIKELY if len(worst) > 3 else POSSIBLE)
    if confidence:
        yield Suspect(
            "collisions",
            "queue pairs share an uplink while others idle (ECMP): the same size is fast and slow in turn, "
            "or neighbours load some uplinks",
            confidence,
            [*evidence, *_shares(case)] if case.switches else evidence,
            "bytes and queue pairs of each uplink of the leaves during a slow and a fast run (`--counters` "
            "with `--uplinks`); NCCL_IB_QPS_PER_CONNECTION=4; adaptive routing; `fabricbench expect PLAN` "
            "gives the range that hashing makes",
        )


def _repeated(case: Examined) -> list[float]:
    """Return the bandwidths of the size whose results differ most."""
    groups: dict[tuple[str, int, int, str], list[float]] = {}
    for point in case.large:
        key = (point.benchmark, point.ranks, point.size_bytes, point.placement)
        groups.setdefault(key, []).append(point.busbw or 0.0)
    return max(groups.values(), key=lambda values: max(values) / min(values), default=[])


def _is_uneven(values: Sequence[float]) -> bool:
    return len(values) > 1 and max(values) > 1.2 * min(values)


def congested(case: Examined) -> Iterator[Suspect]:
    """Bandwidth that falls beyond a size, or drops, pauses and marks that switches counted."""
    evidence, confidence = congestion_evidence(case)
    if fallen := _fallen(case):
        evidence = [fallen, *evidence, *congestion_denied(case)]
    if not evidence:
        return
    yield Suspect(
        "congestion",
        "buffers fill, pauses spread, or marks cut rates for long: bandwidth falls beyond a size"
        if fallen
        else "switches dropped, paused or marked: buffers fill, pauses spread, or marks cut rates for long",
        max(confidence, POSSIBLE),
        [*evidence, *_shares(case)] if case.switches else evidence,
        "rx_prio3_pause and tx_prio3_pause, np_cnp_sent, out_of_sequence, rx_discards_phy of hosts, "
        f"pause and drop counters of switches, before and after one large run: {READS_THEM}",
    )


def _fallen(case: Examined) -> str:
    """Say from where to where bandwidth falls beyond a size; nothing where it does not."""
    curve = _curve(case)
    if len(curve) < 3:
        return ""
    best, last = max(curve, key=lambda each: each[1]), curve[-1]
    if last[0] > best[0] >= 1 << 20 and last[1] < 0.8 * best[1]:
        return f"{best[1]:.4g} GB/s at {best[0]} B, {last[1]:.4g} GB/s at {last[0]} B"
    return ""


def too_small(case: Examined) -> Iterator[Suspect]:
    """Sizes at which latency decides."""
    curve = _curve(case)
    if (
        case.is_perftest
        and curve
        and curve[-1][0] < 64 << 10
        and case.ratio is not None
        and case.ratio < GOOD
    ):
        yield Suspect(
            "sizes-too-small",
            "small messages: the cost of each decides, not the rate",
            LIKELY,
            [f"{curve[-1][0]} B is the largest message, and 64 KiB are 1.3 us at 400 Gb/s", *_shares(case)],
            "`-s 1048576`, or `-a` for all sizes: from some 64 KiB on the rate decides",
        )
    if case.is_perftest or len(curve) < 2 or case.plateau is None:
        return
    (before, slower), (last, faster) = curve[-2:]
    rising = faster > 1.1 * slower and last <= 4 * before
    if rising and (case.ratio is None or case.ratio < GOOD):
        yield Suspect(
            "sizes-too-small",
            "bandwidth still rises at the largest size: latency decides, not the rate",
            LIKELY if last < LARGE_BYTES else POSSIBLE,
            [f"{slower:.4g} GB/s at {before} B, {faster:.4g} GB/s at {last} B"],
            "`-e 8G`: at the plateau a doubled size takes twice the time",
        )


def _curve(case: Examined) -> list[tuple[int, float]]:
    """Return sizes with the median bandwidth of their results, of the benchmark that is judged."""
    sizes: dict[int, list[float]] = {}
    for point in case.points:
        if point.busbw and case.best and point.benchmark == case.best.benchmark:
            sizes.setdefault(point.size_bytes, []).append(point.busbw)
    return [(size, median(values)) for size, values in sorted(sizes.items())]


def placements(case: Examined) -> Iterator[Suspect]:
    """In-place and out-of-place that differ."""
    rates: dict[str, list[float]] = {}
    for point in case.large:
        rates.setdefault(point.placement, []).append(point.busbw or 0.0)
    if not {"in-place", "out-of-place"} <= rates.keys():
        return
    both = {name: median(values) for name, values in rates.items()}
    low, high = sorted((both["in-place"], both["out-of-place"]))
    if high > 1.15 * low:
        yield Suspect(
            "placement",
            "in-place and out-of-place differ: what is done to buffers decides, not the network",
            POSSIBLE,
            [f"in-place {both['in-place']:.4g} GB/s, out-of-place {both['out-of-place']:.4g} GB/s"],
            "`-w 20 -n 100`: if both agree then, registration and first touch of buffers were measured",
        )


def faster_than_network(case: Examined) -> Iterator[Suspect]:
    """Bandwidth above what the adapters carry, or the model gives."""
    if not case.is_above or case.plateau is None or case.target is None:
        return
    is_reduction = case.best is not None and case.best.kind == "all_reduce"
    why = "more than the network carries: ranks share hosts, or adapters are more or faster than said"
    if is_reduction and case.nodes == 2:
        why = (
            "a tree of two hosts may print up to twice the network's rate, as busbw counts what a ring moves"
        )
    elif is_reduction:
        why += ", or switches reduce (SHARP), which takes half of what a ring sends"
    yield Suspect(
        "above-line-rate",
        why,
        LIKELY,
        _shares(case),
        "NCCL_ALGO=RING prints what the adapters carry; tx bytes of the ports over the time",
    )


def inside_a_host(case: Examined) -> Iterator[Suspect]:
    """All ranks on one host."""
    devices = case.facts.devices
    ranks = len(devices) or max((point.ranks for point in case.points), default=0)
    if case.crosses or not case.points or ranks < 2:
        return
    where = f"on {case.facts.hosts[0]}, first {case.facts.where['devices']}" if devices else "on 1 host"
    yield Suspect(
        "inside-a-host",
        "all ranks are on one host: NVLink or PCIe decides, nothing crosses the network",
        CERTAIN,
        [f"{ranks} ranks {where}"],
        "start ranks on several hosts (`mpirun -H a:8,b:8`) to measure the network",
    )


def as_expected(case: Examined) -> Iterator[Suspect]:
    """Nothing is missing."""
    if _has_reached(case) and not case.is_above and not any(point.wrong for point in case.points):
        yield Suspect(
            AS_EXPECTED,
            "it is what such a network gives",
            CERTAIN,
            _shares(case),
            "nothing to tell apart; `fabricbench expect` gives limits to accept",
        )


def host_software(case: Examined) -> Iterator[Suspect]:
    """What is left when nothing else was found."""
    if case.ratio is None or case.ratio >= GOOD or case.is_perftest:
        return
    yield Suspect(
        "unexplained",
        "the file holds nothing that says why: fabric (collisions, pauses) or host (channels, cost of each "
        "step)",
        POSSIBLE,
        _shares(case),
        "NCCL_DEBUG=INFO in the same file; `ib_write_bw -q 4` by adapter: line rate there means NCCL's "
        "channels, buffers "
        "(NCCL_BUFFSIZE, NCCL_MIN_NCHANNELS) or collisions, less means port, PCIe or fabric; two hosts on "
        "one leaf against two "
        "on different leaves",
    )


_SPOILING: Final = (
    *(
        "run-failed",
        "separate-processes",
        "one-rank",
        "wrong-values",
        "inside-a-host",
        "sockets",
        AS_EXPECTED,
    ),
)
"""Certain causes by which a measurement says nothing of RDMA over the network, or nothing is missing."""
_AT_THE_TARGET: Final = (AS_EXPECTED, "above-line-rate")
_ONLY_WITHOUT_OTHERS: Final = ("unexplained",)
_RULES: Final[Sequence[Callable[[Examined], Iterator[Suspect]]]] = (
    lost_processes,
    communicator_errors,
    ranks_behind,
    ranks_differ,
    failed,
    separate_processes,
    wrong_values,
    as_expected,
    lossless_drops,
    sockets,
    no_peer_to_peer,
    few_adapters,
    no_gpu_direct,
    bonded,
    small_mtu,
    path_to_adapter,
    hidden_topology,
    slow_receiver,
    lost_packets,
    not_ready,
    too_small,
    slower_port,
    slot,
    access_control,
    uneven,
    faster_than_network,
    cross_rail,
    one_queue_pair,
    link_errors,
    congested,
    placements,
    forced_choice,
    inside_a_host,
    host_software,
)
"""In the order in which equally likely causes are told: what spoils a measurement, then the host outwards."""
