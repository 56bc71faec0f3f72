"""Finds causes in counters of switches: drops of lossless queues, congestion, link errors, load of uplinks.

Counters of different vendors are not comparable, so none are added up over switches: each line of evidence is
one counter of one switch, with the port or queue where it is largest and its meaning.

Rules: `lossless_drops`, `link_errors`. Evidence for other rules: `congestion_evidence`, `congestion_denied`,
`paused_by_one_port`, `uplink_spread`. For counters in general: `counted_lines`, `confidence_of`, `of_kind`,
`uplink_load`, `missing_loads`, `has_port`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from statistics import mean
from typing import Final

from fabricbench.measured.causes.evidence import LIKELY, POSSIBLE, Suspect
from fabricbench.measured.rule_input import GOOD, RuleInput
from fabricbench.measured.switches.model import Change, SwitchCounters, totals
from fabricbench.measured.switches.ports import is_among

SWITCH_LOSSES: Final = (
    *("queue_drops", "group_drops", "queue_wred_drops", "wred_drops", "egress_buffer_drops"),
    *("ingress_buffer_drops", "tx_discards", "watchdog_drops", "watchdog_rx_drops"),
    "queue_credit_watchdog_drops",
)
_QUEUE_LOSSES: Final = (
    "queue_drops",
    "group_drops",
    "queue_wred_drops",
    "watchdog_drops",
    "watchdog_rx_drops",
)
LOSSLESS_DROPS: Final = "lossless-drops"
CONGESTION: Final = "congestion"
_PAUSES: Final = (
    *("pfc_storms", "pfc_rx_paused_priority_{p}", "pfc_rx_paused_ms_priority_{p}", "pfc_rx_priority_{p}"),
    *("pfc_tx_priority_{p}", "pause_rx", "pause_tx"),
)
_OF_HOSTS: Final = ("pfc_rx_paused_priority_{p}", "pfc_rx_priority_{p}", "pause_rx", "global_pause_rx")
"""Pauses that the network sent to a host. Those sent by a host show that it is slow: `host_counters`."""
_PFC_FRAMES: Final = ("pfc_rx_priority_", "pfc_tx_priority_")
_RECEIVED_PAUSES: Final = ("pfc_rx_priority_{p}", "pause_rx")
_ONE_PORT: Final = 0.9
"""Fraction of all pauses above which one port sends nearly all of them."""
_PORTS_MIN, _PAUSES_MIN = 3, 1000
"""Least number of ports of hosts, and of pause frames, for this comparison."""
_LOSSLESS_USE: Final = ("headroom_max_bytes", "pfc_storms")
_SONIC_LOSSLESS: Final = ("3", "4")
_MARKS: Final = ("queue_ecn_marked", "ecn_marked", "queue_ecn_selected")
_HOST_MARKS: Final = ("ecn_marked_received", "cnp_sent", "cnp_handled", "cnp_received")
_MARKS_MIN: Final = 10_000
"""Marks and notifications of all hosts above which they are evidence: any fabric has some."""
_WEAK: Final = ("rx_discards",)
"""Counters that include drops by access lists on some chips: they never make a cause likely."""
LINK_ERRORS: Final = (
    *(
        "fec_uncorrectable",
        "symbol_errors_uncorrected",
        "fcs_errors",
        "icrc_errors",
        "rx_errors",
        "tx_errors",
    ),
    *("symbol_errors", "link_changes", "link_downs"),
)
_LINES_MAX: Final = 6
_UNEVEN: Final = 1.2
"""Ratio of most to mean load of uplinks above which the hash is a cause: 17 % less than an even load."""

READS_THEM: Final = "`--counters AFTER --before BEFORE` sets what switches counted beside it"


def congestion_evidence(case: RuleInput) -> tuple[list[str], int]:
    """Return lines on drops, pauses and marks, and the confidence in congestion; 0 without any.

    Drops or pauses during a run below its target make it likely. Marks do not, as they are the normal
    operation of rate control.
    """
    switches = of_kind(case.switches, "switch")
    loss_lines = list(counted_lines(switches, (*SWITCH_LOSSES, *_PAUSES)))
    loss_lines += counted_lines(of_kind(case.switches, "host"), _OF_HOSTS)
    lines = loss_lines + list(counted_lines(switches, (*_MARKS, *_WEAK)))
    hosts = of_kind(case.switches, "host")
    lines += counted_lines(hosts, [name for name in _HOST_MARKS if _total(hosts, name) >= _MARKS_MIN])
    omission = [f"{len(lines) - _LINES_MAX} more of such counters"] if len(lines) > _LINES_MAX else []
    return lines[:_LINES_MAX] + omission, confidence_of(case, is_strong=bool(loss_lines)) if lines else 0


def _total(counters: Sequence[SwitchCounters], name: str) -> int | float:
    return sum(change.value or 0 for switch in counters for change in switch.named(name))


def paused_by_one_port(case: RuleInput) -> list[str]:
    """Return lines on switches that received nearly all pauses at one port that is no uplink.

    The device at this port receives more slowly than its link. If pauses are on several ports, buffers fill
    everywhere.
    """
    lines = []
    for switch in of_kind(case.switches, "switch"):
        received = totals(switch.named(*_RECEIVED_PAUSES))
        of_hosts = {
            port: frames
            for port, frames in received.items()
            if not any(is_among(port, pattern) for pattern in case.uplinks)
        }
        top_port = next(iter(of_hosts), "")
        total = sum(received.values())
        if len(of_hosts) < _PORTS_MIN or total < _PAUSES_MIN or of_hosts[top_port] < _ONE_PORT * total:
            continue
        lines.append(
            f"{switch.switch}: {top_port} received {of_hosts[top_port]:,} of {total:,} pause frames "
            f"({100 * of_hosts[top_port] / total:.3g} %), {len(received) - 1} other ports the rest"
            + (
                ""
                if case.uplinks
                else f"; if {top_port} is an uplink (--uplinks), it is congestion beyond it"
            )
        )
    return lines


def congestion_denied(case: RuleInput) -> list[str]:
    """Return lines on switches with counters of pauses and drops that are all 0."""
    return [
        f"against it: {switch.switch} counted neither pauses nor drops"
        for switch in of_kind(case.switches, "switch")
        if switch.named(*_PAUSES) and switch.named(*SWITCH_LOSSES)
        if not any(change.value for change in switch.named(*SWITCH_LOSSES, *_PAUSES))
    ]


def of_kind(counters: Sequence[SwitchCounters], kind: str) -> list[SwitchCounters]:
    """Return the counters of switches, or those of hosts."""
    return [device for device in counters if device.kind == kind]


def lossless_drops(case: RuleInput) -> Iterator[Suspect]:
    """Frames that a switch dropped in a queue or priority group that flow control should make lossless.

    A priority is lossless if PFC frames or the use of headroom were counted. The number of a queue or
    priority group is its priority, as by SONiC's default map. Without any PFC frame, drops are a possible
    cause in the priorities that are lossless in SONiC's defaults.
    """
    switches = of_kind(case.switches, "switch")
    lossless = _lossless(case.switches)
    lines = _queue_drops(switches, lossless)
    is_low = case.ratio is None or case.ratio < GOOD
    reason = f"priority {', '.join(sorted(lossless))}: PFC frames or headroom were counted, so it is lossless"
    confidence = LIKELY if is_low else POSSIBLE
    if not lines and not lossless:
        lines = _queue_drops([switch for switch in switches if _is_sonic(switch)], _SONIC_LOSSLESS)
        reason = "queues 3 and 4 are lossless in SONiC's defaults; " + (
            "not one PFC frame was counted: flow control is off or not asked for there, or the queue is no "
            "lossless one: `show pfc priority`, config_db.json"
            if _counts_pfc(case.switches)
            else "`show pfc counters` in the file says whether"
        )
        confidence = POSSIBLE
    if lines:
        yield Suspect(
            LOSSLESS_DROPS,
            "a lossless queue dropped frames, which must not happen: headroom too small, PFC not on at both "
            "ends, or another mapping of priorities",
            confidence,
            [*lines[:_LINES_MAX], reason],
            "`show priority-group drop counters` and `show pfc counters` twice during a run; pfc_enable and "
            "the headroom (xoff) of both ends of the cable, DSCP to queue on all switches: `fabricbench "
            "convert config_db.json`",
        )


def _queue_drops(switches: Sequence[SwitchCounters], priorities: Collection[str]) -> list[str]:
    """Return lines about frames dropped in queues and priority groups of some priorities."""
    lines = []
    for switch in switches:
        by_vendor: dict[str, list[Change]] = {}
        for change in switch.named(*_QUEUE_LOSSES):
            if change.value and _priority(change) in priorities:
                by_vendor.setdefault(change.vendor_name, []).append(change)
        lines += [_line(switch, group) for group in by_vendor.values()]
    return lines


def _is_sonic(counters: SwitchCounters) -> bool:
    return any(change.counter is not None and change.counter.family == "sonic" for change in counters.changes)


def _counts_pfc(counters: Sequence[SwitchCounters]) -> bool:
    """Return whether a file has any counter of PFC."""
    return any(change.name[:-1] in _PFC_FRAMES for device in counters for change in device.changes)


def _lossless(counters: Sequence[SwitchCounters]) -> set[str]:
    """Return the priorities with PFC frames, storms or use of headroom in the counters."""
    priorities = set()
    for device in counters:
        for change in device.changes:
            if change.counter is not None and change.after and change.name[:-1] in _PFC_FRAMES:
                priorities.add(change.name[-1])
            elif change.after and change.name in _LOSSLESS_USE:
                priorities.add(_priority(change))
    return priorities - {""}


def _priority(change: Change) -> str:
    """Return the number of a unicast queue or priority group; empty of others."""
    number = change.place.rpartition(":")[2].removeprefix("PG").removeprefix("UC")
    return number if number.isdecimal() else ""


def confidence_of(case: RuleInput, *, is_strong: bool) -> int:
    """Return the confidence by counters: likely if strong ones grew during a run below its target."""
    is_low = case.ratio is not None and case.ratio < GOOD
    return LIKELY if is_strong and is_low and any(device.before for device in case.switches) else POSSIBLE


def counted_lines(switches: Sequence[SwitchCounters], names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each counter that is not 0, in the order of the names."""
    for name in names:
        for switch in switches:
            by_vendor: dict[str, list[Change]] = {}
            for change in switch.named(name):
                by_vendor.setdefault(change.vendor_name, []).append(change)
            yield from (
                _line(switch, group) for group in by_vendor.values() if any(change.value for change in group)
            )


