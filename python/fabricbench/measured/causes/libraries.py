"""Finds causes in choices of NCCL and MPI: TCP, no GPU Direct or peer-to-peer, variables, rails, topology.

Rules: `sockets`, `no_gpu_direct`, `no_peer_to_peer`, `forced_choice`, `cross_rail`, `hidden_topology`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fabricbench.measured.causes.evidence import CERTAIN, LIKELY, POSSIBLE, Suspect, is_mpi, reached
from fabricbench.measured.file_text.line import EvidenceLine
from fabricbench.measured.rule_input import GOOD, RuleInput


def sockets(case: RuleInput) -> Iterator[Suspect]:
    """TCP instead of RDMA, by the log, by variables or by the bandwidth."""
    facts = case.facts
    forbidden = _forbidden(case)
    uses = facts.networks["Socket"] + facts.transports["NET/Socket"] + bool(forbidden)
    by_others = facts.adapters or any(name != "Socket" for name in facts.networks)
    if not case.crosses or facts.rdma_transports or (by_others and not facts.transports["NET/Socket"]):
        return
    failures = [facts.failures[name] for name in facts.failures if name != "could not read /sys"]
    if not uses and not failures:
        yield from _sockets_by_ratio(case)
        return
    log_line = facts.where.get("via NET/Socket") or facts.where.get("network")
    evidence = [str(log_line)] if log_line else []
    evidence += [str(failure) for failure in failures]
    evidence += [str(forbidden[2])] if forbidden else []
    yield Suspect(
        "sockets",
        "MPI moves data by TCP: its options or variables say so"
        if is_mpi(case)
        else "NCCL moves data by TCP sockets: no RDMA adapter was found or it may not be used",
        CERTAIN if uses else LIKELY,
        [*evidence, *reached(case)],
        _RDMA_TEST if is_mpi(case) else _ADAPTERS_TEST,
    )


_RDMA_TEST: Final = (
    "`ucx_info -d`, `fi_info` or UCX_LOG_LEVEL=info must name an RDMA transport (rc_mlx5, dc_mlx5, verbs); "
    "`ib_write_bw` between the same hosts"
)
_ADAPTERS_TEST: Final = (
    "`ibv_devinfo` inside the same container or job must list the adapters (/dev/infiniband, libibverbs, "
    "memlock unlimited); then the log says `NET/IB : Using` and `via NET/IB`"
)
_TCP_ONLY: Final[Mapping[str, re.Pattern[str]]] = {
    "NCCL_IB_DISABLE": re.compile(r"(?!0$).+"),
    "NCCL_NET": re.compile(r"Socket", re.IGNORECASE),
    "UCX_TLS": re.compile(r"(?!.*\b(?:rc|dc|ud|ib|all)).*\btcp\b.*"),
    "FI_PROVIDER": re.compile(r"(?:tcp|sockets)\b.*"),
    "I_MPI_OFI_PROVIDER": re.compile(r"(?:tcp|sockets)\b.*"),
    "I_MPI_FABRICS": re.compile(r".*\btcp\b.*"),
    "btl": re.compile(r"(?!.*(?:openib|uct|ofi)).*\btcp\b.*"),
}
"""Variables, and the parameter `btl` of Open MPI, with the values that allow only TCP."""


def _forbidden(case: RuleInput) -> tuple[str, str, EvidenceLine] | None:
    """Return the setting that allows only TCP; none without one."""
    for name, pattern in _TCP_ONLY.items():
        variable = case.setting(name)
        if variable is None and case.best and (value := case.best.settings.get(name)):
            variable = name, value, EvidenceLine(case.best.line, f"{name} {value}")
        if variable and pattern.fullmatch(variable[1]):
            return variable
    return None


def _sockets_by_ratio(case: RuleInput) -> Iterator[Suspect]:
    """Bandwidth as low, and latency as long, as with TCP."""
    rate, carried, peak = case.hardware.rate_gbps, case.carried, case.peak
    if case.is_perftest or case.ratio is None or not (rate and carried and peak):
        return
    if case.ratio >= _SOCKETS_MOST or peak >= _SOCKETS_OF_ONE * rate / 8 or case.facts.networks:
        return
    small = [point for point in case.of_run if point.time_us and point.size_bytes <= _SMALL]
    fastest = min(small, key=lambda point: point.time_us or 0.0, default=None)
    if fastest is not None and (fastest.time_us or 0.0) < _RDMA_LATENCY_US:
        return
    network, allowed = case.setting("NCCL_NET"), case.setting("NCCL_IB_DISABLE")
    if network or (allowed and fastest is None):
        return  # RDMA is requested: the ratio is no evidence against it
    latency = [f"{fastest.time_us:.4g} us for {fastest.size_bytes} B"] if fastest else []
    yield Suspect(
        "sockets",
        "so little, and long latency, as TCP gives: RDMA may not be used",
        POSSIBLE,
        [*latency, *reached(case)],
        _RDMA_TEST
        if is_mpi(case)
        else f"NCCL_DEBUG=INFO: `via NET/Socket` or `NET/Socket : Using` is it; {_ADAPTERS_TEST}",
    )


_SOCKETS_MOST: Final = 0.15
"""Fraction of a host's line rate below which TCP is possible. Assumption: 10 to 50 Gb/s of some streams."""
_SOCKETS_OF_ONE: Final = 0.6
"""Fraction of one adapter's rate that only RDMA reaches. Assumption."""
_SMALL: Final = 1024
_RDMA_LATENCY_US: Final = 15.0
"""Time of a small operation that TCP between hosts does not reach [us]: a message takes 10 us or more."""


