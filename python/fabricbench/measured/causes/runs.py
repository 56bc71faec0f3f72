"""Detects runs that do not measure the network: errors, wrong values, single ranks, a single host.

Rules: `wrong_values`, `failed`, `separate_processes`, `inside_a_host`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fabricbench.measured.causes.evidence import CERTAIN, Suspect
from fabricbench.measured.file_text.line import EvidenceLine
from fabricbench.measured.rule_input import RuleInput


def wrong_values(case: RuleInput) -> Iterator[Suspect]:
    """Results with wrong values by the benchmark's own check."""
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


def failed(case: RuleInput) -> Iterator[Suspect]:
    """A run that ended with an error."""
    facts = case.facts
    completions = sorted(facts.completions.items(), key=lambda completion: completion[0] == _FLUSHED)
    errors: list[tuple[int | str, EvidenceLine]] = [*facts.errors.items(), *completions]
    if not errors and not facts.failed:
        return
    is_hang = not errors and "Watchdog" in facts.failed[0].text
    key = errors[0][0] if errors else "watchdog" if is_hang else None
    sentence, test = _ERRORS.get(key, _ERRORS[None])
    lines = [*(error_line for _, error_line in errors[:1]), *facts.failed[:1]]
    yield Suspect("run-failed", sentence, CERTAIN, list(dict.fromkeys(map(str, lines))), test)


_FLUSHED: Final = 5
"""`IBV_WC_WR_FLUSH_ERR`: completion of a request on a queue pair that had failed before."""


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
    "watchdog": (
        "a collective did not end in time: a rank did not call it, called another one, or its peer is gone",
        "the last operation of every rank (`ncclras`, NCCL flight recorder): first the one that is behind or "
        "silent; `py-spy dump` of its process, `dmesg` (Xid) of its host",
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
"""Sentence and test of each error, by the call that failed or `ibv_wc_status` of verbs."""


def separate_processes(case: RuleInput) -> Iterator[Suspect]:
    """Unconnected processes, as of nccl-tests without MPI, or a single rank."""
    facts = case.facts
    ranks = {rank for rank, *_ in facts.devices}
    is_single_rank = len(ranks) == 1 and len(facts.devices) == 1 and (facts.ranks or 1) == 1
    # Each run with a table has its own rank 0.
    if facts.first_ranks > (max(facts.heads, 1) if case.points else 1):
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
    elif is_single_rank:
        yield Suspect(
            "one-rank",
            "one rank takes part: its bus bandwidth is 0 by definition, (n - 1) / n of it crosses anything",
            CERTAIN,
            [str(facts.where["devices"])],
            "start more ranks: `-g 8` for the GPUs of a host, `mpirun -np N` and MPI=1 for several hosts",
        )


def inside_a_host(case: RuleInput) -> Iterator[Suspect]:
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
