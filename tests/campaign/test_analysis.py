"""What a campaign came to: known effects found, gaps told, best and worst settings."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from tests.support.campaigns import (
    ACKNOWLEDGE,
    TIME,
    Values,
    made,
    measured,
    response_of,
    table_of,
)
from tests.support.samples import job_spec

import fabricbench as fb
from fabricbench.figures.campaign.parallel import parallel_plot
from fabricbench.metrics import BY_NAME
from fabricbench.results.studies.campaign_table import main_metric
from fabricbench.results.studies.factor_effects import CampaignTable, front_of
from fabricbench.store import TrialFacts, Workspace, trash


def test_known_effects_are_found_with_their_confidence(full: Path) -> None:
    response = response_of(full)
    effects = response.effects
    assert effects is not None
    assert effects.mean == pytest.approx(150)
    assert [factor.name for factor in response.factors] == ["data_size", "transport.ack_every"]
    percents = [[level.percent for level in levels] for levels in effects.levels]
    assert percents == [pytest.approx([-100 / 3, 100 / 3]), pytest.approx([20 / 3, 0, -20 / 3])]
    # Three seeds of a variance of 1/4 in each of six settings, of which two have the value. Satterthwaite:
    # (2/9 + 1/9)^2 / (2/81 + 4/1296) * 2 = 8 degrees of freedom.
    variance = (2 * (1 / 2 - 1 / 6) ** 2 + 4 * (1 / 6) ** 2) * 0.25 / 3
    margin = effects.levels[1][1].margin_percent
    assert margin == pytest.approx(100 * 2.306004135 * math.sqrt(variance) / 150, rel=1e-6)
    assert effects.shares[0] == pytest.approx(50**2 / (50**2 + 200 / 3 + 0.5 / 3))
    assert effects.pairs[0, 1] == pytest.approx(0, abs=1e-12)
    assert response.notes() == []


def test_best_and_worst_settings_have_an_interval_of_their_own(full: Path) -> None:
    response = response_of(full)
    best, worst = response.ranked()[0], response.ranked()[-1]
    assert (best.values, worst.values, best.count) == (("1 MB", "16"), ("2 MB", "1"), 3)
    assert [best.mean, worst.mean] == pytest.approx([90, 210])
    assert best.margin == pytest.approx(4.302652729749464 * 0.5 / math.sqrt(3))
    assert [setting.values for setting in response.best_of_each()] == [("1 MB", "16"), ("2 MB", "16")]


def test_settings_that_the_seeds_do_not_tell_from_the_best_are_as_good(file: Path) -> None:
    """Means of 100, 101 and 110 ms, each with a deviation of 2: Welch's t is 0.6 and 6."""
    means = {1: 100.0, 4: 101.0, 16: 110.0}

    def values(facts: TrialFacts, _: int) -> Values:
        mean = means[dict(facts.axes)["transport.ack_every"]]
        return {"completion_time_ms": mean + 2 * (facts.iteration - 1)}

    measured(file, file.parent / "fabricbench-workspace", values)
    response = response_of(file)
    best = response.best_of_each()
    assert [setting.values for setting in best] == [("1 MB", "1"), ("2 MB", "1")]
    assert [response.as_good(setting) for setting in best] == [1, 1]
    assert response.as_good(response.ranked()[-1]) == 0


def test_relative_values_tell_what_a_factor_does_at_every_size_alike(file: Path) -> None:
    """Times of 1 and 1,000 ms, of which acknowledging takes the same share."""

    def values(facts: TrialFacts, _: int) -> Values:
        share = 1 + ACKNOWLEDGE[dict(facts.axes)["transport.ack_every"]] / 100
        return {"completion_time_ms": (1 if facts.data_size_bytes == 1 << 20 else 1000) * share}

    measured(file, file.parent / "fabricbench-workspace", values)
    table = table_of(file, [TIME.name])
    absolute, relative = table.response(TIME).effects, table.response(TIME, relative=True).effects
    assert absolute is not None
    assert relative is not None
    assert absolute.shares[0] > 0.9
    assert relative.shares == pytest.approx([0, 1])
    assert relative.pairs[0, 1] == pytest.approx(0)
    assert [level.percent for level in relative.levels[1]] == pytest.approx([10, 0, -10])


def test_relative_values_of_0_are_alike(file: Path) -> None:
    measured(
        file,
        file.parent / "fabricbench-workspace",
        lambda facts, _: {"frames_lost": facts.data_size_bytes >> 21},
    )
    lost = BY_NAME["frames_lost"]
    response = table_of(file, [lost.name]).response(lost, relative=True)
    assert {setting.mean for setting in response.settings} == {1.0}


def test_the_better_direction_of_a_metric_decides_what_is_best(file: Path) -> None:
    def values(facts: TrialFacts, place: int) -> Values:
        return {"busbw_gb_per_s": made(facts, place)["completion_time_ms"]}

    measured(file, file.parent / "fabricbench-workspace", values)
    busbw = BY_NAME["busbw_gb_per_s"]
    assert table_of(file, [busbw.name]).response(busbw).ranked()[0].values == ("2 MB", "1")


