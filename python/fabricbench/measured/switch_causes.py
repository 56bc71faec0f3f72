"""Causes that counters of switches speak for: congestion, links in error, uplinks that are loaded unevenly.

Counters of one vendor are not those of another, so none are added up over switches: each line of evidence is
one counter of one switch, with the place where it is largest and what it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from statistics import mean
from typing import Final

from fabricbench.measured.examined import GOOD, LIKELY, POSSIBLE, Examined, Suspect
from fabricbench.measured.switches.model import Change, SwitchCounters, totals

_LOSSES: Final = (
    *("queue_drops", "group_drops", "queue_wred_drops", "wred_drops", "egress_buffer_drops"),
    *("ingress_buffer_drops", "tx_discards", "watchdog_drops", "watchdog_rx_drops"),
    "queue_credit_watchdog_drops",
)
_PAUSES: Final = (
    *("pfc_storms", "pfc_rx_paused_priority_{p}", "pfc_rx_paused_ms_priority_{p}", "pfc_rx_priority_{p}"),
    *("pfc_tx_priority_{p}", "pause_rx", "pause_tx"),
)
_MARKS: Final = ("queue_ecn_marked", "ecn_marked", "queue_ecn_selected")
_WEAK: Final = ("rx_discards",)
"""On some chips with what access lists drop: it never makes a cause likely."""
_ERRORS: Final = ("fec_uncorrectable", "fcs_errors", "rx_errors", "tx_errors", "link_changes")
_LINES_MAX: Final = 6
_UNEVEN: Final = 1.2
"""Most of an uplink over their mean from which on the hash is named: 17 % less than an even load."""

READS_THEM: Final = "`--counters AFTER --before BEFORE` sets what switches counted beside it"


def congestion_evidence(case: Examined) -> tuple[list[str], int]:
    """Return what switches counted of drops, pauses and marks, and how sure that makes congestion.

    Drops or pauses while the run went on, of a run that reached less than it should, make it likely. Marks
    alone do not, as rate control works by them. 0 without any.
    """
    strong = list(_lines(case.switches, (*_LOSSES, *_PAUSES)))
    lines = strong + list(_lines(case.switches, (*_MARKS, *_WEAK)))
    more = [f"{len(lines) - _LINES_MAX} more of such counters"] if len(lines) > _LINES_MAX else []
    return lines[:_LINES_MAX] + more, _confidence(case, is_strong=bool(strong)) if lines else 0


def congestion_denied(case: Examined) -> list[str]:
    """Return that switches counted neither pauses nor drops, where they count both."""
    return [
        f"against it: {each.switch} counted neither pauses nor drops"
        for each in case.switches
        if each.named(*_PAUSES) and each.named(*_LOSSES)
        if not any(change.value for change in each.named(*_LOSSES, *_PAUSES))
    ]


def _confidence(case: Examined, *, is_strong: bool) -> int:
    is_low = case.ratio is not None and case.ratio < GOOD
    return LIKELY if is_strong and is_low and any(each.before for each in case.switches) else POSSIBLE


def _lines(switches: Sequence[SwitchCounters], names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each counter that is not 0, in the order of the names."""
    for name in names:
        for switch in switches:
            by_vendor: dict[str, list[Change]] = {}
            for change in switch.named(name):
                by_vendor.setdefault(change.vendor_name, []).append(change)
            yield from (_line(switch, each) for each in by_vendor.values() if any(one.value for one in each))


def _line(switch: SwitchCounters, changes: Sequence[Change]) -> str:
    counter = changes[0].counter
    unit, meaning = (counter.unit or "of no unit", counter.meaning) if counter else ("", "")
    by_place = totals(changes)
    (place, most), *_ = by_place.items()
    others = sum(1 for value in by_place.values() if value) - 1
    grew = "grew by" if switch.before else "stands at"
    where = f"{place}, and {others} more" if others else place
    return f"{switch.switch}: {changes[0].vendor_name} {grew} {most:,} {unit} at {where} ({meaning})"


def link_errors(case: Examined) -> Iterator[Suspect]:
    """Links that lose frames, by the counters of switches, or go down, by NCCL's log."""
    events = case.facts.port_events
    lines = list(_lines(case.switches, _ERRORS))
    if events:
        more = f" ({len(events)} of such lines)" if len(events) > 1 else ""
        lines.insert(0, f"{events[0]}{more}")
    if lines:
        yield Suspect(
            "link-errors",
            "a link went down: queue pairs wait, and fail once their retries are over"
            if events
            else "a link loses frames: each costs a retransmission, of a whole window with go-back-N",
            LIKELY if events else _confidence(case, is_strong=True),
            lines[:_LINES_MAX],
            "the same counters once more while nothing runs; `show interfaces counters fec-stats`, optical "
            "power of both ends (`show interfaces transceiver pm`, `ethtool -m`); another cable or port",
        )


def uplink_spread(case: Examined) -> tuple[list[str], int]:
    """Return how uneven the uplinks were loaded, and how sure that makes collisions; 0 where they were even.

    A collective waits for its slowest part, so it reaches mean over most of what an even spread would.
    """
    lines, confidence = [], 0
    for switch in case.switches:
        sent = uplink_load(switch, case.uplinks)
        values = list(sent.values())
        if len(values) < 2 or not sum(values):
            continue
        spread = max(values) / mean(values)
        (first, most), *_, (last, least) = sent.items()
        share = 100 / spread
        lines.append(
            f"{switch.switch}: {len(values)} uplinks sent {least:,} ({last}) to {most:,} ({first}), most "
            f"over mean {spread:.2f}: the busiest holds an even load to {share:.0f} %"
        )
        if spread > _UNEVEN:
            explains = case.ratio is not None and 0.8 / spread <= case.ratio <= 1.2 / spread
            confidence = max(confidence, LIKELY if explains and switch.before else POSSIBLE)
    return lines, confidence


def uplink_load(switch: SwitchCounters, uplinks: Sequence[str]) -> dict[str, int | float]:
    """Return what each uplink sent, the most first: bytes, or packets where bytes are not counted.

    Args:
        switch: Its counters.
        uplinks: Names of its ports, or patterns of them such as `Ethernet9?`.
    """
    for name in ("tx_bytes", "tx_packets"):
        chosen = [
            each
            for each in switch.named(name)
            if any(fnmatchcase(each.place, pattern) for pattern in uplinks)
        ]
        if chosen:
            return dict(totals(chosen))
    return {}
