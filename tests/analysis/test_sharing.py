"""Who shares a link, and when, from tables made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables
from tests.support.fake_backend import chunk_row

from fabricbench.analysis.links.path_overlap import occupancies, placements

LINK = ("leaf0", 4)


def hop(qp: int, job: str, ends: tuple[int, int], node: str, port: int, number: int = 0) -> dict[str, Any]:
    row = {"qp": qp, "job": job, "src_rank": ends[0], "dst_rank": ends[1], "hop": number}
    return row | {"node": node, "port": port, "peer": "spine0"}


def tables(times: dict[int, tuple[str, int, int]], *paths: dict[str, Any]) -> MemoryTables:
    chunks = [
        chunk_row(qp=qp, job=job, start_ps=start, fct_ps=end - start)
        for qp, (job, start, end) in times.items()
    ]
    return MemoryTables(chunks=chunks, paths=list(paths))


def test_a_placement_counts_the_queue_pairs_of_others_and_the_time_beside_them() -> None:
    made = tables(
        {0: ("ring", 0, 100), 1: ("ring", 100, 200), 7: ("other", 50, 150), 8: ("other", 0, 400)},
        hop(0, "ring", (1, 2), "leaf0", 4),
        hop(1, "ring", (1, 2), "leaf0", 5),
        hop(7, "other", (0, 2), "leaf0", 4),
        hop(8, "other", (0, 3), "leaf0", 4),
    )
    found = placements(made)
    assert [pair.text for pair in found["ring"].pairs] == ["1>2: 2+0"]
    # Of its 200 it spends 50 beside one, 50 beside two, and 100 on a link of its own.
    assert found["ring"].overlap_fractions == pytest.approx((0.5, 0.25, 0.25, 0))
    assert found["ring"].mean_overlap == pytest.approx(0.75)
    assert [pair.text for pair in found["other"].pairs] == ["0>2: 1", "0>3: 1"]
    assert found["other"].overlap_fractions == pytest.approx((0.7, 0.3, 0, 0))


def test_a_later_link_counts_where_more_are_met() -> None:
    made = tables(
        {0: ("ring", 0, 100), 7: ("other", 0, 100)},
        hop(0, "ring", (1, 2), "leaf0", 4),
        hop(0, "ring", (1, 2), "spine0", 1, 1),
        hop(7, "other", (0, 2), "leaf3", 4),
        hop(7, "other", (0, 2), "spine0", 1, 1),
    )
    assert [pair.text for pair in placements(made)["ring"].pairs] == ["1>2: 1"]


def test_without_paths_there_is_nothing_to_say() -> None:
    made = tables({0: ("ring", 0, 100)})
    assert (placements(made), occupancies(made, [LINK])) == ({}, {})


def test_chunks_that_follow_each_other_are_not_at_once() -> None:
    times = {0: ("ring", 0, 100), 1: ("ring", 100, 200), 2: ("ring", 200, 300)}
    made = tables(times, *(hop(qp, "ring", (1, 2), "leaf0", 4) for qp in times))
    found = occupancies(made, [LINK])[LINK]
    assert (found.flows, found.qps) == (("rank 1 to 2 (3 queue pairs)",), 3)
    assert (found.most_at_once, found.shared_ps) == (1, 0)


def test_what_is_at_once_is_named_with_the_time_that_it_shares_the_link() -> None:
    times = {0: ("ring", 0, 100), 1: ("ring", 50, 150), 2: ("ring", 90, 120), 3: ("ring", 150, 200)}
    ends = {0: (1, 2), 1: (1, 3), 2: (1, 2), 3: (1, 4)}
    made = tables(times, *(hop(qp, "ring", ends[qp], "leaf0", 4) for qp in times))
    found = occupancies(made, [LINK])[LINK]
    assert (found.most_at_once, found.shared_ps) == (3, 70)
    assert found.at_once == ("rank 1 to 2 (2 queue pairs)", "rank 1 to 3")
