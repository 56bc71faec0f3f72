"""What was lost or sent again, and what slowed senders down: overruns, go-back-N, timeouts, ECN."""

from __future__ import annotations

from collections.abc import Iterator

from fabricbench.analysis.causes.finding import Finding, listed, percent, time_words
from fabricbench.analysis.causes.settings import is_per_packet, load_balancing, lossy_setting
from fabricbench.analysis.evidence import Case, Port
from fabricbench.analysis.failures import links_down
from fabricbench.words import counted

_NOT_FULL = 0.9
_MATERIAL = 0.02
"""Share of the lost time below which marking is not named."""
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
"""Events that lose frames for a cause; their detail begins with the place."""


def overruns(case: Case) -> Iterator[Finding]:
    """Find frames lost, by cause, and where.

    What found the buffer of a switch full is told of a lossy fabric where PFC does not hold for data and the
    job noticed: it sent again, waited for a timeout, or never completed.
    """
    lost = case.record.summary["frames_lost"]
    lossy = lossy_setting(case.record.run_spec)
    for name, known in _LOSSES.items():
        frames = lost.get(name, 0)
        if not frames:
            continue
        places = _drop_places(case.fabric.ports, name)
        where = list(places) or _failed(case, name)
        cause, sentence = known[0], f"{counted(frames, 'frame')} {known[1]}"
        if name == "buffer_full" and lossy and _was_hit(case):
            cause, sentence = "lossy-fabric", _lossy_sentence(case, lossy, frames)
        if places:
            sentence += f"; most bound for {listed(where, 3)}"
        elif where:
            sentence += f"; at {listed(where, 3)}"
        if name == "link_down" and (down := links_down(case.record.tables)):
            since = [f"{link}, down from {time_words(at_ps)} on" for link, at_ps in down.items()]
            sentence += f"; never repaired: {listed(since, 3)}"
        evidence = {"frames": frames, "ports": places}
        yield Finding(cause, case.job["name"], None, sentence, evidence, tuple(where))


def _was_hit(case: Case) -> bool:
    noticed = case.chunks.total("retransmits") + case.chunks.total("timeouts")
    return bool(noticed) or not case.is_complete


def _lossy_sentence(case: Case, setting: str, frames: int) -> str:
    sent = int(case.record.summary["frames_sent"])
    share = f" ({percent(frames / sent)} of all)" if sent else ""
    is_one = frames == 1
    return (
        f"{setting}, and {counted(frames, 'frame')}{share} {'was' if is_one else 'were'} lost in full buffers"
    )


def _failed(case: Case, cause: str) -> list[str]:
    """Return the links and switches of the events that lose frames for a cause."""
    kinds = _EVENTS.get(cause, ())
    events = [row for batch in case.record.tables.batches("events") for row in batch.to_pylist()]
    return list(dict.fromkeys(event["detail"].split(",")[0] for event in events if event["kind"] in kinds))


def _drop_places(ports: list[Port], cause: str) -> dict[str, int]:
    counters = {"buffer_full": "dropped_tail", "headroom_overrun": "dropped_headroom", "wred": "dropped_wred"}
    if cause not in counters:
        return {}
    dropped = [(port.name, int(getattr(port, counters[cause]))) for port in ports]
    return dict(sorted(((name, count) for name, count in dropped if count), key=lambda each: -each[1])[:8])


def resending(case: Case) -> Iterator[Finding]:
    """Find what go-back-N sent again because of losses, and because of frames that only came out of order.

    Each gap in the sequence brings one NAK, and a gap by loss takes at least one frame: NAKs beyond the
    frames lost come from reordering. The explained effect is the line time of the frames that the busiest
    sender sent again, parted in that proportion.
    """
    resent, naks = case.chunks.total("retransmits"), case.chunks.total("naks")
    if case.record.run_spec["transport"].get("recovery", "go_back_n") != "go_back_n" or not resent:
        return
    lost = sum(case.record.summary["frames_lost"].values())
    reordered = max(0, naks - lost) / naks if naks else 0.0
    resend_ps = case.resend_ps()
    if case.chunks.total("out_of_order") and (reordered or is_per_packet(case.record.run_spec)):
        yield _reordering(case, resent, max(0, naks - lost), resend_ps * reordered)
    if lost and reordered < 1:
        yield _go_back_n(case, resent, lost, resend_ps * (1 - reordered))


def _reordering(case: Case, resent: int, naks: int, cost_ps: float) -> Finding:
    """Tell of reordering; without a share of the lost time where the NAKs may all come from losses."""
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
    """Find retransmission timeouts; the explained effect is the waiting of the sender with most of them.

    Where nothing was lost and nothing came out of order, the answer was only late: the timeout is too short,
    and its effect what was sent again for it.
    """
    count = case.chunks.total("timeouts")
    if not count:
        return
    if not sum(case.record.summary["frames_lost"].values()) and not case.chunks.total("out_of_order"):
        yield _too_short(case, count)
        return
    timeout_ps = int(case.record.run_spec["transport"]["timeout_ps"])
    most = _timeouts_of_one_chunk(case)
    waited = most * timeout_ps
    failed = int(case.outcome["chunks_failed"])
    sentence = (
        f"{counted(count, 'timeout')} of {time_words(timeout_ps)}; one chunk alone waited for "
        f"{most:,} of them, {time_words(waited)}"
    )
    if failed:
        sentence += f"; {counted(failed, 'chunk')} ran out of retries"
    evidence = {
        "timeouts": count,
        "most_of_a_chunk": most,
        "timeout_ps": timeout_ps,
        "latency_max_ps": case.chunks.latency_max_ps,
        "ideal_ps": round(case.ideal_ps),
        "chunks_failed": failed,
    }
    yield Finding("retransmission-timeout", case.job["name"], case.explained(waited), sentence, evidence)


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

    most = 0
    for batch in case.record.tables.batches("chunks", ["job", "timeouts"]):
        own = batch.filter(pc.equal(batch.column("job"), case.job["name"]))
        most = max(most, pc.max(own.column("timeouts")).as_py() or 0)
    return most


def eager_marking(case: Case) -> Iterator[Finding]:
    """Find congestion notifications that kept the bottleneck from being full.

    The explained effect is what the job took beyond the time for which its busiest marking link was occupied.
    """
    marking = [port for port in case.fabric.ports if port.ecn_marked]
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
