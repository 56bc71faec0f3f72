"""What findings say, word for word: figures worked out by hand from tables made by hand."""

from __future__ import annotations

import pytest
from tests.analysis.test_diagnosis import (
    FRAME_BYTES,
    FRAMES,
    IDEAL_PS,
    STALL,
    STALLED,
    WIRE_PS,
    chunks,
    deadlock_event,
    fabric,
    found_in,
    incast_ports,
    path_row,
    spec,
)

from fabricbench.analysis.causes.finding import Finding, listed, percent, time_words

UPLINK = "leaf0 port 2 to spine0"


def said(found: dict[str, Finding]) -> dict[str, str]:
    return {cause: finding.sentence for cause, finding in found.items()}


def test_the_ideal_run_takes_83_56_us() -> None:
    assert (WIRE_PS, FRAMES, IDEAL_PS) == (83_560, 1000, 83_560_000)


def test_a_collision_says_what_the_uplink_carries_and_how_long_that_takes() -> None:
    found = found_in(2 * IDEAL_PS, ports=fabric(uplinks=(1600, 400), egress_qps=4))
    # 1,600 frames at line rate; the mean of the two uplinks is 1,000.
    assert said(found) == {
        "hash-collision": f"{UPLINK} carries 4 of 4 queue pairs (4+0) and 1.60 times the mean load of the "
        "uplinks of leaf0: at line rate its frames take 133.7 us, the ideal run 83.56 us"
    }
    evidence = found["hash-collision"].evidence
    assert (evidence["bytes"], evidence["needed_ps"]) == (1600 * FRAME_BYTES, 1600 * WIRE_PS)
    assert evidence["ideal_ps"] == pytest.approx(IDEAL_PS, rel=1e-6)


def test_uplinks_that_are_too_few_are_counted() -> None:
    found = found_in(2 * IDEAL_PS, ports=fabric(uplinks=(1500, 1500)))
    assert said(found) == {
        "oversubscription": "the 2 uplinks of leaf0 are too few: spread evenly, their load takes 125.3 us at "
        "line rate, the ideal run 83.56 us"
    }
    assert found["oversubscription"].evidence["mean_needed_ps"] == 1500 * WIRE_PS


def test_steps_that_share_a_path_say_how_much_longer_they_took() -> None:
    found = found_in(2 * IDEAL_PS, ports=fabric(egress_qps=2, queue_max_bytes=1 << 20))
    # 2,000 frames' time less that of the 999 frames of three chunks.
    assert found["hash-collision"].evidence["stretch_ps"] == 1001 * WIRE_PS
    assert said(found) == {
        "hash-collision": "the steps of the slowest host took 83.64 us longer than the ports at their ends "
        f"needed, and {UPLINK}, which 2 queue pairs share, had a queue of 1,048,576 bytes"
    }


def test_of_the_queue_pairs_on_a_link_five_are_named() -> None:
    more = chunks(2 * IDEAL_PS, tx_frames=0, rx_frames=0, tx_bytes=0)[0] | {"qp": 12}
    rows = [*chunks(2 * IDEAL_PS), more]
    paths = [path_row(qp, 0, 1 + qp, 2) for qp in range(13)]
    names = ", ".join(f"rank 0 to {rank}" for rank in range(1, 6))
    steps = fabric(egress_qps=2, queue_max_bytes=1 << 20)
    found = found_in(2 * IDEAL_PS, ports=steps, paths=paths, rows=rows)["hash-collision"]
    assert found.sentence.endswith(f": {names} and 8 more at once, and two or more for 167.1 us in all")
    loaded = fabric(uplinks=(1600, 400), egress_qps=13)
    found = found_in(2 * IDEAL_PS, ports=loaded, paths=paths, rows=rows)["hash-collision"]
    assert found.sentence.endswith(f"; on it: {names} and 8 more; up to 13 at once, two or more for 167.1 us")


def test_an_incast_says_how_busy_both_ends_are() -> None:
    found = found_in(3 * IDEAL_PS, ports=incast_ports())
    assert said(found) == {
        "incast": "3 senders at once into host0; leaf0 port 0 to host0 was busy 100 % of the time, the "
        "senders' ports 33 %"
    }
    lossy = found_in(4 * IDEAL_PS, ports=incast_ports(dropped=7), run=spec("gather"))
    assert said(lossy) == {
        "incast": "3 senders at once into host0; leaf0 port 0 to host0 was busy 75 % of the time, the "
        "senders' ports 25 %, and lost 7 frames; the collective is an incast by definition, and its ideal "
        "counts that one port"
    }


