"""Worker of a cluster: runs trials, and writes their result tables to the workspace or sends them back.

The process of the campaign writes the files that were sent, and removes those of lost attempts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from fabricbench.backend.protocol import Backend
from fabricbench.runner.campaign.progress_actor import Reporter
from fabricbench.runner.messages import ClusterError, Done, Failed, Order, Setup
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.runner.worker import answer
from fabricbench.store import TrialFacts
from fabricbench.store.errors import write_error

_TRY: Final = "try-"


@dataclass(frozen=True)
class Answer:
    """Result of a trial on a worker.

    Attributes:
        outcome: Success with the data of the record, or failure with the error.
        files: Files of the record, if the worker cannot access the workspace.
        busy_s: Time that the worker spent on the trial [s].
        node: Address of the node that ran it.
        machine: Description of that node; see `machine_facts`.
    """

    outcome: Done | Failed
    files: Mapping[str, bytes] | None
    busy_s: float
    node: str
    machine: Mapping[str, Any]


def run_orders(setup: Setup, orders: Sequence[Order], mark: str, board: Any = None) -> list[Answer]:
    """Run trials in sequence; the worker writes into the workspace if it can access the mark.

    Progress is reported to the board, if there is one.
    """
    node, machine = _node(), machine_facts()
    sees_workspace = Path(mark).exists()
    answers = []
    for order in orders:
        started_at = time.monotonic()
        reporter = Reporter(board, order.facts.id)
        reply, files = _run_order(setup, order, reporter, sees_workspace=sees_workspace)
        answers.append(Answer(reply, files, time.monotonic() - started_at, node, machine))
    return answers


def _node() -> str:
    import ray.util

    get: Callable[[], str] = ray.util.get_node_ip_address
    return get()


def _run_order(
    setup: Setup, order: Order, reporter: Reporter, *, sees_workspace: bool
) -> tuple[Done | Failed, Mapping[str, bytes] | None]:
    if error := _other_version(setup.backend.sharing(order.cores), order.facts):
        return Failed.by(error), None
    if sees_workspace:
        return _run_in_workspace(setup, order, reporter), None
    with tempfile.TemporaryDirectory(prefix="fabricbench-") as temporary:
        folder = Path(temporary) / "record"
        reply = answer(setup, replace(order, folder=folder), reporter)
        files = {file.name: file.read_bytes() for file in folder.iterdir()} if folder.exists() else {}
    return reply, files


def _other_version(backend: Backend, facts: TrialFacts) -> ClusterError | None:
    """Return an error if this worker's fabricbench version differs, as its results may differ; else None."""
    local = backend.version, backend.engine_version
    required = facts.backend_version, facts.engine_version
    if local == required:
        return None
    message = f"{os.uname().nodename} has backend {facts.backend} {' of engine '.join(map(str, local))}, not "
    return ClusterError(
        message + " of engine ".join(map(str, required)),
        "install the same fabricbench on every node",
    )


def _run_in_workspace(setup: Setup, order: Order, reporter: Reporter) -> Done | Failed:
    # Each attempt has its own folder, because a lost one may still be writing.
    order.folder.mkdir(exist_ok=True)
    folder = order.folder / f"{_TRY}{uuid4().hex[:8]}"
    reply = answer(setup, replace(order, folder=folder), reporter)
    if isinstance(reply, Done):
        for file in folder.iterdir():
            file.replace(order.folder / file.name)
    return reply


def remove_tries(folder: Path) -> None:
    """Remove the files of lost and finished attempts from the folder of a trial."""
    for try_folder in folder.glob(f"{_TRY}*"):
        shutil.rmtree(try_folder, ignore_errors=True)


def put_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the record files that a worker sent back.

    Raises:
        StoreError: The disk is full or failing.
    """
    try:
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            with (folder / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise write_error(folder, error) from error
