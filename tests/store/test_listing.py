"""The order of trials in a list: by a metric of the job that fares worst, whatever stands in other rows."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import job_spec, run_spec, run_trial, trial_facts

from fabricbench.store import Workspace
from fabricbench.store.catalog.outcomes import save_outcome
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.catalog.trial import to_json
from fabricbench.store.queries.listing import Threshold, ThresholdError, TrialQuery, page

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
METRIC = "busbw_gb_per_s"
VALUES = (7, 12.5, 1e-7, 1.5e20, 0, None, 2**53, 0.1 + 0.2, 12.5, None, 1e300, 99)
NO_RESULTS = (
    *(None, "", "null", "{}", "[]", "{", "[1]", '[{"busbw_gb_per_s":"9"}]', '[{"busbw_gb_per_s":true}]'),
    *('[{"busbw_gb_per_s":NaN}]', '[{"busbw_gb_per_s":[1]}]', '"busbw_gb_per_s":', "[" * 5000, "9" * 400),
    *('[{"busbw_gb_per_s":' + "9" * 400 + "}]", '[{"busbw_gb_per_s":1e9999}]', r'[{"job":"\ud800"}]'),
    *('[{"busbw_gb_per_s":1', '[{"busbw_gb_per_s":1 2}]'),
)


@pytest.fixture
def results(tmp_path: Path) -> list[dict[str, Any]]:
    """What the catalog has of a trial with two jobs."""
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    jobs = (job_spec("one", (0, 1)), job_spec("two", (2, 3)))
    run_trial(workspace, trial_facts(run_spec=run_spec(*jobs)), FakeBackend())
    return [dict(row) for row in workspace.find("latest").results]


def with_results(folder: Path, texts: Sequence[str | None]) -> Workspace:
    """Copy the row of the trial for each text, which becomes its results; the texts number the ids."""
    workspace = Workspace.open(folder / "workspace")
    with workspace.database.writing() as connection:
        (row,) = (each.mapping for each in connection.execute("SELECT * FROM trials"))
        workspace.catalog.remove(connection, Sql("id = ?", row["id"]))
        del row["attempt"]
        for number, text in enumerate(texts):
            mine = row | {"id": f"{number:012x}", "results": text}
            attempt = connection.insert_numbered("trials", mine, "attempt")
            save_outcome(connection, attempt, row["run_spec"], text)
    return workspace


def listed(workspace: Workspace, sort: str = METRIC, **given: Any) -> list[int]:
    _, found = page(workspace, TrialQuery(sort=sort, **{"limit": 500} | given))
    return [int(trial.id, 16) for trial in found]


def in_order(values: Sequence[float | None], *, descending: bool) -> list[int]:
    """Order the places of values as trials are: none last, equal ones in the order of their attempts."""

    def key(place: int) -> tuple[bool, float, int]:
        value = values[place]
        return (value is not None) == descending, value or 0, place

    return sorted(range(len(values)), key=key, reverse=descending)


def two_jobs(results: list[dict[str, Any]], metric: str, values: Sequence[float | None]) -> str:
    """Write the results of a trial whose jobs have these values of a metric."""
    return to_json([row | {metric: value} for row, value in zip(results, values, strict=True)])


def written(results: list[dict[str, Any]], value: float | None, **texts: str) -> str:
    """Write the results of a trial whose first job has a value of the metric, and the second a larger one."""
    first, second = results
    return to_json([first | {METRIC: value} | texts, second | {METRIC: None if value is None else 1e301}])


@pytest.mark.parametrize("descending", [True, False])
def test_a_metric_orders_trials_as_python_does(
    tmp_path: Path, results: list[dict[str, Any]], *, descending: bool
) -> None:
    workspace = with_results(tmp_path, [written(results, value) for value in VALUES])
    expected = in_order(VALUES, descending=descending)
    assert listed(workspace, descending=descending) == expected
    assert listed(workspace, descending=descending, limit=4, offset=3) == expected[3:7]


def test_names_and_reasons_that_look_like_a_metric_are_none(
    tmp_path: Path, results: list[dict[str, Any]]
) -> None:
    looks = {"algorithm": '"busbw_gb_per_s":5}', "collective": 'x","busbw_gb_per_s":6,"'}
    workspace = with_results(tmp_path, [written(results, value, **looks) for value in (1, 3, None, 2)])
    assert listed(workspace) == [1, 3, 0, 2]


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize(("metric", "worst"), [(METRIC, min), ("completion_time_ms", max)])
def test_random_values_are_ordered_and_filtered_as_in_python(
    tmp_path: Path, results: list[dict[str, Any]], metric: str, worst: Any, *, descending: bool
) -> None:
    random = Random(7)
    choices = [None, *(random.uniform(0, 100) for _ in range(20)), 0, 1e-300, 1e300, 50]
    pairs = [(random.choice(choices), random.choice(choices)) for _ in range(80)]
    workspace = with_results(tmp_path, [two_jobs(results, metric, pair) for pair in pairs])
    known = [[value for value in pair if value is not None] for pair in pairs]
    values = [worst(each) if each else None for each in known]
    assert listed(workspace, metric, descending=descending) == in_order(values, descending=descending)
    second = [pair[1] for pair in pairs]
    by_job = listed(workspace, metric, job="two", descending=descending)
    assert by_job == in_order(second, descending=descending)
    for comparison, holds in COMPARED.items():
        where = (Threshold(metric, comparison, 50),)
        expected = {place for place, value in enumerate(values) if value is not None and holds(value, 50)}
        assert set(listed(workspace, metric, where=where)) == expected
        assert page(workspace, TrialQuery(where=where))[0] == len(expected)


def test_thresholds_are_read_and_refused_with_what_to_write() -> None:
    assert Threshold.read("ideal_percent < 50") == Threshold("ideal_percent", "<", 50)
    assert Threshold.read("fct_ms_p99>=1e-3") == Threshold("fct_ms_p99", ">=", 1e-3)
    for text, found, hint in (
        ("ideal_percent", "compares a metric with no number", "ideal_percent"),
        ("ideal_percnt<5", 'no metric "ideal_percnt"', "did you mean `ideal_percent`"),
        ("ideal_percent<x", '"x" in "ideal_percent<x" is not a number', "in %"),
        ("ideal_percent<nan", "is not a number", "ideal_percent<50"),
        ("ideal_percent==5", "compares", ""),
    ):
        with pytest.raises(ThresholdError, match=re.escape(found)) as caught:
            Threshold.read(text)
        assert hint in caught.value.hint


def test_results_of_another_spacing_are_read(tmp_path: Path, results: list[dict[str, Any]]) -> None:
    texts = [json.dumps(json.loads(written(results, value)), indent=1) for value in (1, 3, 2)]
    assert listed(with_results(tmp_path, texts)) == [1, 2, 0]


def test_rows_without_results_that_can_be_read_are_in_nobodys_way(
    tmp_path: Path, results: list[dict[str, Any]]
) -> None:
    sound = [written(results, value) for value in (1, 3, 2)]
    workspace = with_results(tmp_path, [*sound, *NO_RESULTS])
    for descending in (True, False):
        total, _ = page(workspace, TrialQuery(sort=METRIC, descending=descending))
        found = [number for number in listed(workspace, descending=descending) if number < len(sound)]
        assert total == len(sound) + len(NO_RESULTS)
        assert found == ([1, 2, 0] if descending else [0, 2, 1])
