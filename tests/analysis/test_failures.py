"""How jobs go through failures, from rows made by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from fabricbench.analysis.faults.recovery import Curve, recoveries, recovery_object, steps
from fabricbench.analysis.faults.remaining_links import uplinks_left
from fabricbench.analysis.record.trial import Record

US = 1_000_000
END = 1_000
"""End of the run [us]; a sample every 10 us."""


class Rows:
    """Tables as lists of rows."""

    def __init__(self, tables: Mapping[str, list[dict[str, Any]]]) -> None:
        self._tables = tables

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        if self._tables[table]:
            batch = pa.RecordBatch.from_pylist(self._tables[table])
            yield batch.select(list(columns or batch.schema.names))


def rate_at(us: int, changes: Sequence[tuple[int, int]]) -> int:
    return next(rate for begin, rate in reversed(changes) if us >= begin)


def record(
    changes: Sequence[tuple[int, int]],
    failures: Sequence[Mapping[str, Any]],
    lost: int = 0,
    *,
    is_open: bool = False,
) -> Record:
    """A job delivered at those rates [bytes/us] from those times on [us]; frames lost from 500 to 600 us."""
    series, delivered = [], 0
    for us in range(10, END + 1, 10):
        delivered += 10 * rate_at(us - 10, changes)
        fallen = lost * min(max(us - 500, 0), 100) // 100
        rows = [("delivered_bytes", "test", delivered), ("lost_frames", None, fallen)]
        series += [
            {"metric": metric, "job": job, "time_ps": us * US, "value": value} for metric, job, value in rows
        ]
    events = [
        {
            "time_ps": one["at_ps"],
            "kind": one["kind"].replace("-", "_"),
            "node": "leaf0",
            "detail": f"{one['link']}, 1 link",
        }
        for one in failures
    ]
    events += [one | {"time_ps": one["time_ps"] + 50 * US, "kind": "routes_converged"} for one in events]
    links = [
        {"from": leaf, "from_port": 4 + spine, "to": f"spine{spine}", "rate_bps": 100}
        for leaf in ("leaf0", "leaf1")
        for spine in range(2)
    ]
    ports = [
        {"node": node, "tier": tier}
        for node, tier in (("leaf0", 1), ("leaf1", 1), ("spine0", 2), ("spine1", 2))
    ]
    chunks = [{"job": "test", "delivered_ps": at * US if at else None} for at in (510, 520, None)]
    tables = {"series": series, "events": events, "links": links, "ports": ports, "chunks": chunks}
    job = {"name": "test", "start_ps": 0, "end_ps": None if is_open else END * US, "rounds": 1}
    spec = {"jobs": [{"name": "test"}], "fabric": {"failures": failures, "convergence_time_ps": 50 * US}}
    return Record(spec, {"end_ps": END * US, "jobs": [job]}, Rows(tables))


def failure(kind: str, at_us: int, link: str = "spine1-leaf0") -> dict[str, Any]:
    return {"kind": kind, "at_ps": at_us * US, "link": link}


def test_a_dip_and_its_end_are_found_at_their_samples() -> None:
    made = record([(0, 100), (500, 20), (700, 95)], [failure("link-down", 500)], lost=40)
    (recovery,) = recoveries(made)
    assert (recovery.fell_ps, recovery.recovered_ps) == (500 * US, 700 * US)
    assert recovery.recovery_ms == pytest.approx(0.2, rel=1e-12)
    assert recovery.rate_before_gb_per_s == pytest.approx(100 / 1e3, rel=1e-12)
    assert recovery.rate_low_gb_per_s == pytest.approx(20 / 1e3)
    assert recovery.after_percent == pytest.approx(95)
    assert (recovery.lost_frames, recovery.window_ps) == (40, 10 * US)
    assert recovery.step.converged_ps == 550 * US
    assert recovery_object(recovery)["recovery_ms"] == recovery.recovery_ms


def test_a_job_that_goes_on_more_slowly_has_not_recovered() -> None:
    (recovery,) = recoveries(record([(0, 100), (500, 5), (600, 50)], [failure("link-down", 500)]))
    assert (recovery.recovered_ps, recovery.settled_ps) == (None, 600 * US)
    assert recovery.after_percent == pytest.approx(50)


def test_a_job_that_never_goes_on_has_stopped_and_all_frames_lost_are_told() -> None:
    made = record([(0, 100), (520, 0)], [failure("link-down", 500)], lost=40, is_open=True)
    (recovery,) = recoveries(made)
    assert (recovery.fell_ps, recovery.recovered_ps, recovery.stopped_ps) == (520 * US, None, 520 * US)
    assert (recovery.lost_frames, recovery.rate_after_gb_per_s, recovery.recovery_ms) == (40, None, None)


def test_a_job_that_stands_still_until_the_repair_is_not_steady_before() -> None:
    steps = [failure("link-down", 300), failure("link-up", 800)]
    (down, up) = recoveries(record([(0, 100), (500, 0), (800, 100)], steps, lost=30))
    assert (down.fell_ps, down.recovered_ps, down.settled_ps) == (500 * US, None, 800 * US)
    assert (down.rate_low_gb_per_s, down.rate_after_gb_per_s, down.lost_frames) == (0, None, 30)
    assert up.recovered_ps is None
    assert up.fell_ps is None


def test_a_repair_before_routes_converge_ends_what_is_told_of_the_failure() -> None:
    steps = [failure("link-down", 500), failure("link-up", 530)]
    (down, _) = recoveries(record([(0, 100), (500, 0), (600, 100)], steps))
    assert (down.recovered_ps, down.settled_ps, down.rate_after_gb_per_s) == (None, 530 * US, None)


def test_without_a_dip_the_recovery_takes_no_time() -> None:
    (recovery,) = recoveries(record([(0, 100), (500, 92)], [failure("link-down", 500)]))
    assert (recovery.fell_ps, recovery.recovery_ms) == (None, 0.0)
    assert recovery.after_percent == pytest.approx(92)


def test_each_step_ends_where_the_next_begins() -> None:
    made = record(
        [(0, 100), (300, 50), (700, 100)], [failure("link-down", 300), failure("link-up", 700)], lost=10
    )
    down, up = recoveries(made)
    assert (down.recovered_ps, down.step.until_ps) == (None, 700 * US)
    assert down.after_percent == pytest.approx(50)
    assert up.fell_ps is None
    assert up.after_percent == pytest.approx(100)
    assert [step.at_ps for step in steps(made)] == [300 * US, 700 * US]


def test_rates_that_vary_before_are_averaged_until_they_do_not() -> None:
    pulses = [(us, 150 if us % 40 == 0 else 50) for us in range(0, END, 20)]
    (recovery,) = recoveries(record(pulses, [failure("link-down", 500)]))
    assert recovery.window_ps == 40 * US
    assert recovery.fell_ps is None


def test_a_job_that_began_too_late_is_left_out() -> None:
    assert recoveries(record([(0, 100)], [failure("link-down", 20)])) == []
    assert recoveries(record([(0, 100)], [])) == []


def test_uplinks_are_counted_as_failures_leave_them() -> None:
    failures = [
        failure("link-down", 100, "spine1-leaf0"),
        failure("link-down", 200, "leaf1-spine0:0"),
        failure("link-rate", 300, "leaf1-spine1") | {"rate_bps": 25},
        failure("link-up", 400, "leaf0-spine1"),
    ]
    made = record([(0, 100)], failures)

    def left(us: int) -> list[tuple[str, int, int, float]]:
        return [(one.switch, one.up, one.all, one.rate_percent) for one in uplinks_left(made, us * US)]

    assert left(99) == []
    assert left(100) == [("leaf0", 1, 2, 50)]
    assert left(300) == [("leaf0", 1, 2, 50), ("leaf1", 1, 2, 12.5)]
    assert left(400) == [("leaf1", 1, 2, 12.5)]


def test_a_switch_that_is_down_takes_its_links_along() -> None:
    made = record([(0, 100)], [])
    made.run_spec["fabric"]["failures"] = [{"kind": "switch-down", "at_ps": 5, "switch": "spine0"}]
    assert [one.text for one in uplinks_left(made, 5)] == [
        "leaf0: 1 of 2 uplinks, 50 % of their rate",
        "leaf1: 1 of 2 uplinks, 50 % of their rate",
    ]


def test_a_curve_is_straight_between_samples_and_flat_beyond_them() -> None:
    curve = Curve([(100, 10), (200, 30), (400, 130)])
    times = (0, 100, 101, 150, 200, 300, 400, 401, 1000)
    assert [curve.at(time) for time in times] == [10, 10, 10.2, 20, 30, 80, 130, 130, 130]
    assert curve.rate(150, 300) == pytest.approx(60 / 150 * 1e12)
    assert curve.rate(0, 1000) == pytest.approx(120 / 1000 * 1e12)
