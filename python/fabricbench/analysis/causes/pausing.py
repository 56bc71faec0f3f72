"""Finds causes in flow control: head-of-line blocking by PFC, slow NICs, deadlocks, PFC storms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabricbench.analysis.causes.evidence import Case, Port, wire_ps
from fabricbench.analysis.causes.finding import Finding, listed, percent
from fabricbench.analysis.faults.deadlock import Circle, circle_text, circles
from fabricbench.words import counted

_PAUSED_LONG = 0.05
"""Fraction of the run for which a port must be paused to count."""
_FULL_QUEUE = 0.5
"""Queue depth, relative to the deepest queue of the switch, from which a port occupies the buffer."""
_BYSTANDERS = 0.05
"""Fraction of the traffic held back that must be for other ports."""
_PORT = re.compile(r"port (\d+) ")
"""The port at the beginning of an event's detail."""
_SPEC_PPM = 1_000_000
_EXCESS = 1.05


def head_of_line_blocking(case: Case) -> Iterator[Finding]:
    """Find switches whose pauses held traffic of the job back, some of it not bound for the full port.

    Of the bytes received on the paused cables, at most the number that the full ports sent were bound for
    these; the rest is held back needlessly. That is a lower bound.
    """
    findings = []
    for switch in dict.fromkeys(port.node for port in case.fabric.ports if port.tier and port.pfc_tx):
        pausing_ports = [port for port in case.fabric.of(switch) if port.pfc_tx]
        paused_ports = [
            port
            for port in case.fabric.towards(switch)
            if case.is_sent_by(port) and port.paused_ps >= _PAUSED_LONG * case.duration_ps
        ]
        full = _full_ports(case.fabric.of(switch))
        arrived = sum(port.rx_bytes for port in pausing_ports)
        elsewhere = 1 - sum(port.tx_bytes for port in full) / arrived if arrived else 0.0
        if paused_ports and full and elsewhere >= _BYSTANDERS:
            findings.append(_blocking(case, switch, paused_ports, full, elsewhere))
    yield from sorted(findings, key=lambda finding: -finding.evidence["paused_share"])


def _full_ports(ports: list[Port]) -> list[Port]:
    deepest = max(port.queue_max_bytes for port in ports)
    return [port for port in ports if deepest and port.queue_max_bytes >= _FULL_QUEUE * deepest]


def _blocking(
    case: Case, switch: str, paused_ports: list[Port], full: list[Port], elsewhere: float
) -> Finding:
    worst = max(paused_ports, key=lambda port: port.paused_ps)
    fraction = min(1.0, worst.paused_ps / case.duration_ps)
    sentence = (
        f"{switch} paused {listed(sorted(port.node for port in paused_ports))} because of "
        f"{listed([port.name for port in full])}; {worst.node} for {percent(fraction)} of the time. At least "
        f"{percent(elsewhere)} of the traffic held back was bound for other ports"
    )
    evidence = {
        "switch": switch,
        "full_ports": [port.name for port in full],
        "paused": {port.name: port.paused_ps for port in paused_ports},
        "paused_share": fraction,
        "pfc_rx": sum(port.pfc_rx for port in paused_ports),
        "bound_elsewhere": elsewhere,
    }
    where = tuple(port.name for port in full)
    return Finding("pfc-head-of-line-blocking", case.job["name"], None, sentence, evidence, where)


def straggling_nics(case: Case) -> Iterator[Finding]:
    """Find hosts of the job whose NIC is slower than its port: impaired, drained slowly, or sending pauses.

    The explained effect of a known rate is the time of the host's data at that rate beyond the ideal run.
    """
    nic = case.record.run_spec["fabric"].get("nic", {})
    impaired = {impairment["host"]: impairment for impairment in nic.get("impairments", ())}
    for host in dict.fromkeys(case.job["hosts"]):
        ports = case.fabric.of(f"host{host}")
        pauses = sum(port.pfc_tx for port in ports)
        send_bps, receive_bps = _nic_rates_bps(case, impaired.get(host), nic.get("drain_rate_bps"))
        needed_ps = _data_ps(case, host, send_bps, receive_bps)
        rate_bps = min(send_bps, receive_bps)
        if pauses or (rate_bps < case.host_rate_bps and needed_ps > _EXCESS * case.ideal_ps):
            yield _straggler(case, host, pauses, rate_bps, needed_ps)


def _nic_rates_bps(
    case: Case, impairment: dict[str, Any] | None, drain_bps: int | None
) -> tuple[float, float]:
    """Return the rate at which a NIC sends, and the rate at which its host drains received data [bit/s]."""
    line = case.host_rate_bps
    part = line if impairment is None else line * impairment["throughput_ppm"] / _SPEC_PPM
    direction = "both" if impairment is None else impairment.get("direction", "both")
    send = line if direction == "receive" else part
    receive = line if direction == "send" else part
    return send, min(receive, line if drain_bps is None else drain_bps)


