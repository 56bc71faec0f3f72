"""An agent of another version of the protocol: both are named, and nothing starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.hosts.processes import PROGRAM, Hosts

pytestmark = pytest.mark.slow
OLD = "import fabricbench.hosts.protocol as p; p.PROTOCOL = '0'; from fabricbench.cli import main; main()"


def test_an_agent_of_another_version_is_refused_before_anything_starts(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2, "20Mbps")
    try:
        hosts.agents[1].terminate()
        hosts.agents[1].communicate(timeout=20)
        where = f"unix:{tmp_path}/h1.sock"
        command = [sys.executable, "-c", OLD, "agent", "--no-tls", "--listen", where]
        hosts.agents[1] = subprocess.Popen(
            [*hosts.network.enter(1), *command], stderr=subprocess.PIPE, text=True
        )
        hosts.await_up(1)
        check = [*PROGRAM, "hosts", "check", str(hosts.file)]
        checked = subprocess.run(check, check=False, capture_output=True, text=True, timeout=60)
        finished = hosts.run(tmp_path / "workspace")
        assert hosts.sent_datagrams() == 0
    finally:
        hosts.end()
    assert (checked.returncode, finished.returncode) == (2, 2)
    assert "version 1 of the protocol at the controller" in finished.stderr
    assert "allowed: version 0, of fabricbench" in finished.stderr
    assert "host h1" in finished.stderr
    assert "bring both to the same version" in finished.stderr