def no_gpu_direct(case: RuleInput) -> Iterator[Suspect]:
    """RDMA through host memory: GPU Direct RDMA is off."""
    facts = case.facts
    indirect = facts.gdr[False] if facts.rdma_transports else 0
    variable = case.setting("NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT")
    is_set_off = variable is not None and variable[1] in ("0", "LOC")
    if facts.transports["NET/Socket"] and not facts.rdma_transports:
        return
    if facts.gdr[True] and not indirect:
        return
    if not (indirect or facts.gdr_off or facts.gdr_far or is_set_off):
        return
    # Without GPU Direct RDMA reads (old versions without NVLink), only senders use host memory.
    is_send_alone = facts.gdr[True] > 0 and indirect == facts.sent[False] and not facts.gdr_off
    evidence = [str(off_line) for off_line in facts.gdr_off[:2]]
    if indirect:
        count = f"{indirect} of {indirect + facts.gdr[True]} channels between hosts without /GDRDMA"
        evidence.append(f"{count}, first {facts.where['no gdr']}")
    if variable and is_set_off:
        evidence.append(str(variable[2]))
    yield Suspect(
        "gpu-direct-off",
        "data between GPU and adapter take the way through host memory: GPU Direct RDMA is off",
        CERTAIN if facts.gdr_off or is_set_off else POSSIBLE if is_send_alone else LIKELY,
        [*evidence, *map(str, facts.gdr_far[:1]), *reached(case)],
        "`lsmod | grep nvidia_peermem` (or DMA-BUF), then the log has `via NET/IB/0/GDRDMA`; `ib_write_bw "
        "--use_cuda=0` against the same without it is the test of one pair",
    )


