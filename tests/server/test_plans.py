"""Plans over HTTP: shipped ones, their schema, and checks in a process with limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import TOKEN, ClientOf
from tests.support.samples import PLAN, call

from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.schema import plan_schema
from fabricbench.runner import loading
from fabricbench.server.routes import plans, validation
from fabricbench.server.settings import Settings


def check(client: TestClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/plans/check", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_shipped_plans_are_listed_and_shown(reader: TestClient) -> None:
    plans = reader.get("/api/v1/plans").json()["plans"]
    assert [plan["name"] for plan in plans] == list(shipped_plans())
    shown = reader.get("/api/v1/plans/jct-alltoall").json()
    assert shown["yaml"] == shipped_plans()["jct-alltoall"].read_text()
    assert shown["document"]["jobs"][0]["collective"] == "all-to-all"
    assert reader.get("/api/v1/plans/jct-nothing").status_code == 404


def test_a_plan_may_name_its_backend_and_a_request_another(reader: TestClient) -> None:
    assert reader.get("/api/v1/about").json()["backends"] == ["auto", "flow", "hosts", "sim"]
    ids = [
        [trial["id"] for trial in check(reader, yaml=PLAN, backend=name)["trials"]] for name in (None, "sim")
    ]
    assert ids[0] == ids[1]
    (error,) = check(reader, yaml=PLAN, backend="udp")["errors"]
    assert (error["field"], error["found"], error["allowed"]) == (
        "backend",
        'no backend "udp"',
        "auto, flow, hosts, sim",
    )
    named = PLAN.replace("name: small", "name: small\nbackend: udp")
    (error,) = check(reader, yaml=named)["errors"]
    assert (error["field"], error["line"], error["allowed"]) == ("backend", 4, "auto, flow, hosts, sim")
    assert check(reader, yaml=named, backend="sim")["errors"] == []
    refused = reader.post("/api/v1/runs", json={"yaml": named})
    assert refused.status_code == 422


def test_a_check_says_what_auto_would_choose_and_why(reader: TestClient) -> None:
    plan = PLAN.replace("[1MB, 2MB]", "[1MB, 1TB]")
    found = check(reader, yaml=plan, backend="auto")
    assert (found["errors"], found["backend"]) == ([], "auto")
    assert [trial["backend"] for trial in found["trials"]] == ["sim", "sim"]
    lossy = "frames may be lost without PFC, which the flow model does not cover"
    whys = ("they take no more than 10 s", lossy)
    assert found["notes"] == [f"1 of 2 trials: auto chose packets: {why}" for why in whys]
    (alone,) = check(reader, yaml=PLAN, backend="auto")["notes"]
    assert alone == "auto chose packets: they take no more than 10 s"


def test_a_plan_for_hosts_is_refused_with_the_way_to_run_it(client: TestClient) -> None:
    named = PLAN.replace("name: small", "name: small\nbackend: hosts")
    for body in ({"yaml": PLAN, "backend": "hosts"}, {"yaml": named}):
        (error,) = check(client, **body)["errors"]
        assert (error["field"], error["found"]) == ("backend", "no hosts to run on")
        assert "--hosts hosts.yaml" in error["hint"]
        assert client.post("/api/v1/runs", json=body).status_code == 422
    assert check(client, yaml=named)["errors"][0]["line"] == 4


def test_a_plan_that_this_engine_cannot_load_is_listed_with_its_error(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, few = loading.load, {name: shipped_plans()[name] for name in ("jct-alltoall", "lb-alltoall-ecmp")}

    def refusing(name: str) -> object:
        if name == "jct-alltoall":
            raise PlanError([Problem(Place(name), "", "unknown field `rendezvous`")])
        return load(name)

    for cached in (plans._shipped, validation._tables):
        cached.cache_clear()
    monkeypatch.setattr(loading, "load", refusing)
    for module in (plans, validation):
        monkeypatch.setattr(module, "shipped_plans", lambda: few)
    try:
        listed = {plan["name"]: plan for plan in reader.get("/api/v1/plans").json()["plans"]}
        published = {plan["plan"] for plan in reader.get("/api/v1/validation").json()["plans"]}
    finally:
        for cached in (plans._shipped, validation._tables):
            cached.cache_clear()
    assert "unknown field `rendezvous`" in listed["jct-alltoall"]["error"]
    assert listed["lb-alltoall-ecmp"]["error"] == ""
    assert "jct-alltoall" not in published
    assert published


def test_the_schema_is_that_of_the_command_line(reader: TestClient) -> None:
    assert reader.get("/api/v1/plan-schema").json() == plan_schema()


def test_a_plan_is_described_without_being_run(reader: TestClient) -> None:
    found = check(reader, yaml=PLAN)
    assert (found["name"], found["errors"], found["trials_total"]) == ("small", [], 2)
    assert found["cost"]["packet_hops"] > 0
    assert (found["topology"]["hosts"], found["topology"]["switches"]) == (4, 1)
    assert found["topology"]["jobs"] == [{"name": "test", "hosts": [[0], [1], [2], [3]]}]


def test_errors_have_the_words_and_the_place_of_the_command_line(reader: TestClient, tmp_path: Path) -> None:
    wrong = PLAN.replace("hosts: 4", "hosts: 0").replace("parallel", "sideways")
    file = tmp_path / "plan"
    file.write_text(wrong)
    errors = check(reader, yaml=wrong)["errors"]
    told = call("plan", "check", file, cwd=tmp_path).stderr.replace(str(file), "plan")
    assert [f"error: {error['message']}" for error in errors] == [
        line for line in told.splitlines() if line.startswith("error: ")
    ]
    assert errors[0]["field"] == "fabric.topology.hosts"
    assert (errors[0]["line"], errors[0]["found"], errors[0]["allowed"]) == (6, "0", "1 or more")


def test_a_changed_document_keeps_the_comments_of_the_text(reader: TestClient) -> None:
    text = PLAN.lstrip().replace("jobs:", "# the job under test\njobs:  # one")
    document = check(reader, yaml=text)["document"]
    document["fabric"]["topology"]["hosts"] = 8
    changed = check(reader, yaml=text, document=document)["yaml"]
    assert changed == text.replace("hosts: 4", "hosts: 8")


def test_the_fabric_of_a_plan_has_the_ranks_of_every_job(reader: TestClient) -> None:
    text = reader.get("/api/v1/plans/isolation-alltoall-neighbour").json()["yaml"]
    jobs = check(reader, yaml=text)["topology"]["jobs"]
    assert [job["name"] for job in jobs] == ["ring", "neighbour"]
    assert [len(job["hosts"]) for job in jobs] == [4, 4]


def test_a_document_alone_becomes_a_plan(reader: TestClient) -> None:
    document = check(reader, yaml=PLAN)["document"]
    made = check(reader, document=document)
    assert (made["errors"], made["document"]) == ([], document)


def test_overrides_and_variants_are_taken(reader: TestClient) -> None:
    assert check(reader, yaml=PLAN, set=["sweep.data_size=4MB"])["trials_total"] == 1
    assert "nothing" in check(reader, yaml=PLAN, variants=["x"])["errors"][0]["allowed"]


def large(hosts: int) -> str:
    return (
        PLAN.replace("hosts: 4", f"hosts: {hosts}")
        .replace('ranks: "0-3", ', "")
        .replace("[1MB, 2MB]", f"{hosts}KB")
    )


def test_a_plan_beyond_the_machine_is_refused_with_its_cost(reader: TestClient) -> None:
    found = check(reader, yaml=large(60_000))
    assert found["beyond_machine"]
    assert found["cost"]["memory_bytes"] > 1 << 39
    assert "memory" in found["errors"][0]["message"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]",
        "[" * 20_000,
        "!!python/object/apply:os.system ['true']",
        "\x00",
        "",
    ],
)
def test_yaml_that_means_harm_is_an_error(reader: TestClient, text: str) -> None:
    assert check(reader, yaml=text)["errors"]


def test_no_file_is_read_for_a_plan_of_a_request(
    reader: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.csv").write_text("data_size_bytes,busbw\n1048576,secret\n")
    monkeypatch.chdir(tmp_path)
    for name in ("mine.csv", str(tmp_path / "mine.csv"), "../../../../../../etc/passwd"):
        errors = check(reader, yaml=f"{PLAN}\npublished: {name}")["errors"]
        assert errors
        assert "secret" not in str(errors)
        assert "root:" not in str(errors)


def test_a_check_beyond_its_limits_is_an_error_and_others_go_on(
    reader: TestClient, tmp_path: Path, client_of: ClientOf
) -> None:
    client = client_of(tmp_path, Settings(token=TOKEN, check_memory_bytes=1 << 20))
    answer = client.post("/api/v1/plans/check", json={"yaml": large(60_000)})
    assert answer.status_code == 422
    assert "more than the server gives to a check" in answer.json()["error"]["message"]
    assert check(reader, yaml=PLAN)["errors"] == []


@pytest.mark.parametrize("body", [{}, {"yaml": 1}, {"document": []}, {"yaml": "", "path": "/etc/passwd"}, []])
def test_a_body_of_another_form_is_refused(reader: TestClient, body: object) -> None:
    answer = reader.post("/api/v1/plans/check", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]
