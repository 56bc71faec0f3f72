"""Finds causes in loss and recovery: frames lost, by cause; go-back-N; timeouts; ECN marking too early."""

from __future__ import annotations

from collections.abc import Iterator

from fabricbench.analysis.causes.evidence import Case, Port
from fabricbench.analysis.causes.finding import UNRECOVERED, Finding, listed, percent, time_words
from fabricbench.analysis.causes.settings import is_per_packet, load_balancing, lossy_setting
from fabricbench.analysis.faults.remaining_links import links_down
from fabricbench.words import counted

_NOT_FULL = 0.9
_MATERIAL = 0.02
"""Fraction of the lost time below which marking is not reported."""
_LOSSES = {
    "link_down": (
        "link-failure",
        "met a link that was down, or had no path left",
    ),
    "bit_error": (
        "bit-errors",
        "arrived corrupted and were dropped (frame check sequence)",
    ),
    "buffer_full": ("buffer-overrun", "found the switch buffer full (tail drop)"),
    "headroom_overrun": (
        "headroom-overrun",
        "went beyond the headroom of their port: it is configured too small",
    ),
    "wred": ("wred-drops", "were dropped by WRED"),
    "host_overrun": ("host-overrun", "found the receive buffer of a NIC full"),
}
_EVENTS = {"link_down": ("link_down", "switch_down"), "bit_error": ("bit_errors", "frame_loss")}
"""Events that lose frames, by cause; their detail begins with the location."""
_COUNTERS = {
    "buffer_full": "dropped_tail",
    "headroom_overrun": "dropped_headroom",
    "wred": "dropped_wred",
    "link_down": "lost_link_down",
    "bit_error": "fcs_errors",
}
"""Counter of a port for each cause of loss."""
_EFFECT = 0.005
"""Fraction of the lost time below which a failure had no effect on a job that completed."""


def overruns(case: Case) -> Iterator[Finding]:
    """Find frames lost on links that the job uses, by cause and location.

    If several jobs use the fabric, losses are assigned only to jobs that were affected by one. A failure that
    cost a job next to no time is no cause. Frames dropped at a full buffer make a lossy fabric the cause if
    PFC does not apply to data and the job was affected: it retransmitted, had a timeout, or never completed.
    """
    lossy = lossy_setting(case.record.run_spec)
    for name, cause_and_sentence in _LOSSES.items():
        frames = _frames_lost(case, name)
        if not frames or (name in _EVENTS and not _took_time(case)):
            continue
        drops_by_port = _drops_by_port(case, name)
        where = list(drops_by_port) or _failed(case, name)
        cause, sentence = cause_and_sentence[0], f"{counted(frames, 'frame')} {cause_and_sentence[1]}"
        if name == "buffer_full" and lossy and case.is_hit:
            cause, sentence = "lossy-fabric", _lossy_sentence(case, lossy, frames)
        if drops_by_port:
            sentence += f"; most bound for {listed(where, 3)}"
        elif where:
            sentence += f"; at {listed(where, 3)}"
        if name == "link_down" and (down := _links_down(case)):
            since = [f"{link}, down from {time_words(at_ps)} on" for link, at_ps in down.items()]
            sentence += f"; never repaired: {listed(since, 3)}"
        evidence = {"frames": frames, "ports": drops_by_port}
        yield Finding(cause, case.job["name"], None, sentence, evidence, tuple(where))


def _frames_lost(case: Case, cause: str) -> int:
    """Return the job's frames lost for a cause, as far as counters show.

    With other jobs on the fabric, these are the losses at ports that the job uses; if others use these ports,
    too, at most its own data frames that never arrived.
    """
    lost = int(case.record.summary.get("frames_lost", {}).get(cause, 0))
    if case.is_alone or not lost:
        return lost
    if not (case.is_hit or case.lost_frames):
        return 0
    counter = _COUNTERS.get(cause)
    if counter is None:
        return min(lost, case.lost_frames)
    ports = [port for port in case.fabric.ports if getattr(port, counter) and _may_lose_at(case, port, cause)]
    at_ports = sum(int(getattr(port, counter)) for port in ports)
    if all(map(case.is_only_user, ports)):
        return at_ports
    return min(at_ports, case.lost_frames or case.chunks.total("retransmits") or at_ports)


def _may_lose_at(case: Case, port: Port, cause: str) -> bool:
    """Return whether losses counted at a port may be the job's; failures lose frames in both directions."""
    return case.has_frames_on(*(port.ends if cause in _EVENTS else port.ends[:1]))


def _took_time(case: Case) -> bool:
    """Return whether a failure had an effect: retransmissions and timeouts explain some of the lost time."""
    if not case.is_complete:
        return True
    waited_ps = _timeouts_of_one_chunk(case) * int(case.record.run_spec["transport"].get("timeout_ps", 0))
    return (case.explained(case.resend_ps() + waited_ps) or 0.0) >= _EFFECT


