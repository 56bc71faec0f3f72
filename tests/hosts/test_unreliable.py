"""A trial of unreliable connections over hosts: it ends by itself, with its lost messages and their cause."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hosts.processes import PROGRAM, Hosts

from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.store import Trial, Workspace

UC = ("-s", "transport={connection: uc, mtu: 1024, message_size: 4KB}")
MESSAGES = 512


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path, 2, "100Mbps", settings="loss_one_in: 50, verify: true")
    yield made
    made.end()


def run(hosts: Hosts, workspace: Path, *more: str) -> Trial:
    ended = hosts.run(workspace, *UC, "-s", f"sweep.data_size=[{4 * MESSAGES}KB]", *more)
    (trial,) = Workspace.open(workspace).trials()
    assert ended.returncode == 0, ended.stderr
    return trial


def test_a_trial_with_lost_messages_is_incomplete_and_says_so(hosts: Hosts, tmp_path: Path) -> None:
    trial = run(hosts, tmp_path / "workspace")
    assert trial.status == "incomplete"
    (job,) = (trial.summary or {})["jobs"]
    counts = job["messages"]
    # Each of two ranks sends half of the data.
    survive = (1 - 1 / 50) ** 4
    deviation = (survive * (1 - survive) / counts["sent"]) ** 0.5
    assert counts["sent"] == MESSAGES
    assert counts["received"] / counts["sent"] == pytest.approx(survive, abs=4 * deviation)
    lost = counts["sent"] - counts["received"]
    assert job["reason"].startswith(
        f"{lost} of {MESSAGES} messages lost; 2 of 2 chunks never completed; first: "
    )
    assert job["reason"].endswith("chunks never arrived whole, and senders send nothing again")
    insight = insight_of(trial)
    assert insight is not None
    (cause,) = insight.findings
    assert cause.cause == "loss-without-recovery"
    assert cause.evidence["messages_lost"] == lost
    assert sum(host["endpoint"]["wrong_bytes"] for host in trial.engine["hosts"]) == 0
    for command in (
        ("show", trial.id),
        ("explain", trial.id),
        ("report", trial.id, "--out", str(tmp_path / "page.html")),
    ):
        shown = subprocess.run(
            [*PROGRAM, *command, "--workspace", str(tmp_path / "workspace")],
            check=False,
            capture_output=True,
            text=True,
        )
        assert shown.returncode == 0, shown.stderr
        text = (tmp_path / "page.html").read_text() if command[0] == "report" else shown.stdout
        assert "loss without recovery" in text.lower(), text


def test_a_trial_without_loss_is_complete(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2, "100Mbps", settings="verify: true")
    trial = run(hosts, tmp_path / "workspace")
    hosts.end()
    assert trial.status == "complete"
    (job,) = (trial.summary or {})["jobs"]
    assert job["messages"] == {"sent": MESSAGES, "received": MESSAGES}
    assert insight_of(trial) is None
