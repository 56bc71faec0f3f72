"""Collectives, open-loop traffic and runs that did not complete each show what they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.stored import store_run

from fabricbench.figures import theme
from fabricbench.figures.registry import drawn
from fabricbench.report.documents.diagnosis import insight
from fabricbench.report.documents.table import Column, Table
from fabricbench.report.html.rendering import render_page
from fabricbench.report.html.run_page import build_page
from fabricbench.report.terminal.diagnosis import insight_text
from fabricbench.report.terminal.trial import trial_text
from fabricbench.results.job_reports import stored_reports
from fabricbench.store import Trial

TRAFFIC = {"kind": "open-loop", "process": "poisson", "duration_ps": 10**9}
ROUNDS = {"repeat": {"kind": "rounds", "rounds": 15}}


def stored(folder: Path, job: dict[str, Any], *, broken: bool = False) -> Trial:
    return store_run(folder / "workspace", sizes=[2**24], job=job, broken=broken)[0]


def columns(trial: Trial) -> list[Column]:
    page = build_page([trial], trial)
    summary = next(section for section in page.sections if section.key == "summary")
    return list(next(part for part in summary.parts if isinstance(part, Table)).columns)


def test_a_report_of_open_loop_traffic_has_its_rates_and_slowdowns_and_no_bus_bandwidth(
    tmp_path: Path,
) -> None:
    trial = stored(tmp_path, TRAFFIC)
    titles = [(column.title, column.unit) for column in columns(trial)]
    assert {("offered", "GB/s"), ("delivered", "GB/s"), ("P99", "slowdown")} < set(titles)
    assert not {"busbw", "of ideal"} & {title for title, _ in titles}
    assert "bandwidth" not in [section.key for section in build_page([trial], trial).sections]


@pytest.mark.parametrize(("job", "has_rounds"), [({}, False), (ROUNDS, True), ({"barrier": True}, True)])
def test_a_report_has_columns_of_rounds_where_a_job_repeats(
    tmp_path: Path, job: dict[str, Any], has_rounds: bool
) -> None:
    # What did not complete has all columns of its kind.
    titles = [column.title for column in columns(stored(tmp_path, job, broken=True))]
    assert ("longest" in titles) == has_rounds
    assert ("rank min" in titles) == ("barrier" in job)


def test_a_wide_table_is_set_densely_so_that_it_fits_a_page(tmp_path: Path) -> None:
    for job, is_dense in (({}, False), (ROUNDS, True)):
        trial = store_run(tmp_path / str(is_dense), sizes=[2**24], job=job)[0]
        assert ('<table class="dense">' in render_page(build_page([trial], trial))) == is_dense


def test_a_report_leaves_out_columns_that_hold_nothing(tmp_path: Path) -> None:
    for broken in (False, True):
        trial = store_run(tmp_path / str(broken), sizes=[2**24], job={"barrier": True}, broken=broken)[0]
        titles = {column.title for column in columns(trial)}
        assert {"time", "busbw", "FCT P50"} < titles
        assert ("rank min" in titles) == broken
        assert ("Round at a rank" in trial_text(stored_reports(trial))) == broken


def test_chunks_that_never_completed_keep_the_curve_of_completion_below_the_whole(tmp_path: Path) -> None:
    trial = stored(tmp_path, {}, broken=True)
    plot = drawn("cdf", trial, [trial])
    assert plot is not None
    assert plot.figure.data[0].y[-1] == pytest.approx(100 * 55 / 56, abs=1e-3)
    assert "below 100 %" in plot.caption


def test_curves_do_not_share_a_colour_with_the_next_dozen() -> None:
    for colour, count in ((theme.curve, 21), (theme.category, 24)):
        assert len({colour(index) for index in range(count)}) == count


@pytest.mark.parametrize(
    ("job", "shown", "hidden"),
    [({}, "Bus bandwidth", "Slowdown"), (TRAFFIC, "Slowdown P99", "Bus bandwidth")],
)
def test_a_trial_in_full_has_the_metrics_of_its_kind(
    tmp_path: Path, job: dict[str, Any], shown: str, hidden: str
) -> None:
    text = trial_text(stored_reports(stored(tmp_path, job)))
    assert shown in text
    assert hidden not in text
    assert "Operation P50" not in text


def test_a_job_that_did_not_complete_is_not_said_to_be_slow(tmp_path: Path) -> None:
    trial = stored(tmp_path, {}, broken=True)
    assert "why job test did not complete, likely causes" in insight_text(insight(trial))
    assert "Completion time" in trial_text(stored_reports(trial))