def _lossy_sentence(case: Case, setting: str, frames: int) -> str:
    sent = int(case.record.summary["frames_sent"])
    part = f" ({percent(frames / sent)} of all)" if sent else ""
    is_one = frames == 1
    return (
        f"{setting}, and {counted(frames, 'frame')}{part} {'was' if is_one else 'were'} lost in full buffers"
    )


def _failed(case: Case, cause: str) -> list[str]:
    """Return the links and switches on the job's paths with events that lose frames for a cause."""
    kinds = _EVENTS.get(cause, ())
    events = [row for batch in case.record.tables.batches("events") for row in batch.to_pylist()]
    names = dict.fromkeys(event["detail"].split(",")[0] for event in events if event["kind"] in kinds)
    return [name for name in names if case.record.concerns(case.job["name"], name)]


def _links_down(case: Case) -> dict[str, int]:
    """Return the links on the job's paths that were down when the run ended, and since when [ps]."""
    down = links_down(case.record.tables)
    return {name: at_ps for name, at_ps in down.items() if case.record.concerns(case.job["name"], name)}


def _drops_by_port(case: Case, cause: str) -> dict[str, int]:
    """Return the ports of the job that dropped frames for lack of buffer, most first."""
    if cause in _EVENTS or cause not in _COUNTERS:
        return {}
    ports = [port for port in case.fabric.ports if _may_lose_at(case, port, cause)]
    dropped = [(port.name, int(getattr(port, _COUNTERS[cause]))) for port in ports]
    return dict(sorted(((name, count) for name, count in dropped if count), key=lambda entry: -entry[1])[:8])


def resending(case: Case) -> Iterator[Finding]:
    """Find retransmissions of go-back-N after losses, and after frames that only arrived out of order.

    Each gap in the sequence causes one NAK, and a gap by loss needs at least one lost frame: NAKs beyond the
    number of lost frames are due to reordering. The explained effect is the line time of the retransmissions
    of the busiest sender, divided in that proportion.
    """
    resent, naks = case.chunks.total("retransmits"), case.chunks.total("naks")
    if case.record.run_spec["transport"].get("recovery", "go_back_n") != "go_back_n" or not resent:
        return
    lost = case.lost_frames
    reordered = max(0, naks - lost) / naks if naks else 0.0
    resend_ps = case.resend_ps()
    if case.chunks.total("out_of_order") and (reordered or is_per_packet(case.record.run_spec)):
        yield _reordering(case, resent, max(0, naks - lost), resend_ps * reordered)
    if lost and reordered < 1:
        yield _go_back_n(case, resent, lost, resend_ps * (1 - reordered))


def _reordering(case: Case, resent: int, naks: int, cost_ps: float) -> Finding:
    """Return the finding of reordering; without a fraction if the NAKs may all be due to losses."""
    arrived, early = case.chunks.total("rx_frames"), case.chunks.total("out_of_order")
    kind = load_balancing(case.record.run_spec)
    sentence = (
        f"{counted(early, 'frame')} ({percent(early / arrived)}) arrived out of order under {kind} load "
    )
    if naks:
        sentence += (
            f"balancing, and go-back-N took that for loss: {counted(naks, 'NAK')} without a lost frame, "
            f"{counted(resent, 'frame')} sent again"
        )
    else:
        sentence += (
            f"balancing, by which frames of a queue pair overtake each other, and go-back-N takes each gap "
            f"for a loss: {counted(resent, 'frame')} sent again, for losses and for reordering"
        )
    evidence = {
        "out_of_order": early,
        "naks": case.chunks.total("naks"),
        "naks_without_loss": naks,
        "retransmits": resent,
        "resend_ps": round(cost_ps),
    }
    explained = case.explained(cost_ps) if naks else None
    return Finding("reordering-with-go-back-n", case.job["name"], explained, sentence, evidence)


def _go_back_n(case: Case, resent: int, lost: int, cost_ps: float) -> Finding:
    sent = case.chunks.total("tx_frames")
    sentence = (
        f"go-back-N sent {counted(resent, 'frame')} again for {counted(lost, 'lost frame')} "
        f"({resent / lost:.1f} for each, {percent(resent / sent)} of all)"
    )
    evidence = {"retransmits": resent, "frames_lost": lost, "tx_frames": sent, "resend_ps": round(cost_ps)}
    return Finding("loss-with-go-back-n", case.job["name"], case.explained(cost_ps), sentence, evidence)


