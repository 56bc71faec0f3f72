"""Finds overloaded links and hosts as causes: hash collisions, oversubscription, incast, rail crossings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabricbench.analysis.causes.evidence import Case, Port, wire_ps
from fabricbench.analysis.causes.finding import ACROSS_RAILS, Finding, listed, percent, time_words
from fabricbench.analysis.links.path_overlap import Occupancy, occupancies
from fabricbench.words import counted
from fabricbench.work import pattern_of

_OVERLOAD = 1.05
"""Line time of a link's frames, relative to the ideal run, from which the link is overloaded."""
_UNEVEN = 1.05
"""Load of the most loaded link, relative to the mean, from which links are uneven."""
_BURST_FRAMES = 16
"""Queue depth in full frames that shows that more arrived than could leave."""
_STRETCHED = 0.1
"""Fraction of the lost time that waiting on shared paths must explain to be reported."""
_PAUSED_LONG = 0.05
_BUSY_WHILE_SHARED = 0.5
"""Limits for an uplink that waited because it was paused, not for its queue pairs (assumption): paused for at
least the first fraction of the job's time, and busy for less than the second fraction of the time in which
queue pairs shared it.
"""
_BUSY = 0.9
_IDLE = 0.75
_LINKS_LISTED = 8
"""Number of links up to which a sentence has the count of each."""
_INHERENT = ("gather", "incast")
"""Collectives in which every rank sends to one: an incast by definition, included in the bus factor."""

_Group = tuple[str, list[Port]]


def hash_collisions(case: Case) -> Iterator[Finding]:
    """Find uplinks, and links back down, with more load than they can transport in the ideal run's time.

    Only links that the job uses count; their load may be the data of others. The explained effect is the time
    that the busiest of them needs beyond the ideal run. If steps wait for each other far longer than that,
    this is reported as well.
    """
    overloaded = [
        (worst, group)
        for group in _groups(case)
        for worst in [max(filter(case.is_sent_by, group[1]), key=case.needed_ps)]
        if _excess(case, worst) > 0 and _max_to_mean(case, worst, group[1]) >= _UNEVEN
    ]
    overloaded.sort(key=lambda pair: -round(case.needed_ps(pair[0])))
    # Overloaded uplinks also overload links down; those are reported only if no uplink is overloaded.
    reported = [pair for pair in overloaded if pair[0].is_uplink] or overloaded
    users = occupancies(case.record.tables, [(worst.node, worst.port) for worst, _ in reported])
    for worst, group in reported:
        explained = _explained(case, _excess(case, worst), [worst])
        words = _sentence_and_evidence(case, group, worst, users.get((worst.node, worst.port)))
        yield Finding("hash-collision", case.job["name"], explained, *words, (worst.name,))
    if not overloaded or (
        not _is_held_up(case) and _steps_waited(case) > 2 * _excess(case, overloaded[0][0])
    ):
        yield from _step_collisions(case)


def _is_held_up(case: Case) -> bool:
    """Return whether steps may have waited for lost frames, or for senders that slowed down."""
    return bool(case.lost_frames or case.chunks.total("timeouts") or case.chunks.total("cnp_rx"))


def _steps_waited(case: Case) -> float:
    return case.chunks.stretched_ps if case.is_complete else 0.0


def _explained(case: Case, excess_ps: float, ports: Iterable[Port]) -> float | None:
    """Return the fraction an overload explains, only for the job at these ports whose ideal ends last."""
    return case.explained(excess_ps) if case.ideal_ps >= case.window_ps(ports) else None


def _excess(case: Case, port: Port) -> float:
    needed, window_ps = case.needed_ps(port), case.window_ps([port])
    return needed - window_ps if needed > _OVERLOAD * window_ps else 0.0


def _groups(case: Case) -> Iterator[_Group]:
    """Yield the uplinks of each switch, and all links down to it: load balancing chooses among them.

    Groups by which the job sends nothing are left out. A group may be a single link.
    """
    up: dict[str, list[Port]] = defaultdict(list)
    down: dict[str, list[Port]] = defaultdict(list)
    for port in case.fabric.ports:
        if port.is_uplink:
            up[port.node].append(port)
        elif port.tier > port.peer_tier > 0:
            down[port.peer].append(port)
    groups = [(f"uplinks of {node}", ports) for node, ports in up.items()]
    groups += [(f"links down to {node}", ports) for node, ports in down.items()]
    yield from (group for group in groups if any(map(case.is_sent_by, group[1])))


