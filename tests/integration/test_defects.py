"""Plans that once gave wrong results, held to what holds in every run; figures are those of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import jobs_of, measured, run_plan

from fabricbench.store import Trial

PLANS = Path(__file__).parent / "defects"


def run(root: Path, name: str, *overrides: str) -> Trial:
    (trial,) = run_plan(root / "workspace", PLANS / f"{name}.yaml", *overrides)
    return trial


def summary_of(trial: Trial) -> Mapping[str, Any]:
    assert trial.summary is not None
    return trial.summary


def rows(trial: Trial, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = trial.tables.table(table).to_pylist()
    return found


@pytest.mark.parametrize("seed", [12, 16, 18, 23, 31])
def test_a_chunk_is_complete_once_its_slowest_frame_is_there(tmp_path: Path, seed: int) -> None:
    trial = run(tmp_path, "late-path", f"seed={seed}")
    (chunk,) = rows(trial, "chunks")
    assert trial.status == "complete"
    # One path is 200 us slower: its frame arrives after that, and its acknowledgement is on the way after it.
    assert 200_000_000 < chunk["delivered_ps"] < chunk["completed_ps"]


@pytest.mark.parametrize("name", ["late-path", "late-paths-infiniband"])
def test_no_chunk_is_complete_before_it_is_delivered(tmp_path: Path, name: str) -> None:
    chunks = rows(run(tmp_path, name), "chunks")
    assert all(chunk["start_ps"] < chunk["delivered_ps"] < chunk["completed_ps"] for chunk in chunks)


@pytest.mark.parametrize("name", ["moving-root", "moving-root-custom"])
def test_rounds_that_overlap_take_at_least_as_long_as_their_slowest_chunk(tmp_path: Path, name: str) -> None:
    trial = run(tmp_path, name)
    job = jobs_of([trial])[0].summary
    chunks = [chunk for chunk in rows(trial, "chunks") if chunk["job"] == job.job and chunk["round"] == 1]
    assert measured(job, "completion_time_ms") * 1e9 >= max(chunk["fct_ps"] for chunk in chunks) > 0


@pytest.mark.parametrize("name", ["duplicates-of-storage", "duplicates-of-storage-reads"])
def test_frames_of_storage_count_at_the_operation_that_they_are_of(tmp_path: Path, name: str) -> None:
    chunks = rows(run(tmp_path, name), "chunks")
    assert all(chunk["rx_frames"] <= chunk["tx_frames"] for chunk in chunks)


@pytest.mark.parametrize(
    "name",
    [
        "duplicates-of-the-chunk-before",
        "duplicates-of-the-round-before",
        "duplicates-with-pfc",
        "duplicates-infiniband",
    ],
)
def test_frames_count_at_the_chunk_that_they_are_of(tmp_path: Path, name: str) -> None:
    trial = run(tmp_path, name)
    chunks = rows(trial, "chunks")
    assert all(chunk["rx_frames"] <= chunk["tx_frames"] for chunk in chunks)
    assert all(chunk["rx_bytes"] <= chunk["tx_bytes"] for chunk in chunks)
    # What came too late for its chunk is told, and is no more than what was sent again.
    late = sum(job["late"]["frames"] for job in summary_of(trial)["jobs"])
    assert 0 < late <= sum(chunk["retransmits"] for chunk in chunks)


@pytest.mark.parametrize("name", ["lost-behind-tcp", "waits-for-tcp-that-has-ended"])
def test_a_run_ends_soon_after_nothing_can_come_any_more(tmp_path: Path, name: str) -> None:
    trial = run(tmp_path, name)
    assert trial.status == "incomplete"
    assert summary_of(trial)["end_ps"] < 2e11


@pytest.mark.parametrize("name", ["storage-data-of-a-failed-pair", "storage-responses-of-a-failed-pair"])
def test_data_of_a_storage_operation_that_never_ended_are_counted_where_they_were_sent(
    tmp_path: Path, name: str
) -> None:
    chunks = rows(run(tmp_path, name), "chunks")
    unfinished = [chunk for chunk in chunks if chunk["status"] != "complete" and chunk["rx_frames"] > 0]
    assert unfinished
    assert all(chunk["rx_frames"] <= chunk["tx_frames"] for chunk in chunks)


def test_timeouts_of_a_storage_target_are_told_of_the_operation_whose_data_were_late(tmp_path: Path) -> None:
    (chunk,) = rows(run(tmp_path, "storage-timeouts-of-the-target"), "chunks")
    assert chunk["retransmits"] > 0
    assert chunk["timeouts"] > 0


def test_clients_that_go_on_until_others_end_may_end_before(tmp_path: Path) -> None:
    trial = run(tmp_path, "storage-until-others-end")
    assert trial.status == "incomplete"


def test_every_chunk_of_a_round_that_began_has_a_row(tmp_path: Path) -> None:
    trial = run(tmp_path, "failed-chunk-before-its-round")
    chunks = [chunk for chunk in rows(trial, "chunks") if chunk["job"] == "test"]
    assert len(chunks) == 6
    assert [chunk["status"] for chunk in chunks].count("unfinished") == 1


def test_no_message_through_cells_is_faster_than_alone(tmp_path: Path) -> None:
    chunks = rows(run(tmp_path, "idle-time-of-cells"), "chunks")
    fastest = min(chunks, key=lambda chunk: chunk["fct_ps"] - chunk["unloaded_ps"])
    # The first waits for nothing but its credits.
    assert 0 <= fastest["fct_ps"] - fastest["unloaded_ps"] < 20_000_000


@pytest.mark.parametrize("name", ["failed-chunk-delivered-later", "failed-chunk-of-a-later-round"])
def test_a_failed_chunk_tells_what_its_receiver_saw_until_the_end(tmp_path: Path, name: str) -> None:
    chunks = rows(run(tmp_path, name), "chunks")
    arrived = [chunk for chunk in chunks if chunk["status"] == "failed" and chunk["delivered_ps"] is not None]
    assert arrived
    assert all(chunk["completed_ps"] is None and chunk["rx_frames"] > 0 for chunk in arrived)


def test_messages_of_handshakes_are_none_of_the_failed_chunks(tmp_path: Path) -> None:
    trial = run(tmp_path, "chunks-failed-of-a-rendezvous")
    failed = sum(chunk["status"] == "failed" for chunk in rows(trial, "chunks"))
    assert summary_of(trial)["jobs"][0]["chunks_failed"] == failed == 2


@pytest.mark.parametrize("name", ["busy-beyond-the-end", "busy-by-rounding"])
def test_no_link_is_busy_for_longer_than_the_run(tmp_path: Path, name: str) -> None:
    trial = run(tmp_path, name)
    assert max(link["busy_ps"] for link in rows(trial, "links")) <= summary_of(trial)["end_ps"]


def test_delivered_bytes_are_payload_without_what_fills_it_up(tmp_path: Path) -> None:
    series = rows(run(tmp_path, "delivered-bytes-count-padding"), "series")
    delivered = [sample["value"] for sample in series if sample["metric"] == "delivered_bytes"]
    assert max(delivered) == 2  # one byte each way


def test_rounds_that_find_data_of_theirs_there_have_no_ideal(tmp_path: Path) -> None:
    overlapping = jobs_of([run(tmp_path, "ideal-above-100-warm-up")])[0].summary
    apart = jobs_of([run(tmp_path, "ideal-above-100-warm-up", "jobs.0.barrier=true")])[0].summary
    assert overlapping.value("ideal_percent") is None
    assert 0 < measured(apart, "ideal_percent") < 100
    assert measured(overlapping, "completion_time_ms") < measured(apart, "completion_time_ms")


def test_the_one_round_before_others_end_is_the_shortest_and_the_longest(tmp_path: Path) -> None:
    job = jobs_of([run(tmp_path, "one-round-until-others-end")])[1].summary
    assert job.rounds == 1
    assert job.value("completion_time_ms") == job.value("round_ms_min") == job.value("round_ms_max")


def test_ranks_that_take_in_the_last_round_when_others_end_took_as_long(tmp_path: Path) -> None:
    job = jobs_of([run(tmp_path, "last-round-until-others-end")])[1].summary
    assert job.rounds == 8
    # Each takes in what two others send, 5 us each; the rest is two messages of one packet.
    assert 0.0126 < measured(job, "round_ms_min") <= measured(job, "round_ms_max") < 0.0128
    assert measured(job, "completion_time_ms") <= measured(job, "round_ms_max")


def test_frames_that_wait_for_each_other_are_not_lost(tmp_path: Path) -> None:
    trial = run(tmp_path, "deadlock-of-credits")
    statuses = {chunk["status"] for chunk in rows(trial, "chunks")}
    assert (summary_of(trial)["status"], statuses) == ("stalled", {"complete", "unfinished"})
    assert "lost" not in summary_of(trial)["jobs"][0]["reason"]
    assert {event["kind"] for event in rows(trial, "events")} == {"credit_deadlock"}


def test_ranks_with_a_link_of_their_own_have_no_ideal(tmp_path: Path) -> None:
    trial = run(tmp_path, "ideal-above-100-scale-up")
    job = jobs_of([trial])[0].summary
    assert (job.value("ideal_percent"), job.status) == (None, "complete")


def test_a_run_waits_for_what_the_smallest_window_leaves_between_two_packets(tmp_path: Path) -> None:
    trial = run(tmp_path, "pause-of-a-small-window")
    late = [chunk for chunk in rows(trial, "chunks") if chunk["src_host"] == 1]
    assert trial.status == "complete"
    # The link is up again after 922 us; the next packet is due 2 ms after the one before.
    assert late[0]["timeouts"] == 6
    assert late[0]["delivered_ps"] > 922_000_000
