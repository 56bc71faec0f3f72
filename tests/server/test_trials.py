"""Trials over HTTP have the figures of the command line and of Python, to the last digit."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ClientOf
from tests.support.samples import call

import fabricbench as fb
from fabricbench.metrics import BY_NAME
from fabricbench.store import Workspace


def told(records: Path, *arguments: str) -> Any:
    done = call(*arguments, "--workspace", records, "--format", "json", cwd=records)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(client: TestClient, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/trials", params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["trials"]
    return found


def test_a_list_has_what_the_command_line_lists(reader: TestClient, records: Path) -> None:
    listed = rows(reader, order="asc")
    expected = told(records, "trials")["trials"]
    assert [row["id"] for row in listed] == [row["id"] for row in expected]
    assert [row["jobs"] for row in listed] == [row["jobs"] for row in expected]
    assert reader.get("/api/v1/trials").json()["total"] == 4


@pytest.mark.parametrize(
    ("parameters", "sizes"),
    [
        ({"plan": "jct-alltoall", "sort": "data_size_bytes"}, [8 << 20, 1 << 20]),
        ({"plan": "jct-alltoall", "sort": "busbw_gb_per_s", "order": "asc"}, [1 << 20, 8 << 20]),
        ({"tag": "lab", "order": "asc"}, [1 << 20, 8 << 20]),
        ({"search": "JCT lab", "limit": 1, "order": "asc", "offset": 1}, [8 << 20]),
        ({"search": "lab nothing"}, []),
        ({"search": "100%"}, []),
        ({"variant": "narrow"}, [2 << 20]),
        ({"status": "failed"}, []),
        ({"backend": "sim", "sort": "backend", "search": "jct sim", "order": "asc"}, [1 << 20, 8 << 20]),
        ({"backend": "imported"}, []),
        ({"deleted": True}, []),
    ],
)
def test_lists_are_searched_filtered_and_ordered(
    reader: TestClient, parameters: dict[str, Any], sizes: list[int]
) -> None:
    assert [row["data_size_bytes"] for row in rows(reader, **parameters)] == sizes


def test_trials_are_ordered_by_any_metric_that_is_declared(reader: TestClient) -> None:
    declared = reader.get("/api/v1/metrics").json()["metrics"]
    assert [metric["name"] for metric in declared] == list(BY_NAME)
    assert declared[0]["title"] == "Completion time"
    for metric in declared:
        values = [
            flat_metrics(row["jobs"][0]).get(metric["name"]) for row in rows(reader, sort=metric["name"])
        ]
        known = [value for value in values if value is not None]
        assert values == sorted(known, reverse=True) + [None] * (len(values) - len(known))


def flat_metrics(job: dict[str, Any]) -> dict[str, Any]:
    """Return what a job has, with what JSON groups under its own name."""
    groups = [(name, value) for name, value in job.items() if isinstance(value, dict)]
    return job | {f"{name}_{part}": each for name, value in groups for part, each in value.items()}


def test_runs_are_listed_with_what_matches_of_them(reader: TestClient) -> None:
    answer = reader.get("/api/v1/trials/by-run", params={"sort": "plan", "order": "asc"}).json()
    assert [(run["plan"], run["trials"]) for run in answer["runs"]] == [("jct-alltoall", 2), ("widths", 2)]
    assert (answer["total"], answer["runs"][0]["sizes"], answer["runs"][1]["variants"]) == (2, 2, 2)
    narrow = reader.get("/api/v1/trials/by-run", params={"variant": "narrow"}).json()["runs"]
    assert [(run["plan"], run["trials"]) for run in narrow] == [("widths", 1)]
    one = rows(reader, suite=narrow[0]["suite"])
    assert sorted(row["variant"] for row in one) == ["narrow", "wide"]


def test_a_run_has_its_results_the_worst_first(reader: TestClient) -> None:
    runs = reader.get("/api/v1/trials/by-run", params={"sort": "plan", "order": "asc"}).json()["runs"]
    detail = reader.get(f"/api/v1/runs/{runs[1]['suite']}").json()
    assert (detail["plan"], detail["state"], detail["in_queue"]) == ("widths", "complete", False)
    assert (detail["trials_finished"], detail["trials_total"]) == (2, 2)
    results = reader.get(f"/api/v1/runs/{runs[1]['suite']}/results").json()
    assert (results["dimensions"], results["total"], results["metric"]) == (["variant"], 2, "ideal_percent")
    assert [row["values"] for row in results["results"]] == [["narrow"], ["wide"]]
    assert results["worst"]["trial"] == results["results"][0]["trial"] == results["focus"]
    assert results["best"]["label"] == "2 MB, wide"
    assert results["sentences"] == ["Completion time of test, ratio to wide: narrow 2.12."]
    sizes = reader.get(f"/api/v1/runs/{runs[0]['suite']}/results").json()
    assert [row["values"] for row in sizes["results"]] == [["1 MB"], ["8 MB"]]
    assert sizes["headline"].startswith("Bus bandwidth of 2 results: ")
    assert reader.get("/api/v1/runs/0123456789ab/results").status_code == 404
    assert reader.get("/api/v1/runs/0123456789ab").status_code == 404


def test_trials_are_filtered_by_thresholds_of_metrics(reader: TestClient) -> None:
    slowest = min(row["jobs"][0]["ideal_percent"] for row in rows(reader))
    assert len(rows(reader, where=[f"ideal_percent<={slowest}"])) == 1
    assert len(rows(reader, where=["ideal_percent>0", f"ideal_percent>{slowest}"])) == 3
    refused = reader.get("/api/v1/trials", params={"where": "ideal<5"})
    fault = refused.json()["error"]
    assert (refused.status_code, fault["message"]) == (422, 'where: no metric "ideal"')
    assert fault["hint"] == "did you mean `ideal_percent`?"


def test_the_choices_of_the_filters_are_those_there_are(reader: TestClient) -> None:
    found = reader.get("/api/v1/trials/choices").json()
    assert found["plan"] == ["jct-alltoall", "widths"]
    assert found["variant"] == ["base", "narrow", "wide"]
    assert (found["status"], found["tag"], found["backend"]) == (["complete"], ["lab"], ["sim"])


def test_a_trial_has_the_figures_of_the_command_line_and_of_python(reader: TestClient, records: Path) -> None:
    for row in rows(reader):
        shown = reader.get(f"/api/v1/trials/{row['id']}").json()
        assert shown["shown"] == told(records, "show", row["id"])
        summary = fb.workspace(records).trial(row["id"]).summary.row(0, named=True)
        (job,) = shown["shown"]["trials"]
        for name in (
            "busbw_gb_per_s",
            "algbw_gb_per_s",
            "ideal_percent",
            "completion_time_ms",
            "fct_mean_ms",
        ):
            assert job[name] == summary[name]
        assert job["fct_ms"]["p99"] == summary["fct_ms_p99"]
    assert [member["variant"] for member in shown["suite_trials"]] == ["base"] * 2
    assert shown["tags"] == ["lab"]


def test_a_trial_is_found_by_the_beginning_of_its_id(reader: TestClient) -> None:
    wanted = rows(reader)[0]["id"]
    assert reader.get(f"/api/v1/trials/{wanted[:8]}").json()["id"] == wanted
    assert reader.get("/api/v1/trials/latest").json()["id"] == wanted
    missing = reader.get("/api/v1/trials/ffffffffffff")
    assert (missing.status_code, missing.json()["error"]["message"]) == (404, 'no trial "ffffffffffff"')
    assert reader.get("/api/v1/trials/latest~9").status_code == 404


def test_tables_come_in_pages_filtered_and_ordered(reader: TestClient, records: Path) -> None:
    trial = fb.workspace(records).trial("latest")
    found = reader.get(
        f"/api/v1/trials/{trial.id}/tables/chunks",
        params={"where": ["src_rank:eq:3", "fct_ps:gt:1000"], "sort": "fct_ps", "order": "desc", "limit": 3},
    ).json()
    expected = trial.chunks.filter(src_rank=3).sort("fct_ps", descending=True, maintain_order=True)
    assert found["total"] == expected.height == 7
    assert found["rows"] == expected.head(3).to_dicts()
    assert [column["name"] for column in found["columns"]] == expected.columns


def test_a_table_comes_as_arrow_too(reader: TestClient, records: Path) -> None:
    answer = reader.get(
        "/api/v1/trials/latest/tables/ports?limit=100000&columns=node,port,tx_bytes",
        headers={"Accept": "application/vnd.apache.arrow.stream"},
    )
    table = pl.DataFrame(pa.ipc.open_stream(io.BytesIO(answer.content)).read_all())
    ports = fb.workspace(records).trial("latest").ports
    assert table.rows() == ports.select("node", "port", "tx_bytes").rows()
    assert answer.headers["X-Total"] == str(ports.height)


@pytest.mark.parametrize(
    "query",
    ["where=fct_ps", "where=nothing:eq:1", "where=fct_ps:gt:many", "sort=nothing", "columns=a,b", "limit=0"],
)
def test_a_wrong_question_about_a_table_is_an_error(reader: TestClient, query: str) -> None:
    assert reader.get(f"/api/v1/trials/latest/tables/chunks?{query}").status_code == 422


def test_every_figure_is_that_of_python(reader: TestClient, records: Path) -> None:
    run = fb.workspace(records).trial(rows(reader, plan="jct-alltoall")[0]["id"])
    listed = reader.get(f"/api/v1/trials/{run.id}/figures").json()["figures"]
    names = [figure["name"] for figure in listed]
    assert {"timeline", "cdf", "links", "topology", "latency", "goodput", "queues", "link-use"} <= set(names)
    assert "voqs" not in names
    for name in names:
        assert reader.get(f"/api/v1/trials/{run.id}/figures/{name}").json()["data"], name
    for name in ("timeline", "cdf", "queues", "latency", "links"):
        drawn = reader.get(f"/api/v1/trials/{run.id}/figures/{name}").json()
        assert drawn["data"] == json.loads(getattr(run.plot, name)().to_json(validate=False))["data"]


def test_a_part_of_the_timeline_has_what_is_under_way_in_it(reader: TestClient, records: Path) -> None:
    chunks = fb.workspace(records).trial("latest").chunks
    middle = int(chunks["completed_ps"].median() or 0)  # type: ignore[arg-type]
    inside = chunks.filter((pl.col("start_ps") <= middle + 10) & (pl.col("completed_ps") >= middle))
    answer = reader.get(f"/api/v1/trials/latest/figures/timeline?from_ps={middle}&to_ps={middle + 10}").json()
    assert len(answer["data"][0]["x"]) == inside.height < chunks.height
    assert answer["layout"]["xaxis"]["range"][0] * answer["unit_ps"] == pytest.approx(middle)
    one = reader.get("/api/v1/trials/latest/figures/timeline?rank=2").json()
    assert len(one["data"][0]["x"]) == chunks.filter(src_rank=2).height
    assert reader.get("/api/v1/trials/latest/figures/timeline?from_ps=5&to_ps=4").status_code == 422


def test_comparisons_are_those_of_the_command_line(reader: TestClient, records: Path) -> None:
    first, second = (row["id"] for row in rows(reader, plan="jct-alltoall"))
    by_trial = reader.get(f"/api/v1/compare?trial={first}&trial={second}")
    assert by_trial.json() == told(records, "compare", first, second)
    by_variant = reader.get("/api/v1/compare?trial=latest&by=variant&reference=narrow").json()
    assert by_variant == told(records, "compare", "--by", "variant", "--reference", "narrow", "latest")
    for wrong in ("trial=latest", f"trial={first}&by=variant", "trial=latest&by=variant&reference=x", ""):
        assert reader.get(f"/api/v1/compare?{wrong}").status_code == 422


def test_compared_trials_are_drawn_with_the_other_sizes_of_their_runs(
    reader: TestClient, records: Path
) -> None:
    first, second = (row["id"] for row in rows(reader, plan="jct-alltoall"))
    other = rows(reader, plan="widths")[0]
    drawn = reader.get(f"/api/v1/compare/figure?trial={first}&trial={second}&trial={other['id']}").json()
    assert drawn["metric"] == drawn["metrics"][0] == "busbw_gb_per_s"
    sizes = {trace["name"]: trace["x"] for trace in drawn["data"]}
    assert sorted(sizes.values()) == [[1 << 20, 8 << 20], [2 << 20]]
    lab = next(trace for trace in drawn["data"] if len(trace["x"]) == 2)
    assert lab["marker"]["line"]["width"] == [2.5, 2.5]
    known = {trial.id: trial.summary["busbw_gb_per_s"][0] for trial in fb.workspace(records).trials()}
    assert set(lab["y"]) == {known[first], known[second]}
    asked = reader.get(f"/api/v1/compare/figure?trial={first}&metric=fct_ms_p99").json()
    assert asked["metric"] == "fct_ms_p99"
    assert asked["data"][0]["marker"]["line"]["width"].count(2.5) == 1


def test_all_variants_of_a_run_are_drawn_in_colours_of_their_own(reader: TestClient) -> None:
    wide = next(row["id"] for row in rows(reader, plan="widths") if row["variant"] == "wide")
    path = f"/api/v1/compare/figure?trial={wide}"
    every = {
        trace["name"]: trace["line"]["color"] for trace in reader.get(f"{path}&by=variant").json()["data"]
    }
    assert sorted(every) == ["narrow", "wide"]
    assert len(set(every.values())) == 2
    assert len(reader.get(path).json()["data"]) == 1
    assert reader.get(f"{path}&metric=no-such").status_code == 422


def test_tags_are_given_and_taken(tmp_path: Path, client_of: ClientOf) -> None:
    fb.run(fb.load("jct-alltoall").with_(data_size="1MB", tag="first"), workspace=tmp_path)
    client = client_of(tmp_path)
    path = f"/api/v1/trials/{rows(client)[0]['id']}"
    changed = client.patch(path, json={"tags": {"add": ["b b", "a", "a"]}})
    assert changed.json()["tags"] == ["first", "a", "b b"]
    assert client.patch(path, json={"tags": {"remove": ["first", "a"]}}).json()["tags"] == ["b b"]
    assert [len(rows(client, tag=tag)) for tag in ("b b", "a", "first")] == [1, 0, 0]
    assert len(Workspace.open(tmp_path).trials(tag="b b")) == 1
    for wrong in ([""], [" a"], ["a" * 65], ["a\nb"], [1]):
        assert client.patch(path, json={"tags": {"add": wrong}}).status_code == 422


def test_a_deleted_trial_is_gone_until_it_is_restored(tmp_path: Path, client_of: ClientOf) -> None:
    plan = fb.load("jct-alltoall").with_(data_size="1MB")
    trial = fb.run(plan, workspace=tmp_path)[0]
    client = client_of(tmp_path)
    path = f"/api/v1/trials/{trial.id}"
    assert client.delete(path).json() == {"id": trial.id, "deleted": True}
    assert [client.get(path).status_code, client.delete(path).status_code] == [404, 404]
    assert (rows(client), [row["id"] for row in rows(client, deleted=True)]) == ([], [trial.id])
    assert len(fb.workspace(tmp_path).trials()) == 0
    assert client.post(f"{path}/restore").json()["deleted"] is False
    assert client.post(f"{path}/restore").status_code == 404
    assert client.get(path).status_code == 200
    client.delete(path)
    fb.run(plan, workspace=tmp_path, resume=True)
    assert ([row["id"] for row in rows(client)], rows(client, deleted=True)) == ([trial.id], [])


REPORTED = (
    "bandwidth",
    "ideal-share",
    "cdf-run",
    "uplinks",
    "timeline",
    "topology",
    "links",
    "goodput",
    "link-use",
    "queues",
    "latency",
)
"""Figures in a report and over HTTP."""


def test_a_trial_of_two_plans_is_listed_under_both(tmp_path: Path, client_of: ClientOf) -> None:
    for name in ("first", "second"):
        plan = fb.load("jct-alltoall").with_(data_size=["1MB"], name=name)
        (trial,) = fb.run(plan, workspace=tmp_path)
    client = client_of(tmp_path)
    for name in ("first", "second"):
        listed = client.get("/api/v1/trials", params={"plan": name}).json()
        assert [(each["id"], each["plan"]) for each in listed["trials"]] == [(trial.id, name)]
        suite = client.get("/api/v1/trials", params={"suite": listed["trials"][0]["suite"]}).json()
        assert [(each["id"], each["plan"]) for each in suite["trials"]] == [(trial.id, name)]
    assert client.get("/api/v1/trials").json()["total"] == 1
    client.delete(f"/api/v1/trials/{trial.id}")
    for name in ("first", "second"):
        assert client.get("/api/v1/trials", params={"plan": name}).json()["total"] == 0


def test_the_figures_are_those_of_the_report_to_the_last_digit(reader: TestClient) -> None:
    trial = rows(reader, plan="jct-alltoall")[0]["id"]
    report = reader.get(f"/api/v1/trials/{trial}/downloads/report.html").text
    found = re.findall(r'data-target="plot-([\w-]+)">(.*?)</script>', report, re.DOTALL)
    drawn = {key: json.loads(text) for key, text in found}
    assert set(REPORTED) <= set(drawn)
    for name in REPORTED:
        figure = reader.get(f"/api/v1/trials/{trial}/figures/{name}").json()
        assert figure["data"] == drawn[name]["data"], name
    busbw = {row["jobs"][0]["busbw_gb_per_s"] for row in rows(reader, plan="jct-alltoall")}
    points = [value for trace in drawn["bandwidth"]["data"] for value in trace["y"] if value is not None]
    assert {round(value, 6) for value in busbw} <= {round(value, 6) for value in points}


def test_the_port_map_has_the_page_of_a_port(reader: TestClient) -> None:
    address = f"/api/v1/trials/{rows(reader, plan='jct-alltoall')[0]['id']}/port-map"
    whole = reader.get(address).json()
    assert (whole["offset"], whole["selected"]) == (0, [])
    row = whole["ports"][5]
    for at in (f"{row['switch']} port {row['switch_port']}", f"{row['chassis']} port 0"):
        page = reader.get(address, params={"at": at, "limit": 2}).json()
        assert (page["offset"], page["selected"]) == (4, [1])
        assert page["ports"][1] == row
    nothing = reader.get(address, params={"at": "leaf0 port 999"}).json()
    assert (nothing["offset"], nothing["selected"]) == (0, [])
    assert reader.get(address, params={"at": "leaf0"}).status_code == 422


def test_the_port_map_is_that_of_the_command_line_in_pages(reader: TestClient, records: Path) -> None:
    trial = rows(reader, plan="jct-alltoall")[0]["id"]
    page = reader.get(f"/api/v1/trials/{trial}/port-map", params={"offset": 2, "limit": 3}).json()
    assert page["total"] == 8
    assert page["ports"] == told(records, "show", trial, "--ports")["ports"][2:5]
    assert [len(cells) for cells in page["cells"]] == [len(page["columns"])] * 3
    pairs = reader.get(f"/api/v1/trials/{trial}/downloads/queue_pairs.csv").text
    assert (
        pairs == call("export", trial, "--table", "queue_pairs", "--workspace", records, cwd=records).stdout
    )
