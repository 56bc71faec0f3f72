"""Selects the metrics of the whole fabric, shown per trial and not for each of the jobs that share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from fabricbench.metrics import METRICS, Metric, Scope
from fabricbench.report.documents.columns import Shown, shares_fabric

_Row = TypeVar("_Row", bound="Shown")
OF_FABRIC: Final = tuple(metric for metric in METRICS if metric.scope is Scope.RUN)
"""Every metric of the whole fabric."""
SHOWN: Final = tuple(
    metric for metric in OF_FABRIC if not metric.is_on_demand or metric.name == "pfc_pause_count"
)
"""Metrics of the whole fabric in tables for people."""


def per_trial(rows: Iterable[_Row]) -> list[_Row]:
    """Return a row for each trial with a shared fabric and any of its metrics, in their order."""
    first = {row.trial.attempt: row for row in rows if shares_fabric(row.trial)}
    return [row for row in first.values() if held(row)]


def held(row: Shown) -> list[Metric]:
    """Return the metrics of the whole fabric that a row has."""
    return [metric for metric in SHOWN if row.summary.value(metric.name) is not None]


def columns_of(rows: Sequence[Shown]) -> list[Metric]:
    """Return the metrics of the whole fabric that at least one row has."""
    return [metric for metric in SHOWN if any(metric in held(row) for row in rows)]
