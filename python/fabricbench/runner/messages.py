"""What the process of a run and those that carry out its trials tell each other.

An `Order` is answered by the reports of progress of the backend, then by `Done` or `Failed`.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricbench.backend.protocol import SharingCores
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.runner.trials import Results
    from fabricbench.store import TrialFacts
    from fabricbench.store.writer import WrittenRecord


@dataclass(frozen=True)
class Setup:
    """What all trials of a process have in common; see `Runner`."""

    backend: SharingCores
    results: Results
    threads: int | None


@dataclass(frozen=True)
class Order:
    """A trial to carry out.

    Attributes:
        planned: The trial.
        facts: What is known of it.
        folder: Where its record is to be written.
        cores: How many cores it may use.
    """

    planned: PlannedTrial
    facts: TrialFacts
    folder: Path
    cores: int


@dataclass(frozen=True)
class Done:
    """A trial was carried out, and its record is whole."""

    summary: Mapping[str, Any]
    engine: Mapping[str, Any]
    record: WrittenRecord


@dataclass(frozen=True)
class Failed:
    """A trial came to nothing: the parts of what was raised, and the traceback as text."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]
    trace: str

    @classmethod
    def by(cls, error: BaseException) -> Failed:
        """Take apart what was raised; what cannot be sent becomes a RuntimeError that says the same."""
        trace = "".join(traceback.format_exception(error))
        parts: Any = error.__reduce__()
        try:
            failed = cls(parts[0], parts[1], dict(vars(error)), trace)
            pickle.loads(pickle.dumps(failed))
        except Exception:  # noqa: BLE001 -- whatever keeps it from being sent
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {}, trace)
        return failed

    @property
    def error(self) -> BaseException:
        """What was raised, put together again."""
        # Not by a call: classes of errors take other arguments than those that they keep.
        error = self.kind.__new__(self.kind, *self.arguments)
        vars(error).update(self.attributes)
        error.add_note(f"in the process of the trial:\n{self.trace}")
        return error


class TrialProcessError(Exception):
    """The process of a trial is gone.

    Attributes:
        hint: What to do.
    """

    hint = (
        "it may have run out of memory; finished trials are intact, and --resume runs only the rest, with "
        "--jobs 1 one after the other"
    )


class ClusterError(Exception):
    """Ray is missing, or a cluster cannot be used.

    Attributes:
        hint: What to do about it.
    """

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint


class TuningError(Exception):
    """A search that cannot be carried out as asked.

    Attributes:
        hint: What to do about it.
    """

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint
