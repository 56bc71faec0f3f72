"""Several servers on one PostgreSQL, disturbed at work, and a judge over the history of what they did.

The database itself keeps the history: triggers note each change of a run or a trial that is committed, in
its order. `faults` judges it: each run claimed once for each time it waited, never by two at a time; each
trial begun and finished only by the process that had its run; nothing lost of what was accepted.

    python -m tests.server.claims --seconds 60 --servers 3 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
from tests.server.live import SLOW, Live
from tests.support import postgresql

from fabricbench.store import Workspace

TRIGGERS = """
CREATE TABLE history (
    number bigserial PRIMARY KEY, at timestamptz DEFAULT clock_timestamp(), kind text, id text,
    before text, after text, pid_before int, pid int, detail text
);
CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO history (kind, id, before, after, pid_before, pid, detail) VALUES
        ('run', NEW.id, OLD.state, NEW.state, OLD.pid, NEW.pid, NEW.trials);
    RETURN NEW;
END $$;
CREATE FUNCTION note_trial() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO history (kind, id, before, after, pid_before, pid, detail) VALUES
        ('trial', NEW.id, OLD.status, NEW.status, OLD.pid, NEW.pid, NEW.attempt);
    RETURN NEW;
END $$;
CREATE TRIGGER note_run AFTER INSERT OR UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION note_run();
CREATE TRIGGER note_trial AFTER INSERT OR UPDATE ON trials FOR EACH ROW EXECUTE FUNCTION note_trial();
"""

STEPS = {
    (None, "queued"),
    ("queued", "running"),
    ("queued", "cancelled"),
    ("running", "queued"),  # put back: its worker was told to end before it began
    *(("running", ended) for ended in ("complete", "cancelled", "failed", "interrupted")),
    *((ended, "queued") for ended in ("cancelled", "failed", "interrupted")),
}
"""What may become of a run."""


@dataclass(frozen=True)
class Change:
    """A change of a run or a trial, as it was committed."""

    number: int
    kind: str
    id: str
    before: str | None
    after: str
    pid_before: int | None
    pid: int
    detail: str


def read_history(url: str) -> list[Change]:
    columns = "number, kind, id, before, after, pid_before, pid, detail"
    with psycopg.connect(url) as connection:
        rows = connection.execute(f"SELECT {columns} FROM history ORDER BY number").fetchall()
    return [Change(*row) for row in rows]


@dataclass
class Judge:
    """Goes through a history and writes down what must not be."""

    faults: list[str] = field(default_factory=list)
    owners: dict[str, int] = field(default_factory=dict)
    runs_of_trials: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, str] = field(default_factory=dict)
    waits: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)

    def hear(self, change: Change) -> None:
        if change.kind == "run":
            self._hear_run(change)
        else:
            self._hear_trial(change)

    def _hear_run(self, change: Change) -> None:
        if change.before != self.states.get(change.id):
            self._blame(change, f"was {self.states.get(change.id)}")
        for trial in json.loads(change.detail):
            self.runs_of_trials[trial["id"]] = change.id
        self.states[change.id] = change.after
        if change.before == change.after:
            if change.after == "running" and change.pid != change.pid_before:
                self._blame(change, "was taken over while it ran")
            return
        if (change.before, change.after) not in STEPS:
            self._blame(change, "is no step that a run takes")
        if change.after == "queued":
            self.waits[change.id] += 1
        if change.after == "running":
            self.claims[change.id] += 1
            self.owners[change.id] = change.pid
        else:
            self.owners.pop(change.id, None)

    def _hear_trial(self, change: Change) -> None:
        if change.before == change.after:
            return
        owner = self.owners.get(self.runs_of_trials.get(change.id, ""))
        key = f"{change.id}/{change.detail}"
        if change.before is None and change.after == "running":
            if owner != change.pid:
                self._blame(change, f"was begun by a process that had not claimed its run (but {owner})")
        elif change.before != "running" or self.attempts.get(key) != "running":
            self._blame(change, "ended without running")
        elif change.after == "complete" and owner != change.pid:
            self._blame(change, f"was finished by a process that had lost its run (to {owner})")
        self.attempts[key] = change.after

    def _blame(self, change: Change, what: str) -> None:
        self.faults.append(f"{change.kind} {change.id} {change.before} -> {change.after}: {what}")


def faults(history: Sequence[Change], accepted: Sequence[str]) -> list[str]:
    """Return what a history has that must not be, once every run has come to its end.

    Args:
        history: In the order in which it was committed.
        accepted: Ids of the runs that a server said it had queued.
    """
    judge = Judge()
    for change in history:
        judge.hear(change)
    found = list(judge.faults)
    for run_id in accepted:
        if judge.states.get(run_id) != "complete":
            found.append(f"run {run_id} was accepted and is {judge.states.get(run_id, 'lost')}")
    for run_id, waits in judge.waits.items():
        if judge.states[run_id] == "complete" and judge.claims[run_id] != waits:
            found.append(f"run {run_id} waited {waits} times and was claimed {judge.claims[run_id]} times")
    finished = Counter(
        change.id for change in history if (change.kind, change.after) == ("trial", "complete")
    )
    expected = {trial for trial, run_id in judge.runs_of_trials.items() if run_id in set(accepted)}
    found += [f"trial {trial} has no record" for trial in expected - set(finished)]
    return found


class Team:
    """Servers on one database, and what disturbs them."""

    def __init__(self, root: Path, database: postgresql.Server, url: str, count: int, seed: int) -> None:
        """Start them; the environment has to name the database."""
        self.root, self.url, self.random = root, url, random.Random(seed)
        self._database = database
        Workspace.open(root, create=True)
        with psycopg.connect(url) as connection:
            connection.execute(TRIGGERS)
        self.servers = [self._new() for _ in range(count)]
        self.accepted: list[str] = []
        self.done: Counter[str] = Counter()

    def _new(self) -> Live:
        return Live(self.root, "--workers", "2")

    def close(self) -> None:
        for server in self.servers:
            with suppress(ProcessLookupError):
                server.process.send_signal(signal.SIGCONT)
            server.stop()

    def submit(self, number: int) -> None:
        """Ask one of the servers for a run; what is refused or not answered is not accepted."""
        server = self.random.choice(self.servers)
        with suppress(httpx.HTTPError):
            answer = server.client.post("/api/v1/runs", json={"yaml": SLOW, "set": [f"seed={number}"]})
            if answer.status_code == 202:
                self.accepted.append(answer.json()["id"])
            else:
                assert answer.status_code == 503, answer.text

    def disturb(self) -> None:
        """Do one of the things that happen."""
        what = self.random.choice(DISTURBANCES)
        self.done[what.__name__.strip("_")] += 1
        what(self)

    def _pause_server(self) -> None:
        _paused(self.random.choice(self.servers).process.pid, self.random.uniform(0.1, 2))

    def _pause_worker(self) -> None:
        for pid in self._some_worker():
            _paused(pid, self.random.uniform(0.1, 2))

    def _kill_worker(self) -> None:
        for pid in self._some_worker():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill_server(self) -> None:
        place = self.random.randrange(len(self.servers))
        self.servers[place].kill()
        self.servers[place] = self._new()

    def _cut_connections(self) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def _kill_database(self) -> None:
        self._database.kill()
        time.sleep(self.random.uniform(0, 1))
        self._database.start()

    def _some_worker(self) -> list[int]:
        found = [pid for server in self.servers for pid in server.workers()]
        return [self.random.choice(found)] if found else []

    def resume(self) -> int:
        """Resume what has ended before its trials; return how many runs are not complete."""
        left = 0
        for run_id in self.accepted:
            server = self.random.choice(self.servers)
            state = server.run(run_id)["state"]
            left += state != "complete"
            if state in ("interrupted", "failed"):
                server.client.post(f"/api/v1/runs/{run_id}/resume")
        return left

    def finish(self, seconds: float) -> None:
        """Wait until every run is complete."""
        deadline = time.monotonic() + seconds
        while left := self.resume():
            assert time.monotonic() < deadline, f"{left} runs do not end"
            time.sleep(0.5)


DISTURBANCES: tuple[Callable[[Team], None], ...] = (
    Team._pause_server,
    Team._pause_worker,
    Team._kill_worker,
    Team._kill_server,
    *(Team._cut_connections,) * 3,
    Team._kill_database,
)


def _paused(pid: int, seconds: float) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)


@contextmanager
def team(root: Path, count: int, seed: int) -> Iterator[Team]:
    """Start a database and servers on it, with the environment that names it."""
    with ExitStack() as stack:
        database = stack.enter_context(postgresql.server())
        url = database.new_database("bench")
        before = os.environ.get("FABRICBENCH_CATALOG_URL")
        os.environ["FABRICBENCH_CATALOG_URL"] = url
        try:
            servers = Team(root, database, url, count, seed)
            stack.callback(servers.close)
            yield servers
        finally:
            os.environ.pop("FABRICBENCH_CATALOG_URL")
            if before is not None:
                os.environ["FABRICBENCH_CATALOG_URL"] = before


def main() -> int:
    parser = argparse.ArgumentParser(description="Disturb servers on one PostgreSQL and judge what they did.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, team(Path(folder), given.servers, given.seed) as servers:
        deadline, number = time.monotonic() + given.seconds, 0
        while time.monotonic() < deadline:
            number += 1
            servers.submit(number)
            servers.disturb()
            with suppress(httpx.HTTPError, KeyError):
                servers.resume()
        servers.finish(600)
        history = read_history(servers.url)
        found = faults(history, servers.accepted)
        told = {"accepted": len(servers.accepted), "changes": len(history), **servers.done, "faults": found}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
