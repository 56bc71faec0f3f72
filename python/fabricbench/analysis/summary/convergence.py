"""Computes the time that congestion control needs to converge to fair rates after senders join.

Defined in the BMWG draft on training fabrics: M flows have a common bottleneck, M more begin, and the result
is the time until all have a rate within 10 % of their fair share. A flow is a queue pair; its rate is the one
that congestion control allows it, as sampled in the series `rate_bps`. Fair is max-min: the rates of all
flows rise together until a link is full; flows on that link keep their rate, and the others continue.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from fabricbench.analysis.record.series_facts import SampleFacts
from fabricbench.analysis.record.tables import ALL, Tables, observed_chunks

WITHIN: Final = 0.1
"""Largest relative difference between a rate and its fair share."""
AVERAGED: Final = 10
"""Number of samples over which a rate is averaged, as control loops oscillate. As many means in sequence have
to be within the limits, to exclude chance.
"""
_MIN_WINDOWS: Final = 5
"""Shortest time that is reported, in averaging windows, as it is exact to one of them."""
_PS_PER_US: Final = 1e6
_NO_ONSET: Final = "no job begins while another one sends"

Link = tuple[str, int]
"""A direction of a link: the node that sends on it, and its port."""


@dataclass(frozen=True)
class Convergence:
    """Result for one onset of congestion.

    Attributes:
        us: Time from the onset to the first sample from which every rate, as the mean of the last `AVERAGED`
            samples, is within 10 % of its fair share until the first of the flows ends [us]; none if unknown.
        reason: Why the time is unknown; empty if it is known.
        onset_ps: When the last group of senders began [ps]; none without one.
        flows: Queue pairs that send after the onset.
        fair_share_bps: Smallest fair share of these queue pairs [bit/s]; none if unknown.
        interval_ps: Longest time between two samples from the onset to the end [ps]; none without samples.
    """

    us: float | None = None
    reason: str = ""
    onset_ps: int | None = None
    flows: int = 0
    fair_share_bps: float | None = None
    interval_ps: int | None = None


@dataclass
class _Flow:
    """A queue pair with its hosts, end and path.

    Attributes:
        job: Its job.
        ends: Sending and receiving host.
        end_ps: When the last of its data was acknowledged; none if it never was.
        links: Links on the path of its data.
    """

    job: str
    ends: tuple[int, int]
    end_ps: int | None = None
    links: Collection[Link] = ()


def convergence(
    run_spec: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables, samples: SampleFacts
) -> Convergence:
    """Return how long the rates of a run took to converge after the last group of senders began.

    Args:
        run_spec: The RunSpec.
        summary: The backend's RunSummary.
        tables: The record; `chunks`, `paths` and `links` are read only with an onset and sampled rates.
        samples: Facts from its series.
    """
    starts = {job["name"]: job["start_ps"] for job in run_spec["jobs"]}
    onset_ps = max(starts.values(), default=0)
    active = {name for name, end_ps in _job_ends_ps(summary).items() if end_ps > onset_ps}
    joining = {name for name in active if starts[name] == onset_ps}
    if not joining or joining == active:
        return Convergence(reason=_NO_ONSET)
    result = Convergence(onset_ps=onset_ps)
    if reason := _reason_unknown(run_spec, samples):
        return replace(result, reason=reason)
    flows = _flows(tables, active)
    result = replace(result, flows=len(flows))
    capacities, reason = _set_links(flows, tables)
    if reason:
        return replace(result, reason=reason)
    before = {qp: flow.links for qp, flow in flows.items() if flow.job not in joining}
    shares = fair_shares({qp: flow.links for qp, flow in flows.items()}, capacities)
    if all(shares[qp] == share for qp, share in fair_shares(before, capacities).items()):
        return replace(result, reason="those that begin last share no bottleneck with the others")
    result = replace(result, fair_share_bps=min(shares.values()))
    return _with_time(result, flows, shares, samples.rates, summary["end_ps"])


def _job_ends_ps(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the end of each job, or of the run for a job that did not end [ps]."""
    run_end_ps = summary["end_ps"]
    return {job["name"]: run_end_ps if job["end_ps"] is None else job["end_ps"] for job in summary["jobs"]}


def _reason_unknown(run_spec: Mapping[str, Any], samples: SampleFacts) -> str:
    """Return why flows or their fair shares are unknown; empty if they are known."""
    if not samples.rates:
        return "no rates were sampled: nothing sets them, or `observe` leaves them out"
    if observed_chunks(run_spec) != ALL:
        return "not every chunk has a row that says where its queue pair leads (`observe.chunks`)"
    if run_spec.get("tcp"):
        return "TCP traffic shares the fabric, whose fair share is not that of queue pairs"
    if run_spec["fabric"].get("failures"):
        return "links fail or change, and with them the fair shares"
    if run_spec["fabric"]["topology"].get("planes", 1) > 1:
        return "a host has a port in each of several planes, and it is not recorded which one data takes"
    return ""


def _flows(tables: Tables, active: Collection[str]) -> dict[int, _Flow]:
    """Return the queue pairs of some jobs between hosts."""
    import pyarrow as pa

    keys = ("qp", "job", "src_host", "dst_host")
    flows: dict[int, _Flow] = {}
    for batch in tables.batches("chunks", (*keys, "completed_ps")):
        groups = pa.Table.from_batches([batch]).group_by(keys)
        for row in groups.aggregate([("completed_ps", "max")]).to_pylist():
            ends = (row["src_host"], row["dst_host"])
            if row["job"] in active and ends[0] != ends[1]:
                flow = flows.setdefault(row["qp"], _Flow(row["job"], ends))
                end_ps = row["completed_ps_max"]
                flow.end_ps = max(
                    (time_ps for time_ps in (flow.end_ps, end_ps) if time_ps is not None), default=None
                )
    return flows