def timeouts(case: Case) -> Iterator[Finding]:
    """Find retransmission timeouts; the explained effect is the waiting time of the sender with most of them.

    If nothing was lost and nothing arrived out of order, the acknowledgement was only late: the timeout is
    too short, and its effect is the time of its retransmissions.
    """
    count = case.chunks.total("timeouts")
    if not count:
        return
    if not _may_have_lost(case) and not case.chunks.total("out_of_order"):
        yield _too_short(case, count)
        return
    timeout_ps = int(case.record.run_spec["transport"]["timeout_ps"])
    timeouts_of_chunk = _timeouts_of_one_chunk(case)
    waited_ps = timeouts_of_chunk * timeout_ps
    failed = int(case.outcome["chunks_failed"])
    sentence = (
        f"{counted(count, 'timeout')} of {time_words(timeout_ps)}; one chunk alone waited for "
        f"{timeouts_of_chunk:,} of them, {time_words(waited_ps)}"
    )
    if failed:
        sentence += f"; {counted(failed, 'chunk')} ran out of retries"
    evidence = {
        "timeouts": count,
        "most_of_a_chunk": timeouts_of_chunk,
        "timeout_ps": timeout_ps,
        "latency_max_ps": case.chunks.latency_max_ps,
        "ideal_ps": round(case.ideal_ps),
        "chunks_failed": failed,
    }
    yield Finding("retransmission-timeout", case.job["name"], case.explained(waited_ps), sentence, evidence)


def _may_have_lost(case: Case) -> bool:
    """Return whether frames of the job, responses included, were lost, or may have been."""
    return bool(case.lost_frames) or any(_frames_lost(case, cause) for cause in _COUNTERS)


def _too_short(case: Case, count: int) -> Finding:
    timeout_ps, resent = (
        int(case.record.run_spec["transport"]["timeout_ps"]),
        case.chunks.total("retransmits"),
    )
    sentence = (
        f"{counted(count, 'timeout')} of {time_words(timeout_ps)} though no frame was lost: acknowledgements "
        f"came later than that, and {counted(resent, 'frame')} went twice"
    )
    evidence = {"timeouts": count, "timeout_ps": timeout_ps, "retransmits": resent}
    explained = case.explained(case.resend_ps())
    return Finding("timeout-too-short", case.job["name"], explained, sentence, evidence)


def _timeouts_of_one_chunk(case: Case) -> int:
    import pyarrow.compute as pc

    largest = 0
    for batch in case.record.tables.batches("chunks", ["job", "timeouts"]):
        own = batch.filter(pc.equal(batch.column("job"), case.job["name"]))
        largest = max(largest, pc.max(own.column("timeouts")).as_py() or 0)
    return largest


def unrecovered(case: Case) -> Iterator[Finding]:
    """Find chunks that never completed because senders send nothing again, with the locations of losses."""
    recovery = case.record.run_spec["transport"].get("recovery", "go_back_n")
    early = case.chunks.total("out_of_order")
    messages = case.outcome.get("messages", {"sent": 0, "received": 0})
    lost_messages = messages["sent"] - messages["received"]
    if recovery != "none" or case.is_complete or not (case.lost_frames or early or lost_messages):
        return
    where = dict.fromkeys(
        location
        for cause in _LOSSES
        if _frames_lost(case, cause)
        for location in list(_drops_by_port(case, cause)) or _failed(case, cause)
    )
    sentence = f"senders send nothing again: {case.outcome['reason']}"
    if where:
        sentence += f"; frames were lost at {listed(list(where), 3)}"
    evidence = {
        "frames_lost": case.lost_frames,
        "out_of_order": early,
        "messages_lost": lost_messages,
        "tx_frames": case.chunks.total("tx_frames"),
        "chunks_failed": int(case.outcome["chunks_failed"]),
    }
    yield Finding(UNRECOVERED, case.job["name"], None, sentence, evidence, tuple(where))


def eager_marking(case: Case) -> Iterator[Finding]:
    """Find congestion notifications that left the bottleneck partly idle.

    The explained effect is the time of the job beyond that for which its busiest marking link was occupied.
    """
    marking = [port for port in case.ports if port.ecn_marked]
    cnps = case.chunks.total("cnp_rx")
    if not marking or not cnps:
        return
    worst = max(marking, key=lambda port: port.busy_ps)
    use, marks = worst.busy_ps / case.duration_ps, sum(port.ecn_marked for port in marking)
    if use >= _NOT_FULL:
        return
    sentence = (
        f"{counted(marks, 'mark')} brought {counted(cnps, 'CNP')}, and senders slowed down more than needed: "
        f"{worst.name}, the busiest link that marked, was occupied only {percent(use)} of the time"
    )
    evidence = {
        "ecn_marked": marks,
        "cnp_rx": cnps,
        "port": worst.name,
        "port_use": use,
        "queue_max_bytes": worst.queue_max_bytes,
    }
    idle_ps = case.duration_ps - max(worst.busy_ps, case.ideal_ps)
    explained = case.explained(idle_ps)
    if explained is None or explained >= _MATERIAL:
        yield Finding("ecn-too-eager", case.job["name"], explained, sentence, evidence, (worst.name,))
