"""Opens and locks the journal of a search: an Optuna file in the workspace, written by one process."""

from __future__ import annotations

import warnings
from fcntl import LOCK_EX, LOCK_NB, flock
from typing import TYPE_CHECKING, Any, TextIO

from fabricbench.runner.messages import TuningError
from fabricbench.store import StoreError
from fabricbench.words import install_hint

if TYPE_CHECKING:
    from pathlib import Path

    from optuna.storages import JournalStorage


def library() -> Any:
    """Return the `optuna` module.

    Raises:
        TuningError: It is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        text = "tuning searches with Optuna, which is not installed"
        raise TuningError(text, install_hint("tune", "optuna>=5")) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Several features of Optuna are marked experimental; the search depends on none that may be removed.
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def locked(journal: Path) -> TextIO:
    """Lock a journal, so that a second process cannot run the same search."""
    try:
        journal.parent.mkdir(exist_ok=True)
        lock = journal.with_suffix(".lock").open("w")
    except OSError as error:
        raise unusable(journal, error) from error
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError as error:
        lock.close()
        hint = "wait for it, or give another --seed to search beside it"
        raise TuningError("the same search runs already in this workspace", hint) from error
    return lock


def unusable(journal: Path, error: Exception) -> StoreError:
    """Return the error for a journal that cannot be used."""
    message = getattr(error, "strerror", None) or f"the journal of the search cannot be used: {error}"
    return StoreError(
        journal, message, "make room, or remove the file: trials are kept, and run no second time"
    )


def storage_of(journal: Path) -> JournalStorage:
    """Return the storage of a journal that this process has locked.

    Raises:
        OSError: It cannot be read or written.
    """
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    class Ours(JournalFileOpenLock):
        """Does nothing: Optuna's own locks are not released when a process is killed."""

        def acquire(self) -> bool:
            return True

        def release(self) -> None:
            return

    _without_torn_line(journal)
    return JournalStorage(JournalFileBackend(str(journal), lock_obj=Ours(str(journal))))


def _without_torn_line(journal: Path) -> None:
    """Remove an incomplete last line, as left by a process that was killed while writing."""
    if journal.exists():
        with journal.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
