"""Variants of a plan with the real engine: what they share, what is told of them, what can be asked."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.integration.real import run_plan
from tests.support.samples import call_program

from fabricbench.report.html.run_page import write_report
from fabricbench.store import Workspace

PLAN = """\
fabricbench: 1
name: fabrics
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}
jobs:
  - {name: ring, ranks: "0,1,4,5", collective: all-reduce}
  - {name: other, ranks: "2,3,6,7", collective: all-to-all}
sweep: {data_size: [256KB, 1MB]}
variants:
  - {name: ideal, reference: true, set: {fabric.topology: {kind: full-mesh, hosts: 8}}}
  - {name: ecmp}
  - {name: slow, set: {jobs.other.step_overhead: 20us}}
"""
SIZES = (256 << 10, 1 << 20)


def called(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call_program(*arguments, cwd=folder)


def told(folder: Path, *arguments: str) -> str:
    finished = called(folder, *arguments)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan and a workspace in which all of it has run."""
    folder = tmp_path_factory.mktemp("variants")
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "run.json").write_text(told(folder, "run", "plan.yaml", "--format", "json"))
    return folder


def trials_of(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "run.json").read_text())["trials"]
    return found


def test_each_job_has_its_ratio_to_the_same_job_of_the_reference(folder: Path) -> None:
    trials = trials_of(folder)
    known = {(each["variant"], each["job"], each["data_size_bytes"]): each for each in trials}
    assert len(known) == len(trials) == 3 * 2 * len(SIZES)
    for (variant, job, size), own in known.items():
        ideal, reference = known["ideal", job, size], own["reference"]
        assert (reference["variant"], reference["trial"]) == ("ideal", ideal["id"])
        ratios = reference["ratios"]
        expected = own["completion_time_ms"] / ideal["completion_time_ms"]
        assert ratios["completion_time_ratio"] == pytest.approx(expected, rel=1e-12)
        assert ratios["busbw_ratio"] == pytest.approx(1 / expected, rel=1e-9)
        assert ratios["delivered_ratio"] is None
        if variant == "ideal":
            assert set(ratios.values()) == {1.0, None}
        else:
            assert ratios["completion_time_ratio"] > 1


def test_a_variant_that_changes_one_job_leaves_the_paths_of_the_other(folder: Path) -> None:
    workspace = Workspace.open(folder / "fabricbench-workspace")
    paths = {}
    for trial in workspace.suite(workspace.find("latest")):
        rows = trial.tables.table("paths").to_pylist()
        own = [tuple(row[name] for name in ("src_rank", "dst_rank", "hop", "node", "port")) for row in rows]
        paths[trial.facts.variant] = sorted(own)
    assert paths["ecmp"] == paths["slow"] != paths["ideal"]


def test_the_table_sets_variants_side_by_side(folder: Path) -> None:
    text = told(folder, "run", "plan.yaml", "--resume")
    lines = text.splitlines()
    assert lines[0] == "fabrics, job other: all-to-all parallel, 4 ranks; ratios to ideal"
    assert lines[3].split()[:3] == ["256", "KB", "ideal"]
    assert [line.split()[0] for line in lines[4:6]] == ["ecmp", "slow"]
    assert "completion time of each job, ratio to ideal" in text
    matrix = lines[lines.index("completion time of each job, ratio to ideal") + 1 :]
    assert matrix[0].split() == ["size", "job", "ideal", "ecmp", "slow"]
    assert [line.split()[2] for line in matrix[1:5]] == ["ring", "other", "ring", "other"]
    assert {line.split()[3] for line in matrix[1:5]} == {"1.000"}


def test_csv_has_the_ratios_in_columns(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(told(folder, "run", "plan.yaml", "--resume", "--format", "csv"))))
    by_id = {(row["id"], row["job"]): row for row in rows}
    for each in trials_of(folder):
        row = by_id[each["id"], each["job"]]
        assert row["reference_trial"] == each["reference"]["trial"]
        assert float(row["fct_p99_ratio"]) == each["reference"]["ratios"]["fct_p99_ratio"]


