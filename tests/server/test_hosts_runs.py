"""Plans run on real agents from the server: measured, predicted, cancelled, resumed, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.processes import Hosts
from tests.server.live import Live, live

from fabricbench.store import Workspace

PLAN = """\
fabricbench: 1
name: pair
fabric:
  topology: {kind: single-switch, hosts: 2, host_link: 400Mbps}
jobs:
  - {name: all, ranks: "0-1", collective: all-to-all, algorithm: parallel}
sweep: {data_size: [64KB, 128KB]}
"""
LONG = PLAN.replace("name: pair", "name: long").replace("[64KB, 128KB]", "[64KB, 2GB]")
"""Its second trial takes some 100 seconds at the rate limit of the hosts."""


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    hosts = Hosts(tmp_path_factory.mktemp("agents"), 2, "80Mbps")
    yield hosts
    hosts.end()


@pytest.fixture(scope="module")
def server(agents: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    root = tmp_path_factory.mktemp("workspace")
    with live(root, "--workers", "2", "--hosts", f"rack={agents.file}") as running:
        yield running


def on_hosts(server: Live, yaml: str = PLAN, **more: Any) -> str:
    return server.submit(yaml, backend="hosts", hosts="rack", **more)


def statuses(run: dict[str, Any]) -> list[tuple[str, str]]:
    return [(trial["backend"], trial["status"]) for trial in run["trials"]]


def data_flows(run: dict[str, Any]) -> bool:
    return bool(run["progress"]) and run["progress"]["number"] == 2


def test_a_plan_is_measured_on_hosts_beside_its_prediction(server: Live, agents: Hosts) -> None:
    run = server.until_state(on_hosts(server, twin=True, tags=["first"]), "complete")
    assert (run["backend"], run["hosts"], run["twin"], run["waits_for"]) == ("hosts", "rack", True, "")
    complete = [("sim", "complete")] * 2 + [("hosts", "complete")] * 2
    assert (statuses(run), run["trials_finished"], run["trials_total"]) == (complete, 4, 4)
    measured = Workspace.open(server.root).find(run["trials"][2]["id"])
    assert measured.tables.table("chunks").num_rows == 2
    assert [each["host"] for each in measured.engine["hosts"]] == ["h0", "h1"]
    found = server.client.get(f"/api/v1/compare?by=twin&trial={measured.id}").json()
    assert [each["predicted"]["id"] for each in found["twins"]] == [each["id"] for each in run["trials"][:2]]
    assert all(each["deviation_percent"] > 0 for each in found["twins"])
    # The predictions are there by now, and count for a run that was asked for later.
    predicted = Workspace.open(server.root).find(run["trials"][0]["id"])
    again = server.until_state(on_hosts(server, twin=True), "complete")
    assert (statuses(again), again["trials_finished"]) == (complete, 4)
    assert Workspace.open(server.root).find(predicted.id).attempt == predicted.attempt
    assert Workspace.open(server.root).find(measured.id).attempt > measured.attempt
    assert agents.sent_datagrams() > 0


def test_a_run_on_hosts_is_cancelled_and_resumed(server: Live, agents: Hosts) -> None:
    run_id = on_hosts(server, LONG)
    server.until(run_id, data_flows)
    assert server.client.post(f"/api/v1/runs/{run_id}/cancel").status_code == 200
    run = server.until_state(run_id, "cancelled")
    assert statuses(run) == [("hosts", "complete"), ("hosts", "interrupted")]
    assert "1 of 2 trials finished" in run["message"]
    sent = agents.sent_datagrams()
    first = Workspace.open(server.root).find(run["trials"][0]["id"])
    assert server.client.post(f"/api/v1/runs/{run_id}/resume").status_code == 202
    server.until(run_id, lambda _: agents.sent_datagrams() > sent)
    server.until(run_id, data_flows)
    assert Workspace.open(server.root).find(first.id).attempt == first.attempt
    server.client.post(f"/api/v1/runs/{run_id}/cancel")
    server.until_state(run_id, "cancelled")


def test_a_second_run_waits_for_the_hosts_and_others_do_not(server: Live) -> None:
    first = on_hosts(server, LONG)
    server.until_state(first, "running")
    second = on_hosts(server)
    waiting = server.until(second, lambda run: run["waits_for"])
    assert (waiting["state"], waiting["waits_for"]) == ("queued", f"hosts rack: run {first} uses them")
    listed = server.client.get("/api/v1/runs?state=queued").json()["runs"]
    assert [(each["id"], each["waits_for"]) for each in listed] == [(second, waiting["waits_for"])]
    simulated = server.submit(PLAN)
    assert server.until_state(simulated, "complete")["waits_for"] == ""
    assert server.run(second)["state"] == "queued"
    server.client.post(f"/api/v1/runs/{first}/cancel")
    run = server.until_state(second, "complete")
    assert (run["waits_for"], run["trials_finished"]) == ("", 2)


def test_an_agent_that_is_lost_ends_the_run_with_its_name(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2, "80Mbps")
    try:
        with live(tmp_path / "workspace", "--hosts", f"rack={hosts.file}") as server:
            run_id = on_hosts(server, LONG)
            server.until(run_id, data_flows)
            hosts.agents[1].kill()
            run = server.until_state(run_id, "failed")
            assert "h1" in run["message"]
            assert str(hosts.file) not in run["message"]
            assert statuses(run)[0] == ("hosts", "complete")
            hosts.agents[1].communicate()
            hosts.agents[1] = hosts.start(1)
            hosts.await_up(1)
            server.client.post(f"/api/v1/runs/{run_id}/resume")
            server.until(run_id, data_flows)
            server.client.post(f"/api/v1/runs/{run_id}/cancel")
            server.until_state(run_id, "cancelled")
    finally:
        hosts.end()


def test_a_queued_run_is_left_alone_where_its_hosts_are_others_or_unknown(
    agents: Hosts, tmp_path: Path
) -> None:
    file, root = tmp_path / "hosts.yaml", tmp_path / "workspace"
    file.write_text(agents.file.read_text())
    with live(root, "--workers", "1", "--hosts", f"rack={file}") as first:
        running = on_hosts(first, LONG)
        first.until_state(running, "running")
        queued = on_hosts(first)
        first.kill()
    with live(root, "--workers", "1") as second:
        run = second.until(queued, lambda run: run["waits_for"])
        assert run["waits_for"] == "hosts rack, which this server does not have"
        simulated = second.submit(PLAN)
        second.until_state(simulated, "complete")
        assert second.run(queued)["state"] == "queued"
    file.write_text(file.read_text().replace("80Mbps", "70Mbps"))
    with live(root, "--workers", "1", "--hosts", f"rack={file}") as third:
        told = third.until(queued, lambda run: run["waits_for"])["waits_for"]
        assert "their file has changed here" in told
        file.write_text(file.read_text().replace("70Mbps", "80Mbps"))
        assert third.until_state(queued, "complete")["trials_finished"] == 2


def checked(server: Live, **body: Any) -> dict[str, Any]:
    answer = server.client.post("/api/v1/plans/check", json={"yaml": PLAN, **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_check_tells_what_the_command_line_tells_before_a_run(
    server: Live, agents: Hosts, tmp_path: Path
) -> None:
    found = checked(server, backend="hosts", hosts="rack", twin=True)
    assert (found["errors"], found["backend"], found["trials_total"]) == ([], "hosts", 4)
    assert [trial["backend"] for trial in found["trials"]] == ["sim", "sim", "hosts", "hosts"]
    assert "2 ranks on h0, h1, driver roce" in found["notes"][0]
    printed = agents.run(tmp_path, "-s", "sweep.data_size=[64KB]").stderr
    same = [line.removeprefix("note: ") for line in printed.splitlines() if line.startswith("note: ")]
    assert found["notes"][1:] == same[1:]
    assert checked(server)["notes"] == []
    assert found["cost"] == checked(server)["cost"]
    assert checked(server, backend="hosts", hosts="rack")["cost"] is None


WRONG = {
    "unknown": (
        {"backend": "hosts", "hosts": "row"},
        "hosts",
        'the request: hosts: found "row"; allowed: rack',
        "GET /api/v1/hosts",
    ),
    "none": ({"backend": "hosts"}, "backend", "no hosts to run on", "name them as `hosts`: rack"),
    "simulator": ({"hosts": "rack"}, "hosts", "backend sim, which runs on no hosts", '`backend` to "hosts"'),
    "twin of itself": ({"twin": True}, "backend", "of which the twin would be itself", "what measures"),
    "too many ranks": (
        {"backend": "hosts", "hosts": "rack", "set": ["fabric.topology.hosts=4", 'jobs.0.ranks="0-3"']},
        "jobs",
        "ranks on host2, host3, which nobody plays; allowed: hosts that rack plays",
        "fewer ranks",
    ),
}


@pytest.mark.parametrize(("body", "field", "told", "hint"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_had_on_hosts_is_told_with_a_hint(
    server: Live, agents: Hosts, body: dict[str, Any], field: str, told: str, hint: str
) -> None:
    (error,) = checked(server, **body)["errors"]
    assert error["field"] == field
    assert told in error["message"]
    assert hint in error["hint"]
    assert str(agents.folder) not in str(error)
    refused = server.client.post("/api/v1/runs", json={"yaml": PLAN, **body})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


def test_a_mistake_in_the_file_is_told_at_the_field_that_names_it(agents: Hosts, tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text(agents.file.read_text())
    with live(tmp_path / "workspace", "--hosts", f"rack={file}") as server:
        file.write_text(file.read_text().replace("version: 1", "version: 2"))
        (error,) = checked(server, backend="hosts", hosts="rack")["errors"]
        assert (error["field"], error["line"]) == ("hosts", None)
        assert "a mistake in rack:1: version: found 2" in error["message"]
        assert str(tmp_path) not in str(error)
