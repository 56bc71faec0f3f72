"""Plans, trials and workspaces that several tests start from."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.fake_backend import FakeBackend

from fabricbench.backend.registry import BACKENDS, Registered
from fabricbench.cli.main import run
from fabricbench.plan._run_spec import SCHEMA_VERSION
from fabricbench.results.job_reports import result_rows
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import TrialFacts, Workspace
from fabricbench.store.record.earlier_versions import OF_THE_SIMULATOR

PROGRAM = Path(__file__).with_name("fake_program.py")
LINK = {"rate_bps": 400_000_000_000, "cable": {"delay_ps": 15_000}}

PLAN = """
fabricbench: 1
name: small
title: A small all-to-all
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-3", collective: all-to-all, algorithm: parallel}
sweep:
  data_size: [1MB, 2MB]
"""


def job_spec(
    name: str = "test", hosts: Sequence[int] = (0, 1, 2, 3), kind: str = "collective", **given: Any
) -> dict[str, Any]:
    """Return a job of a run spec: values of its own fields, of its work and of its pattern by their names."""
    job: dict[str, Any] = {"start_ps": 0, "repeat": {"kind": "rounds", "rounds": 1}, "stream": 0}
    pattern: dict[str, Any] = {
        "collective": "all-to-all",
        "algorithm": "parallel",
        "data_bytes": 1 << 20,
        "root": 0,
    }
    for part in (job, pattern):
        part |= {field: given.pop(field) for field in part if field in given}
    work = ({} if kind == "storage" else {"pattern": pattern}) | {"kind": kind} | given
    return {"name": name, "hosts": list(hosts), **job, "work": work}


def run_spec(*jobs: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "seed": seed,
        "fabric": {"topology": {"kind": "single-switch", "hosts": 8, "host_link": LINK}},
        "transport": {"mtu_bytes": 4096},
        "jobs": list(jobs) or [job_spec()],
    }


def trial_facts(trial_id: str = "0123456789ab", **given: Any) -> TrialFacts:
    facts = TrialFacts(
        id=trial_id,
        plan="small",
        title="A small all-to-all",
        plan_source=PLAN,
        overrides=(),
        suite="feedfeedfeed",
        position=0,
        variant="base",
        iteration=0,
        data_size_bytes=1 << 20,
        size_kind="data",
        tag="",
        run_spec=run_spec(),
        published=None,
        criteria=(),
        backend="fake",
        backend_version="0.0.1",
        engine_version="0.0.1",
        observed=OF_THE_SIMULATOR,
    )
    return dataclasses.replace(facts, **given)


@dataclasses.dataclass
class Planned:
    """Stands for a planned trial where a test builds the spec itself."""

    run_spec: dict[str, Any]
    chosen: str = ""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass
class Rows:
    """Observes a run for its rows alone."""

    take: Callable[[str, Any], None]

    def rows(self, table: str, batch: Any) -> None:
        self.take(table, batch)

    def progressed(self, progress: Any) -> None:
        """Do nothing."""


@contextlib.contextmanager
def fake_simulator(backend: FakeBackend) -> Iterator[None]:
    """Put a backend in the place of the simulator."""
    fake = Registered(lambda **_: backend, ("path", "fast_forward"))
    with mock.patch.dict(BACKENDS, {"sim": fake}):
        yield


def run_trial(workspace: Workspace, facts: TrialFacts, backend: Any) -> None:
    """Run one trial into a workspace, as the runner does."""
    with workspace.begin(facts, machine_facts()) as writer:
        planned = Planned(dict(facts.run_spec))
        result = backend.run(planned, Rows(writer.write), threads=1)
        tables = writer.close()
        writer.finish(result.summary, result.engine, result_rows(facts, result.summary, tables))


def call(
    *arguments: str | Path, cwd: Path, backend: FakeBackend | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program with a fake backend; only a capture is the simulator's."""
    if "capture" in arguments[:1]:
        return call_program(*arguments, cwd=cwd)
    with fake_simulator(backend or FakeBackend()):
        return call_program(*arguments, cwd=cwd)


def call_program(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program in this process, which is much faster."""
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        status = run([*map(str, arguments)])
    output.seek(0)
    return subprocess.CompletedProcess(arguments, status, output.read(), errors.getvalue())
