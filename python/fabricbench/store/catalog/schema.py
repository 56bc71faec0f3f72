"""Columns of the tables `trials` and `memberships` (plans and suites of trials), states of both, and limits.

The SQL files in `migrations/` create the tables; a test compares the columns here with them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

QUEUED = "queued"
RUNNING = "running"
COMPLETE = "complete"
INCOMPLETE = "incomplete"
INTERRUPTED = "interrupted"
FAILED = "failed"

FINISHED = (COMPLETE, INCOMPLETE)
"""States of a trial with a record; there is at most one such row per id."""
IS_FINISHED: Final = f"status IN ('{COMPLETE}', '{INCOMPLETE}')"
"""SQL condition that a trial has a record."""
IN_TRASH: Final = "attempt IN (SELECT attempt FROM trash)"
"""SQL condition that an attempt is in the trash."""
NOT_IN_TRASH: Final = "attempt NOT IN (SELECT attempt FROM trash)"

TAG_LENGTH_MAX = 64
"""Largest length of a user's tag, in characters."""
VIEW_LENGTH_MAX = 64
"""Largest length of a view's name, in characters."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        type: Its SQL type, without a length.
        length_max: Largest length of its texts in characters; None for no limit.
        is_nullable: Whether it may be null.
    """

    type: str
    length_max: int | None = None
    is_nullable: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether its values are integers, not texts."""
        return self.type in {"INTEGER", "BIGINT"}


_INTEGER = Column("INTEGER")
_TEXT = Column("TEXT")
_OPTIONAL_TEXT = Column("TEXT", is_nullable=True)
_ID = Column("VARCHAR", 12)
_TIME = Column("VARCHAR", 32)
_OPTIONAL_TIME = Column("VARCHAR", 32, is_nullable=True)

_OF_RUN: Final = {
    "plan": _TEXT,
    "title": _TEXT,
    "plan_source": _TEXT,
    "overrides": _TEXT,
    "suite": _ID,
    "position": _INTEGER,
    "variant": _TEXT,
    "reference": _OPTIONAL_TEXT,
    "iteration": _INTEGER,
    "data_size_bytes": Column("BIGINT"),
    "tag": _TEXT,
    "published": _OPTIONAL_TEXT,
    "criteria": _TEXT,
    "size_kind": _TEXT,
    "axes": _TEXT,
}
OF_RUN: Final = tuple(_OF_RUN)
"""Columns of a trial that depend on the run that it is part of."""

TRIAL_COLUMNS: Final = {
    "attempt": _INTEGER,  # a row for each attempt at a trial, numbered in the order in which they started
    "id": _ID,
    "status": Column("VARCHAR", 16),
    "message": _TEXT,
    **_OF_RUN,
    "run_spec": _TEXT,
    "backend": _TEXT,
    "backend_version": _TEXT,
    "engine_version": _TEXT,
    "observed": _TEXT,
    "record_version": _INTEGER,
    "host": _TEXT,
    "pid": _INTEGER,
    "process_start": _TEXT,
    "folder": _TEXT,
    "tables": _OPTIONAL_TEXT,
    "digests": _OPTIONAL_TEXT,
    "started_at": _TIME,
    "ended_at": _OPTIONAL_TIME,
    "summary": _OPTIONAL_TEXT,
    "results": _OPTIONAL_TEXT,
    "engine": _OPTIONAL_TEXT,
    "machine": _TEXT,
}
MEMBERSHIP_COLUMNS: Final = {"number": _INTEGER, "trial_id": _ID, "placed_at": _OPTIONAL_TIME, **_OF_RUN}