def _data_ps(case: Case, host: int, send_bps: float, receive_bps: float) -> float:
    """Return the time of the slower direction of a host, without retransmissions."""
    sent = wire_ps(case.chunks.wire_sent.get(host, 0), send_bps)
    received = wire_ps(case.chunks.wire_received.get(host, 0), receive_bps)
    return max(sent, received) * case.chunks.first_sent_share([host])


def _straggler(case: Case, host: int, pauses: int, rate_bps: float, needed_ps: float) -> Finding:
    facing = [port for port in case.fabric.towards(f"host{host}") if port.paused_ps]
    paused_ps = max((port.paused_ps for port in facing), default=0)
    parts = []
    is_slow = rate_bps < case.host_rate_bps
    if is_slow:
        parts.append(f"works at {percent(rate_bps / case.host_rate_bps)} of its line rate")
    if pauses:
        part = min(1.0, paused_ps / case.duration_ps)
        parts.append(
            f"sent {counted(pauses, 'pause frame')} and held its switch for {percent(part)} of the time"
        )
    evidence = {
        "host": f"host{host}",
        "pfc_tx": pauses,
        "paused_ps": paused_ps,
        "nic_rate_bps": round(rate_bps),
    }
    sentence = f"the NIC of host{host} {' and '.join(parts)}"
    explained = case.explained(needed_ps - case.ideal_ps) if is_slow else None
    return Finding("straggling-nic", case.job["name"], explained, sentence, evidence, (f"host{host}",))


def stall(case: Case) -> Iterator[Finding]:
    """Find the cause of a stalled run, and whether the pauses wait for each other in a cycle."""
    if case.record.summary.get("status") != "stalled" or case.is_complete:
        return
    events = [row for batch in case.record.tables.batches("events") for row in batch.to_pylist()]
    stalled = [event for event in events if event["kind"] == "stalled"]
    cycles = circles(events)
    own = [event for event in stalled if _is_of_job(case, event)]
    paused = [f"{event['node']} {event['detail']}" for event in own]
    queues = [(queue.switch, queue.port) for cycle in cycles for queue in cycle]
    if cycles and (paused or case.sends_by(*queues)):
        yield from (_deadlock(case, cycle, paused) for cycle in cycles)
        return
    if paused:
        sentence = f"nothing was delivered any more while pauses were renewed; {listed(paused, 4)}"
        yield Finding("pfc-stall", case.job["name"], None, sentence, {"paused": paused}, tuple(paused))


def _is_of_job(case: Case, event: Mapping[str, Any]) -> bool:
    """Return whether the job sends by the port of an event; true if the event names none."""
    match = _PORT.match(event["detail"])
    return match is None or case.sends_by((event["node"], int(match.group(1))))


def _deadlock(case: Case, cycle: Circle, paused: list[str]) -> Finding:
    queued = sum(queue.held_bytes for queue in cycle)
    is_of_credits = cycle[0].is_of_credits
    who = "queues without credit" if is_of_credits else "pauses"
    remedy = "Routes without a circle avoid it" if is_of_credits else "A PFC watchdog would end it"
    sentence = (
        f"{who} wait for each other in a circle at {circle_text(cycle)}; {queued:,} bytes in {len(cycle)} "
        f"queues never move again. {remedy}"
    )
    evidence = {
        "circle": [queue.switch for queue in cycle],
        "ports": [queue.port for queue in cycle],
        "priority": cycle[0].priority,
        "held_bytes": queued,
        "paused": paused,
    }
    kind = "credit-deadlock" if is_of_credits else "pfc-deadlock"
    where = tuple(f"{queue.switch} port {queue.port}" for queue in cycle)
    return Finding(kind, case.job["name"], None, sentence, evidence, where)


def storms(case: Case) -> Iterator[Finding]:
    """Find storms that the PFC watchdog detected at ports of the job, and the frames it dropped in them."""
    ports = [port for port in case.fabric.ports if port.pfc_storms and case.has_frames_on(port.ends[0])]
    if not ports:
        return
    by_port = {port.name: port.pfc_storms for port in ports}
    count = sum(by_port.values())
    frames = sum(port.dropped_watchdog for port in ports)
    if case.is_alone:
        frames = case.record.summary["frames_lost"].get("pfc_watchdog", 0)
    sentence = (
        f"the PFC watchdog detected {counted(count, 'storm')}, at {listed(list(by_port), 4)}: queues that "
        f"were paused and sent nothing for its detection time. It dropped {counted(frames, 'frame')}"
    )
    evidence = {"storms": count, "frames": frames, "ports": by_port}
    yield Finding("pfc-storm", case.job["name"], None, sentence, evidence, tuple(by_port))
