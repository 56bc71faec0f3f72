"""Convergence of rates from samples whose answer is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row, link_row
from tests.support.samples import job_spec, run_spec

from fabricbench.analysis.record.series_facts import SampleFacts
from fabricbench.analysis.summary.convergence import Convergence, convergence, fair_shares

ONSET_PS = 1_000
END_PS = 11_000
SHARE_BPS = 100_000_000_000
"""Of 400 Gb/s, between four queue pairs on one link between switches."""
LAG_PS = 90
"""Of ten samples the first nine after a change are averaged with some from before."""
FIRST, SECOND = (0, 1), (2, 3)

Rate = Callable[[int, int], float]


def jobs(start_ps: int = ONSET_PS) -> list[dict[str, Any]]:
    first = job_spec("first", (4, 0, 1), collective="incast")
    return [first, job_spec("second", (5, 2, 3), collective="incast", start_ps=start_ps)]


def rates(rate: Rate, every_ps: int = 10, qps: tuple[int, ...] = FIRST + SECOND) -> list[dict[str, Any]]:
    sample = {"metric": "rate_bps", "node": "host0", "port": 0, "priority": None, "job": None}
    return [
        sample | {"qp": qp, "time_ps": time_ps, "value": round(rate(qp, time_ps))}
        for qp in qps
        for time_ps in range(0, END_PS, every_ps)
        if time_ps >= ONSET_PS or qp in FIRST
    ]


def chunks() -> list[dict[str, Any]]:
    rows = [chunk_row(job="first", qp=qp, src_host=qp, dst_host=4, fct_ps=END_PS) for qp in FIRST]
    return [
        *rows,
        *(chunk_row(job="second", qp=qp, src_host=qp, dst_host=5, fct_ps=END_PS + qp) for qp in SECOND),
    ]


def cable(one: str, port: int, other: str, other_port: int) -> list[dict[str, Any]]:
    ends = ((one, port, other, other_port), (other, other_port, one, port))
    return [
        link_row(source, target, 1, 0) | {"from_port": out, "to_port": into}
        for source, out, target, into in ends
    ]


def links() -> list[dict[str, Any]]:
    """Four senders at one leaf, two receivers at another, one link between the leaves."""
    cables = [cable(f"host{host}", 0, "leaf0", host) for host in range(4)]
    cables += [cable(f"host{host}", 0, "leaf1", host) for host in (4, 5)]
    cables.append(cable("leaf0", 9, "leaf1", 9))
    return [row for rows in cables for row in rows]


def paths(qps: tuple[int, ...] = FIRST + SECOND) -> list[dict[str, Any]]:
    of_all = {"job": "first", "src_rank": 0, "dst_rank": 0, "hop": 0}
    return [of_all | {"qp": qp, "node": "leaf0", "port": 9, "peer": "leaf1"} for qp in qps]


def told(series: list[dict[str, Any]], spec: dict[str, Any] | None = None, **tables: Any) -> Convergence:
    spec = spec or run_spec(*jobs())
    outcomes = [job_summary(name=job["name"], end_ps=2 * END_PS) for job in spec["jobs"]]
    known = {"chunks": chunks(), "links": links(), "paths": paths(), "series": series}
    found = MemoryTables(**known | tables)
    samples = SampleFacts(found.batches("series"))
    return convergence(spec, run_summary(*outcomes), found, samples)


def after(time_ps: int, before: float = 3.0, then: float = 1.0) -> Rate:
    return lambda _qp, now: SHARE_BPS * (before if now < time_ps else then)


def test_it_takes_until_the_last_rate_comes_to_stay() -> None:
    found = told(rates(lambda qp, now: SHARE_BPS * (1 if now >= 3_000 + 500 * qp else 3)))
    assert (found.us, found.reason) == ((4_500 + LAG_PS - ONSET_PS) / 1e6, "")
    assert (found.flows, found.fair_share_bps, found.interval_ps) == (4, SHARE_BPS, 10)


def test_a_rate_that_leaves_again_has_not_converged_before() -> None:
    def rate(qp: int, now: int) -> float:
        return SHARE_BPS * (3 if now < 2_000 or (qp == 3 and now == 6_000) else 1)

    assert told(rates(rate)).us == (6_010 + LAG_PS - ONSET_PS) / 1e6


def test_a_rate_may_swing_around_its_share() -> None:
    found = told(rates(lambda _qp, now: SHARE_BPS * (3 if now < 2_000 else 0.8 + now // 10 % 2 * 0.4)))
    assert found.us == (2_000 + LAG_PS - ONSET_PS) / 1e6


@pytest.mark.parametrize(("then", "is_near"), [(1.1, True), (0.9, True), (1.11, False), (0.89, False)])
def test_ten_percent_is_near(then: float, is_near: bool) -> None:
    found = told(rates(after(5_000, then=then)))
    assert (found.us is not None) == is_near
    assert ("never stay" in found.reason) != is_near


def test_what_comes_after_the_first_end_does_not_count() -> None:
    ending = [row | {"completed_ps": 8_000} if row["qp"] == 1 else row for row in chunks()]
    found = told(rates(lambda _qp, now: SHARE_BPS * (3 if now < 3_000 or now > 8_000 else 1)), chunks=ending)
    assert found.us == (3_000 + LAG_PS - ONSET_PS) / 1e6


def test_coarse_samples_tell_no_short_time() -> None:
    found = told(rates(after(3_000), every_ps=100))
    assert (found.us, found.interval_ps) == (None, 100)
    assert "too far" in found.reason
    assert told(rates(after(6_000), every_ps=100)).us == (6_000 + 10 * LAG_PS - ONSET_PS) / 1e6


def test_rates_that_are_fair_from_the_start_are_not_timed() -> None:
    found = told(rates(after(0)))
    assert found.us is None
    assert "too far" in found.reason


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (run_spec(*jobs(start_ps=0)), "no job begins"),
        (run_spec(jobs()[0]), "no job begins"),
        (run_spec(*jobs(start_ps=3 * END_PS)), "no job begins"),
        (run_spec(*jobs()) | {"tcp": [{}]}, "TCP"),
        (run_spec(*jobs()) | {"observe": {"chunks": "summary"}}, "observe.chunks"),
    ],
)
def test_without_an_onset_that_can_be_followed_there_is_a_reason(spec: dict[str, Any], reason: str) -> None:
    found = told(rates(after(5_000)), spec)
    assert found.us is None
    assert reason in found.reason


def test_planes_are_no_one_bottleneck() -> None:
    spec = run_spec(*jobs())
    spec["fabric"]["topology"]["planes"] = 2
    assert "planes" in told(rates(after(5_000)), spec).reason


def test_those_who_share_nothing_do_not_converge() -> None:
    apart = [*cable("leaf0", 8, "leaf1", 8), *links()]
    moved = [row | {"port": 8} if row["qp"] in SECOND else row for row in paths()]
    found = told(rates(after(5_000)), links=apart, paths=moved)
    assert (found.us, found.flows) == (None, 4)
    assert "no bottleneck" in found.reason


def test_a_path_that_is_not_recorded_leaves_it_open() -> None:
    assert "no path" in told(rates(after(5_000)), paths=paths((0, 1, 2))).reason
    assert "not known" in told(rates(after(5_000)), links=[]).reason


def test_fair_shares_fill_one_link_after_the_other() -> None:
    thin, thick = ("leaf0", 0), ("leaf1", 0)
    flows = {0: [thin], 1: [thin, thick], 2: [thick], 3: [thick]}
    shares = fair_shares(flows, {thin: 60, thick: 120})
    assert shares == {0: 30, 1: 30, 2: 45, 3: 45}
    assert fair_shares({}, {thin: 1}) == {}


def test_each_has_a_fair_share_of_its_own() -> None:
    # A second sender of host 3 makes its port no tighter than the link that all five share.
    rows = [*chunks(), chunk_row(job="second", qp=4, src_host=3, dst_host=5, fct_ps=END_PS)]
    found = told(
        rates(after(5_000, then=0.8), qps=(0, 1, 2, 3, 4)), chunks=rows, paths=paths((0, 1, 2, 3, 4))
    )
    assert (found.flows, found.fair_share_bps) == (5, 80_000_000_000)
    assert found.us == (5_000 + LAG_PS - ONSET_PS) / 1e6


def test_queue_pairs_that_were_not_sampled_leave_it_open() -> None:
    found = told(rates(after(5_000), qps=(0, 2, 3)))
    assert (found.us, found.reason.startswith("rates of 3 of 4")) == (None, True)
    assert "no rates" in told([]).reason
    late = [row for row in rates(after(5_000)) if row["qp"] != 3 or row["time_ps"] > 10_999]
    assert told(late).us is None
