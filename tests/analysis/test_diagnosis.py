"""Each cause from tables made by hand: found where its evidence is, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row, link_row, port_row
from tests.support.samples import job_spec, run_spec

from fabricbench.analysis.causes.diagnosis import CAUSES, diagnose
from fabricbench.analysis.causes.evidence import ideal_job_ps
from fabricbench.analysis.causes.finding import Finding
from fabricbench.analysis.faults.deadlock import circles
from fabricbench.analysis.record.trial import Record

FRAME_BYTES = 4158
WIRE_PS = 4178 * 20
FRAMES = 1000
"""Frames that a host sends in the ideal time of `spec`: four hosts, S / 4 to each of the other three."""
SPEC_BYTES = FRAMES * 4096 * 4 // 3
IDEAL_PS = FRAMES * WIRE_PS


def spec(collective: str = "all-to-all", **given: Any) -> dict[str, Any]:
    """Two leaves of two hosts; the ideal of the job is the line time of `FRAMES` frames."""
    made = run_spec(job_spec(data_bytes=SPEC_BYTES, collective=collective, **given))
    made["fabric"]["topology"]["kind"] = "leaf-spine"
    made["transport"] |= {"timeout_ps": 10**9, "recovery": "go_back_n"}
    return made


def cable(node: str, tier: int, port: int, peer: str, frames: int = 0, **given: Any) -> dict[str, Any]:
    """One port that sent some full frames."""
    counters = {"tx_frames": frames, "tx_bytes": frames * FRAME_BYTES}
    return port_row(node, tier, port=port, peer=peer, **(counters | given))


def fabric(uplinks: tuple[int, int] = (500, 500), hosts: int = FRAMES, **uplink: Any) -> list[dict[str, Any]]:
    """Every port of two leaves and two spines; `uplink` changes the first uplink of leaf0."""
    rows = []
    for host in range(4):
        leaf = f"leaf{host // 2}"
        rows.append(cable(f"host{host}", 0, 0, leaf, hosts, egress_qps=3))
        rows.append(cable(leaf, 1, host % 2, f"host{host}", hosts, egress_qps=3))
    for spine in range(2):
        change = uplink if spine == 0 else {}
        rows.append(cable("leaf0", 1, 2 + spine, f"spine{spine}", uplinks[spine], **change))
        rows.append(cable("leaf1", 1, 2 + spine, f"spine{spine}", 500))
        rows += [cable(f"spine{spine}", 2, leaf, f"leaf{leaf}", 500) for leaf in range(2)]
    return rows


def links_of(ports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        link_row(row["node"], row["peer"], 1, row["tx_frames"] * WIRE_PS) | {"from_port": row["port"]}
        for row in ports
    ]


def chunks(taken_ps: int, **given: Any) -> list[dict[str, Any]]:
    """One chunk of a third of `FRAMES` for each ordered pair of four ranks."""
    pairs = [(src, dst) for src in range(4) for dst in range(4) if src != dst]
    frames = FRAMES // 3
    sums = {"tx_frames": frames, "rx_frames": frames, "tx_bytes": frames * FRAME_BYTES}
    ends = [{"src_rank": src, "src_host": src, "dst_rank": dst, "dst_host": dst} for src, dst in pairs]
    return [chunk_row(fct_ps=taken_ps, qp=qp, **end, **(sums | given)) for qp, end in enumerate(ends)]


def found_in(
    taken_ps: int,
    *,
    ports: list[dict[str, Any]] | None = None,
    rows: list[dict[str, Any]] | None = None,
    run: dict[str, Any] | None = None,
    outcome: dict[str, Any] | None = None,
    events: list[dict[str, Any]] | None = None,
    paths: list[dict[str, Any]] | None = None,
    **summary: Any,
) -> dict[str, Finding]:
    """Diagnose a run that took so long; findings by cause in their order, each with what stands under it."""
    ports = fabric() if ports is None else ports
    tables = MemoryTables(
        chunks=chunks(taken_ps) if rows is None else rows,
        ports=ports,
        links=links_of(ports),
        events=events or [],
        paths=paths or [],
    )
    job = job_summary(end_ps=taken_ps) | (outcome or {})
    found = diagnose(Record(run or spec(), run_summary(job, **({"end_ps": taken_ps} | summary)), tables))
    assert sum(finding.explained or 0.0 for finding in found) <= 1 + 1e-9
    every = [each for finding in found for each in (finding, *finding.under)]
    assert {finding.cause for finding in every} <= set(CAUSES)
    assert all(finding.job == "test" and finding.sentence for finding in every)
    return _by_cause(every)


def _by_cause(found: list[Finding]) -> dict[str, Finding]:
    """Return the first finding of each cause."""
    known: dict[str, Finding] = {}
    for finding in found:
        known.setdefault(finding.cause, finding)
    return known


def share(finding: Finding) -> float:
    assert finding.explained is not None
    return finding.explained


def test_the_ideal_time_of_the_tables() -> None:
    run = spec()
    assert ideal_job_ps(run, run["jobs"][0], {"rounds": 1}) == pytest.approx(IDEAL_PS, rel=1e-4)


def test_a_healthy_trial_has_no_finding() -> None:
    """Not even where a counter would be evidence in a slow one."""
    ports = fabric(uplinks=(1200, 10), egress_qps=9, ecn_marked=5)
    assert found_in(int(IDEAL_PS / 0.951), ports=ports, rows=chunks(1, retransmits=1, cnp_rx=3)) == {}


def test_a_slow_trial_without_evidence_has_no_finding() -> None:
    assert found_in(2 * IDEAL_PS) == {}


def test_a_collision_explains_nothing_of_a_job_whose_ideal_ends_before_that_of_another() -> None:
    one, other = spec(), job_spec("other", data_bytes=2 * SPEC_BYTES)
    run = one | {"jobs": [one["jobs"][0], other]}
    ports = fabric(uplinks=(3200, 400), egress_qps=4)
    tables = MemoryTables(chunks=chunks(4 * IDEAL_PS), ports=ports, links=links_of(ports))
    summary = run_summary(job_summary(end_ps=4 * IDEAL_PS), end_ps=4 * IDEAL_PS)
    summary["jobs"].append(summary["jobs"][0] | {"name": "other"})
    found = {one.job: one for one in diagnose(Record(run, summary, tables)) if one.cause == "hash-collision"}
    assert found["test"].explained is None
    assert share(found["other"]) > 0


def test_an_uplink_with_too_many_queue_pairs_is_a_hash_collision() -> None:
    ports = fabric(uplinks=(1600, 400), egress_qps=4)
    found = found_in(2 * IDEAL_PS, ports=ports)
    assert list(found) == ["hash-collision"]
    collision = found["hash-collision"]
    # It needs 1.6 of the ideal time, the run took 2: 0.6 of the 1.0 lost.
    assert share(collision) == pytest.approx(0.6, rel=1e-3)
    assert (collision.evidence["switch"], collision.evidence["port"]) == ("leaf0", 2)
    assert collision.evidence["max_to_mean"] == pytest.approx(1.6)
    assert collision.evidence["qps_of_links"] == [4, 0]
    assert "leaf0 port 2 to spine0 carries 4 of 4 queue pairs" in collision.sentence


def path_row(qp: int, source: int, target: int, port: int, **given: Any) -> dict[str, Any]:
    row = {"qp": qp, "job": "test", "src_rank": source, "dst_rank": target, "hop": 0}
    return row | {"node": "leaf0", "port": port, "peer": f"spine{port}"} | given


def test_a_collision_names_its_queue_pairs_and_when_they_met() -> None:
    paths = [path_row(0, 0, 2, 2), path_row(1, 0, 3, 2), path_row(2, 1, 2, 2), path_row(3, 1, 3, 3)]
    times = [(0, 100), (50, 200), (60, 90), (0, 500)]
    rows = [chunk_row(qp=qp, start_ps=start, fct_ps=end - start) for qp, (start, end) in enumerate(times)]
    ports = fabric(uplinks=(1600, 400), egress_qps=3)
    found = found_in(2 * IDEAL_PS, ports=ports, paths=paths, rows=rows)["hash-collision"]
    assert found.evidence["flows"] == ["rank 0 to 2", "rank 0 to 3", "rank 1 to 2"]
    assert (found.evidence["most_at_once"], found.evidence["shared_ps"]) == (3, 50)
    assert "up to 3 at once" in found.sentence


def test_a_bounded_table_of_paths_says_how_many_it_names() -> None:
    ports = fabric(uplinks=(1600, 400), egress_qps=30)
    found = found_in(2 * IDEAL_PS, ports=ports, paths=[path_row(0, 0, 2, 2)])["hash-collision"]
    assert "on it, of 1 whose paths are recorded: rank 0 to 2" in found.sentence


def test_a_full_but_sufficient_uplink_is_no_collision() -> None:
    assert found_in(2 * IDEAL_PS, ports=fabric(uplinks=(1000, 0), egress_qps=4)) == {}


def test_links_down_are_named_where_no_uplink_is_overloaded() -> None:
    ports = fabric()
    for row in ports:
        if (row["node"], row["port"]) == ("spine1", 0):
            row.update(tx_frames=1500, tx_bytes=1500 * FRAME_BYTES)
    found = found_in(2 * IDEAL_PS, ports=ports)
    assert found["hash-collision"].evidence["direction"] == "down"
    assert found["hash-collision"].sentence.startswith("spine1 port 0 to leaf0")


def test_uplinks_that_are_too_few_are_oversubscribed() -> None:
    found = found_in(2 * IDEAL_PS, ports=fabric(uplinks=(1500, 1500)))
    assert list(found) == ["oversubscription"]
    assert share(found["oversubscription"]) == pytest.approx(0.5, rel=1e-3)


def with_one_uplink(ports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same fabric with spine0 only."""
    return [row for row in ports if "spine1" not in (row["node"], row["peer"])]


