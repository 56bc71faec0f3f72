"""Columns that hold nothing are left out by one rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fabricbench.metrics import BY_NAME
from fabricbench.report.columns import held

NAMES = ["completion_time_ms", "ideal_percent", "pfc_rx"]


def held_names(rows: list[Any]) -> list[str]:
    return [metric.name for metric in held([BY_NAME[name] for name in NAMES], rows)]


def row(status: str = "complete", published: tuple[str, ...] = (), has_chunks: bool = True) -> Any:
    """A row that holds a time alone."""
    values = {"completion_time_ms": 1.0}
    return SimpleNamespace(
        summary=SimpleNamespace(status=status, value=values.get),
        trial=SimpleNamespace(has=lambda _table: has_chunks),
        published_metrics=published,
    )


def test_what_no_row_holds_is_left_out() -> None:
    assert held_names([row()]) == ["completion_time_ms"]
    assert held_names([row(), row(published=("pfc_rx",))]) == ["completion_time_ms", "pfc_rx"]


def test_all_stay_where_a_simulated_job_did_not_complete() -> None:
    assert held_names([row(), row("incomplete")]) == NAMES
    assert held_names([row("incomplete", has_chunks=False)]) == ["completion_time_ms"]