def test_missing_trials_and_values_are_told_and_do_not_move_effects(file: Path) -> None:
    def values(facts: TrialFacts, place: int) -> Values | None:
        if place < 3:  # a whole setting
            return None
        if place == 3:  # a record without the metric
            return {"queue_max_bytes": 1.0}
        return None if place == 8 else {"completion_time_ms": made(facts, place)["completion_time_ms"]}

    measured(file, file.parent / "fabricbench-workspace", values)
    table = table_of(file, [TIME.name])
    assert table.missing["status"].to_list() == ["not run"] * 4
    response = table.response(TIME)
    assert (response.trials, response.unmeasured, len(response.settings)) == (13, 1, 5)
    assert response.notes() == [
        "1 of 6 settings have no value.",
        "2 of 5 settings have fewer than 3 seeds, the fewest 2; each setting counts the same.",
        "5 of 6 combinations are there: effects are those of an additive model by least squares, and shares "
        "of the variance may overlap.",
    ]
    effects = response.effects
    assert effects is not None
    # Additive, as the values are, but for what the missing seeds take from the mean of their settings.
    assert [level.effect for level in effects.levels[0]] == pytest.approx([-50, 50], abs=0.5)
    assert [level.effect for level in effects.levels[1]] == pytest.approx([10, 0, -10], abs=0.5)


def test_without_a_second_seed_there_are_effects_and_no_intervals(file: Path) -> None:
    measured(
        file,
        file.parent / "fabricbench-workspace",
        lambda facts, place: None if facts.iteration else made(facts, place),
    )
    response = response_of(file)
    assert response.notes()[0].startswith("One seed of each setting: there are no intervals")
    assert response.effects is not None
    assert {level.margin_percent for levels in response.effects.levels for level in levels} == {None}
    assert response.ranked()[0].margin is None
    assert response.as_good(response.ranked()[0]) is None


def test_effects_that_too_few_combinations_tell_apart_are_none_and_named() -> None:
    settings = {"a": ["0", "1", "1"], "b": ["0", "0", "1"], "c": ["0", "1", "0"]}
    frame = pl.DataFrame(
        {"trial": ["x", "y", "z"], "status": ["complete"] * 3, **settings, TIME.name: [1.0, 2.0, 4.0]}
    )
    response = CampaignTable(frame, dict.fromkeys("abc", ("0", "1"))).response(TIME)
    assert response.effects is not None
    assert {level.effect for levels in response.effects.levels for level in levels} == {None}
    assert response.notes()[-1] == "a, b, c: too few combinations are there to tell these effects apart."


@pytest.mark.parametrize("lost", [math.nan, math.inf, None])
def test_values_that_are_no_numbers_count_as_none(lost: float | None) -> None:
    frame = pl.DataFrame(
        {
            "trial": ["a", "b", "c"],
            "status": ["complete"] * 3,
            "window": ["1", "1", "2"],
            TIME.name: [1.0, lost, 3.0],
        }
    )
    response = CampaignTable(frame, {"window": ("1", "2")}).response(TIME)
    assert (response.trials, response.unmeasured) == (2, 1)
    assert response.effects is not None
    assert response.effects.mean == 2


@pytest.mark.parametrize("values", [[5.0], [None]])
def test_one_trial_is_a_campaign_without_factors(values: list[float | None]) -> None:
    frame = pl.DataFrame(
        {"trial": ["a"], "status": ["complete"], TIME.name: values},
        {"trial": pl.String, "status": pl.String, TIME.name: pl.Float64},
    )
    response = CampaignTable(frame, {}).response(TIME)
    assert (response.effects.mean if response.effects else None) == values[0]
    assert [setting.mean for setting in response.settings] == [value for value in values if value]
    assert (response.best_of_each(), parallel_plot(response)) == ([], None)


def test_the_job_that_fares_worst_counts_or_the_one_that_is_named(full: Path) -> None:
    workspace = Workspace.open(full.parent / "fabricbench-workspace")
    with workspace.database.writing() as connection:
        row = {"attempt": 1, "metric": TIME.name, "job": "other", "value": 1e6}
        connection.insert("trial_metrics", row)
    values = table_of(full, [TIME.name]).frame[TIME.name]
    named = table_of(full, [TIME.name], "test").frame[TIME.name]
    assert (values.max(), named.max()) == (1e6, 210.5)


def test_trials_in_the_trash_are_missing(full: Path) -> None:
    workspace = Workspace.open(full.parent / "fabricbench-workspace")
    trash.delete_trial(workspace, table_of(full).frame["trial"][0])
    assert table_of(full).missing.height == 1


def test_the_main_metric_is_that_of_most_jobs() -> None:
    collective, open_loop = job_spec(), job_spec(kind="open-loop")
    assert main_metric([collective]) is TIME
    assert main_metric([open_loop, open_loop, collective]).name == "fct_ms_p99"


def test_the_pareto_front_holds_settings_that_no_other_beats(full: Path) -> None:
    table = table_of(full)
    front = front_of(table.response(TIME), table.response(BY_NAME["queue_max_bytes"]))
    # The queue is made to be the deeper, the shorter the time: no setting beats another.
    assert len(front.best) == 6
    assert front.label(front.best[0]) == "data_size 1 MB, ack_every 16"


@pytest.mark.slow
def test_it_finds_what_the_runs_of_its_plans_have_left(file: Path) -> None:
    root = file.parent / "fabricbench-workspace"
    changes = {"sweep": {"data_size": ["1MB", "2MB"], "transport.ack_every": [1, 4, 16]}, "iterations": 3}
    plain = fb.run(fb.load("jct-alltoall").with_(changes), workspace=root).summary
    frame = table_of(file).typed
    both = frame.join(plain, left_on="trial", right_on="id", suffix="_of_run")
    assert both.height == 18
    assert both[TIME.name].to_list() == both[f"{TIME.name}_of_run"].to_list()
    assert both["transport.ack_every"].to_list() == both["transport.ack_every_of_run"].to_list()
    assert not table_of(file).missing.height
