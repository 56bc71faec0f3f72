"""Finds causes of low bandwidth in host counters: slow receiver, reordering, packet loss, receiver not ready.

Rules: `slow_receiver`, `reordered`, `lost_packets`, `not_ready`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench.measured.causes.evidence import LIKELY, Suspect
from fabricbench.measured.causes.switch_counters import (
    LINK_ERRORS,
    SWITCH_LOSSES,
    confidence_of,
    counted_lines,
    of_kind,
    paused_by_one_port,
)
from fabricbench.measured.rule_input import GOOD, RuleInput

_RECEIVER_DROPS: Final = (
    *(
        "rx_discards",
        "pci_buffer_drops",
        "rx_buffer_discards_priority_{p}",
        "rx_congestion_discards_priority_{p}",
    ),
    *("roce_discards", "pause_storms"),
)
_RECEIVER_PAUSES: Final = (
    *("pfc_tx_paused_priority_{p}", "pfc_tx_priority_{p}", "global_paused_tx", "global_pause_tx", "pause_tx"),
    "pause_storm_warnings",
)
_LOSSES: Final = (
    *("loss_bursts", "out_of_sequence_packets", "out_of_sequence_dropped", "naks_received", "timeouts"),
    *("adaptive_retransmissions", "adaptive_timeouts", "retries_exceeded", "missing_responses"),
)
_OUT_OF_ORDER: Final = ("out_of_sequence_packets", "out_of_sequence_dropped", "loss_bursts", "naks_received")
_TIMEOUTS: Final = ("timeouts", "adaptive_timeouts", "retries_exceeded")
_SIGNS_OF_LOSS: Final = (*_TIMEOUTS, *SWITCH_LOSSES, *LINK_ERRORS, "rx_discards", "pci_buffer_drops")
_MANY, _SOME = 100_000, 1000
"""Packets out of order above which reordering is the cause: of so many losses some would end in a timeout.
Fewer are enough if there are counters of switches, without drops. Assumption."""
_NOT_READY: Final = ("receiver_not_ready", "rnr_naks", "rnr_naks_sent", "rnr_retries_exceeded")
_LINES_MAX: Final = 6


def slow_receiver(case: RuleInput) -> Iterator[Suspect]:
    """A host whose adapter pauses the network or drops packets, by its counters or those of a switch."""
    of_switch = paused_by_one_port(case)
    lines = [
        *of_switch,
        *counted_lines(of_kind(case.switches, "host"), (*_RECEIVER_DROPS, *_RECEIVER_PAUSES)),
    ]
    if not lines:
        return
    is_low = case.ratio is None or case.ratio < GOOD
    yield Suspect(
        "slow-receiver",
        "an adapter takes in less than its link brings: it pauses its switch port or drops what arrives",
        LIKELY if of_switch and is_low else confidence_of(case, is_strong=True),
        lines[:_LINES_MAX],
        "the same counters of all hosts: one that pauses alone is slow (`lspci -vv` LnkSta, IOMMU, NUMA "
        "node, memory bandwidth, outbound_pci_stalled_wr); `ib_write_bw` to it from another host",
    )


def reordered(case: RuleInput) -> Iterator[Suspect]:
    """Packets that arrived out of order without loss: no timeout, and no frame dropped or in error."""
    if not _is_order(case):
        return
    lines = list(counted_lines(of_kind(case.switches, "host"), _OUT_OF_ORDER))
    yield Suspect(
        "reordering",
        "packets arrive out of order, as paths change within a message (adaptive routing, spraying), and "
        "go-back-N sends windows again",
        confidence_of(case, is_strong=True),
        [*lines[:_LINES_MAX], "no timeout, no frame dropped or in error, though these are counted"],
        "adaptive routing or spraying off in the switches, or out-of-order receipt on at the adapters "
        "(NCCL_IB_OOO_RQ=1, `mlxreg` ROCE_ACCL): these counters stand still then",
    )


def _is_order(case: RuleInput) -> bool:
    """Return whether numerous packets out of order, without a sign of loss, show that they were reordered."""
    changes = [change for counters in case.switches for change in counters.changes]
    hosts = [change for counters in of_kind(case.switches, "host") for change in counters.changes]
    out_of_order = sum(change.value or 0 for change in hosts if change.name in _OUT_OF_ORDER)
    timeouts = [change.value or 0 for change in hosts if change.name in _TIMEOUTS]
    is_lost = any(change.value for change in changes if change.name in _SIGNS_OF_LOSS)
    least = _MANY if not of_kind(case.switches, "switch") else _SOME
    return bool(timeouts) and not any(timeouts) and not is_lost and out_of_order >= least


def lost_packets(case: RuleInput) -> Iterator[Suspect]:
    """Retransmissions that the adapters of hosts counted."""
    yield from _counted(
        case,
        _LOSSES,
        "packet-loss",
        "packets were lost, or arrived out of order, between the adapters: each costs a retransmission, "
        "with go-back-N of all that follows",
        "drops of the queues and priority groups of every switch of the path, rx_discards_phy of the "
        "receiver; without any drop it is order: adaptive routing or spraying, out-of-order receipt off",
        is_strong=not _is_order(case),
    )


def not_ready(case: RuleInput) -> Iterator[Suspect]:
    """Messages that arrived before a receive request was posted."""
    yield from _counted(
        case,
        _NOT_READY,
        "receiver-not-ready",
        "messages arrived before a receive request: the receiving process is late, and the sender waits",
        "the same counters of each host: the one that has them runs the slow process (its CPUs, clock, "
        "other jobs)",
    )


def _counted(
    case: RuleInput, counters: Sequence[str], name: str, text: str, test: str, *, is_strong: bool = True
) -> Iterator[Suspect]:
    """Yield a cause whose evidence is counters of hosts, if any of them is not 0."""
    lines = list(counted_lines(of_kind(case.switches, "host"), counters))
    if lines:
        yield Suspect(name, text, confidence_of(case, is_strong=is_strong), lines[:_LINES_MAX], test)
