"""Downloads, imports, published results and metrics over HTTP are those of the command line."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import nbformat
import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from tests.server.conftest import ClientOf
from tests.support.samples import call

import fabricbench as fb
from fabricbench.figures.plotly_script import plotly_script_file
from fabricbench.importing import FORMATS
from fabricbench.server.routes.downloads import FILES
from fabricbench.server.routes.imports import BYTES_MAX

SAMPLES = Path(__file__).parents[1] / "measured" / "samples"

DASHBOARD = Path(__file__).parents[2] / "docs" / "examples" / "grafana.json"


def test_every_format_that_is_read_can_be_uploaded(client: TestClient) -> None:
    parameters = client.get("/openapi.json").json()["paths"]["/api/v1/imports"]["post"]["parameters"]
    (schema,) = (each["schema"] for each in parameters if each["name"] == "format")
    assert tuple(schema["anyOf"][0]["enum"]) == FORMATS


def test_every_file_of_a_trial_is_what_the_command_line_writes(
    reader: TestClient, records: Path, tmp_path: Path
) -> None:
    trial = fb.workspace(records).trial("latest")
    of_simulated = [file for file in FILES if file != "output.txt"]
    files = {file: reader.get(f"/api/v1/trials/{trial.id}/downloads/{file}") for file in of_simulated}
    assert reader.get(f"/api/v1/trials/{trial.id}/downloads/output.txt").status_code == 409
    assert {answer.status_code for answer in files.values()} == {200}
    disposition = files["report.html"].headers["content-disposition"]
    assert disposition == f'attachment; filename="widths-{trial.id}-report.html"'

    def told(*arguments: str) -> bytes:
        done = call(*arguments, "--workspace", records, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.encode()

    assert files["summary.json"].content == told("show", trial.id, "--format", "json")
    assert files["summary.csv"].content == told("show", trial.id, "--format", "csv")
    assert files["ports.csv"].content == told("export", trial.id, "--table", "ports")
    assert files["timeline.json"].content == told("export", trial.id, "--table", "timeline")
    assert files["plan.yaml"].text == trial.stored.facts.plan_source
    assert pl.read_parquet(io.BytesIO(files["chunks.parquet"].content)).equals(trial.chunks)
    assert nbformat.reads(files["notebook.ipynb"].text, as_version=4).cells
    call("report", trial.id, "-o", "report.html", "--workspace", records, cwd=tmp_path)
    assert files["report.html"].content == (tmp_path / "report.html").read_bytes()


def test_a_record_at_a_url_is_served_like_any_other(
    client_of: ClientOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRICBENCH_TABLES_URL", f"file://{tmp_path}/place")
    root = tmp_path / "workspace"
    (trial,) = fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=root)
    shutil.rmtree(root / "copies")
    client, path = client_of(root), f"/api/v1/trials/{trial.id}"
    files = ("downloads/chunks.parquet", "downloads/ports.csv", "downloads/report.html")
    for file in (*files, "tables/chunks", "figures/timeline"):
        assert client.get(f"{path}/{file}").status_code == 200
    shutil.rmtree(tmp_path / "place")
    shutil.rmtree(root / "copies")
    assert client.get(f"{path}/downloads/chunks.parquet").status_code == 503


def test_a_capture_has_the_frames_of_the_command_line(
    reader: TestClient, records: Path, tmp_path: Path
) -> None:
    trial = next(each for each in fb.workspace(records).trials() if each.plan == "jct-alltoall")
    path = f"/api/v1/trials/{trial.id}/downloads/capture.pcapng"
    captured = reader.get(path, params={"qp": [0, 3], "frames": 50})
    options = ("-s", f"sweep.data_size={trial.data_size_bytes}", "--qps", "0,3", "--frames", "50")
    call("capture", "jct-alltoall", *options, "-o", "capture.pcapng", cwd=tmp_path)
    assert captured.content == (tmp_path / "capture.pcapng").read_bytes()
    unknown = reader.get(path, params={"qp": 999})
    assert (unknown.status_code, unknown.json()["error"]["allowed"]) == (422, "0 to 55")


@pytest.mark.parametrize("file", ["catalog.sqlite", "chunks.exe", "trials.", "%2e%2e%2fx", "report.html%00"])
def test_no_other_file_is_there(reader: TestClient, file: str) -> None:
    assert reader.get(f"/api/v1/trials/latest/downloads/{file}").status_code in (404, 422)


def test_measured_results_are_imported(client: TestClient) -> None:
    sample = (SAMPLES / "nccl_old.txt").read_bytes()
    answer = client.post("/api/v1/imports?file=nccl.txt&tag=lab&tag=second", content=sample)
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert (found["format"], len(found["trials"])) == ("nccl-tests", 4)
    assert client.get("/api/v1/trials?tag=lab").json()["total"] == 4
    assert found["trials"][0]["tags"] == ["lab", "second"]
    trial = found["trials"][0]["id"]
    assert client.get(f"/api/v1/trials/{trial}/downloads/capture.pcapng").status_code == 409


def test_a_malformed_line_is_named_and_nothing_is_stored(client: TestClient) -> None:
    text = (SAMPLES / "nccl_old.txt").read_text()
    line = next(number for number, each in enumerate(text.splitlines(), 1) if re.match(r"\s+\d", each))
    broken = text.splitlines()
    broken[line - 1] = broken[line - 1].replace("float", "float nonsense")
    answer = client.post("/api/v1/imports?file=nccl.txt", content="\n".join(broken))
    assert (answer.status_code, answer.json()["error"]["line"]) == (422, line)
    for body in (b"", b"\xff\xfe", b"{" * 100_000, b"nothing known"):
        assert client.post("/api/v1/imports", content=body).status_code == 422
    large = client.post("/api/v1/imports", content=bytes(BYTES_MAX + 1))
    assert (large.status_code, large.json()["error"]["hint"]) == (413, "split the file")
    assert client.get("/api/v1/trials").json()["total"] == 0


def test_published_results_have_ours_beside_them(
    reader: TestClient, client_of: ClientOf, tmp_path: Path
) -> None:
    plans = reader.get("/api/v1/validation").json()["plans"]
    assert {plan["plan"] for plan in plans} >= {"jct-alltoall", "lb-alltoall-ecmp"}
    assert all(row["trial"] is None for plan in plans for row in plan["rows"])
    run = fb.run(fb.load("jct-alltoall").with_(data_size="16MB"), workspace=tmp_path)
    plans = client_of(tmp_path).get("/api/v1/validation").json()["plans"]
    plan = next(plan for plan in plans if plan["plan"] == "jct-alltoall")
    row = next(row for row in plan["rows"] if row["data_size_bytes"] == 16 << 20)
    assert row["trial"] == run[0].id
    busbw = row["metrics"]["busbw_gb_per_s"]
    summary = run.summary.row(0, named=True)
    assert busbw["ours"] == summary["busbw_gb_per_s"]
    assert busbw["published"] == summary["published_busbw_gb_per_s"]
    assert busbw["deviation_percent"] == summary["deviation_percent_busbw_gb_per_s"]
    assert plan["changed"] == 0
    drawn = client_of(tmp_path).get("/api/v1/validation/figure?plan=jct-alltoall").json()
    published, ours = drawn["data"]
    assert (published["name"], published["mode"], ours["name"]) == ("published", "markers", "ours")
    assert published["x"] == [row["data_size_bytes"] for row in plan["rows"]]
    assert (drawn["metric"], ours["x"], ours["y"]) == ("busbw_gb_per_s", [16 << 20], [busbw["ours"]])
    assert ours["text"] == [f"deviation {busbw['deviation_percent']:+.3g} %, trial {run[0].id}"]


def test_a_table_that_is_not_published_is_not_drawn(reader: TestClient) -> None:
    assert reader.get("/api/v1/validation/figure?plan=no-such").status_code == 404
    tables = reader.get("/api/v1/validation").json()["plans"]
    for table in tables:
        asked = {"plan": table["plan"], "variant": table["variant"]}
        drawn = reader.get("/api/v1/validation/figure", params=asked).json()
        assert [trace["name"] for trace in drawn["data"]] == ["published"], asked
        assert set(drawn["metrics"]) == {name for row in table["rows"] for name in row["metrics"]}


def test_a_trial_that_was_changed_is_not_what_the_plan_gives(tmp_path: Path, client_of: ClientOf) -> None:
    plan = fb.load("jct-alltoall").with_(data_size="16MB")
    shipped = fb.run(plan, workspace=tmp_path)[0]
    fb.run(plan.with_(seed=7), workspace=tmp_path)
    fb.run(plan.with_({"transport.ack_every": 1}), workspace=tmp_path)
    fb.import_results(SAMPLES / "nccl_alltoall.txt", workspace=tmp_path, plan="jct-alltoall")
    plans = client_of(tmp_path).get("/api/v1/validation").json()["plans"]
    found = next(plan for plan in plans if plan["plan"] == "jct-alltoall")
    assert [row["trial"] for row in found["rows"] if row["trial"]] == [shipped.id]
    assert found["changed"] == 2


def test_metrics_are_open_metrics(reader: TestClient) -> None:
    reader.get("/api/v1/plans/jct-alltoall")
    answer = reader.get("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    found = text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]
    families = {family.name: family for family in found}
    trials = {tuple(each.labels.values()): each.value for each in families["fabricbench_trials"].samples}
    assert trials["complete",] == 4
    requests = families["fabricbench_http_requests"].samples
    assert any(each.labels["route"] == "/api/v1/plans/{name}" and each.value >= 1 for each in requests)
    assert "fabricbench_http_request_seconds" in families


def test_the_dashboard_asks_for_what_the_server_has(reader: TestClient) -> None:
    reader.get("/api/v1/trials")
    families = text_string_to_metric_families(reader.get("/metrics").text)  # type: ignore[no-untyped-call]
    samples = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(asked) >= len(panels) > 5
    for expression in asked:
        for name, labels in re.findall(r"(fabricbench_\w+)\{([^}]*)\}", expression):
            used = set(re.findall(r"(\w+)=", labels)) | by_labels(expression)
            assert name in samples, expression
            # The scraper adds the instance.
            assert used - {"instance"} <= samples[name], expression


def by_labels(expression: str) -> set[str]:
    return {
        label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")
    }


def test_what_was_deleted_is_purged(tmp_path: Path, client_of: ClientOf) -> None:
    trial = fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=tmp_path)[0]
    client = client_of(tmp_path)
    client.delete(f"/api/v1/trials/{trial.id}")
    kept = call("workspace", "purge", "--workspace", tmp_path, cwd=tmp_path)
    assert "removed 0 trials" in kept.stderr
    done = call("workspace", "purge", "--older-than", "0", "--workspace", tmp_path, cwd=tmp_path)
    assert "removed 1 trial " in done.stderr
    assert not (tmp_path / "trials" / trial.id).exists()
    assert client.get("/api/v1/trials?deleted=true").json()["total"] == 0
    assert client.post(f"/api/v1/trials/{trial.id}/restore").status_code == 404
    assert json.loads(client.get("/api/v1/trials").text)["total"] == 0


def test_the_drawing_library_is_that_of_the_figures(reader: TestClient) -> None:
    answer = reader.get("/vendor/plotly.min.js", headers={"Authorization": ""})
    assert answer.status_code == 200
    assert answer.text == plotly_script_file().read_text(encoding="utf-8")
    assert answer.headers["content-type"].startswith("text/javascript")