def test_compare_shows_what_differs_and_every_metric(folder: Path) -> None:
    text = told(folder, "compare", "--by", "variant")
    assert "fabric.topology" in text
    assert "jobs.other.step_overhead  0ps" in text
    content = json.loads(told(folder, "compare", "--by", "variant", "--format", "json"))
    assert content["compared"] == ["ideal", "ecmp", "slow"]
    fields = {each["field"]: each["values"] for each in content["parameters"]}
    assert fields["jobs.other.step_overhead"] == {"ideal": "0ps", "ecmp": "0ps", "slow": "20us"}
    assert fields["fabric.topology"]["ideal"] == "full-mesh: hosts 8"
    assert len(content["jobs"]) == 2 * 2 * len(SIZES)
    assert {pair["first"]["variant"] for pair in content["jobs"]} == {"ideal"}


def test_compare_takes_another_reference_and_many_trials(folder: Path) -> None:
    content = json.loads(
        told(folder, "compare", "--by", "variant", "--reference", "ecmp", "--format", "json")
    )
    assert content["compared"] == ["ecmp", "ideal", "slow"]
    ratios = [pair["metrics"]["completion_time_ms"]["ratio"] for pair in content["jobs"]]
    assert min(ratios) < 1 < max(ratios)
    ids = [each["id"] for each in trials_of(folder)[:6:2]]
    content = json.loads(told(folder, "compare", *ids, "--format", "json"))
    assert content["compared"] == ids
    assert {(pair["first"]["id"], pair["second"]["id"]) for pair in content["jobs"]} == {
        (ids[0], ids[1]),
        (ids[0], ids[2]),
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--by", "variant", "--reference", "ideel"],
            'no trial of variant "ideel"; there are ideal, ecmp, slow',
        ),
        (["latest"], "name two trials or more, or --by variant"),
        (["latest", "latest"], "latest and latest name the same trial"),
        (["latest", "latest~1", "--by", "variant"], "--by variant takes one trial"),
        (["latest", "latest~1", "--reference", "ideal"], "--reference goes with --by variant"),
    ],
)
def test_a_comparison_that_cannot_be_made_says_why(folder: Path, arguments: list[str], expected: str) -> None:
    finished = called(folder, "compare", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert expected in finished.stderr


def test_the_comparison_is_a_table_that_can_be_exported(folder: Path) -> None:
    target = folder / "comparison.parquet"
    told(folder, "export", "--table", "comparison", "--format", "parquet", "-o", str(target))
    rows = pq.read_table(target).to_pylist()
    text = told(folder, "export", "--table", "comparison", "--format", "csv")
    assert text == told(folder, "compare", "--by", "variant", "--format", "csv")
    assert len(rows) == len(text.splitlines()) - 1
    assert json.loads(told(folder, "export", "--table", "comparison", "--format", "json")) == rows


def test_variants_that_run_later_stand_beside_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("[256KB, 1MB]", "256KB"))
    first = json.loads(told(tmp_path, "run", "plan.yaml", "--variant", "ecmp", "--format", "json"))
    assert [each["reference"] for each in first["trials"]] == [None, None]
    told(tmp_path, "run", "plan.yaml", "--variant", "ideal")
    again = json.loads(
        told(tmp_path, "run", "plan.yaml", "--variant", "ecmp", "--resume", "--format", "json")
    )
    assert [each["variant"] for each in again["trials"]] == ["ecmp", "ecmp"]
    assert all(each["reference"]["ratios"]["completion_time_ratio"] > 1 for each in again["trials"])
    assert len(Workspace.open(tmp_path / "fabricbench-workspace").trials()) == 2


@pytest.mark.parametrize(("limit", "status"), [(50, 0), (1.01, 3)])
def test_a_criterion_limits_the_ratio(tmp_path: Path, limit: float, status: int) -> None:
    criterion = f"criteria: [{{metric: completion_time_ratio, max: {limit}, variant: ecmp, job: ring}}]\n"
    (tmp_path / "plan.yaml").write_text(PLAN.replace("[256KB, 1MB]", "256KB") + criterion)
    finished = called(tmp_path, "run", "plan.yaml", "--format", "json")
    assert finished.returncode == status
    trials = json.loads(finished.stdout)["trials"]
    judged = [(each["variant"], each["job"], each["verdict"]) for each in trials if each["criteria"]]
    assert judged == [("ecmp", "ring", "fail" if status else "pass")]
    listed = json.loads(told(tmp_path, "trials", "--format", "json"))["trials"]
    verdicts = [job["verdict"] for trial in listed for job in trial["jobs"]]
    assert [verdict for verdict in verdicts if verdict] == ["fail" if status else "pass"]


