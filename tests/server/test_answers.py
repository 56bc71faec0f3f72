"""The body of each route holds to its response model, with no field that the model does not have.

FastAPI does not validate bodies that a route has written itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient
from tests.server.conftest import open_clients
from tests.support.campaigns import CAMPAIGN, known, made, measured, written
from tests.support.samples import PLAN

import fabricbench as fb

MEASURED = Path(__file__).parents[1] / "measured"
DEVICE = Path(__file__).parents[1] / "devices" / "samples" / "clos.clab.yml"
BENCHMARK = MEASURED / "samples" / "nccl_alltoall.txt"
EXPLAINED = MEASURED / "diagnosed" / "nccl-one-adapter-log.txt"
NOT_JSON = {
    "/api/v1/login",
    "/api/v1/logout",
    "/api/v1/runs/{run_id}/events",
    "/api/v1/trials/{trial_id}/downloads/{file}",
    "/metrics",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a workspace with variants, failures, a prediction, measurements, and a campaign."""
    folder = tmp_path_factory.mktemp("answers")
    root = folder / "workspace"
    file = written(folder, CAMPAIGN)
    known(file, measured(file, root, made))
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"]), workspace=root)
    fb.run(fb.load("jct-alltoall").with_(data_size="1MB", backend="flow"), workspace=root)
    failures = fb.load("bmwg-link-failure").with_({"jobs.0.repeat": 5}, data_size="8MB", iterations=1)
    fb.run(failures, workspace=root)
    fb.import_results(BENCHMARK, workspace=root, plan="jct-alltoall")
    with open_clients() as make:
        yield make(root)


def closed(schema: Any) -> Any:
    """Return a JSON Schema in which an object has no fields but its own, unless it allows others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(schema.get("properties"), dict) else inner


class Checked:
    """Sends requests and validates the body of each response."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.document = closed(client.get("/openapi.json").json())
        self.paths: set[str] = set()

    def ask(self, method: str, path: str, of: str = "", **request: Any) -> Any:
        """Return the answer to a request of the route `of`, which is its path if it has no parameters."""
        response = self.client.request(method, path, **request)
        assert response.status_code < 300, (path, response.text)
        template = of or path.partition("?")[0]
        operation = self.document["paths"][template][method.lower()]
        schema = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
        validator = Draft202012Validator(schema | {"components": self.document["components"]})
        content = response.json()
        errors = [
            f"{path}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(content)
        ]
        assert not errors, "\n".join(errors[:5])
        self.paths.add(template)
        return content

    def get(self, path: str, of: str = "") -> Any:
        """Return the answer to a GET request below `/api/v1`."""
        return self.ask("GET", f"/api/v1{path}", f"/api/v1{of}" if of else "")


def test_bodies_hold_to_their_models(client: TestClient) -> None:
    checked = Checked(client)
    checked.ask("GET", "/healthz")
    for path in ("about", "plans", "plan-schema", "metrics", "hosts", "views", "validation", "campaigns"):
        checked.get(f"/{path}")
    for path in ("plan-gallery", "plan-choices"):
        checked.get(f"/{path}")
    for path in ("expected/choices", "trials/by-run", "trials/choices", "trials?status=complete"):
        checked.get(f"/{path}")
    trials = checked.get("/trials?limit=500")["trials"]
    for trial in {trial["suite"]: trial for trial in trials if trial["engine_version"]}.values():
        _trial(checked, trial)
    _comparisons(checked)
    _plans_and_runs(checked)
    _studies(checked)
    _changes(checked)
    documented = {path for path in checked.document["paths"] if path not in NOT_JSON}
    assert documented == checked.paths


def _trial(checked: Checked, trial: dict[str, Any]) -> None:
    path, of = f"/trials/{trial['id']}", "/trials/{trial_id}"
    checked.get(path, of)
    checked.get(f"/runs/{trial['suite']}", "/runs/{run_id}")
    checked.get(f"/runs/{trial['suite']}/results", "/runs/{run_id}/results")
    figures = checked.get(f"{path}/figures", f"{of}/figures")["figures"]
    if trial["backend"] != "sim":
        return
    checked.get(f"/runs/{trial['suite']}/fabric", "/runs/{run_id}/fabric")
    checked.get(f"{path}/port-map", f"{of}/port-map")
    for figure in figures:
        checked.get(f"{path}/figures/{figure['name']}", f"{of}/figures/{{name}}")
    for table in ("trials", "chunks", "ports"):
        checked.get(f"{path}/tables/{table}?limit=5", f"{of}/tables/{{table}}")


