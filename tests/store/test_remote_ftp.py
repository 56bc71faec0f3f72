"""Records behind a network protocol, each command a process of its own: FTP, which fsspec brings along."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.samples import PLAN, PROGRAM

SERVER = """
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
authorizer = DummyAuthorizer()
authorizer.add_user("lab", "secret", sys.argv[1], perm="elradfmwMT")
authorizer.add_user("guest", "secret", sys.argv[1], perm="elr")
class Handler(FTPHandler): pass
Handler.authorizer = authorizer
server = FTPServer(("127.0.0.1", 0), Handler)
print(server.address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[str]:
    """A server on loopback whose files are in `place`."""
    (tmp_path / "place").mkdir()
    command = [sys.executable, "-c", SERVER, str(tmp_path / "place")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def fabricbench(tmp_path: Path, machine: str, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command on one of several machines with a catalog in common."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    environment = os.environ | {
        "FABRICBENCH_CATALOG_URL": f"sqlite:///{tmp_path}/catalog.sqlite",
        "FABRICBENCH_TABLES_URL": url,
        "FSSPEC_FTP_PASSWORD": "secret",
    }
    command = [sys.executable, str(PROGRAM), *arguments, "--workspace", str(tmp_path / machine)]
    return subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )


def test_one_machine_runs_and_another_reads_checks_and_repairs(tmp_path: Path, port: str) -> None:
    url = f"ftp://lab@127.0.0.1:{port}/bench"
    ran = fabricbench(tmp_path, "here", url, "run", "plan.yaml")
    assert ran.returncode == 0, ran.stderr
    chunks = [
        fabricbench(tmp_path, machine, url, "export", "latest", "--table", "chunks").stdout
        for machine in ("here", "there")
    ]
    assert chunks[0] == chunks[1]
    assert chunks[0].count("\n") == 13
    checked = fabricbench(tmp_path, "there", url, "workspace", "check")
    assert (checked.returncode, checked.stderr.split(" in ")[0]) == (0, "2 records"), checked.stderr
    first = sorted((tmp_path / "place/bench").glob("*.*/ports.parquet"))[0]
    first.write_bytes(b"spoilt")
    repaired = fabricbench(tmp_path, "there", url, "workspace", "repair")
    assert f"moved to {url}/damaged/{first.parent.name}" in repaired.stdout
    again = fabricbench(tmp_path, "here", url, "run", "plan.yaml", "--resume")
    assert again.returncode == 0, again.stderr
    assert fabricbench(tmp_path, "here", url, "workspace", "check").returncode == 0
    assert len(list((tmp_path / "place/bench").glob("*.*/ports.parquet"))) == 2


@pytest.mark.parametrize(
    ("user", "reason"), [("guest", "Not enough privileges"), ("nobody", "Authentication failed")]
)
def test_who_may_not_write_is_told_before_anything_runs(
    tmp_path: Path, port: str, user: str, reason: str
) -> None:
    ran = fabricbench(tmp_path, "here", f"ftp://{user}@127.0.0.1:{port}/bench", "run", "plan.yaml")
    assert ran.returncode == 2
    assert f"error: ftp://{user}@127.0.0.1:{port}/bench: cannot be reached:" in ran.stderr
    assert reason in ran.stderr
    assert "hint: check the URL" in ran.stderr
    assert "secret" not in ran.stderr


def test_a_place_that_does_not_answer_is_named(tmp_path: Path) -> None:
    ran = fabricbench(tmp_path, "here", "ftp://lab@127.0.0.1:1/bench", "run", "plan.yaml")
    assert ran.returncode == 2
    assert (
        "error: ftp://lab@127.0.0.1:1/bench: cannot be reached: [Errno 111] Connection refused" in ran.stderr
    )
    doctor = fabricbench(tmp_path, "here", "ftp://lab@127.0.0.1:1/bench", "doctor", "--format", "json")
    assert doctor.returncode == 1
    assert '"name": "tables"' in doctor.stdout
