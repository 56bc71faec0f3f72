"""Which columns of a table hold something: the same rule in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fabricbench.analysis.summary import Summary
    from fabricbench.store import Trial


class Shown(Protocol):
    """A row of a table of results."""

    @property
    def trial(self) -> Trial:
        """The trial."""

    @property
    def summary(self) -> Summary:
        """What it shows about a job."""

    @property
    def published_metrics(self) -> Collection[str]:
        """Metrics with a published value next to ours."""


def held_metrics(names: Iterable[str], rows: Sequence[Shown]) -> list[str]:
    """Leave out the metrics that hold nothing in any row, as those that make no sense of the jobs.

    All stay where a job with chunks did not complete: what is missing then says so.
    """
    if any(row.summary.status != "complete" and row.trial.has("chunks") for row in rows):
        return list(names)
    return [name for name in names if any(_holds(row, name) for row in rows)]


def _holds(row: Shown, name: str) -> bool:
    return row.summary.value(name) is not None or name in row.published_metrics