def test_losses_say_where_most_of_them_were() -> None:
    ports = fabric(dropped_frames=40, dropped_headroom_frames=20)
    lost = {"buffer_full": 40, "headroom_overrun": 20, "host_overrun": 3, "link_down": 5, "bit_error": 2}
    rows = chunks(2 * IDEAL_PS, out_of_order=20, naks=5, retransmits=100)
    found = found_in(2 * IDEAL_PS, ports=ports, rows=rows, frames_lost=lost)
    # 12 chunks sent 333 frames each, 100 of them again, for 70 lost frames.
    assert said(found) == {
        "loss-with-go-back-n": "go-back-N sent 1,200 frames again for 70 lost frames (17.1 for each, 30 % of "
        "all)",
        "link-failure": "5 frames met a link that was down, or had no path left",
        "bit-errors": "2 frames arrived corrupted and were dropped (frame check sequence)",
        "headroom-overrun": "20 frames went beyond the headroom of their port: it is configured too small; "
        f"most bound for {UPLINK}",
        "buffer-overrun": "40 frames found the switch buffer full (tail drop); most bound for " + UPLINK,
        "host-overrun": "3 frames found the receive buffer of a NIC full",
    }
    without_places = found_in(2 * IDEAL_PS, frames_lost={"buffer_full": 40})
    assert said(without_places) == {"buffer-overrun": "40 frames found the switch buffer full (tail drop)"}


def test_the_places_of_losses_are_the_eight_with_most_the_most_first() -> None:
    ports = fabric()
    for count, row in enumerate(ports[:10], start=1):
        row.update(dropped_frames=count)
    found = found_in(2 * IDEAL_PS, ports=ports, frames_lost={"buffer_full": 55})["buffer-overrun"]
    assert list(found.evidence["ports"].values()) == [10, 9, 8, 7, 6, 5, 4, 3]
    assert found.sentence.endswith("and 5 more")


def test_reordering_counts_the_naks_that_no_loss_explains() -> None:
    rows = chunks(2 * IDEAL_PS, out_of_order=20, naks=5, retransmits=100)
    found = found_in(2 * IDEAL_PS, rows=rows, frames_lost={"bit_error": 15})
    # 240 of 3,996 frames; 60 NAKs for 15 lost frames.
    assert found["reordering-with-go-back-n"].sentence == (
        "240 frames (6 %) arrived out of order under unknown load balancing, and go-back-N took that for "
        "loss: 45 NAKs without a lost frame, 1,200 frames sent again"
    )
    # 300 frames of a host, three quarters of them for the reordering.
    assert found["reordering-with-go-back-n"].evidence["resend_ps"] == 225 * WIRE_PS
    assert found["loss-with-go-back-n"].evidence["resend_ps"] == 75 * WIRE_PS


def test_timeouts_say_how_long_the_chunk_with_most_waited() -> None:
    rows = chunks(20 * 10**9)
    rows[3]["timeouts"], rows[4]["timeouts"] = 5, 2
    found = found_in(20 * 10**9, rows=rows, outcome={"chunks_failed": 1}, frames_lost={"link_down": 9})
    assert said(found) == {
        "link-failure": "9 frames met a link that was down, or had no path left",
        "retransmission-timeout": "7 timeouts of 1 ms; one chunk alone waited for 5 of them, 5 ms; 1 chunk "
        "ran out of retries",
    }


def test_timeouts_without_a_loss_are_too_short() -> None:
    found = found_in(20 * 10**9, rows=chunks(20 * 10**9, timeouts=1, retransmits=3))
    assert said(found) == {
        "timeout-too-short": "12 timeouts of 1 ms though no frame was lost: acknowledgements came later than "
        "that, and 36 frames went twice"
    }


def test_marks_say_how_idle_they_left_the_link() -> None:
    ports = fabric(uplinks=(1000, 0), ecn_marked=50)
    found = found_in(4 * IDEAL_PS, ports=ports, rows=chunks(4 * IDEAL_PS, cnp_rx=2))
    assert said(found) == {
        "ecn-too-eager": "50 marks brought 24 CNPs, and senders slowed down more than needed: "
        f"{UPLINK}, the busiest link that marked, was occupied only 25 % of the time"
    }


