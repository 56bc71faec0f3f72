"""A sweep over two fields with the real engine: as its user reads it, as data, resumed, and drawn."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.integration.test_variants import called, told

import fabricbench as fb
from fabricbench.figures.registry import FIGURES, drawn
from fabricbench.report.documents.table import Table
from fabricbench.report.html.page_parts import PlotPart
from fabricbench.report.html.run_page import build_page
from fabricbench.results.job_reports import reports_of_run
from fabricbench.results.studies.sweep import Sweep, sweeps
from fabricbench.store import Trial, Workspace

PLAN = """\
fabricbench: 1
name: thresholds
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}
  switch: {ecn: {preset: alibaba}}
transport: {rate_control: dcqcn}
jobs:
  - {name: all, collective: all-to-all}
sweep:
  data_size: [256KB, 1MB]
  fabric.switch.ecn.kmin: [10KB, 50KB, 100KB]
  transport.window: [16, 64]
"""
KMIN, WINDOW = "fabric.switch.ecn.kmin", "transport.window"
POINTS = [
    (kmin, window, size)
    for kmin in ("10KB", "50KB", "100KB")
    for window in (16, 64)
    for size in (2**18, 2**20)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan and a workspace in which all of it has run."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "plan.yaml").write_text(PLAN)
    for kind in ("table", "json", "csv"):
        resumed = ["--resume"] if kind != "table" else []
        (folder / f"run.{kind}").write_text(
            called(folder, "run", "plan.yaml", "--format", kind, *resumed).stdout
        )
    return folder


def trials(folder: Path) -> list[Trial]:
    store = Workspace.open(folder / "fabricbench-workspace")
    return store.suite(store.find("latest"))


def only_sweep(folder: Path) -> Sweep:
    (found,) = sweeps(reports_of_run(trials(folder)))
    return found


def test_the_table_of_a_run_has_a_column_for_each_field(folder: Path) -> None:
    table, *matrices = (folder / "run.table").read_text().split("\n\n")
    lines = [line.split() for line in table.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [["ecn", "transport"], ["kmin", "window"]]
    assert [(line[0], int(line[1])) for line in lines[3:15]] == [(kmin, window) for kmin, window, _ in POINTS]
    titles = [matrix.splitlines()[0] for matrix in matrices]
    assert titles == [
        f"Completion time (ms) of job all, {size}: kmin by window" for size in ("256 KB", "1 MB")
    ]
    heads = [line.split() for line in matrices[0].splitlines()[2:]]
    assert [head[0] for head in heads] == ["kmin", "10KB", "50KB", "100KB"]
    assert heads[0] == ["kmin", "16", "64"]


def test_json_has_the_values_and_csv_a_column_for_each_field(folder: Path) -> None:
    found = json.loads((folder / "run.json").read_text())["trials"]
    assert [(*trial["axes"].values(), trial["data_size_bytes"]) for trial in found] == POINTS
    assert list(found[0]["axes"]) == [KMIN, WINDOW]
    rows = list(csv.DictReader(io.StringIO((folder / "run.csv").read_text())))
    assert [(row[KMIN], int(row[WINDOW]), int(row["data_size_bytes"])) for row in rows] == POINTS
    listed = list(csv.DictReader(io.StringIO(told(folder, "trials", "--format", "csv"))))
    assert {(row[KMIN], row[WINDOW]) for row in listed} == {(kmin, str(window)) for kmin, window, _ in POINTS}
    shown = told(folder, "show")
    assert f"{KMIN}  100KB" in " ".join(shown.splitlines()[3:6]).replace("   ", "  ")


def test_the_frame_of_a_run_can_be_grouped_by_the_fields(folder: Path) -> None:
    run = fb.workspace(folder / "fabricbench-workspace").trials(plan="thresholds")
    frame = run.summary
    assert [str(frame[name].dtype) for name in (KMIN, WINDOW)] == ["String", "Int64"]
    assert frame.group_by(KMIN).len()["len"].to_list() == [4, 4, 4]
    assert run[0].axes == {KMIN: "10KB", WINDOW: 16}


def test_two_runs_are_compared_at_the_same_values(folder: Path, tmp_path: Path) -> None:
    first = fb.workspace(folder / "fabricbench-workspace").trials(plan="thresholds")
    plan = fb.load(folder / "plan.yaml")
    sweep = {"data_size": "1MB", KMIN: ["100KB", "10KB"], WINDOW: [64]}
    changes = {"sweep": sweep, "transport.ack_every": 4}
    pairs = fb.compare(first, fb.run(plan.with_(changes), workspace=tmp_path)).filter(metric="ecn_ce_rx")
    assert len(pairs) == 2
    known = {tuple(trial.axes.values()): trial for trial in first if trial.data_size_bytes == 2**20}
    marks = [known[kmin, 64].summary["ecn_ce_rx"][0] for kmin in ("10KB", "100KB")]
    assert pairs["first"].to_list() == marks
    assert marks[0] > marks[1]


def test_a_run_of_some_values_is_resumed_as_part_of_the_sweep(tmp_path: Path) -> None:
    def run(*arguments: str) -> list[dict[str, object]]:
        found = called(tmp_path, "run", "plan.yaml", "--format", "json", *arguments)
        assert found.returncode == 0
        return [trial["axes"] for trial in json.loads(found.stdout)["trials"]]

    (tmp_path / "plan.yaml").write_text(PLAN)
    assert len(run("-s", "sweep.transport.window=[64]", "-s", "sweep.data_size=256KB")) == 3
    alone = ("-s", "transport.window=16", "-s", "fabric.switch.ecn.kmin=10KB")
    assert run("-s", "sweep={data_size: 256KB}", *alone) == [{}]
    before = json.loads(told(tmp_path, "trials", "--format", "json"))["trials"]
    resumed = run("-s", "sweep.data_size=256KB", "--resume")
    assert [tuple(axes.values()) for axes in resumed] == [
        (kmin, window) for kmin, window, size in POINTS if size == 2**18
    ]
    after = json.loads(told(tmp_path, "trials", "--format", "json"))["trials"]
    times = {trial["id"]: trial["started_at"] for trial in after}
    assert len(times) == 6
    assert {trial["id"]: trial["started_at"] for trial in before}.items() <= times.items()


def test_a_grid_has_a_value_for_each_combination(folder: Path) -> None:
    sweep = only_sweep(folder)
    assert [grid.about for grid in sweep.grids()] == ["256 KB", "1 MB"]
    grid = sweep.grids()[1]
    assert (grid.rows.title, grid.columns.title) == (KMIN, WINDOW)
    by_point = {
        tuple(str(value) for _, value in job.trial.facts.axes): job.summary.value("completion_time_ms")
        for job in reports_of_run(trials(folder))
        if job.trial.facts.data_size_bytes == 2**20
    }
    assert grid.values == by_point


def test_panels_have_lines_of_the_last_field_against_size(folder: Path) -> None:
    panels = only_sweep(folder).panels()
    assert [panel.about for panel in panels] == ["kmin 10KB", "kmin 50KB", "kmin 100KB"]
    for panel in panels:
        assert list(panel.lines) == ["window 16", "window 64"]
        assert [point.size_bytes for point in panel.lines["window 64"]] == [2**18, 2**20]


def test_fields_that_change_together_are_one_dimension(tmp_path: Path) -> None:
    text = PLAN.replace(f"  {KMIN}: [10KB, 50KB, 100KB]\n  {WINDOW}: [16, 64]\n", "").replace(
        "[256KB, 1MB]", "64KB"
    )
    text += f"  zip: {{{KMIN}: [10KB, 20KB], fabric.switch.ecn.kmax: [40KB, 80KB]}}\n  {WINDOW}: [16, 64]\n"
    (tmp_path / "plan.yaml").write_text(text)
    told(tmp_path, "run", "plan.yaml")
    (grid,) = only_sweep(tmp_path).grids()
    assert {grid.rows.values, grid.columns.values} == {("16", "64"), ("10KB / 40KB", "20KB / 80KB")}
    assert len([value for value in grid.values.values() if value is not None]) == 4


def test_the_report_shows_the_sweep(folder: Path) -> None:
    found = trials(folder)
    page = build_page(found, found[0])
    sections = {section.key: section for section in page.sections}
    assert [part.name for part in sections["sweep"].parts if isinstance(part, PlotPart)] == [
        "sweep-map-0",
        "sweep-lines-0",
    ]
    table = next(part for part in sections["summary"].parts if isinstance(part, Table))
    assert [column.title for column in table.columns[:3]] == ["kmin", "window", "data size"]


def test_a_map_has_its_values_written_in_it_and_lines_one_panel_for_each_value(folder: Path) -> None:
    found = trials(folder)
    plots = {name: drawn(name, found[0], found) for name in ("sweep-map", "sweep-lines")}
    assert all(FIGURES[name].of_run for name in plots)
    heat, lines = plots["sweep-map"], plots["sweep-lines"]
    assert heat is not None
    assert lines is not None
    assert [len(trace.z) for trace in heat.figure.data] == [3, 3]
    assert {trace.texttemplate for trace in heat.figure.data} == {"%{text}"}
    assert float(heat.figure.data[0].text[0][0]) == pytest.approx(heat.figure.data[0].z[0][0], rel=1e-3)
    assert [trace.name for trace in lines.figure.data] == ["window 16", "window 64"] * 3


def test_a_plan_without_swept_fields_has_neither_column_nor_figure(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.partition(f"  {KMIN}")[0])
    assert "kmin" not in told(tmp_path, "run", "plan.yaml")
    found = trials(tmp_path)
    assert drawn("sweep-map", found[0], found) is None
    assert drawn("sweep-lines", found[0], found) is None
    assert "sweep" not in {section.key for section in build_page(found, found[0]).sections}


def test_variants_are_compared_at_the_same_values(tmp_path: Path) -> None:
    text = PLAN.replace("[10KB, 50KB, 100KB]", "[10KB, 50KB]").replace("[256KB, 1MB]", "256KB")
    text += "variants: [{name: ecmp}, {name: spray, set: {fabric.load_balancing: spray-random}}]\n"
    (tmp_path / "plan.yaml").write_text(text)
    found = json.loads(told(tmp_path, "run", "plan.yaml", "--format", "json"))["trials"]
    by_id = {trial["id"]: trial for trial in found}
    assert len(found) == 8
    for trial in found:
        reference = by_id[trial["reference"]["trial"]]
        assert (reference["variant"], reference["axes"]) == ("ecmp", trial["axes"])
    compared = json.loads(told(tmp_path, "compare", "--by", "variant", "--format", "json"))["jobs"]
    assert len(compared) == 4
    assert all(pair["first"]["axes"] == pair["second"]["axes"] for pair in compared)
    told(tmp_path, "run", "plan.yaml", "-s", "transport.ack_every=4", "-s", "tag=other")
    pairs = told(tmp_path, "compare", "--by", "size", "latest", found[0]["id"], "--format", "json")
    assert len(json.loads(pairs)["jobs"]) == 8
    for pair in json.loads(pairs)["jobs"]:
        assert pair["first"]["axes"] == pair["second"]["axes"]


def test_the_heading_tells_what_is_swept_of_the_job(tmp_path: Path) -> None:
    text = PLAN.partition(f"  {KMIN}")[0].replace("[256KB, 1MB]", "840KB")
    text += "  fabric.topology.hosts_per_leaf: [2, 3]\n  jobs.0.collective: [all-to-all, all-gather]\n"
    (tmp_path / "plan.yaml").write_text(text)
    first, second, third, *_ = told(tmp_path, "run", "plan.yaml").splitlines()
    assert first == "thresholds, job all: all-to-all parallel or all-gather ring, 4 to 6 ranks"
    assert second.split()[:2] == ["topology", "jobs.0"]
    assert third.split()[:2] == ["hosts_per_leaf", "collective"]


def test_a_wrong_value_ends_with_status_2(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("50KB, ", "5 parsecs, "))
    finished = called(tmp_path, "run", "plan.yaml")
    assert finished.returncode == 2
    assert finished.stderr.startswith('error: plan.yaml:11: fabric.switch.ecn.kmin: found "5 parsecs" with ')
