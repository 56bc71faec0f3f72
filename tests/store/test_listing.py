"""The order of trials in a list: by a metric of their first job, whatever stands in other rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import job_spec, run_spec, run_trial, trial_facts

from fabricbench.store import Workspace
from fabricbench.store.catalog_schema import trials
from fabricbench.store.listing import TrialQuery, page
from fabricbench.store.sql.statement import delete, insert, select
from fabricbench.store.trial import to_json

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
        row = connection.execute(select(trials)).one().mapping
        connection.execute(delete(trials))
        del row["attempt"]
        for number, text in enumerate(texts):
            connection.execute(insert(trials, row | {"id": f"{number:012x}", "results": text}))
    return workspace


def listed(workspace: Workspace, **given: Any) -> list[int]:
    _, found = page(workspace, TrialQuery(sort=METRIC, **given))
    return [int(trial.id, 16) for trial in found]


def in_order(values: Sequence[float | None], *, descending: bool) -> list[int]:
    """Order the places of values as trials are: none last, equal ones in the order of their attempts."""

    def key(place: int) -> tuple[bool, float, int]:
        value = values[place]
        return (value is not None) == descending, value or 0, place

    return sorted(range(len(values)), key=key, reverse=descending)


def written(results: list[dict[str, Any]], value: float | None, **texts: str) -> str:
    """Write the results of a trial whose first job has a value of the metric, and the second a larger one."""
    first, second = results
    return to_json([first | {METRIC: value} | texts, second | {METRIC: 1e301}])


@pytest.mark.parametrize("descending", [True, False])
def test_the_metric_of_the_first_job_orders_trials(
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