def _comparisons(checked: Checked) -> None:
    def first(**query: str) -> str:
        found = checked.client.get("/api/v1/trials", params=query).json()["trials"]
        return str(found[0]["id"])

    imported, simulated = first(backend="imported"), first(backend="sim", plan="jct-alltoall")
    variant = first(plan="bmwg-link-failure")
    checked.get(f"/compare?trial={imported}&trial={simulated}")
    checked.get(f"/compare?by=variant&trial={variant}")
    checked.get(f"/compare?by=twin&trial={first(backend='flow')}")
    checked.get(f"/compare/figure?trial={imported}&trial={simulated}")


def _plans_and_runs(checked: Checked) -> None:
    checked.get("/plans/jct-alltoall", "/plans/{name}")
    for name in ("jct-alltoall", "bmwg-zero-loss", "expect-rails"):
        plan = checked.client.get(f"/api/v1/plans/{name}").json()
        if "yaml" in plan:
            checked.ask("POST", "/api/v1/plans/check", json={"yaml": plan["yaml"]})
    checked.ask("POST", "/api/v1/plans/check", json={"yaml": "a: ["})
    checked.get("/plans/expect-rails/fabric", "/plans/{name}/fabric")
    checked.ask("POST", "/api/v1/plans/of-cluster", json={"cluster": "dgx-h100", "servers": 4})
    topology = DEVICE.read_text()
    checked.ask("POST", "/api/v1/plans/of-device", json={"name": DEVICE.name, "text": topology})
    run = checked.ask("POST", "/api/v1/runs", json={"yaml": PLAN})["id"]
    checked.get("/runs")
    checked.ask("POST", f"/api/v1/runs/{run}/cancel", "/api/v1/runs/{run_id}/cancel")
    checked.ask("POST", f"/api/v1/runs/{run}/resume", "/api/v1/runs/{run_id}/resume")
    checked.client.post(f"/api/v1/runs/{run}/cancel")


def _studies(checked: Checked) -> None:
    campaign, of = "/campaigns/acknowledge", "/campaigns/{name}"
    checked.get(campaign, of)
    checked.get(f"{campaign}/analysis", f"{of}/analysis")
    checked.get(f"{campaign}/pareto", f"{of}/pareto")
    published = checked.client.get("/api/v1/validation").json()["plans"][0]
    checked.get(f"/validation/figure?plan={published['plan']}&variant={published['variant']}")
    server = checked.client.get("/api/v1/expected/choices").json()["servers"][0]
    checked.get(f"/expected?cluster={server}&servers=2")
    files = [{"name": EXPLAINED.name, "text": EXPLAINED.read_text()}]
    checked.ask("POST", "/api/v1/explained", json={"files": files, "rate": "400Gbps"})


def _changes(checked: Checked) -> None:
    checked.ask("PUT", "/api/v1/views/mine", "/api/v1/views/{name}", json={"asked": {"plan": "x"}})
    checked.ask("DELETE", "/api/v1/views/mine", "/api/v1/views/{name}")
    trial = checked.client.get("/api/v1/trials").json()["trials"][0]["id"]
    path, of = f"/api/v1/trials/{trial}", "/api/v1/trials/{trial_id}"
    checked.ask("PATCH", path, of, json={"tags": {"add": ["lab"]}})
    checked.ask("DELETE", path, of)
    checked.ask("POST", f"{path}/restore", f"{of}/restore")
    checked.ask("POST", "/api/v1/imports", content=BENCHMARK.read_bytes())


def test_a_field_without_a_model_is_found(client: TestClient) -> None:
    checked = Checked(client)
    del checked.document["components"]["schemas"]["TrialDetail"]["properties"]["order"]
    trial = client.get("/api/v1/trials").json()["trials"][0]["id"]
    with pytest.raises(AssertionError, match="order"):
        checked.get(f"/trials/{trial}", "/trials/{trial_id}")


def test_every_json_body_has_a_model(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    untyped = [
        path
        for path, operations in document["paths"].items()
        for operation in operations.values()
        for status, response in operation["responses"].items()
        for kind, content in response.get("content", {}).items()
        if status.startswith("2") and kind == "application/json" and path not in NOT_JSON
        if "$ref" not in json.dumps(content)
    ]
    assert untyped == ["/api/v1/plan-schema"]