def _max_to_mean(case: Case, worst: Port, ports: list[Port]) -> float:
    return case.needed_ps(worst) * len(ports) / sum(map(case.needed_ps, ports))


def _sentence_and_evidence(
    case: Case, group: _Group, worst: Port, users: Occupancy | None
) -> tuple[str, Mapping[str, Any]]:
    name, ports = group
    qps, window_ps = [port.egress_qps for port in ports], case.window_ps([worst])
    flows = list(users.flows) if users else []
    needed_ps, ratio = case.needed_ps(worst), _max_to_mean(case, worst, ports)
    carried = f" carries {worst.egress_qps} of {counted(sum(qps), 'queue pair')} ({_each_text(qps)})"
    sentence = (
        f"{worst.name}{carried if any(qps) else ' is the fullest'} and {ratio:.2f} times the mean load "
        f"of the {name}: at line rate its frames take {time_words(needed_ps)}, "
        f"the ideal run {time_words(window_ps)}"
    )
    if users:
        sentence += f"; {_users(worst, users)}"
    return sentence, {
        "switch": worst.node,
        "port": worst.port,
        "peer": worst.peer,
        "direction": "up" if worst.is_uplink else "down",
        "qps": worst.egress_qps,
        "qps_of_links": qps,
        "bytes": worst.tx_bytes,
        "max_to_mean": ratio,
        "needed_ps": round(needed_ps),
        "ideal_ps": round(window_ps),
        "flows": flows,
    } | _overlap(users)


def _each_text(counts: list[int]) -> str:
    """Return the count of each link, such as `11+2+2+1`; of many links the least and the largest."""
    if len(counts) <= _LINKS_LISTED:
        return "+".join(map(str, counts))
    return f"{min(counts)} to {max(counts)} on each of {len(counts)} links"


def _users(port: Port, users: Occupancy) -> str:
    """Return the queue pairs of a link as text; only some of them if the table of paths is bounded."""
    where = "on it" if users.qps >= port.egress_qps else f"on it, of {users.qps} whose paths are recorded"
    text = f"{where}: {listed(users.flows, 5)}"
    if users.most_at_once > 1:
        text += f"; up to {users.most_at_once} at once, two or more for {time_words(users.shared_ps)}"
    return text


def _overlap(users: Occupancy | None) -> dict[str, Any]:
    """Return the overlap in time of the queue pairs of a link, as evidence."""
    if users is None:
        return {"most_at_once": None, "at_once": [], "shared_ps": None}
    return {
        "most_at_once": users.most_at_once,
        "at_once": list(users.at_once),
        "shared_ps": users.shared_ps,
    }


def _step_collisions(case: Case) -> Iterator[Finding]:
    """Find uplinks that queue pairs of one step share although no uplink is overloaded over the whole run.

    A switch with a single uplink has no choice, so it has no collisions. The evidence is a step that takes
    longer than its hosts' ports need, and a queue at an uplink with several queue pairs. An uplink that was
    paused and idle while they shared it is excluded: it waits for something downstream. The explained effect
    is the time of all steps of the slowest host beyond that need.
    """
    if not case.is_complete:
        return
    burst_bytes = _BURST_FRAMES * int(case.record.run_spec["transport"]["mtu_bytes"])
    queued = [
        port
        for port in case.ports
        if port.is_uplink
        and port.egress_qps > 1
        and port.queue_max_bytes >= burst_bytes
        and sum(other.is_uplink for other in case.fabric.of(port.node)) > 1
    ]
    users_of = occupancies(case.record.tables, [port.ends[0] for port in queued])
    shared = [port for port in queued if not _is_held_back(case, port, users_of.get(port.ends[0]))]
    if not shared:
        return
    stretch_ps = case.chunks.stretched_ps
    explained = case.explained(stretch_ps)
    if explained is None or explained < _STRETCHED:
        return
    shared.sort(key=lambda port: -port.queue_max_bytes)
    worst = shared[0]
    sentence = (
        f"the steps of the slowest host took {time_words(stretch_ps)} longer than the ports at their ends "
        f"needed, and {worst.name}, which {counted(worst.egress_qps, 'queue pair')} share, had a queue of "
        f"{worst.queue_max_bytes:,} bytes"
    )
    users = users_of.get(worst.ends[0])
    if users and users.most_at_once > 1:
        sentence += (
            f": {listed(users.at_once, 5)} at once, and two or more for {time_words(users.shared_ps)} in all"
        )
    yield Finding(
        "hash-collision",
        case.job["name"],
        explained,
        sentence,
        {
            "switch": worst.node,
            "port": worst.port,
            "peer": worst.peer,
            "direction": "step",
            "qps": worst.egress_qps,
            "queue_max_bytes": worst.queue_max_bytes,
            "stretch_ps": round(stretch_ps),
            "needed_ps": round(case.needed_ps(worst)),
            "uplinks": [port.name for port in shared],
            "flows": list(users.flows) if users else [],
        }
        | _overlap(users),
        tuple(port.name for port in shared),
    )