def test_fixed_costs_are_told_by_step() -> None:
    run = spec()
    run["fabric"]["nic"] = {"latency_ps": IDEAL_PS // 16}
    found = found_in(2 * IDEAL_PS, rows=chunks(2 * IDEAL_PS, latency_min_ps=IDEAL_PS // 8), run=run)
    assert said(found) == {
        "start-up-latency": "the fixed latency of the path is 25 % of the completion time: 1 step and the "
        "last acknowledgement, 20.89 us each"
    }
    rows = chunks(2 * IDEAL_PS)
    rows[0]["step"] = 3
    slow = found_in(2 * IDEAL_PS, rows=rows, run=spec(step_overhead_ps=IDEAL_PS // 10))
    assert slow["step-overhead"].sentence == (
        "the software overhead is 20 % of the completion time: 4 steps of 8.356 us"
    )


def test_pauses_say_who_was_held_and_who_was_full() -> None:
    ports = fabric(uplinks=(1000, 0), queue_max_bytes=10**6, egress_qps=1)
    for row in ports:
        if row["node"] in ("host0", "host1"):
            row.update(paused_ps=IDEAL_PS // 2, pfc_rx=9)
        if row["node"] == "leaf0" and row["peer"].startswith("host"):
            row.update(pfc_tx=9, rx_bytes=1000 * FRAME_BYTES)
    found = found_in(2 * IDEAL_PS, ports=ports)["pfc-head-of-line-blocking"]
    assert found.sentence == (
        f"leaf0 paused host0, host1 because of {UPLINK}; host0 for 25 % of the time. At least 50 % of the "
        "traffic held back was bound for other ports"
    )
    assert found.evidence["pfc_rx"] == 18


@pytest.mark.parametrize(("paused_share", "is_found"), [(0.0499, False), (0.05, True)])
def test_pauses_of_a_twentieth_of_the_run_count(paused_share: float, *, is_found: bool) -> None:
    ports = fabric(uplinks=(1000, 0), queue_max_bytes=10**6, egress_qps=1)
    for row in ports:
        if row["node"] == "host0":
            row.update(paused_ps=int(paused_share * 2 * IDEAL_PS), pfc_rx=9)
        if row["node"] == "leaf0" and row["peer"].startswith("host"):
            row.update(pfc_tx=9, rx_bytes=1000 * FRAME_BYTES)
    assert ("pfc-head-of-line-blocking" in found_in(2 * IDEAL_PS, ports=ports)) == is_found


def test_a_slow_nic_says_at_what_share_it_works() -> None:
    run = spec()
    run["fabric"]["nic"] = {"latency_ps": 0, "impairments": [{"host": 3, "throughput_ppm": 500_000}]}
    found = found_in(int(2.5 * IDEAL_PS), run=run)
    assert said(found) == {"straggling-nic": "the NIC of host3 works at 50 % of its line rate"}
    assert found["straggling-nic"].evidence["nic_rate_bps"] == 200 * 10**9


def test_what_stands_still_says_what_would_end_it() -> None:
    circle = [deadlock_event("a", 2, "b"), deadlock_event("b", 3, "a")]
    found = found_in(IDEAL_PS, outcome=STALLED, events=[STALL, *circle], status="stalled")
    assert said(found) == {
        "pfc-deadlock": "pauses wait for each other in a circle at priority 3: a port 2 waits for b port 3 "
        "waits for a port 2; 2,000 bytes in 2 queues never move again. A PFC watchdog would end it"
    }
    stalled = found_in(IDEAL_PS, outcome=STALLED, events=[STALL], status="stalled")
    assert said(stalled) == {
        "pfc-stall": "nothing was delivered any more while pauses were renewed; leaf3 port 1 is paused by "
        "leaf0"
    }
    silent = found_in(IDEAL_PS, outcome=STALLED, status="stalled")
    assert said(silent) == {}
    ports = fabric(pfc_storms=2, dropped_watchdog_frames=40)
    stormy = found_in(4 * IDEAL_PS, ports=ports, frames_lost={"pfc_watchdog": 40})
    assert said(stormy) == {
        "pfc-storm": f"the PFC watchdog detected 2 storms, at {UPLINK}: queues that were paused and sent "
        "nothing for its detection time. It dropped 40 frames"
    }


def test_figures_have_the_digits_that_suit_them() -> None:
    times = [0, 999, 1000, 1_500_000, 10**9, 12_345_678_900_000_000]
    assert [time_words(time) for time in times] == ["0 ps", "999 ps", "1 ns", "1.5 us", "1 ms", "12,346 s"]
    assert [percent(share) for share in (0.0994, 0.0995, 0.5, 0.001)] == ["9.9 %", "10 %", "50 %", "0.1 %"]
    names = ["a", "b", "c"]
    assert [listed(names, most) for most in (2, 3)] == ["a, b and 1 more", "a, b, c"]
    assert listed(list("abcdefg")) == "a, b, c, d, e, f and 1 more"
