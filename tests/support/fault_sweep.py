"""Tries the faults of `faults.c` on the program, one after the other, and says which it did not survive.

Started with that library loaded before the C library. Everything is imported once; each fault has a process
of its own, forked from here, and so has each look at what the fault has left behind. Prints JSON: how many
calls the workload makes, how many faults were tried, and what went wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import psycopg
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, fake_simulator, run_trial, trial_facts

from fabricbench.cli.main import run
from fabricbench.report.output import json_csv
from fabricbench.report.terminal import run as run_text, trial as trial_text
from fabricbench.results import job_reports
from fabricbench.store import Workspace
from fabricbench.store.archive import write_archive
from fabricbench.store.inspection import damages

_LOADED = (json_csv, run_text, trial_text, job_reports)
"""What the program imports when it is needed: imported here, once for all processes."""

KINDS = {"eio": 1, "full": 2, "torn": 3, "kill": 4}
KILLED = 137
KEPT = "aaaa00000001"
PLAN_FILE = "small.yaml"

Content = dict[str, dict[str, bytes]]


@dataclass
class Workload:
    """Something the program does, and what is to come of it.

    Attributes:
        arguments: Of the program.
        prepare: Makes the workspace of before, in the current folder.
    """

    arguments: Sequence[str]
    prepare: Callable[[], None]


@dataclass
class Sweep:
    """A workload on a database, and where it is tried.

    Attributes:
        workload: What is done.
        folder: Has a folder for the workspace of before, and one for that of each fault.
        server: Address of PostgreSQL; empty for SQLite.
    """

    workload: Workload
    folder: Path
    server: str
    failures: list[str] = field(default_factory=list)
    tried: int = 0

    @property
    def before(self) -> Path:
        return self.folder / "before"

    @property
    def there(self) -> Path:
        return self.folder / "there"

    def prepare(self) -> None:
        self.before.mkdir()
        self._sql('CREATE DATABASE "before"')
        self._use("before")
        self._forked(self.before, self.workload.prepare)

    def calls(self) -> str:
        """Return a letter for each call of the workload (`fault_trace`), and keep what comes of it."""
        self._renew()
        status, told = self._program(0, 0)
        if status:
            raise RuntimeError(told)
        return (self.folder / "calls").read_text()

    def reference(self) -> tuple[Content, Content]:
        """Return the records of before, and those of after a workload in which nothing fails."""
        return records(self.before / "workspace"), records(self.there / "workspace")

    def attempt(self, kind: str, at: int, old: Content, new: Content) -> None:
        self._renew()
        status, told = self._program(at, KINDS[kind])
        self.tried += 1
        # A server's answers come in more or fewer pieces each time: the last calls may not be made again.
        is_reached = status == KILLED or at <= len((self.folder / "calls").read_text())
        allowed = (KILLED,) if kind == "kill" and is_reached else (0, 2)
        name = f"{kind} at call {at}"
        if status not in allowed or "Traceback" in told or (status == 2 and "hint: " not in told):
            self._failed(f"{name}: status {status}: {told}")
            return
        finished = status == 0
        looked = self._forked(self.there, lambda: check(old, new, is_done=finished))
        if looked[0]:
            self._failed(f"{name} (status {status}): {looked[1]}")
            return
        again = self._program(0, 0)
        looked = self._forked(self.there, lambda: check(old, new, is_done=True))
        if again[0] or looked[0]:
            self._failed(f"{name}, and again: {again[1]} {looked[1]}")

    def _failed(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        self.failures.append(text)

    def _renew(self) -> None:
        """Make the workspace of before anew."""
        shutil.rmtree(self.there, ignore_errors=True)
        shutil.copytree(self.before, self.there)
        self._sql('DROP DATABASE IF EXISTS "there" WITH (FORCE)')
        self._sql('CREATE DATABASE "there" TEMPLATE "before"')
        self._use("there")

    def _sql(self, statement: str) -> None:
        if self.server:
            with psycopg.connect(
                f"host={self.server} user=bench dbname=postgres", autocommit=True
            ) as connection:
                connection.execute(statement.encode())

    def _use(self, database: str) -> None:
        if self.server:
            os.environ["FABRICBENCH_CATALOG_URL"] = f"postgresql://bench@/{database}?host={self.server}"

    def _program(self, at: int, kind: int) -> tuple[int, str]:
        def task() -> int:
            faults = ctypes.CDLL(None)
            faults.fault_arm(os.fsencode(self.there / "workspace"), ctypes.c_long(at), kind)
            status = run([*self.workload.arguments])
            calls = ctypes.c_char * faults.fault_disarm()
            (self.folder / "calls").write_bytes(calls.in_dll(faults, "fault_trace").raw)
            return status

        return self._forked(self.there, task)

    def _forked(self, folder: Path, task: Callable[[], int | None]) -> tuple[int, str]:
        """Run a task in a folder, in a process of its own; return its exit status and what it told."""
        told = self.folder / "told"
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            status = 99
            try:
                with told.open("w") as stream:
                    os.dup2(stream.fileno(), 1)
                    os.dup2(stream.fileno(), 2)
                os.chdir(folder)
                status = task() or 0
            except BaseException:  # noqa: BLE001 -- a forked process must not go on as its parent
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), told.read_text()


def records(root: Path) -> Content:
    """Return the bytes of all records."""
    return {
        record.name: {table.name: table.read_bytes() for table in record.iterdir()}
        for record in (root / "trials").iterdir()
    }


def check(old: Content, new: Content, *, is_done: bool) -> None:
    """Check what a fault has left: finished trials to the byte, others marked, and nothing else."""
    workspace = Workspace.open(Path("workspace"))
    states = [(trial.id, trial.status) for trial in workspace.trials()]
    assert not {status for _, status in states} - {"complete", "failed", "interrupted"}, states
    assert list(damages(workspace)) == [] == workspace.unreadable()
    there = records(workspace.root)
    finished = {trial for trial, status in states if status == "complete"}
    assert set(there) == finished, (set(there), states)
    assert set(there) >= set(old), (set(there), states)
    for trial, tables in there.items():
        assert tables in (old.get(trial), new.get(trial)), f"the record of {trial} is another"
    if is_done:
        assert there == new, (sorted(there), sorted(new))
    leavings = [path.name for path in workspace.records.iterdir() if path.name.startswith(".")]
    assert not leavings, leavings


@contextmanager
def backend(copies: int) -> Iterator[None]:
    with fake_simulator(FakeBackend(copies=copies)):
        yield


def _program(*arguments: str) -> None:
    status = run([*arguments, "--workspace", "workspace"])
    assert status == 0, status


def keep_one() -> None:
    """Make the workspace, with a trial that stays."""
    workspace = Workspace.open(Path("workspace"), create=True)
    run_trial(workspace, trial_facts(KEPT, suite="0" * 12), FakeBackend())


def before_run() -> None:
    """A trial that is finished and stays, and one that is going to run again and have other rows."""
    run_trial(
        Workspace.open(Path("workspace"), create=True), trial_facts(KEPT, suite="0" * 12), FakeBackend()
    )
    Path(PLAN_FILE).write_text(PLAN)
    with backend(copies=2):
        _program("run", PLAN_FILE, "-s", "sweep.data_size=[1MB]")


def before_import() -> None:
    """A trial that is finished and stays, and an archive of two others."""
    url = os.environ.pop("FABRICBENCH_CATALOG_URL", None)
    source = Workspace.open(Path("source"), create=True)
    for trial in ("bbbb00000002", "cccc00000003"):
        run_trial(source, trial_facts(trial), FakeBackend(copies=2))
    with Path("trials.tar").open("wb") as stream:
        write_archive(source, source.trials(), stream)
    shutil.rmtree("source")
    if url is not None:
        os.environ["FABRICBENCH_CATALOG_URL"] = url
    run_trial(
        Workspace.open(Path("workspace"), create=True), trial_facts(KEPT, suite="0" * 12), FakeBackend()
    )


def before_migration() -> None:
    """A catalog of two versions before, with two trials."""
    workspace = Workspace.open(Path("workspace"), create=True)
    for trial in (KEPT, "bbbb00000002"):
        run_trial(workspace, trial_facts(trial), FakeBackend())
    with workspace.database.writing() as connection:
        later = {"trials": ("digests", "backend_version", "observed", "axes"), "runs": ("backend", "hosts")}
        for table, columns in later.items():
            for column in columns:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for index in ("trials_by_suite", "trials_listed"):
            connection.execute(f"DROP INDEX {index}")
        for table in ("memberships", "trial_metrics", "outcomes", "views"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE alembic_version SET version_num = '0006'")


WORKLOADS = {
    "run": Workload(("run", PLAN_FILE, "--workspace", "workspace"), before_run),
    "import": Workload(("workspace", "import", "trials.tar", "--workspace", "workspace"), before_import),
    "migration": Workload(("trials", "--workspace", "workspace"), before_migration),
}


def points(calls: str, sample: int) -> list[tuple[str, int]]:
    """Return faults: every one, or a sample that is the same each time and has some of every sort."""
    random, groups = Random(1), []
    for kind in KINDS:
        for what in sorted(set(calls)):
            places = [(kind, number) for number, call in enumerate(calls, 1) if call == what]
            groups.append(random.sample(places, len(places)))
    random.shuffle(groups)
    rounds = zip_longest(*groups)
    every = [point for each in rounds for point in each if point is not None]
    return every[: sample or None]


def main(name: str, folder: str, server: str, sample: str) -> None:
    sweep = Sweep(WORKLOADS[name], Path(folder), server)
    sweep.prepare()
    with backend(copies=1):
        calls = sweep.calls()
        old, new = sweep.reference()
        for kind, at in points(calls, int(sample)):
            sweep.attempt(kind, at, old, new)
    found: dict[str, Any] = {"calls": len(calls), "tried": sweep.tried, "failures": sweep.failures}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
