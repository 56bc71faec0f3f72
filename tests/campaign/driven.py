"""Campaigns as a user runs them: in a process of their own, in a folder of the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import fabricbench as fb
from fabricbench.store import Workspace
from fabricbench.store.record.remote import RemoteTables

CAMPAIGN = """\
campaign: 1
name: small
plans:
  - {plan: jct-alltoall, seeds: 3, sweep: {data_size: [1MB, 2MB]}}
  - {plan: cc-alltoall-dcqcn, seeds: 2, sweep: {data_size: [1MB]}}
"""
LONG = """\
campaign: 1
name: long
plans:
  - {plan: lb-alltoall-ecmp, seeds: 6, sweep: {data_size: [64MB]}}
"""

MAIN = "from fabricbench.cli.main import main; main()"


def started(
    folder: Path,
    text: str,
    *more: str,
    script: str = MAIN,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    (folder / "campaign.yaml").write_text(text)
    command = [sys.executable, "-c", script, "campaign", "campaign.yaml", "--format", "json", *more]
    environment = {**os.environ, "FABRICBENCH_WORKSPACE": "", **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, start_new_session=True
    )


def carried_out(folder: Path, text: str = CAMPAIGN, *more: str, status: int = 0, **how: Any) -> Any:
    """Run a campaign to its end; return what it wrote as JSON, or what it said on standard error."""
    with started(folder, text, *more, **how) as driver:
        out, error = driver.communicate(timeout=240)
    assert driver.returncode == status, error.decode()
    return json.loads(out) if out else error.decode()


def states(folder: Path, catalog_url: str | None = None) -> dict[str, str]:
    """The trials of a workspace by id, with the state of the last attempt at each."""
    root = folder / "fabricbench-workspace"
    return {trial.id: trial.status for trial in Workspace.open(root, catalog_url=catalog_url).trials()}


def assert_each_once(folder: Path, count: int, catalog_url: str | None = None) -> None:
    """Assert that so many trials have a record each, and that nothing else is left."""
    found = Workspace.open(folder / "fabricbench-workspace", catalog_url=catalog_url).trials()
    assert [trial.status for trial in found] == ["complete"] * count
    assert len({trial.id for trial in found}) == count
    left = {path.name for path in (folder / "fabricbench-workspace/trials").iterdir()}
    assert left == {trial.id for trial in found if not isinstance(trial.tables, RemoteTables)}


def waited_for(found: Any, seconds: float = 60) -> Any:
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)
    return value


def assert_as_alone(folder: Path, catalog_url: str | None = None) -> None:
    """Assert that the records of CAMPAIGN in a folder are those of a single process, byte for byte."""
    alone = folder / "alone"
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"], iterations=3), workspace=alone)
    fb.run(fb.load("cc-alltoall-dcqcn").with_(data_size="1MB", iterations=2), workspace=alone)
    spread = Workspace.open(folder / "fabricbench-workspace", catalog_url=catalog_url)
    records = list((alone / "trials").iterdir())
    assert len(records) == 8
    for record in records:
        tables = spread.find(record.name).tables
        for file in record.iterdir():
            assert tables.path(file.stem).read_bytes() == file.read_bytes(), file
