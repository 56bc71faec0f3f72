"""A PostgreSQL server of the tests' own: in a folder of its own, on a Unix socket, gone when they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


def programs() -> Path | None:
    """Return the folder of the newest server's programs, where Debian has them; none without a server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class Server:
    """A server whose socket and data lie in one folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self._programs = programs

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections=50"
        self.call("pg_ctl", "--wait", "-o", options, "-l", str(self.folder / "log"), "start")

    def kill(self) -> None:
        """Kill every process of the server at once, as a power failure would."""
        postmaster = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        processes = (postmaster, *map(int, children))
        for process in processes:
            os.kill(process, signal.SIGKILL)
        # The next start is refused as long as one of them has the shared memory.
        until = time.monotonic() + 30
        while any(map(_is_alive, processes)) and time.monotonic() < until:
            time.sleep(0.01)
        # Where nobody waits for orphans, their numbers look alive to the next start.
        for left in (self.folder / "data/postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            left.unlink()

    def call(self, program: str, *arguments: str) -> None:
        # The server refuses to run as root.
        owner = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        command = [
            *(owner if os.geteuid() == 0 else ()),
            *(str(self._programs / program), "-D", str(self.folder / "data"), *arguments),
        ]
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, timeout=60)

    def new_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        address = f"host={self.folder} user=bench dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql://bench@/{name}?host={self.folder}"

    def drop_database(self, name: str) -> None:
        """Remove a database, if there is one of that name."""
        address = f"host={self.folder} user=bench dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _is_alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def server() -> Iterator[Server]:
    """Start a server and yield it."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="fabricbench-postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    running = Server(folder, found)
    try:
        running.call("initdb", "--auth=trust", "--username=bench", "--no-sync")
        running.start()
        yield running
    finally:
        if (folder / "data/postmaster.pid").exists():
            running.call("pg_ctl", "--wait", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