def test_a_ratio_that_has_no_reference_is_not_met(tmp_path: Path) -> None:
    criterion = "criteria: [{metric: completion_time_ratio, max: 50, variant: ecmp}]\n"
    (tmp_path / "plan.yaml").write_text(PLAN.replace("[256KB, 1MB]", "256KB") + criterion)
    finished = called(tmp_path, "run", "plan.yaml", "--variant", "ecmp")
    assert finished.returncode == 3
    assert "completion_time_ratio of 50 or less: not met, it could not be measured" in finished.stdout


def test_an_incomplete_variant_has_no_ratio(tmp_path: Path) -> None:
    broken = "{name: broken, set: {fabric.switch.buffer: 32KB, transport.recovery: none}}"
    (tmp_path / "plan.yaml").write_text(PLAN.replace("{name: ecmp}", broken).replace("[256KB, 1MB]", "1MB"))
    finished = called(tmp_path, "run", "plan.yaml", "--format", "json")
    trials = json.loads(finished.stdout)["trials"]
    lost = [each for each in trials if each["status"] == "incomplete"]
    assert {each["variant"] for each in lost} == {"broken"}
    for each in lost:
        assert set(each["reference"]["ratios"].values()) == {None}
    metrics = json.loads(told(tmp_path, "compare", "--by", "variant", "--format", "json"))["jobs"]
    broken_ids = {each["id"] for each in lost}
    for pair in metrics:
        if pair["second"]["id"] in broken_ids and pair["second"]["job"] in {each["job"] for each in lost}:
            assert {each["ratio"] for each in pair["metrics"].values()} == {None}


def test_a_job_alone_that_variants_share_stands_beside_each(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("solo: true\n" + PLAN.replace("[256KB, 1MB]", "256KB"))
    trials = json.loads(told(tmp_path, "run", "plan.yaml", "--format", "json"))["trials"]
    labels = {each["variant"] for each in trials}
    assert {"ideal/solo/ring", "ecmp/solo/ring", "slow/solo/other"} <= labels
    assert "slow/solo/ring" not in labels
    beside = {(each["variant"], each["job"]): each["alone"] for each in trials if "/" not in each["variant"]}
    assert beside["slow", "ring"]["trial"] == beside["ecmp", "ring"]["trial"]
    assert beside["slow", "other"]["trial"] != beside["ecmp", "other"]["trial"]
    assert all(each["reference"] is None for each in trials if "/" in each["variant"])


def test_a_plan_without_variants_has_no_reference(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("[256KB, 1MB]", "256KB"))
    trials = json.loads(told(tmp_path, "run", "plan.yaml", "-s", "variants=[]", "--format", "json"))["trials"]
    assert [(each["variant"], each["reference"]) for each in trials] == [("base", None), ("base", None)]
    finished = called(tmp_path, "compare", "--by", "variant")
    assert finished.returncode == 2
    assert "is of a plan without variants" in finished.stderr


def test_the_report_leads_from_each_ratio_to_the_plots_of_its_variant(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN + "iterations: 2\n")
    trials = run_plan(tmp_path / "workspace", path)
    report = tmp_path / "report.html"
    write_report(trials, trials[-1], report)
    page = report.read_text()
    for name in ("ideal", "ecmp", "slow"):
        assert f'href="#variant-{name}"' in page
        assert page.count(f'id="variant-{name}"') == 1
    assert 'id="timeline-ecmp"' in page
    assert 'id="plot-ratio-1"' in page
    assert page.index('id="variants"') < page.index('id="summary"')
    assert "slow: completion time" in page
    assert "over several iterations the median" in page
