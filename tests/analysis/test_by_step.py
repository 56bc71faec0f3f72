"""The sums over the chunks of a job: the same in whatever order and batches rows come, kept for few steps."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables
from tests.support.fake_backend import chunk_row

from fabricbench.analysis.record import chunk_sums
from fabricbench.analysis.record.chunk_sums import Chunks

HOSTS, STEPS = 4, 3
LINE_PS = 20.0
OTHER = chunk_row(job="other", round=7, step=9, src_host=0, dst_host=1)


def rows(rounds: int) -> list[dict[str, Any]]:
    """Each host sends to the next but `step`; host 1 takes 50 ns longer in step 2, and sends frames again."""
    made = []
    for number in range(rounds):
        for step in range(STEPS):
            for host in range(HOSTS):
                slow = host == 1 and step == 2
                counters = {"tx_frames": 10, "tx_bytes": 41_580, "retransmits": 5 * slow}
                made.append(
                    chunk_row(
                        round=number,
                        step=step,
                        src_host=host,
                        dst_host=(host + step + 1) % HOSTS,
                        start_ps=(number * STEPS + step) * 1_000_000,
                        fct_ps=835_600 + 50_000 * slow,
                        latency_min_ps=1000 + number,
                        **counters,
                    )
                )
    return [*made, OTHER]


def sums(chunks: Chunks) -> dict[str, Any]:
    return {
        "steps": chunks.steps,
        "latency": chunks.latency_min_ps,
        "frames": chunks.total("tx_frames"),
        "sent": chunks.wire_sent,
        "received": chunks.wire_received,
        "at once": chunks.most_at_once,
        "share": (chunks.first_sent_share(), chunks.first_sent_share([1])),
        "resent": chunks.most_resent_bytes,
        "stretched": chunks.stretched_ps,
    }


def test_the_sums_are_those_of_the_rows() -> None:
    wire_bytes = 41_580 + 20 * 10
    found = sums(Chunks(MemoryTables(chunks=rows(5)), "test", LINE_PS))
    assert found == {
        "steps": STEPS,
        "latency": 1000,
        "frames": 10 * HOSTS * STEPS * 5,
        "sent": dict.fromkeys(range(HOSTS), wire_bytes * STEPS * 5),
        "received": dict.fromkeys(range(HOSTS), wire_bytes * STEPS * 5),
        "at once": dict.fromkeys(range(HOSTS), 1),
        "share": (1 - 25 / 600, 1 - 25 / 150),
        "resent": wire_bytes * 5 * 5 / 10,
        "stretched": 50_000 * 5,
    }


def test_a_job_without_chunks_has_no_sums() -> None:
    found = sums(Chunks(MemoryTables(chunks=[OTHER]), "test", LINE_PS))
    assert found == sums(Chunks(MemoryTables(), "test", LINE_PS))
    assert (found["steps"], found["latency"], found["stretched"], found["share"]) == (
        0,
        None,
        0.0,
        (1.0, 1.0),
    )


@pytest.mark.parametrize(("batch_rows", "kept"), [(1, 1), (7, 20), (7, 10_000), (1000, 20)])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_batches_and_the_order_of_rows_change_nothing(
    batch_rows: int, kept: int, is_shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = sums(Chunks(MemoryTables(chunks=rows(20)), "test", LINE_PS))
    monkeypatch.setattr(chunk_sums, "_OPEN_ROWS", kept)
    given = rows(20)
    if is_shuffled:
        random.Random(1).shuffle(given)
    assert sums(Chunks(MemoryTables(batch_rows, chunks=given), "test", LINE_PS)) == wanted


@pytest.mark.parametrize("rounds", [20, 200])
def test_what_is_kept_does_not_grow_with_the_rounds(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = 0

    class Watched(chunk_sums._OpenSteps):
        def closed(self, least_later: int) -> Any:
            nonlocal kept
            kept = max(kept, self._rows)
            return super().closed(least_later)

    monkeypatch.setattr(chunk_sums, "_OPEN_ROWS", 100)
    monkeypatch.setattr(chunk_sums, "_OpenSteps", Watched)
    Chunks(MemoryTables(30, chunks=rows(rounds)), "test", LINE_PS)
    assert 100 < kept < 200