def _set_links(flows: Mapping[int, _Flow], tables: Tables) -> tuple[dict[Link, int], str]:
    """Set the links of each flow.

    Returns:
        The rate of each link [bit/s], and the reason if paths are unknown; empty if all are known.
    """
    capacities: dict[Link, int] = {}
    peers: dict[Link, str] = {}
    links_of_host: dict[str, tuple[Link, Link]] = {}
    for source, port, target, target_port, rate_bps in _rows(
        tables, "links", ("from", "from_port", "to", "to_port", "rate_bps")
    ):
        capacities[source, port], peers[source, port] = rate_bps, target
        links_of_host[source] = ((source, port), (target, target_port))
    links_between: dict[int, list[Link]] = defaultdict(list)
    for qp, node, port in _rows(tables, "paths", ("qp", "node", "port")):
        links_between[qp].append((node, port))
    for qp, flow in flows.items():
        source, target = (links_of_host.get(f"host{host}") for host in flow.ends)
        if source is None or target is None:
            return capacities, "the links of the hosts are not known"
        sent_on, arrives_on = source[0], target[1]
        if not links_between[qp] and peers[sent_on] != arrives_on[0]:
            return (
                capacities,
                "no path of a queue pair is recorded (load balancing by packet, `observe.path_rows`)",
            )
        flow.links = {sent_on, arrives_on, *links_between[qp]}
    return capacities, ""


def _rows(tables: Tables, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for batch in tables.batches(table, columns):
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def fair_shares(flows: Mapping[int, Collection[Link]], capacities: Mapping[Link, int]) -> dict[int, float]:
    """Return the max-min fair rate of each flow [bit/s], by filling links one after the other.

    Args:
        flows: The links on the path of each flow, at least one.
        capacities: The rate of each link [bit/s].
    """
    spare_bps = {link: float(capacities[link]) for links in flows.values() for link in links}
    flows_on: dict[Link, set[int]] = {link: set() for link in spare_bps}
    for flow, links in flows.items():
        for link in links:
            flows_on[link].add(flow)
    shares: dict[int, float] = {}
    while any(flows_on.values()):
        bottleneck = min(
            (link for link in flows_on if flows_on[link]),
            key=lambda link: spare_bps[link] / len(flows_on[link]),
        )
        share = spare_bps[bottleneck] / len(flows_on[bottleneck])
        for flow in list(flows_on[bottleneck]):
            shares[flow] = share
            for link in flows[flow]:
                flows_on[link].discard(flow)
                spare_bps[link] -= share
    return shares


def _with_time(
    result: Convergence,
    flows: Mapping[int, _Flow],
    shares: Mapping[int, float],
    rates: Mapping[int, Sequence[tuple[int, int]]],
    run_end_ps: int,
) -> Convergence:
    """Return the convergence with the time at which the rates of all flows reached their fair shares."""
    sampled = [qp for qp in flows if qp in rates]
    if len(sampled) < len(flows):
        reason = f"rates of {len(sampled)} of {len(flows)} queue pairs were sampled (`observe.series_qps`)"
        return replace(result, reason=reason)
    onset_ps = result.onset_ps or 0
    end_ps = min(run_end_ps if flow.end_ps is None else flow.end_ps for flow in flows.values())
    samples_until_end = {
        qp: [sample for sample in rates[qp] if onset_ps < sample[0] < end_ps] for qp in sampled
    }
    if not all(samples_until_end.values()):
        return replace(result, reason="a queue pair has no sample between the onset and the first end")
    times_ps = sorted({time_ps for samples in samples_until_end.values() for time_ps, _ in samples})
    interval_ps = max(after - before for before, after in pairwise([onset_ps, *times_ps]))
    result = replace(result, interval_ps=interval_ps)
    off_ps = max(_last_off_ps(samples, shares[qp], onset_ps) for qp, samples in samples_until_end.items())
    fair_times = [time_ps for time_ps in times_ps if time_ps > off_ps]
    if len(fair_times) < AVERAGED:
        min_ratio, max_ratio = _last_ratios(samples_until_end, shares)
        reason = (
            "the rates never stay within 10 % of the fair share: in the end they are "
            f"{min_ratio:.2f} to {max_ratio:.2f} times theirs"
        )
        return replace(result, reason=reason)
    duration_ps = fair_times[0] - onset_ps
    if duration_ps < _MIN_WINDOWS * AVERAGED * interval_ps:
        reason = (
            f"samples are up to {interval_ps / _PS_PER_US:g} us apart, too far for a time of "
            f"{duration_ps / _PS_PER_US:g} us"
        )
        return replace(result, reason=reason)
    return replace(result, us=duration_ps / _PS_PER_US)


def _last_off_ps(samples: Sequence[tuple[int, int]], share_bps: float, onset_ps: int) -> int:
    """Return the last time at which the mean rate of a flow is not near its fair share, or the onset."""
    last_ps, window = onset_ps, deque[int](maxlen=AVERAGED)
    for time_ps, value in samples:
        window.append(value)
        if abs(sum(window) / len(window) - share_bps) > WITHIN * share_bps:
            last_ps = time_ps
    return last_ps


def _last_ratios(
    samples_by_qp: Mapping[int, Sequence[tuple[int, int]]], shares: Mapping[int, float]
) -> tuple[float, float]:
    """Return the smallest and the largest ratio of the last mean rate of a flow to its fair share."""
    last = {qp: [value for _, value in samples[-AVERAGED:]] for qp, samples in samples_by_qp.items()}
    ratios = [sum(values) / len(values) / shares[qp] for qp, values in last.items()]
    return min(ratios), max(ratios)
