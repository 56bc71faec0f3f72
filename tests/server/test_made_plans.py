"""Plans made of a cluster or of a device's file are those of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.test_plans import check
from tests.support.samples import call

SAMPLES = Path(__file__).parents[1] / "devices" / "samples"


def test_a_cluster_gives_the_plan_of_the_command_new(reader: TestClient, tmp_path: Path) -> None:
    question = {
        "cluster": "dgx-h100",
        "servers": 64,
        "adapters": 4,
        "tiers": 3,
        "oversubscription": 2,
        "load_balancing": "spray-random",
    }
    made = reader.post("/api/v1/plans/of-cluster", json=question)
    assert made.status_code == 200, made.text
    options = ["--cluster", "dgx-h100", "--servers", "64", "--adapters", "4", "--tiers", "3"]
    options += ["--oversubscription", "2", "--load-balancing", "spray-random"]
    finished = call("new", "dgx-h100-x64.yaml", *options, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert made.json()["yaml"] == (tmp_path / "dgx-h100-x64.yaml").read_text()
    found = check(reader, yaml=made.json()["yaml"])
    assert found["errors"] == []
    assert found["topology"]["shape"] == "4 rails x 64 servers in 2 pods"
    assert found["topology"]["tiers"][0]["down_bps"] == 2 * found["topology"]["tiers"][0]["up_bps"]


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"adapters": 9}, "adapters", "1 to 8"),
        ({"tiers": 4}, "tiers", "2 or 3"),
        ({"tiers": 2, "topology": "single-switch"}, "tiers", "2 with single-switch"),
        ({"oversubscription": 99}, "oversubscription", "1 to 16"),
        ({"load_balancing": "spray"}, "load-balancing", "spray-random"),
    ],
)
def test_an_answer_that_is_not_allowed_is_named(
    reader: TestClient, change: dict[str, object], field: str, text: str
) -> None:
    refused = reader.post("/api/v1/plans/of-cluster", json={"cluster": "dgx-h100", "servers": 4} | change)
    assert refused.status_code == 422
    assert refused.json()["error"]["field"] == field
    assert text in refused.json()["error"]["message"]


@pytest.mark.parametrize("name", ["port_qos.json", "clos.clab.yml", "dgx.xml", "nccl_graphs.xml"])
def test_a_file_of_a_device_gives_the_plan_of_the_command_convert(reader: TestClient, name: str) -> None:
    made = reader.post(
        "/api/v1/plans/of-device", json={"name": name, "text": (SAMPLES / name).read_text()}
    ).json()
    finished = call("convert", name, "--format", "plan", cwd=SAMPLES)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.partition("\n")[2] == made["yaml"]
    notes = finished.stderr.splitlines()
    assert [f"assumed: {text}" for text in made["assumed"]] == notes[: len(made["assumed"])]
    assert made["read"]
    assert made["fields"]
    assert check(reader, yaml=made["yaml"])["errors"] == []


def test_a_wrong_file_is_refused_as_by_the_command_line(reader: TestClient, tmp_path: Path) -> None:
    (tmp_path / "wrong.txt").write_text("leaf1# show queue counters\n")
    finished = call("convert", "wrong.txt", cwd=tmp_path)
    refused = reader.post(
        "/api/v1/plans/of-device", json={"name": "wrong.txt", "text": "leaf1# show queue counters\n"}
    )
    assert refused.status_code == 422
    assert f"error: {refused.json()['error']['message']}" in finished.stderr


def test_choices_have_the_adapters_of_each_server(reader: TestClient) -> None:
    found = reader.get("/api/v1/plan-choices").json()
    servers = {server["name"]: server for server in found["servers"]}
    assert servers["dgx-h100"]["adapters"] == 8
    assert servers["dgx-h100"]["rate_bps"] == 400_000_000_000
