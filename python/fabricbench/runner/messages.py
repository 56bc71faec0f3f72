"""Messages between the process of a run and the processes that run its trials; errors of a run.

The answer to an `Order` is progress reports of the backend, followed by `Done` or `Failed`. The errors are
those of trial processes, clusters and searches.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricbench.backend.protocol import SharingCores
from fabricbench.errors import UserError
from fabricbench.plan.expand import PlannedTrial
from fabricbench.store import TrialFacts
from fabricbench.store.record.writer import WrittenRecord


@dataclass(frozen=True)
class Setup:
    """Common settings of all trials of a process; see `Runner`."""

    backend: SharingCores
    threads: int | None


@dataclass(frozen=True)
class Order:
    """A trial to run.

    Attributes:
        planned: The trial.
        facts: Its facts.
        folder: Folder for its record.
        cores: Number of cores that it may use.
    """

    planned: PlannedTrial
    facts: TrialFacts
    folder: Path
    cores: int


@dataclass(frozen=True)
class Done:
    """A trial has finished and its record is complete."""

    summary: Mapping[str, Any]
    engine: Mapping[str, Any]
    record: WrittenRecord


@dataclass(frozen=True)
class Failed:
    """A trial has failed: the parts of its exception, and the traceback as text."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]
    trace: str

    @classmethod
    def by(cls, error: BaseException) -> Failed:
        """Convert an exception; one that cannot be pickled becomes a RuntimeError with the same message."""
        trace = "".join(traceback.format_exception(error))
        parts: Any = error.__reduce__()
        try:
            failed = cls(parts[0], parts[1], dict(vars(error)), trace)
            pickle.loads(pickle.dumps(failed))
        except Exception:  # noqa: BLE001 -- any reason why it cannot be pickled
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {}, trace)
        return failed

    @property
    def error(self) -> BaseException:
        """The exception, rebuilt from its parts."""
        # `__init__` is not called: its parameters may differ from the stored arguments.
        error = self.kind.__new__(self.kind, *self.arguments)
        vars(error).update(self.attributes)
        error.add_note(f"in the process of the trial:\n{self.trace}")
        return error


class TrialProcessError(UserError):
    """The process of a trial has ended unexpectedly.

    Attributes:
        hint: Suggested remedy.
    """

    hint = (
        "it may have run out of memory; finished trials are intact, and --resume runs only the rest, with "
        "--jobs 1 one after the other"
    )


class ClusterError(UserError):
    """Ray is missing, or a cluster cannot be used.

    Attributes:
        hint: Suggested remedy.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class TuningError(UserError):
    """A search cannot run as requested.

    Attributes:
        hint: Suggested remedy.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
