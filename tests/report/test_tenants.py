"""Jobs beside others and alone, in every output."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import call

from fabricbench.analysis.comparison.isolation import spread

PLAN = """
fabricbench: 1
name: tenants
fabric: {topology: {kind: single-switch, hosts: 8}}
jobs:
  - {name: first, ranks: "0-3", collective: all-to-all, algorithm: parallel}
  - {name: second, ranks: "4-7", collective: all-to-all, algorithm: parallel, data_size: 1MB}
solo: true
sweep: {data_size: [1MB, 2MB]}
"""


class Crowded(FakeBackend):
    """Jobs that have neighbours take twice as long."""

    def _job(self, spec, job, observer):  # type: ignore[no-untyped-def]
        outcome = super()._job(spec, job, observer)
        if len(spec["jobs"]) > 1:
            outcome["end_ps"] *= 2
        return outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tenants.yaml").write_text(PLAN)
    finished = call("run", "tenants.yaml", "--format", "json", cwd=tmp_path, backend=Crowded())
    assert finished.returncode == 0, finished.stderr
    (tmp_path / "run.json").write_text(finished.stdout)
    return tmp_path


def test_each_job_knows_how_it_did_alone(folder: Path) -> None:
    trials = json.loads((folder / "run.json").read_text())["trials"]
    places = [(trial["variant"], trial["job"], trial["data_size_bytes"] >> 20) for trial in trials]
    beside = [("base", "first", 1), ("base", "second", 1), ("base", "first", 2), ("base", "second", 1)]
    assert [place for place in places if place[0] == "base"] == beside
    alone = {trial["id"]: trial for trial in trials if trial["variant"] != "base"}
    for trial in trials:
        if trial["variant"] == "base":
            assert trial["alone"]["kept_percent"] == pytest.approx(50)
            assert trial["alone"]["interference_factor"] == pytest.approx(2)
            solo = alone[trial["alone"]["trial"]]
            assert solo["busbw_gb_per_s"] == trial["alone"]["busbw_gb_per_s"]
            assert (solo["job"], solo["data_size_bytes"]) == (trial["job"], trial["data_size_bytes"])
        else:
            assert trial["alone"] is None


def test_the_table_of_a_run_sets_them_side_by_side(folder: Path) -> None:
    text = call("run", "tenants.yaml", "--resume", cwd=folder, backend=Crowded()).stdout
    assert "solo/" not in text
    lines = text.partition("tenants, each job beside the others and alone\n")[2].splitlines()
    *rows, worst = lines[2:]
    assert worst.startswith("8 ranks in all; worst: job first keeps 50.0 % of its bus bandwidth alone")
    words = [re.split(r"\s{2,}", line.strip()) for line in rows]
    assert [tuple(line[:3]) for line in words[::2]] == [
        ("1 MB", "first", "others"),
        ("1 MB", "second", "others"),
        ("2 MB", "first", "others"),
        ("1 MB (sweep 2 MB)", "second", "others"),
    ]
    assert {line[6] for line in words[::2]} == {"50.0"}
    assert [line[0] for line in words[1::2]] == ["nobody"] * 4


def test_show_takes_a_job_alone_from_another_run_of_the_plan(folder: Path) -> None:
    # The job whose size stays the same now belongs to the newer run.
    call("run", "tenants.yaml", "-s", "sweep.data_size=4MB", cwd=folder, backend=Crowded())
    first = json.loads((folder / "run.json").read_text())["trials"]
    ids = {trial["id"] for trial in first if trial["variant"] == "base"}
    for trial in ids:
        shown = json.loads(call("show", trial, "--format", "json", cwd=folder).stdout)["trials"]
        assert [job["alone"]["kept_percent"] for job in shown] == pytest.approx([50, 50])


def test_csv_has_columns_for_the_job_alone(folder: Path) -> None:
    text = call("show", "latest", "--format", "csv", cwd=folder).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["kept_percent"][:4] for row in rows] == ["50.0", "50.0"]
    assert [float(row["interference_factor"]) for row in rows] == pytest.approx([2, 2])
    assert all(float(row["alone_busbw_gb_per_s"]) > float(row["busbw_gb_per_s"]) for row in rows)


@pytest.mark.parametrize(("most", "status"), [(2.1, 0), (1.9, 3)])
def test_interference_is_judged_where_jobs_run_alone(tmp_path: Path, most: float, status: int) -> None:
    criteria = f"criteria:\n  - {{metric: interference_factor, max: {most}}}\n"
    (tmp_path / "tenants.yaml").write_text(PLAN + criteria)
    finished = call("run", "tenants.yaml", cwd=tmp_path, backend=Crowded())
    assert finished.returncode == status, finished.stdout
    (tmp_path / "together.yaml").write_text(PLAN.replace("solo: true\n", "") + criteria)
    refused = call("run", "together.yaml", cwd=tmp_path, backend=Crowded())
    assert refused.returncode == 2
    assert "found interference_factor in a plan whose jobs do not run alone" in refused.stderr
    assert "several jobs and `solo: true`" in refused.stderr


def test_show_has_the_factor_among_the_kpis(folder: Path) -> None:
    told = json.loads(call("show", "latest", "--points", "--format", "json", cwd=folder).stdout)
    assert [job["interference_factor"] for job in told["jobs"].values()] == pytest.approx([2, 2])
    text = call("show", "latest", "--points", cwd=folder).stdout
    assert "Completion time over that alone" in text
    rows = list(
        csv.DictReader(io.StringIO(call("show", "latest", "--points", "--format", "csv", cwd=folder).stdout))
    )
    assert [row["kpi"] for row in rows] == list(told["points"])


def test_a_run_that_was_stopped_resumes_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "tenants.yaml").write_text(PLAN)
    stopping = Crowded(error=KeyboardInterrupt())
    stopped = call("run", "tenants.yaml", cwd=tmp_path, backend=stopping)
    assert stopped.returncode == 128 + signal.SIGINT
    assert "0 of 5 trials finished" in stopped.stderr
    finished = call("run", "tenants.yaml", "--resume", cwd=tmp_path, backend=Crowded())
    assert finished.returncode == 0
    assert finished.stdout.count("nobody") == 4


def test_a_spread_has_quartiles_by_nearest_rank_and_the_median_between_two() -> None:
    found = spread([4.0, 1.0, 3.0, 2.0])
    assert found is not None
    assert (found.count, *found.quartiles) == (4, 1, 1, 2.5, 3, 4)
    medians = [each.median for each in map(spread, ([0.7], [1.0, 2.0], [1.0, 5.0, 2.0])) if each]
    assert medians == [0.7, 1.5, 2]
    assert spread([]) is None