def _line(switch: SwitchCounters, changes: Sequence[Change]) -> str:
    counter = changes[0].counter
    unit, meaning = (counter.unit or "of no unit", counter.meaning) if counter else ("", "")
    totals_by_port = totals(changes)
    (port, most), *_ = totals_by_port.items()
    others = sum(1 for value in totals_by_port.values() if value) - 1
    verb = "grew by" if switch.before else "stands at"
    position = f"{port}, and {others} more" if others else port
    return f"{switch.switch}: {changes[0].vendor_name} {verb} {most:,} {unit} at {position} ({meaning})"


def link_errors(case: RuleInput) -> Iterator[Suspect]:
    """Links that lose frames, by the counters of switches, or go down, by NCCL's log."""
    events = case.facts.port_events
    lines = list(counted_lines(case.switches, LINK_ERRORS))
    if events:
        more = f" ({len(events)} of such lines)" if len(events) > 1 else ""
        lines.insert(0, f"{events[0]}{more}")
    if lines:
        yield Suspect(
            "link-errors",
            "a link went down: queue pairs wait, and fail once their retries are over"
            if events
            else "a link loses frames: each costs a retransmission, of a whole window with go-back-N",
            LIKELY if events else confidence_of(case, is_strong=True),
            lines[:_LINES_MAX],
            "the same counters once more while nothing runs; `show interfaces counters fec-stats`, optical "
            "power of both ends (`show interfaces transceiver pm`, `ethtool -m`); another cable or port",
        )