def test_a_single_uplink_is_oversubscribed_and_has_no_collisions() -> None:
    found = found_in(2 * IDEAL_PS, ports=with_one_uplink(fabric(uplinks=(1500, 1500))))
    assert list(found) == ["oversubscription"]
    assert found["oversubscription"].sentence.startswith(
        "the one uplink of leaf0 is too slow: its load takes"
    )
    queued = with_one_uplink(fabric(egress_qps=2, queue_max_bytes=1 << 20))
    assert found_in(2 * IDEAL_PS, ports=queued) == {}


def test_steps_that_wait_for_each_other_share_a_path() -> None:
    """Each host needs the ideal time in all, but its steps take twice that; one uplink had a queue."""
    ports = fabric(egress_qps=2, queue_max_bytes=1 << 20)
    found = found_in(2 * IDEAL_PS, ports=ports)
    assert found["hash-collision"].evidence["direction"] == "step"
    assert share(found["hash-collision"]) == pytest.approx(1, abs=5e-3)
    assert found_in(2 * IDEAL_PS, ports=fabric(egress_qps=1, queue_max_bytes=1 << 20)) == {}


def in_rounds(taken_ps: int, starts_ps: tuple[int, ...]) -> list[dict[str, Any]]:
    """The chunks once for each round, which begins at its time."""
    return [
        row | {"round": index, "start_ps": start, "completed_ps": start + taken_ps}
        for index, start in enumerate(starts_ps)
        for row in chunks(taken_ps)
    ]


