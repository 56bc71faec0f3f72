"""Pasted results are explained over HTTP as `explain FILE` explains them, next to files of other kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.samples import call

MEASURED = Path(__file__).parents[1] / "measured"
DIAGNOSED = MEASURED / "diagnosed"
TWO_SERVERS, TWO_RAILS = DIAGNOSED / "nccl-two-servers.txt", DIAGNOSED / "two-rails.yaml"
CONFIGURATION = MEASURED.parent / "devices" / "samples" / "port_qos.json"
FIRST = [
    ("nccl-one-adapter-log.txt", {"rate": "400Gbps"}, {"few-adapters"}),
    ("nccl-one-adapter-table.txt", {"rate": "400Gbps", "adapters": 4}, {"few-adapters"}),
    ("nccl-collapse.txt", {"rate": "200Gbps", "adapters": 8}, {"congestion"}),
    ("nccl-tcp-by-ratio.txt", {"rate": "200Gbps", "adapters": 4}, {"sockets"}),
    ("nccl-log-mixed-layers.log", {}, {"mixed-adapters"}),
    ("perftest-mtu-and-slot.txt", {"rate": "200Gbps"}, {"pcie-slot"}),
    ("perftest-gpu-memory.txt", {"rate": "400Gbps"}, {"gpu-memory"}),
    ("nccl-log-socket-line.log", {}, {"sockets"}),
    ("nccl-spray-go-back-n.txt", {"rate": "400Gbps", "adapters": 8}, {"few-adapters", "reordering"}),
]
"""File, values of the user, and the causes of which one is first."""


def pasted(*paths: Path, **more: Any) -> list[dict[str, Any]]:
    return [{"name": path.name, "text": path.read_text(), **more} for path in paths]


def answer(client: TestClient, files: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    response = client.post("/api/v1/explained", json={"files": files, **given})
    assert response.status_code == 200, response.text
    content: dict[str, Any] = response.json()
    return content


def refusal(client: TestClient, files: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    response = client.post("/api/v1/explained", json={"files": files, **given})
    assert response.status_code == 422, response.text
    error: dict[str, Any] = response.json()["error"]
    return error


def test_a_plan_and_a_configuration_are_read_next_to_the_results(tmp_path: Path, client: TestClient) -> None:
    files = pasted(TWO_SERVERS, TWO_RAILS, CONFIGURATION)
    found = answer(client, files)
    options = ("--plan", TWO_RAILS, "--workspace", tmp_path / "w", "--format", "json")
    (tmp_path / TWO_SERVERS.name).write_bytes(TWO_SERVERS.read_bytes())
    same = json.loads(call("explain", TWO_SERVERS.name, *options, cwd=tmp_path).stdout)
    assert {name: found[name] for name in same} == same
    assert [each["kind"] for each in found["inputs"]] == ["results", "plan", "configuration"]
    assert found["inputs"][1]["about"] == "two-hosts"
    assert [each["text"] for each in found["answers"]] == ["88.63 GB/s", "193.5 GB/s"]
    names = [str(trace.get("name")) for trace in found["figure"]["data"]]
    assert {"expected, two-hosts", "measured, in-place"} <= set(names)
    assert len(found["table"]["rows"]) == len(found["results"]) == 6
    assert found["verdict"].startswith(f"{found['causes'][0]['cause']}: ")


def test_a_table_and_the_logs_of_its_run_may_be_separate(client: TestClient) -> None:
    whole = (DIAGNOSED / "nccl-one-adapter-log.txt").read_text().splitlines(keepends=True)
    is_logged = ["NCCL INFO" in line for line in whole]
    log, table = (
        {
            "name": name,
            "text": "".join(line for line, logged in zip(whole, is_logged, strict=True) if logged == is_log),
        }
        for name, is_log in (("nccl.log", True), ("table.txt", False))
    )
    found = answer(client, [log, table], rate="400Gbps")
    together = answer(client, pasted(DIAGNOSED / "nccl-one-adapter-log.txt"), rate="400Gbps")
    assert found["causes"][0]["cause"] == together["causes"][0]["cause"] == "few-adapters"
    assert [point["busbw_gb_per_s"] for point in found["results"]] == [
        point["busbw_gb_per_s"] for point in together["results"]
    ]
    assert [(each["name"], each["kind"]) for each in found["inputs"]] == [
        ("table.txt", "results"),
        ("nccl.log", "results"),
    ]
    alone = answer(client, [table], rate="400Gbps")
    assert alone["adapters"] != found["adapters"] == together["adapters"]


def test_graphs_of_nccl_are_compared_with_those_of_the_cluster(client: TestClient) -> None:
    graphs = CONFIGURATION.parent / "nccl_graphs.xml"
    found = answer(client, pasted(TWO_SERVERS, graphs), cluster="dgx-h100", servers=1)
    assert found["inputs"][1] == {"name": graphs.name, "kind": "graphs", "about": "ring, tree, NVLS"}
    assert any("the dumped graph Ring has 4 channels" in text for text in found["choices_that_differ"])


@pytest.mark.parametrize(("name", "given", "first"), FIRST, ids=[name for name, _, _ in FIRST])
def test_the_right_cause_is_the_first(
    client: TestClient, name: str, given: dict[str, Any], first: set[str]
) -> None:
    assert answer(client, pasted(DIAGNOSED / name), **given)["causes"][0]["cause"] in first


def test_results_are_compared_with_a_cluster(client: TestClient) -> None:
    files = pasted(DIAGNOSED / "nccl-spray-go-back-n.txt")
    found = answer(client, files, cluster="dgx-h100", servers=2)
    assert found["expected_source"] == "2 x dgx-h100, rail-optimised, NCCL 2.30, flow model"
    assert found["causes"][0]["cause"] == "reordering"
    names = [str(trace.get("name")) for trace in found["figure"]["data"]]
    assert {"expected, all-reduce, 16 ranks", "measured, in-place"} <= set(names)


def test_counters_are_evidence_and_grow_since_earlier_ones(client: TestClient) -> None:
    unseen = MEASURED / "unseen"
    files = [
        *pasted(unseen / "24-congestion.txt", unseen / "24-after.txt"),
        *pasted(unseen / "24-before.txt", earlier=True),
    ]
    found = answer(client, files, rate="400Gbps", adapters=8)
    assert [each["kind"] for each in found["inputs"]] == ["results", "counters", "earlier counters"]
    assert found["switches"][0]["before"] == "24-before.txt"
    assert found["causes"][0]["cause"] == "congestion"


def test_what_is_wrong_is_said_with_file_line_and_hint(client: TestClient) -> None:
    results = pasted(TWO_SERVERS)
    broken = [{"name": "broken.txt", "text": results[0]["text"].replace("5304.1", "x5304.1")}]
    error = refusal(client, broken)
    assert (error["file"], error["line"]) == ("broken.txt", 18)
    assert error["hint"]
    plan = [{"name": "mine.yaml", "text": TWO_RAILS.read_text().replace("pfc: on", "pfc: maybe")}]
    error = refusal(client, [*results, *plan])
    assert (error["file"], error["line"]) == ("mine.yaml", 5)
    assert error["field"].startswith("fabric.switch.pfc")
    assert refusal(client, pasted(CONFIGURATION))["found"] == "no results"
    assert refusal(client, [*results, *broken])["file"] == "broken.txt"
    assert "several files of results" in refusal(client, results * 2)["found"]
    for given, field in (
        ({"rate": "fast"}, "rate"),
        ({"cluster": "/etc/passwd", "servers": 2}, "cluster"),
        ({"cluster": "dgx-h100", "servers": 3}, "servers"),
        ({"cluster": "dgx-h100"}, "servers"),
        ({"plan": "/etc/passwd"}, "plan"),
        ({"cluster": "dgx-h100", "servers": 1, "plan": "jct-alltoall"}, "plan"),
        ({"uplinks": ["Ethernet0"]}, "uplinks"),
    ):
        assert refusal(client, results, **given)["field"] == field
