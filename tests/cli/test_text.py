"""Text tables: numbers that stay whole and columns that fit."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.support.samples import run_spec, trial_facts

from fabricbench.analysis.comparison.ratios import deviations
from fabricbench.analysis.summary.job_summary import summary_of
from fabricbench.report.documents.numbers import count, number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.report.terminal.trial import trial_list
from fabricbench.results.job_reports import ComparisonTrials, JobReport, stored_reports
from fabricbench.store import Trial
from fabricbench.words import data_size

LARGE = {
    "job": "test",
    "collective": "all-to-all",
    "algorithm": "parallel",
    "ranks": 8,
    "data_size_bytes": 200 << 30,
    "status": "complete",
    "reason": "",
    "completion_time_ms": 7798.941,
    "algbw_gb_per_s": 149.537,
    "busbw_gb_per_s": 148.191,
    "ideal_percent": 101.3,
    "fct_ms_min": 5653.65,
    "fct_ms_p50": 5756.56,
    "fct_ms_p95": 5856.56,
    "fct_ms_max": 15856.5,
    "pfc_rx": 2**40,
    "ecn_ce_rx": 12_345_678,
    "cnp_tx": 99_999,
    "retransmits": 100_000,
    "frames_lost": 999_999_999,
}
PUBLISHED = {
    "completion_time_ms": 7798.94,
    "busbw_gb_per_s": 48.19,
    "ideal_percent": 98.3,
    "min_fct_ms": 553.65,
    "p50_fct_ms": 556.56,
}


def report(**given: Any) -> JobReport:
    summary = summary_of(LARGE | given, run_spec())
    facts = trial_facts(published={"table": "a.csv", "source": "", "values": PUBLISHED})
    none: Any = None
    trial = Trial(1, facts, "complete", "", "2026-01-01T00:00:00", None, {}, (), {}, {}, none)
    return JobReport(trial, summary, deviations(summary, PUBLISHED))


def test_the_table_of_a_run_fits_120_columns_with_large_numbers() -> None:
    lines = run_table([report()]).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[3].split() == (
        [
            "200",
            "GB",
            "7798.9",
            "149.5",
            "148.2",
            "101.30",
            "5653.6",
            "5756.6",
            "5856.6",
            "15856",
            "1.1T",
            "12.3M",
            "99999",
            "100k",
            "1G",
        ]
    )
    assert lines[4].split() == ["published", "7798.94", "48.19", "98.3", "553.65", "556.56"]
    assert lines[5].split()[:3] == ["deviation", "+0.00%", "+207.51%"]


def test_columns_line_up() -> None:
    lines = run_table([report(), report(data_size_bytes=16 << 20, completion_time_ms=0.3)]).splitlines()
    table = [line for line in lines[1:] if line.strip() and not line.startswith("published:")]
    ends = {
        line.index(word) + len(word) for line, word in zip(table[2:4], ["7798.9", "7798.94"], strict=True)
    }
    assert len(ends) == 1


def test_what_could_not_be_measured_is_a_dash_and_says_why() -> None:
    text = run_table([report(status="incomplete", reason="3 chunks", busbw_gb_per_s=None)])
    assert "200 GB is incomplete: 3 chunks" in text
    assert text.splitlines()[3].split()[4] == "-"


def test_a_job_of_one_size_is_told_apart_where_others_are_swept() -> None:
    trials = [
        dataclasses.replace(report().trial, attempt=index, facts=trial_facts(data_size_bytes=size, suite="a"))
        for index, size in enumerate((1 << 20, 2 << 20))
    ]
    rows = [LARGE | {"job": name, "data_size_bytes": size} for name, size in (("own", 1 << 20),)]
    jobs = [
        each
        for trial in trials
        for each in stored_reports(dataclasses.replace(trial, results=tuple(rows)), ComparisonTrials(trials))
    ]
    assert [job.size for job in jobs] == ["1 MB", "1 MB (sweep 2 MB)"]
    alone = stored_reports(dataclasses.replace(trials[1], results=tuple(rows)), ComparisonTrials(trials[1:]))
    assert [job.size for job in alone] == ["1 MB"]


def test_a_job_without_a_round_says_so() -> None:
    text = run_table([report(rounds=0, completion_time_ms=None)])
    assert "200 GB: no round was complete when the other jobs had ended" in text
    assert "no round" not in run_table([report(rounds=1)])


def test_columns_that_hold_nothing_in_any_row_are_left_out() -> None:
    none = dataclasses.replace(report(ideal_percent=None), deviations=[])
    some = dataclasses.replace(report(), deviations=[])
    assert "ideal" not in run_table([none])
    assert "ideal" in run_table([none, some])
    missing = dataclasses.replace(report(ideal_percent=None, status="incomplete"), deviations=[])
    assert "ideal" in run_table([missing])


def test_a_stalled_job_is_called_so() -> None:
    text = run_table([report(status="stalled", reason="leaf0 port 1 is paused", busbw_gb_per_s=None)])
    assert "200 GB is stalled: leaf0 port 1 is paused" in text
    assert text.splitlines()[3].split()[4] == "-"


def test_variants_and_tags_have_tables_of_their_own() -> None:
    one = report()
    facts = dataclasses.replace(one.trial.facts, variant="spray", tag="b")
    two = dataclasses.replace(one, trial=dataclasses.replace(one.trial, facts=facts))
    text = run_table([one, two])
    assert text.count("algbw") == 2
    assert "small [b], spray, job test" in text


def test_a_list_has_a_line_for_a_trial_without_jobs() -> None:
    one = report()
    running = dataclasses.replace(one.trial, attempt=2, status="running")
    lines = trial_list([one.trial, running], [one]).splitlines()
    assert [line.split()[-3] for line in lines[2:]] == ["101.30", "-"]
    assert "running" in lines[3]
    assert max(map(len, lines)) <= 120


def test_styles_are_for_terminals_only() -> None:
    table = Table([Column("a")], [Row(["1"], "bad")])
    assert render(table, colour=False) == "a\n1"
    assert render(table, colour=True) == "\x1b[1ma\x1b[0m\n\x1b[31m1\x1b[0m"
    assert styled("a", Style.PLAIN, colour=True) == "a"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.30825, "0.30825"),
        (158.3244, "158.32"),
        (7798.941, "7798.9"),
        (123456.7, "123457"),
        (0.0000123, "0.0000123"),
    ],
)
def test_numbers_keep_their_digits(value: float | None, text: str) -> None:
    assert number(value, 5) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (99_999, "99999"),
        (100_000, "100k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (2**63, "9.22e+18"),
        (None, "-"),
    ],
)
def test_counts_are_short(value: int | None, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (16 << 20, "16 MB"),
        (3 << 29, "1.5 GB"),
        (1000, "1000 B"),
        (1 << 40, "1 TB"),
        (0, "0 B"),
        (1 << 10, "1 KB"),
        (1_000_000, "1000000 B"),
    ],
)
def test_data_sizes_are_exact(size: int, text: str) -> None:
    assert data_size(size) == text
