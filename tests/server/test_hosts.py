"""Hosts over HTTP: what their agents say, without the paths of files, and without waiting for silent ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.hosts.conftest import Lab
from tests.server.conftest import TOKEN, ClientOf

from fabricbench.cli.main import run
from fabricbench.hosts.control import survey
from fabricbench.server.queue import host_surveys
from fabricbench.server.routes import hosts
from fabricbench.server.settings import Settings


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Agents in this process: two."""
    made = Lab(tmp_path)
    for _ in range(2):
        made.add()
    yield made
    for agent in made.agents:
        agent.end("the test ended")


Serve = Callable[..., TestClient]


@pytest.fixture
def serve(tmp_path: Path, client_of: ClientOf) -> Serve:
    def make(**files: Path) -> TestClient:
        return client_of(tmp_path / "workspace", Settings(token=TOKEN, workers=1, hosts=files))

    return make


def files_of(client: TestClient) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/hosts")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["files"]
    return found


def test_a_server_without_hosts_has_none(client: TestClient) -> None:
    assert files_of(client) == []


def test_each_host_is_told_with_what_stands_in_the_way(lab: Lab, serve: Serve) -> None:
    path = lab.hosts().path
    lost = f"  - name: h2\n    agent: unix:{lab.folder}/gone.sock\n    address: 127.0.0.3\n"
    path.write_text(path.read_text() + lost)
    ((file),) = files_of(serve(rack=path))
    assert (file["name"], file["tls"], file["error"]) == ("rack", False, "")
    first, _, third = file["hosts"]
    assert [each["name"] for each in file["hosts"]] == ["h0", "h1", "h2"]
    assert (first["address"], first["plays"], first["driver"]) == ("127.0.0.1", [0], "roce")
    checks = {each["check"]: each for each in first["checks"]}
    assert (checks["version"]["state"], first["version"]) == ("warning", "1.2.3")
    assert checks["clock"]["state"] == "ok"
    assert first["facts"]["kernel"]
    assert (third["state"], third["facts"], third["version"]) == ("problem", {}, "")
    ((why),) = third["checks"]
    assert (why["check"], why["state"]) == ("agent", "problem")


def test_a_file_with_a_mistake_is_told_by_its_name(lab: Lab, serve: Serve, tmp_path: Path) -> None:
    path = lab.hosts().path
    client = serve(rack=path)
    path.write_text(path.read_text().replace("version: 1", "version: 2"))
    ((file),) = files_of(client)
    assert file["error"].startswith("rack:1: version: found 2")
    assert str(tmp_path) not in file["error"]
    assert (file["hosts"], file["tls"]) == ([], None)


def test_hosts_that_have_joined_nothing_cannot_be_asked(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text("version: 1\nhosts:\n- {name: h0, agent: 192.0.2.1, address: 192.0.2.1}\n")
    ((file),) = files_of(serve(rack=path))
    assert "no authority" in file["error"]
    assert "hosts token" in file["error"]
    assert str(tmp_path) not in file["error"]


def test_nobody_waits_for_a_silent_host_and_answers_are_kept(
    lab: Lab, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, answers, ask, asked = serve(rack=lab.hosts().path), Event(), survey.check_host, []

    def slow(host: Any, identity: Any) -> survey.HostReport:
        asked.append(host.name)
        if host.name == "h1":
            assert answers.wait(20)
        return ask(host, identity)

    monkeypatch.setattr(survey, "check_host", slow)
    monkeypatch.setattr(hosts, "_PATIENCE_S", 1.0)
    assert [each["state"] for each in files_of(client)[0]["hosts"]] == ["warning", "asking"]
    answers.set()
    monkeypatch.setattr(hosts, "_PATIENCE_S", 20.0)
    assert [each["state"] for each in files_of(client)[0]["hosts"]] == ["warning", "warning"]
    assert sorted(asked) == ["h0", "h1"]
    answers.clear()
    monkeypatch.setattr(host_surveys, "_FRESH_S", 0.0)
    monkeypatch.setattr(hosts, "_PATIENCE_S", 0.5)
    assert [each["state"] for each in files_of(client)[0]["hosts"]] == ["warning", "warning"]
    assert asked.count("h1") == 2
    answers.set()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["{0}", "{0}"], "two files called"),
        (["my rack={0}"], 'the name "my rack"'),
        (["{0}-missing"], "hosts.yaml-missing"),
    ],
)
def test_files_of_hosts_are_checked_when_the_server_starts(
    given: list[str], told: str, lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lab.hosts().path
    options = [part for each in given for part in ("--hosts", each.format(path))]
    assert run(["serve", *options, "--port", "0", "--workspace", str(lab.folder / "workspace")]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