def test_a_step_of_one_round_does_not_last_until_the_same_step_of_the_next() -> None:
    ports = fabric((1000, 1000), 2 * FRAMES, egress_qps=2, queue_max_bytes=1 << 20)
    rows, twice = in_rounds(int(IDEAL_PS), (0, 2 * int(IDEAL_PS))), {"rounds": 2}
    assert found_in(3 * int(IDEAL_PS), ports=ports, rows=rows, outcome=twice) == {}
    slow = in_rounds(2 * int(IDEAL_PS), (0, 2 * int(IDEAL_PS)))
    found = found_in(4 * int(IDEAL_PS), ports=ports, rows=slow, outcome=twice)
    assert share(found["hash-collision"]) == pytest.approx(1, abs=5e-3)


def test_senders_of_an_incast_are_those_of_one_round() -> None:
    rows = in_rounds(int(IDEAL_PS), (0, 2 * int(IDEAL_PS)))
    found = found_in(3 * IDEAL_PS, ports=incast_ports(), rows=rows)
    assert found["incast"].evidence["senders"] == 3


def incast_ports(dropped: int = 0) -> list[dict[str, Any]]:
    """Everybody sends to host0: its link carries thrice what each of the others sends."""
    ports = fabric(hosts=FRAMES)
    for row in ports:
        if row["peer"] == "host0":
            row.update(tx_frames=3 * FRAMES, tx_bytes=3 * FRAMES * FRAME_BYTES, dropped_frames=dropped)
    return ports


