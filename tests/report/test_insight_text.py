"""What the counters tell, in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.report.stored import store_run

from fabricbench.analysis.faults.recovery import Recovery, Step
from fabricbench.analysis.faults.remaining_links import UplinksLeft
from fabricbench.analysis.summary.reordering import Bucket, Reordering
from fabricbench.report.documents.diagnosis import Insight, insight
from fabricbench.report.terminal.diagnosis import insight_text

MS = 10**9
STEP = Step(
    10 * MS, ["link down: spine1-leaf1, 1 link"], None, 0, 30 * MS, [UplinksLeft("leaf1", 1, 2, 50.0)]
)
LOST = Recovery(
    job="test",
    step=STEP,
    rate_before_gb_per_s=384.9,
    rate_low_gb_per_s=0.25,
    rate_after_gb_per_s=212.6,
    fell_ps=10 * MS,
    recovered_ps=None,
    settled_ps=12 * MS,
    stopped_ps=None,
    window_ps=65_420_000,
    lost_frames=1,
    rounds_before_ms=None,
    rounds_during_ms=None,
    rounds_after_ms=None,
)


@pytest.fixture
def found(tmp_path: Path) -> Insight:
    return insight(store_run(tmp_path / "workspace", sizes=[2**24])[0])


@pytest.mark.parametrize(
    ("change", "cells"),
    [
        ({}, "212.6 55.2 not; steady after 2 ms 1"),
        ({"rate_after_gb_per_s": None}, "- - not; nor steady until 12 ms 1"),
        ({"recovered_ps": 13 * MS, "lost_frames": 2}, "212.6 55.2 3 ms 2"),
        ({"fell_ps": None, "lost_frames": 0}, "212.6 55.2 no dip 0"),
        ({"stopped_ps": 11 * MS}, "212.6 55.2 never; stopped after 1 ms 1"),
    ],
)
def test_what_became_of_the_rate_after_a_failure(
    found: Insight, change: dict[str, float | None], cells: str
) -> None:
    recovery = dataclasses.replace(LOST, **change)  # type: ignore[arg-type]
    text = insight_text(dataclasses.replace(found, recoveries=[recovery]))
    assert "failures and recovery, rates averaged over 65.42 us\n" in text
    what = "link down: spine1-leaf1, 1 link leaf1: 1 of 2 uplinks, 50 % of their rate"
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert f"10 ms test 384.9 0.25 {cells} - - - {what}" in lines


def test_frames_behind_the_newest_are_not_called_as_those_ahead_of_their_turn(found: Insight) -> None:
    order = Reordering("test", 100, 2, 2.0, 7, 77, 77, [Bucket(4, 7, 2)])
    text = insight_text(dataclasses.replace(found, orders=[order]))
    assert "frames out of order, behind the newest, and by how many frames" in text
    assert "frames behind" in text