def uplink_spread(case: RuleInput) -> tuple[list[str], int]:
    """Return lines on the load of uplinks, and the confidence in collisions; 0 if the load is even.

    A collective waits for its slowest part, so its bandwidth is mean over most load times that of an even
    load.
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


def missing_loads(switches: Sequence[SwitchCounters], uplinks: Sequence[str]) -> list[str]:
    """Return the names of uplinks with counters, but without those of bytes or packets sent.

    Args:
        switches: The counters.
        uplinks: Names of ports, or patterns of them.
    """
    return [
        port
        for port in uplinks
        if has_port(switches, port) and not any(uplink_load(switch, [port]) for switch in switches)
    ]


def has_port(switches: Sequence[SwitchCounters], pattern: str) -> bool:
    """Return whether a port that matches a pattern, or a queue of it, has counters."""
    objects = {change.place for switch in switches for change in switch.changes}
    ports = objects | {name.rpartition(":")[0] for name in objects} - {""}
    return any(is_among(port, pattern) for port in ports)


def uplink_load(switch: SwitchCounters, uplinks: Sequence[str]) -> dict[str, int | float]:
    """Return the load of each uplink, the largest first: bytes sent, or packets if bytes are not counted.

    Args:
        switch: Its counters.
        uplinks: Names of its ports, or patterns of them such as `Ethernet9?` or `Ethernet{0,8}`.
    """
    for name in ("tx_bytes", "tx_packets"):
        changes = [
            change
            for change in switch.named(name)
            if any(is_among(change.place, pattern) for pattern in uplinks)
        ]
        if changes:
            return dict(totals(changes))
    return {}
