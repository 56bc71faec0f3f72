"""A failure after the end of the run is told wherever a reader would take it for survived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.stored import run_spec, store_run

from fabricbench.analysis.faults.unreached_failures import unreached_failures
from fabricbench.report.documents.diagnosis import insight
from fabricbench.report.html.rendering import render_page
from fabricbench.report.html.run_page import build_page
from fabricbench.report.output.json_csv import trials_json
from fabricbench.report.terminal.diagnosis import insight_text
from fabricbench.report.terminal.run import run_table
from fabricbench.results.job_reports import stored_reports

MS = 10**9
LATE = {"at_ps": 10_000 * MS, "kind": "link-down", "link": "spine1-leaf0"}


def words(*failures: dict[str, Any]) -> list[str]:
    return unreached_failures({"fabric": {"failures": list(failures)}}, 2 * MS)


@pytest.mark.parametrize(
    ("failure", "what"),
    [
        (LATE, "link down: spine1-leaf0 at 10 s"),
        ({"at_ps": 3 * MS, "kind": "switch-down", "switch": "spine0"}, "switch down: spine0 at 3 ms"),
        ({"at_ps": 3 * MS, "kind": "nic-throughput", "host": 5}, "NIC throughput: host5 at 3 ms"),
    ],
)
def test_a_failure_after_the_end_is_named(failure: dict[str, Any], what: str) -> None:
    assert words(failure) == [f"{what} never happened, the run ended at 2 ms"]


def test_a_repair_and_a_link_that_flaps_on_are_not() -> None:
    down = {"at_ps": MS, "kind": "link-down", "link": "spine1-leaf0"}
    assert words(down, LATE | {"kind": "link-up"}, LATE) == []


def test_run_show_and_report_tell_of_it(tmp_path: Path) -> None:
    spec = run_spec(8, 2**24, "all-to-all")
    spec["fabric"]["failures"] = [LATE]
    trial = store_run(tmp_path / "workspace", sizes=[2**24], changes={"run_spec": spec})[0]
    expected = "link down: spine1-leaf0 at 10 s never happened"
    assert f"16 MB: {expected}" in run_table(stored_reports(trial))
    assert expected in insight_text(insight(trial))
    (shown,) = json.loads(trials_json(stored_reports(trial)))["trials"]
    assert shown["unreached_failures"] == [{"failure": "link down: spine1-leaf0", "at_ps": 10_000 * MS}]
    assert expected in render_page(build_page([trial], trial))
