"""Which metrics a table shows, in which order, and under which head."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fabricbench.metrics import BY_NAME, METRICS, View, in_views
from fabricbench.report.documents.columns import held
from fabricbench.report.documents.table_cells import metric_columns

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


def test_a_metric_that_a_table_shows_has_a_label() -> None:
    assert [metric.name for metric in METRICS if metric.views and not metric.label] == []


def test_the_mean_stands_before_the_other_figures_of_its_group() -> None:
    names = [metric.name for metric in in_views(View.RUN) if metric.group == "operation_us"]
    assert names[:3] == ["operation_us_mean", "operation_us_p50", "operation_us_p95"]


def test_a_head_does_not_repeat_the_word_to_its_left() -> None:
    names = ("ideal_percent", "fct_ms_p50", "fct_ms_p99", "fct_ms_max")
    found = [column.head for column in metric_columns([BY_NAME[name] for name in names])]
    assert found == [("ideal", "%"), ("FCT P50", "ms"), ("P99", "ms"), ("max", "ms")]
