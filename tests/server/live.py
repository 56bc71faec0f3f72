"""A server process of the tests' own, and what they ask of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
from tests.server.conftest import BEARER, TOKEN
from tests.support.samples import PLAN

SMALL = PLAN
SLOW = (
    PLAN.replace("name: small", "name: slow")
    .replace("[1MB, 2MB]", "[1MB, 512MB]")
    .replace("collective: all-to-all, algorithm: parallel", "collective: incast")
    .replace("jobs:", "  switch: {pfc: on, ecn: alibaba}\njobs:")
    + "transport: {mtu: 256, rate_control: dcqcn}\nobserve: {series_points: 5}\n"
)
"""Its first trial takes no time, its second about a second: random marks leave nothing to fast-forward."""
ENDLESS = SLOW.replace("512MB", "512GB")
"""The same, but its second trial takes a quarter of an hour."""


_MANY = httpx.Limits(max_connections=250)


class Live:
    """A running server."""

    def __init__(self, root: Path, *options: str, before: str = "") -> None:
        """Start it; `before` is Python that is run first, such as for other limits."""
        self.root = root
        environment = os.environ | {"FABRICBENCH_TOKEN": TOKEN}
        command = [
            sys.executable,
            "-c",
            f"{before}\nfrom fabricbench.cli import main; main()",
            "serve",
            "--port",
            "0",
            *options,
        ]
        self.process = subprocess.Popen(
            [*command, "--workspace", str(root)], stderr=subprocess.PIPE, text=True, env=environment
        )
        self.greeting = ""
        while "?token=" not in self.greeting:
            line = (self.process.stderr or sys.stdin).readline()
            assert line, f"the server ended: {self.greeting}"
            self.greeting += line
        self.said: list[str] = []
        Thread(target=self._listen, daemon=True).start()
        self.address = re.search(r"https?://\S+?:\d+", self.greeting)[0]  # type: ignore[index]
        self.client = httpx.Client(base_url=self.address, headers=BEARER, timeout=60, limits=_MANY)

    def _listen(self) -> None:
        """Keep what the server tells, so that it never waits for a reader."""
        with suppress(ValueError):  # closed
            for line in self.process.stderr or ():
                self.said.append(line)

    def submit(self, yaml: str = SMALL, **more: Any) -> str:
        answer = self.client.post("/api/v1/runs", json={"yaml": yaml, **more})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/api/v1/runs/{run_id}").json()
        return found

    def until(
        self, run_id: str, is_so: Callable[[dict[str, Any]], bool], seconds: float = 60
    ) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not is_so(found := self.run(run_id)):
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def until_state(self, run_id: str, state: str, seconds: float = 60) -> dict[str, Any]:
        return self.until(run_id, lambda run: run["state"] == state, seconds)

    def memory_bytes(self, kind: str = "VmRSS") -> int:
        """Return how much memory the server has now, or had at most (VmHWM)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith(f"{kind}:")).split()[1]) << 10

    def workers(self) -> list[int]:
        """Return the process numbers of the workers."""
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        numbers = [int(each) for file in children for each in file.read_text().split()]
        return [each for each in numbers if b"fabricbench.server.workers.run_worker" in _command(each)]

    def worker(self) -> int:
        """Return the process number of the only worker."""
        (found,) = self.workers()
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def stop(self) -> int:
        self.client.close()  # the server waits for who is connected
        self.process.terminate()
        return self.close()

    def close(self) -> int:
        """Wait until the process has ended, and give up every connection to it."""
        self.client.close()
        status = self.process.wait(120)
        if self.process.stderr:
            self.process.stderr.close()
        return status


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def live(root: Path, *options: str, before: str = "") -> Iterator[Live]:
    server = Live(root, *options, before=before)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
        else:
            server.close()


Event = tuple[str, str, dict[str, Any]]
"""Number, kind and content."""


def events(server: Live, run_id: str, last: str = "") -> list[Event]:
    """Return the events of a run until the stream ends."""
    return list(follow(server, run_id, last))


def follow(server: Live, run_id: str, last: str = "") -> Generator[Event]:
    """Yield the events of a run as they come; close it to end the stream."""
    fields: dict[str, str] = {}
    headers = {"Last-Event-ID": last} if last else {}
    with server.client.stream("GET", f"/api/v1/runs/{run_id}/events", headers=headers) as stream:
        for line in stream.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
                fields = {}