def _is_held_back(case: Case, port: Port, users: Occupancy | None) -> bool:
    """Return whether the queue of an uplink is due to pauses: it was paused, and idle for most of its use."""
    shared_ps = case.duration_ps if users is None else min(users.shared_ps, case.duration_ps)
    is_idle = port.busy_ps < _BUSY_WHILE_SHARED * shared_ps
    return is_idle and port.paused_ps >= _PAUSED_LONG * case.duration_ps


def across_rails(case: Case) -> Iterator[Finding]:
    """Find a collective over all ranks of a fabric with rails whose data between servers changes the rail."""
    crossing = case.crossing
    if crossing is None:
        return
    evidence = {
        "hops": crossing.hops,
        "hops_across_rails": crossing.crossing,
        "data_across_rails": crossing.share,
        "advice": crossing.hint,
    }
    yield Finding(ACROSS_RAILS, case.job["name"], None, crossing.text, evidence)


def oversubscription(case: Case) -> Iterator[Finding]:
    """Find switches whose uplinks together cannot transport their load in the ideal run's time."""
    for group, ports in _groups(case):
        needed = [case.needed_ps(port) for port in ports]
        mean_ps, window_ps = sum(needed) / len(needed), case.window_ps(ports)
        if mean_ps <= _OVERLOAD * window_ps or not ports[0].is_uplink:
            continue
        load = _uplinks_text(case, group, len(ports))
        times = f"{time_words(mean_ps)} at line rate, the ideal run {time_words(window_ps)}"
        sentence = f"{load} takes {times}"
        evidence = {"switch": ports[0].node, "uplinks": len(ports), "mean_needed_ps": round(mean_ps)}
        yield Finding(
            "oversubscription",
            case.job["name"],
            _explained(case, mean_ps - window_ps, ports),
            sentence,
            evidence | {"ideal_ps": round(window_ps)},
            (ports[0].node,),
        )


def _uplinks_text(case: Case, group: str, count: int) -> str:
    """Return the beginning of the sentence about the load of a switch's uplinks."""
    if count == 1:
        which = "carries what crosses rails" if case.crossing else "is too slow"
        return f"the one uplink of {group.removeprefix('uplinks of ')} {which}: its load"
    which = "carry what crosses rails" if case.crossing else "are too few"
    return f"the {count} {group} {which}: spread evenly, their load"


def shared_hosts(case: Case) -> Iterator[Finding]:
    """Find hosts on which jobs that ran at the same time have ranks, too, and use the ports.

    The explained effect is the line time of the frames of others at the busiest of these ports, at most the
    time for which the jobs overlap.
    """
    others = [other for other in _other_jobs(case) if other[1] and other[2] > 0]
    if not others:
        return
    shared = sorted(set().union(*(hosts for _, hosts, _ in others)))
    port, of_others_ps = max(
        ((port, needed_ps) for host in shared for port, needed_ps in _of_others(case, host)),
        key=lambda pair: pair[1],
        default=(None, 0.0),
    )
    cost_ps = min(of_others_ps, max(overlap_ps for _, _, overlap_ps in others))
    if port is None or cost_ps <= (_OVERLOAD - 1) * case.ideal_ps:
        return
    jobs, host_count = [name for name, _, _ in others], len(set(case.job["hosts"]))
    sentence = (
        f"{len(shared)} of its {host_count} hosts also run {counted(len(jobs), 'other job')}, "
        f"{listed(jobs)}; at {port.name} their frames take {time_words(of_others_ps)} at line rate"
    )
    evidence = {"jobs": jobs, "hosts": shared, "port": port.name, "needed_by_others_ps": round(of_others_ps)}
    yield Finding("shared-hosts", case.job["name"], case.explained(cost_ps), sentence, evidence, (port.name,))