def test_several_senders_into_one_port_are_an_incast() -> None:
    found = found_in(3 * IDEAL_PS, ports=incast_ports())
    assert list(found) == ["incast"]
    assert share(found["incast"]) == pytest.approx(1, rel=1e-3)
    assert found["incast"].evidence["senders"] == 3
    assert not found["incast"].evidence["inherent"]


def test_the_incast_of_a_gather_is_inherent_and_explains_nothing() -> None:
    found = found_in(4 * IDEAL_PS, ports=incast_ports(dropped=7), run=spec("gather"))
    assert found["incast"].evidence["inherent"]
    assert found["incast"].explained is None
    assert "by definition" in found["incast"].sentence


def test_no_incast_where_the_senders_are_as_busy() -> None:
    assert "incast" not in found_in(int(1.1 * IDEAL_PS))


def test_pauses_that_hold_back_what_goes_elsewhere_block() -> None:
    ports = fabric(uplinks=(1000, 0), queue_max_bytes=10**6, egress_qps=1)
    for row in ports:
        if row["node"] in ("host0", "host1"):
            row.update(paused_ps=IDEAL_PS // 2, pfc_rx=9)
        if row["node"] == "leaf0" and row["peer"].startswith("host"):
            row.update(pfc_tx=9, rx_bytes=1000 * FRAME_BYTES)
    found = found_in(2 * IDEAL_PS, ports=ports)
    blocking = found["pfc-head-of-line-blocking"]
    # Of 2,000 frames that came in, 1,000 went to the full port.
    assert blocking.evidence["bound_elsewhere"] == pytest.approx(0.5)
    assert blocking.evidence["full_ports"] == ["leaf0 port 2 to spine0"]
    assert blocking.evidence["paused_share"] == pytest.approx(0.25, rel=1e-3)
    full = [row | ({"tx_bytes": 2000 * FRAME_BYTES} if row["queue_max_bytes"] else {}) for row in ports]
    assert "pfc-head-of-line-blocking" not in found_in(2 * IDEAL_PS, ports=full)


def test_marks_that_leave_the_bottleneck_idle_are_too_eager() -> None:
    ports = fabric(uplinks=(1000, 0), ecn_marked=50)
    found = found_in(4 * IDEAL_PS, ports=ports, rows=chunks(4 * IDEAL_PS, cnp_rx=2))
    assert share(found["ecn-too-eager"]) == pytest.approx(1, rel=1e-3)
    assert found["ecn-too-eager"].evidence["cnp_rx"] == 24
    full = fabric(uplinks=(2000, 0), ecn_marked=50)
    assert "ecn-too-eager" not in found_in(2 * IDEAL_PS, ports=full, rows=chunks(2 * IDEAL_PS, cnp_rx=2))


def test_naks_without_losses_are_reordering() -> None:
    rows = chunks(2 * IDEAL_PS, out_of_order=20, naks=5, retransmits=100)
    found = found_in(2 * IDEAL_PS, rows=rows)
    assert list(found) == ["reordering-with-go-back-n"]
    # Each host sent 300 of its 999 frames again.
    assert share(found["reordering-with-go-back-n"]) == pytest.approx(0.3, rel=1e-3)
    selective = spec()
    selective["transport"]["recovery"] = "selective"
    assert found_in(2 * IDEAL_PS, rows=rows, run=selective) == {}


def test_losses_have_their_cause_and_what_go_back_n_made_of_them() -> None:
    ports = fabric(dropped_frames=40, dropped_headroom_frames=20)
    lost = {"buffer_full": 40, "headroom_overrun": 20, "host_overrun": 3}
    rows = chunks(2 * IDEAL_PS, out_of_order=20, naks=5, retransmits=100)
    found = found_in(2 * IDEAL_PS, ports=ports, rows=rows, frames_lost=lost)
    assert set(found) == {"loss-with-go-back-n", "buffer-overrun", "headroom-overrun", "host-overrun"}
    assert found["buffer-overrun"].evidence["ports"] == {"leaf0 port 2 to spine0": 40}
    assert found["headroom-overrun"].evidence["ports"] == {"leaf0 port 2 to spine0": 20}
    assert found["loss-with-go-back-n"].evidence["frames_lost"] == 63
    assert share(found["loss-with-go-back-n"]) == pytest.approx(0.3, rel=1e-3)


def test_losses_and_reordering_share_what_was_sent_again() -> None:
    rows = chunks(2 * IDEAL_PS, out_of_order=20, naks=5, retransmits=100)
    found = found_in(2 * IDEAL_PS, rows=rows, frames_lost={"buffer_full": 15})
    # 60 NAKs for 15 lost frames: a quarter at most is loss.
    assert share(found["reordering-with-go-back-n"]) == pytest.approx(0.225, rel=1e-3)
    assert share(found["loss-with-go-back-n"]) == pytest.approx(0.075, rel=1e-3)


def test_timeouts_are_counted_where_most_wait() -> None:
    rows = chunks(20 * 10**9)
    rows[3]["timeouts"] = 5
    found = found_in(20 * 10**9, rows=rows, frames_lost={"bit_error": 5})
    assert share(found["bit-errors"]) == share(found["retransmission-timeout"])
    assert share(found["retransmission-timeout"]) == pytest.approx(5e9 / (20e9 - IDEAL_PS), rel=1e-3)


def test_an_impaired_nic_straggles() -> None:
    run = spec()
    run["fabric"]["nic"] = {"latency_ps": 0, "impairments": [{"host": 3, "throughput_ppm": 500_000}]}
    found = found_in(int(2.5 * IDEAL_PS), run=run)
    assert list(found) == ["straggling-nic"]
    assert share(found["straggling-nic"]) == pytest.approx(1 / 1.5, rel=5e-3)
    assert found["straggling-nic"].evidence["host"] == "host3"


def test_a_nic_that_is_slow_where_it_has_little_to_do_does_not_straggle() -> None:
    def findings(direction: str) -> list[str]:
        run, rows = spec(), chunks(2 * IDEAL_PS)
        for row in rows:
            if row["src_host"] == 3:
                row.update(tx_bytes=row["tx_bytes"] // 8, payload_bytes=row["payload_bytes"] // 8)
        slow = {"host": 3, "throughput_ppm": 500_000, "direction": direction}
        run["fabric"]["nic"] = {"latency_ps": 0, "impairments": [slow]}
        return [kind for kind in found_in(2 * IDEAL_PS, rows=rows, run=run) if kind == "straggling-nic"]

    assert findings("receive") == ["straggling-nic"]
    assert findings("send") == []


def test_a_nic_that_sends_pauses_straggles() -> None:
    ports = fabric()
    for row in ports:
        if row["node"] == "host1":
            row.update(pfc_tx=12)
        if row["peer"] == "host1":
            row.update(paused_ps=IDEAL_PS // 2, pfc_rx=12)
    found = found_in(2 * IDEAL_PS, ports=ports)
    assert "sent 12 pause frames and held its switch for 25 % of the time" in found["straggling-nic"].sentence
    assert found["straggling-nic"].explained is None


def test_fixed_latency_is_a_cause_where_it_matters() -> None:
    taken_ps = 2 * IDEAL_PS
    rows = chunks(taken_ps, latency_min_ps=IDEAL_PS // 8)
    run = spec()
    run["fabric"]["nic"] = {"latency_ps": IDEAL_PS // 16}
    found = found_in(taken_ps, rows=rows, run=run)
    # One step and the acknowledgement, each 1/8 + 2/16 of the ideal time.
    assert share(found["start-up-latency"]) == pytest.approx(0.5, rel=1e-3)
    assert found_in(taken_ps, rows=chunks(taken_ps, latency_min_ps=IDEAL_PS // 100)) == {}


def test_the_overhead_of_steps_is_a_cause() -> None:
    rows = chunks(2 * IDEAL_PS)
    rows[0]["step"] = 3
    found = found_in(2 * IDEAL_PS, rows=rows, run=spec(step_overhead_ps=IDEAL_PS // 10))
    assert share(found["step-overhead"]) == pytest.approx(0.4, rel=1e-3)


STALLED = {
    "status": "incomplete",
    "end_ps": None,
    "chunks_complete": 0,
    "reason": "1 of 1 chunks never completed",
}


def deadlock_event(node: str, port: int, peer: str) -> dict[str, Any]:
    detail = f"port {port} at priority 3 waits for {peer} with 1000 bytes"
    return {"time_ps": 5, "kind": "pfc_deadlock", "node": node, "detail": detail}


STALL = {"time_ps": 5, "kind": "stalled", "node": "leaf3", "detail": "port 1 is paused by leaf0"}


def test_a_deadlock_names_its_circle_in_order() -> None:
    circle = [deadlock_event("a", 2, "b"), deadlock_event("b", 3, "c"), deadlock_event("c", 1, "a")]
    found = found_in(IDEAL_PS, outcome=STALLED, events=[STALL, *circle], status="stalled")["pfc-deadlock"]
    assert found.evidence == {
        "circle": ["a", "b", "c"],
        "ports": [2, 3, 1],
        "priority": 3,
        "held_bytes": 3000,
        "paused": ["leaf3 port 1 is paused by leaf0"],
    }
    path = "priority 3: a port 2 waits for b port 3 waits for c port 1 waits for a port 2"
    assert f"in a circle at {path}; 3,000 bytes" in found.sentence
    assert found.explained is None


def test_circles_are_told_apart() -> None:
    events = [deadlock_event("a", 2, "b"), deadlock_event("b", 3, "a"), deadlock_event("c", 1, "c")]
    assert [[held.switch for held in circle] for circle in circles(events)] == [["a", "b"], ["c"]]


def test_a_stall_without_a_circle_names_who_is_paused() -> None:
    found = found_in(IDEAL_PS, outcome=STALLED, events=[STALL], status="stalled")
    assert list(found) == ["pfc-stall"]
    assert "leaf3 port 1 is paused by leaf0" in found["pfc-stall"].sentence


def test_a_storm_is_named_with_what_was_dropped() -> None:
    ports = fabric(pfc_storms=2, dropped_watchdog_frames=40)
    found = found_in(4 * IDEAL_PS, ports=ports, frames_lost={"pfc_watchdog": 40})["pfc-storm"]
    assert found.evidence == {"storms": 2, "frames": 40, "ports": {"leaf0 port 2 to spine0": 2}}


def test_known_effects_come_first_the_largest_first() -> None:
    rows = chunks(4 * IDEAL_PS, retransmits=20, naks=1)
    found = found_in(
        4 * IDEAL_PS,
        ports=fabric(uplinks=(1800, 20), egress_qps=4, dropped_frames=30),
        rows=rows,
        frames_lost={"buffer_full": 60},
    )
    assert list(found) == ["hash-collision", "buffer-overrun", "loss-with-go-back-n"]


def test_every_cause_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/diagnosis.md").read_text()
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")] == list(CAUSES)