def no_peer_to_peer(case: RuleInput) -> Iterator[Suspect]:
    """Shared memory instead of NVLink or PCIe between the GPUs of a host."""
    facts = case.facts
    variable = case.setting("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
    is_set_off = variable is not None and variable[1] in (
        "1",
        "LOC",
        "0" if variable[0] == "NCCL_P2P_LEVEL" else "LOC",
    )
    by_memory = facts.transports["SHM"] and not facts.transports["P2P"]
    logged = facts.where.get("P2P disabled")
    if not (is_set_off or by_memory or logged):
        return
    evidence = [str(variable[2])] if variable and is_set_off else []
    evidence += [str(logged)] if logged else []
    if facts.transports["SHM"]:
        evidence.append(
            f"{facts.transports['SHM']} channels by shared memory, first {facts.where['via SHM']}"
        )
    yield Suspect(
        "peer-to-peer-off",
        "GPUs of a host exchange data by shared memory, not by NVLink or PCIe",
        CERTAIN if is_set_off and not case.crosses else LIKELY,
        evidence,
        "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; `nvidia-smi topo -m` and `nvidia-smi nvlink -s` show "
        "links, and the "
        "log then has `via P2P`; without it in a virtual machine, see ACS and fabric manager",
    )


_SLOWING: Final[Mapping[str, re.Pattern[str]]] = {
    "NCCL_PROTO": re.compile(r"LL|LL128,LL|LL,LL128", re.IGNORECASE),
    "NCCL_ALGO": re.compile(r"tree|\^ring", re.IGNORECASE),
    "NCCL_MAX_NCHANNELS": re.compile(r"[1-4]"),
    "NCCL_MAX_NRINGS": re.compile(r"[1-4]"),
    "NCCL_MAX_CTAS": re.compile(r"[1-4]"),
    "NCCL_MAX_P2P_NCHANNELS": re.compile(r"[1-4]"),
    "NCCL_BUFFSIZE": re.compile(r"\d{1,6}"),
    "NCCL_NTHREADS": re.compile(r"64|128"),
    "NCCL_PXN_DISABLE": re.compile(r"1"),
    "NCCL_SHM_DISABLE": re.compile(r"1"),
    "NCCL_NVLS_ENABLE": re.compile(r"0"),
    "NCCL_IB_SPLIT_DATA_ON_QPS": re.compile(r"1"),
    "NCCL_IB_PCI_RELAXED_ORDERING": re.compile(r"0"),
}
"""Variables with values below NCCL's own choice, such as few channels or a buffer below 1 MB."""


_HALVING: Final[Mapping[str, tuple[str, ...]]] = {
    "NCCL_PROTO": ("LL", "ll"),
    "NCCL_MAX_NCHANNELS": ("1", "2"),
    "NCCL_MAX_NRINGS": ("1", "2"),
    "NCCL_MAX_CTAS": ("1", "2"),
}
"""Values of these that cost half or more: LL sends a flag with each 4 B, a channel is a thread block."""
_HALVED: Final = 0.65


def forced_choice(case: RuleInput) -> Iterator[Suspect]:
    """Variables that limit NCCL to a slower choice than its own."""
    forced = [
        variable
        for name, pattern in _SLOWING.items()
        if (variable := case.setting(name)) and pattern.fullmatch(variable[1])
    ]
    if not forced or (case.ratio is not None and case.ratio >= GOOD):
        return
    is_half = case.ratio is not None and case.ratio <= _HALVED
    yield Suspect(
        "forced-choice",
        "variables hold NCCL to a slower choice than its own",
        LIKELY
        if is_half and any(name in _HALVING and value in _HALVING[name] for name, value, _ in forced)
        else POSSIBLE,
        list(dict.fromkeys(str(setting[2]) for setting in forced)),
        "the same without them",
    )


def cross_rail(case: RuleInput) -> Iterator[Suspect]:
    """Traffic between rails."""
    facts, rails = case.facts, case.facts.rails
    cross = case.setting("NCCL_CROSS_NIC")
    log_line = facts.where.get("crossNic")
    are_crossed = rails.complete > 1 and 2 * rails.changed > rails.complete
    several = (case.adapters or 0) > 1
    if not several or not case.crosses or not ((cross and cross[1] != "0") or log_line or are_crossed):
        return
    if case.ratio is not None and case.ratio >= GOOD:
        return
    evidence = [str(cross[2])] if cross else []
    evidence += [str(log_line)] if log_line else []
    if rails.changed and rails.where:
        count = f"{rails.changed} of {rails.complete} connections leave by one adapter and arrive at another"
        evidence.append(f"{count}, first {rails.where}")
    yield Suspect(
        "cross-rail",
        "rings change rails between hosts: their traffic crosses the spines, where ECMP may collide",
        LIKELY if are_crossed and case.ratio is not None else POSSIBLE,
        [*evidence, *reached(case)],
        "NCCL_CROSS_NIC=0 against 1; tx bytes of each uplink of a rail switch; `fabricbench expect` with "
        "both",
    )


def hidden_topology(case: RuleInput) -> Iterator[Suspect]:
    """A PCIe topology that NCCL cannot read, as in a virtual machine."""
    hidden = [*filter(None, [case.facts.failures.get("could not read /sys")]), *case.facts.hardware.hidden]
    if not hidden:
        return
    log_line = hidden[0]
    yield Suspect(
        "hidden-topology",
        "NCCL cannot read the PCIe topology, as in virtual machines, and takes defaults for its paths",
        LIKELY if case.ratio is None or case.ratio < GOOD else POSSIBLE,
        [str(log_line), *reached(case)],
        "NCCL_TOPO_FILE of the provider, ATS and ACS as it says; NCCL_TOPO_DUMP_FILE shows what NCCL takes",
    )