def _other_jobs(case: Case) -> Iterator[tuple[str, set[int], int]]:
    """Yield each other job: its name, the hosts it shares and the time for which both run [ps]."""
    hosts = set(case.job["hosts"])
    record, own_end_ps = case.record, int(case.outcome["start_ps"]) + case.duration_ps
    for job, outcome in zip(record.run_spec["jobs"], record.summary["jobs"], strict=True):
        if job["name"] != case.job["name"]:
            end_ps = record.summary["end_ps"] if outcome["end_ps"] is None else outcome["end_ps"]
            start_ps = max(int(outcome["start_ps"]), int(case.outcome["start_ps"]))
            yield job["name"], hosts.intersection(job["hosts"]), min(int(end_ps), own_end_ps) - start_ps


def _of_others(case: Case, host: int) -> Iterator[tuple[Port, float]]:
    """Yield each port of a host's cables with the line time of the frames of other jobs on it [ps]."""
    own = ((case.fabric.of, case.chunks.wire_sent), (case.fabric.towards, case.chunks.wire_received))
    for ports_of, own_bytes in own:
        ports = [port for port in ports_of(f"host{host}") if port.rate_bps]
        for port in ports:
            own_ps = wire_ps(own_bytes.get(host, 0) / len(ports), port.rate_bps)
            yield port, case.needed_ps(port) - own_ps


def incast(case: Case) -> Iterator[Finding]:
    """Find a host that several send to at once and whose link is full or overflows while theirs idle."""
    downlinks = [
        port
        for host in dict.fromkeys(case.job["hosts"])
        for port in case.fabric.towards(f"host{host}")
        if port.tx_frames
    ]
    if not downlinks:
        return
    mean_ps = sum(map(case.needed_ps, downlinks)) / len(downlinks)
    worst = max(downlinks, key=case.needed_ps)
    host = int(worst.peer.removeprefix("host"))
    senders = _senders(case, host)
    use = worst.busy_ps / case.duration_ps
    senders_use = _senders_use(case, host)
    if senders < 2 or senders_use >= _IDLE or case.needed_ps(worst) <= 1.2 * mean_ps:
        return
    if use >= _BUSY or worst.dropped:
        yield _incast_finding(case, worst, senders, min(1.0, use), senders_use)


def _senders(case: Case, host: int) -> int:
    """Return the largest number of chunks that a host receives at once, in one step of a round."""
    return case.chunks.most_at_once.get(host, 0)


def _senders_use(case: Case, receiver: int) -> float:
    ports = [
        port
        for host in dict.fromkeys(case.job["hosts"])
        if host != receiver
        for port in case.fabric.of(f"host{host}")
    ]
    sending = [port.busy_ps for port in ports if port.egress_qps or port.tx_frames]
    return sum(sending) / len(sending) / case.duration_ps if sending else 0.0


def _incast_finding(case: Case, port: Port, senders: int, use: float, senders_use: float) -> Finding:
    is_inherent = pattern_of(case.job)["collective"] in _INHERENT
    sentence = (
        f"{senders} senders at once into {port.peer}; {port.name} was busy {percent(use)} of the time, "
        f"the senders' ports {percent(senders_use)}"
    )
    if port.dropped:
        sentence += f", and lost {counted(port.dropped, 'frame')}"
    if is_inherent:
        sentence += "; the collective is an incast by definition, and its ideal counts that one port"
    excess_ps = case.needed_ps(port) - case.ideal_ps
    return Finding(
        "incast",
        case.job["name"],
        case.explained(excess_ps) if excess_ps > 0 and not is_inherent else None,
        sentence,
        {
            "host": port.peer,
            "senders": senders,
            "port_use": use,
            "senders_use": senders_use,
            "dropped_frames": port.dropped,
            "queue_max_bytes": port.queue_max_bytes,
            "inherent": is_inherent,
        },
        (port.name,),
    )
