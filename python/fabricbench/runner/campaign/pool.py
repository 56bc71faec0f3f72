"""Trials on a Ray cluster: started, waited for, started again where a worker or a node was lost.

Ray places each by the cores and the memory that it asks for. A worker that sees the workspace writes the
record into it; any other sends the files of the record back.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from fabricbench.runner.messages import ClusterError, Done, Failed, Order, Setup, TrialProcessError
from fabricbench.runner.worker import answer

if TYPE_CHECKING:
    from ray import ObjectRef

LOCAL: Final = "local"
"""The cores of this machine, without a cluster."""
_RETRIES: Final = 3
"""How often a trial is started again after its worker or its node was lost."""
_MARK: Final = ".campaign"
_TRY: Final = "try-"


@dataclass(frozen=True)
class Answer:
    """What came of a trial.

    Attributes:
        said: What its worker says.
        files: The files of its record, where the worker does not see the workspace.
        busy_s: How long the worker worked on it [s].
        node: Where it ran.
    """

    said: Done | Failed
    files: Mapping[str, bytes] | None
    busy_s: float
    node: str


class Pool:
    """The workers of a cluster.

    Attributes:
        cores: Cores that they have together.
    """

    def __init__(self, on: str, setups: Mapping[str, Setup], records: Path) -> None:
        """Start Ray on this machine, or join a cluster.

        Args:
            on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.
            setups: What all trials of a backend have in common, by its name.
            records: The folder in which records are written.

        Raises:
            ClusterError: Ray is not installed, or there is no such cluster.
        """
        self._ray = ray = _library()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        try:
            if on == LOCAL:
                ray.init(address="local", include_dashboard=False, **quiet)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ray.init(address=on, **quiet)
        except Exception as error:  # whatever Ray raises of what is not there
            raise ClusterError(f"no Ray cluster at {on}: {error}".splitlines()[0], _HINT) from error
        self.cores = int(ray.cluster_resources().get("CPU", 1))
        self._mark = records / f"{_MARK}-{uuid4().hex[:12]}"
        self._mark.write_text("")
        self._setups = {name: ray.put(setup) for name, setup in setups.items()}
        self._carry_out = ray.remote(max_retries=_RETRIES, retry_exceptions=False)(_carry_out)
        self._tasks: dict[ObjectRef[Answer], str] = {}

    def begin(self, key: str, order: Order, memory_bytes: int | None) -> None:
        """Have a trial carried out; `key` names it in what `answers` returns."""
        wanted: dict[str, Any] = {"num_cpus": order.cores}
        if memory_bytes is not None:
            wanted["memory"] = memory_bytes
        task = self._carry_out.options(**wanted).remote(
            self._setups[order.facts.backend], order, str(self._mark)
        )
        self._tasks[task] = key

    def largest_memory_bytes(self) -> int:
        """Return the most memory that one node lets its trials have."""
        nodes = (node["Resources"].get("memory", 0) for node in self._ray.nodes() if node["Alive"])
        return int(max(nodes, default=0))

    def answers(self, timeout_s: float) -> Iterator[tuple[str, Answer | Exception]]:
        """Wait for a trial at most so long [s], then yield each that has ended: an answer, or an error."""
        tasks = list(self._tasks)
        self._ray.wait(tasks, num_returns=1, timeout=timeout_s)
        ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)
        for task in ready:
            key = self._tasks.pop(task)
            try:
                yield key, self._ray.get(task)
            except self._ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()
                yield key, TrialProcessError(f"the trial was lost {_RETRIES + 1} times: {reason[0]}")

    def close(self) -> None:
        """End what runs and let go of the cluster."""
        for task in self._tasks:
            with suppress(Exception):
                self._ray.cancel(task, force=True)
        self._ray.shutdown()
        self._mark.unlink(missing_ok=True)


_HINT: Final = "`--on local` uses this machine; `ray status` tells whether a cluster is up"


def _library() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ClusterError(
            "campaigns run on Ray, which is not installed", "pip install 'fabricbench[ray]'"
        ) from error
    return ray


def _carry_out(setup: Setup, order: Order, mark: str) -> Answer:
    """Carry out a trial in a worker."""
    begun_at = time.monotonic()
    if not Path(mark).exists():
        with tempfile.TemporaryDirectory(prefix="fabricbench-") as elsewhere:
            folder = Path(elsewhere) / "record"
            said = answer(setup, replace(order, folder=folder), lambda _: None)
            files = {file.name: file.read_bytes() for file in folder.iterdir()} if folder.exists() else {}
        return Answer(said, files, time.monotonic() - begun_at, os.uname().nodename)
    # A try that was lost may still write, and so has a folder of its own.
    order.folder.mkdir(exist_ok=True)
    folder = order.folder / f"{_TRY}{uuid4().hex[:8]}"
    said = answer(setup, replace(order, folder=folder), lambda _: None)
    if isinstance(said, Done):
        for file in folder.iterdir():
            file.replace(order.folder / file.name)
    return Answer(said, None, time.monotonic() - begun_at, os.uname().nodename)


def remove_tries(folder: Path) -> None:
    """Remove what tries at a trial that were lost, or that have ended, left in its folder."""
    for left in folder.glob(f"{_TRY}*"):
        shutil.rmtree(left, ignore_errors=True)


def put_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a record that a worker sent."""
    folder.mkdir()
    for name, content in files.items():
        with (folder / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
