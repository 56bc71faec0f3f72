"""Analysis of campaigns: the right trials by their file, known effects found, gaps told, every output."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.campaigns import Values, measured

import fabricbench as fb
from fabricbench.cli.main import run
from fabricbench.figures import theme
from fabricbench.figures.campaign.parallel import LINES_MAX, parallel_plot
from fabricbench.metrics import BY_NAME
from fabricbench.report.campaign import CampaignReport, campaign_json
from fabricbench.report.html.campaign import campaign_page
from fabricbench.report.html.page import _environment
from fabricbench.report.terminal.campaign import campaign_text
from fabricbench.results.campaign import CampaignTable, campaign_table, main_metric
from fabricbench.results.factors import told_apart
from fabricbench.results.response import Response, front_of
from fabricbench.runner.campaign.file import load_campaign
from fabricbench.runner.campaign.members import Members, members_of, value_at, without
from fabricbench.store import TrialFacts, Workspace, trash
from fabricbench.store.catalog_schema import trial_metrics
from fabricbench.store.sql.statement import insert

TIME = BY_NAME["completion_time_ms"]
CAMPAIGN = """\
campaign: 1
name: acknowledge
title: How often to acknowledge
seeds: 3
plans:
  - {plan: jct-alltoall, sweep: {data_size: [1MB, 2MB], transport.ack_every: [1, 4, 16]}}
"""
ACKNOWLEDGE = {1: 10.0, 4: 0.0, 16: -10.0}
CHANCE = (-0.5, 0.0, 0.5)


def made(facts: TrialFacts, _: int) -> Values:
    """100 ms at 1 MB and 200 at 2 MB, each with what acknowledging does, and chance by the iteration."""
    time = 100 * (facts.data_size_bytes >> 20) + ACKNOWLEDGE[dict(facts.axes)["transport.ack_every"]]
    return {"completion_time_ms": time + CHANCE[facts.iteration], "queue_max_bytes": 1e6 / time}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABRICBENCH_WORKSPACE", raising=False)
    return written(tmp_path, CAMPAIGN)


def written(folder: Path, text: str) -> Path:
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


@pytest.fixture
def full(file: Path) -> Path:
    """The campaign with a workspace in which every trial has its record."""
    measured(file, file.parent / "fabricbench-workspace", made)
    return file


def members(folder: Path, *plans: str, more: str = "") -> Members:
    entries = "".join(f"  - {plan}\n" for plan in plans)
    return members_of(load_campaign(written(folder, f"campaign: 1\nname: some\n{more}plans:\n{entries}")))


def table_of(file: Path, metrics: list[str] | None = None, job: str | None = None) -> CampaignTable:
    found = members_of(load_campaign(file))
    workspace = Workspace.open(file.parent / "fabricbench-workspace")
    return campaign_table(workspace, found.frame, found.factors, metrics, job)


def response_of(file: Path) -> Response:
    return table_of(file, [TIME.name]).response(TIME)


# Factors.


def test_what_differs_among_the_trials_are_its_factors(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, seeds: 2, sweep: {data_size: [2MB, 1MB], transport.window: [64, 32]}}",
        "{plan: lb-alltoall-ecmp, seeds: 2, sweep: {data_size: [1MB]}, set: {transport.window: 32}}",
        more="set: {transport.ack_every: 4}\n",
    )
    # Sizes and numbers are in their order; what all have in common is none, and neither is the seed.
    assert found.factors == {
        "plan": ("jct-alltoall", "lb-alltoall-ecmp"),
        "data_size": ("1 MB", "2 MB"),
        "transport.window": ("32", "64"),
    }
    assert found.frame.height == 10


def test_a_field_that_a_plan_does_not_set_has_the_value_of_the_plan(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}}",
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}, set: {transport.ack_every: 8}}",
    )
    assert found.factors == {"transport.ack_every": ("2", "8")}


def test_a_mapping_and_a_field_in_it_do_not_count_twice(tmp_path: Path) -> None:
    ecn = "fabric.switch.ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}"
    swept = "fabric.switch.ecn.kmin: [50KB, 100KB]"
    found = members(
        tmp_path, f"{{plan: cc-alltoall-ecn, set: {{{ecn}}}, sweep: {{data_size: [1MB], {swept}}}}}"
    )
    assert found.factors == {"fabric.switch.ecn.kmin": ("50KB", "100KB")}


def test_one_value_written_in_two_ways_is_one(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}, set: {fabric.switch.buffer.size: 2MB}}",
        "{plan: jct-alltoall, sweep: {data_size: [2MB]}, set: {fabric.switch.buffer.size: 2048KB}}",
    )
    assert list(found.factors) == ["data_size"]


def test_a_trial_of_two_plans_counts_in_each_and_once_in_each(tmp_path: Path) -> None:
    text = (
        fb.load("jct-alltoall").text.replace("name: jct-alltoall", "name: again").replace("published:", "#")
    )
    (tmp_path / "again.yaml").write_text(text)
    found = members(
        tmp_path,
        "{plan: jct-alltoall, seeds: 2, sweep: {data_size: [1MB]}}",
        "{plan: jct-alltoall, seeds: 3, sweep: {data_size: [1MB]}}",
        "{plan: again.yaml, seeds: 2, sweep: {data_size: [1MB]}}",
    )
    assert found.frame.group_by("plan").len().sort("plan").rows() == [("again", 2), ("jct-alltoall", 3)]
    assert found.frame["trial"].n_unique() == 3


def test_trials_of_a_job_alone_are_counted_and_left_out(tmp_path: Path) -> None:
    found = members(tmp_path, "{plan: isolation-ring-neighbour, seeds: 1, sweep: {data_size: [1MB]}}")
    assert found.alone == 2
    assert found.frame.height == 1


def test_fields_are_found_in_models_mappings_and_lists() -> None:
    data = {"jobs": [{"name": "a", "gap": {"least": 1, "most": 2}}]}
    assert value_at(data, "jobs.0.gap.most") == 2
    assert value_at(data, "jobs.1.gap") is None
    assert value_at(data, "jobs.0.name.first") is None
    assert without(data, "jobs.0.gap.most") == {"jobs": [{"name": "a", "gap": {"least": 1}}]}


# Which factors can be told apart.


def apart(**columns: str) -> tuple[list[str], list[int], list[str]]:
    """Told apart: each factor as a text with a letter for its level in each setting."""
    found = told_apart(
        {name: list(text) for name, text in columns.items()},
        {name: sorted(set(text)) for name, text in columns.items()},
    )
    return [factor.name for factor in found.factors], list(found.settings), list(found.notes)


def test_factors_that_change_together_are_one() -> None:
    assert apart(a="xxyy", b="ppqq", c="klkl") == (["a / b", "c"], [0, 1, 2, 3], [])


def test_a_factor_that_follows_from_another_has_no_effect_of_its_own() -> None:
    names, _, notes = apart(plan="abcabc", spines="112112", size="xxxyyy")
    assert names == ["plan", "size"]
    assert notes == ["spines follows from plan: no effect of its own."]


def test_settings_in_which_two_factors_change_together_are_left_out() -> None:
    names, settings, notes = apart(plan="aaabbbc", window="1231239")
    assert (names, settings) == (["plan", "window"], [0, 1, 2, 3, 4, 5])
    assert notes == [
        "1 setting of 7 left out of the effects, where plan and window change together: c with 9."
    ]


def test_a_factor_of_which_one_value_is_left_has_no_effect() -> None:
    assert apart(a="xxxx", b="pqpq")[0] == ["b"]


def test_a_factor_with_too_many_values_is_left_out() -> None:
    numbers = [str(number) for number in range(300)]
    found = told_apart(
        {"many": numbers * 2, "two": ["a"] * 300 + ["b"] * 300}, {"many": numbers, "two": ["a", "b"]}
    )
    assert [factor.name for factor in found.factors] == ["two"]
    assert found.notes == ["many: 300 values are too many for effects."]


# The table and what it says.


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
        connection.execute(insert(trial_metrics, row))
    values = table_of(full, [TIME.name]).frame[TIME.name]
    named = table_of(full, [TIME.name], "test").frame[TIME.name]
    assert (values.max(), named.max()) == (1e6, 210.5)


def test_trials_in_the_trash_are_missing(full: Path) -> None:
    workspace = Workspace.open(full.parent / "fabricbench-workspace")
    trash.delete_trial(workspace, table_of(full).frame["trial"][0])
    assert table_of(full).missing.height == 1


def test_the_main_metric_is_that_of_most_jobs() -> None:
    collective, open_loop = {"collective": "ring"}, {"arrivals": {"gap": 1}}
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


# Figures.


def wide(count: int) -> Response:
    names = [str(number) for number in range(count)]
    frame = pl.DataFrame(
        {
            "trial": names,
            "status": ["complete"] * count,
            "one": [str(number % 50) for number in range(count)],
            "two": [str(number // 50) for number in range(count)],
            TIME.name: [float(number * 7919 % count + 1) for number in range(count)],
        }
    )
    levels = {name: tuple(dict.fromkeys(frame[name])) for name in ("one", "two")}
    return CampaignTable(frame, levels).response(TIME)


def lines(response: Response) -> Iterator[list[float]]:
    plot = parallel_plot(response)
    assert plot is not None
    for trace in plot.figure.data:
        values = list(trace.y)
        yield from (values[first : first + 3] for first in range(0, len(values), 4))


def test_parallel_coordinates_are_thinned_evenly_and_say_so() -> None:
    plot = parallel_plot(wide(5_000))
    assert plot is not None
    assert plot.reduced
    assert f"Drawn: {LINES_MAX:,} of 5,000 settings" in plot.caption
    drawn = list(lines(wide(5_000)))
    assert len(drawn) == LINES_MAX
    assert {0.0, 1.0} <= {line[-1] for line in drawn}  # the best and the worst are there
    assert drawn == list(lines(wide(5_000)))


def test_few_settings_are_all_drawn() -> None:
    assert len(list(lines(wide(100)))) == 100


@st.composite
def reports(draw: st.DrawFn) -> CampaignReport:
    """Campaigns of random settings, of which some lack seeds, records or values."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=3))
    names = [f"field.{place}" for place in range(len(sizes))]
    every = [list(map(str, each)) for each in itertools.product(*map(range, sizes))]
    rows = draw(st.lists(st.tuples(st.sampled_from(every), st.integers(0, 2)), min_size=1, max_size=30))
    value = st.one_of(st.none(), st.just(0.0), st.floats(1e-9, 1e9))
    values = draw(st.lists(value, min_size=len(rows), max_size=len(rows)))
    states = draw(
        st.lists(st.sampled_from(["complete", "failed", "not run"]), min_size=len(rows), max_size=len(rows))
    )
    columns: dict[str, list[Any]] = {
        "trial": list(map(str, range(len(rows)))),
        "iteration": [iteration for _, iteration in rows],
        **{name: [setting[place] for setting, _ in rows] for place, name in enumerate(names)},
        "status": states,
        TIME.name: [
            value if state == "complete" else None for value, state in zip(values, states, strict=True)
        ],
    }
    frame = pl.DataFrame(columns).with_columns(pl.col(TIME.name).cast(pl.Float64))
    levels = {name: sorted(set(columns[name])) for name in names}
    table = CampaignTable(frame, {name: own for name, own in levels.items() if len(own) > 1})
    response = table.response(TIME, relative=draw(st.booleans()))
    return CampaignReport("some", "", "campaign: 1", table, [response], (response, response))


@given(reports())
@settings(max_examples=50, deadline=None)
def test_whatever_is_missing_every_output_is_there(report: CampaignReport) -> None:
    text, page = campaign_text(report), render(report)
    assert "nan" not in text
    assert "nan" not in re.sub("<script.*?</script>", "", page, flags=re.DOTALL).lower()
    found = json.loads(campaign_json(report))
    told = [each["share"] for each in found["metrics"][0]["variance"]]
    assert all(0 <= share <= 1 + 1e-9 for share in told)
    percents = [each["percent"] for each in found["metrics"][0]["effects"]]
    assert all(percent is None or math.isfinite(percent) for percent in percents)


def render(report: CampaignReport) -> str:
    """The page without Plotly, which takes most of its time."""
    page = campaign_page(report)
    plots = [part.plot for section in page.sections for part in section.plots]
    assert all(json.loads(plot.json()) for plot in plots)
    return _environment().get_template("report.html.j2").render(page=page, plotly_js="", theme=theme)


# The commands.


def shown(capfd: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    capfd.readouterr()
    assert run(["campaign", *arguments]) == status
    found = capfd.readouterr()
    return found.err if status else found.out


@pytest.mark.usefixtures("full")
def test_a_terminal_shows_effects_best_and_worst(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "show", "campaign.yaml", "--pareto", "completion_time_ms,queue_max_bytes")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:2] == ["acknowledge: 18 of 18 trials have a record", "How often to acknowledge"]
    assert "Completion time (ms): mean 150.00 of 6 settings; lower is better" in lines
    assert "1 MB 100.00 -33.3 0.19" in lines
    assert "4 150.00 0.00 0.26" in lines
    assert "16 140.00 -6.67 0.26" in lines
    assert "best 1 MB 16 90.000 1.2421 3 0" in lines
    assert "worst 2 MB 1 210.00 1.2421 3" in lines
    assert "Pareto front of completion time and deepest queue" in lines


@pytest.mark.usefixtures("full")
def test_values_are_shown_relative_to_their_size_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    lines = [
        " ".join(line.split()) for line in shown(capfd, "show", "campaign.yaml", "--relative").splitlines()
    ]
    title = "Completion time, relative to the mean of its plan and size"
    assert f"{title}: mean 1.000 of 6 settings; lower is better" in lines
    assert "best 1 MB 16 0.9000 0.01242 3 0" in lines


@pytest.mark.usefixtures("full")
def test_json_has_effects_settings_and_trials(capfd: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = json.loads(shown(capfd, "show", "campaign.yaml", "--format", "json"))
    assert (found["trials"], found["recorded"], found["missing"]) == (18, 18, [])
    metric = found["metrics"][0]
    assert metric["effects"][0]["percent"] == pytest.approx(-100 / 3)
    assert metric["settings"][0] == {
        "data_size": "1 MB",
        "transport.ack_every": "16",
        "mean": 90,
        "margin": pytest.approx(1.242068, rel=1e-5),
        "seeds": 3,
    }
    assert len(found["table"]) == 18
    assert found["table"][0]["transport.ack_every"] == 1


@pytest.mark.usefixtures("full")
def test_csv_and_parquet_are_the_table_of_trials(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "show", "campaign.yaml", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 18
    assert list(rows[0])[-2:] == ["completion_time_ms", "queue_max_bytes"]
    shown(capfd, "show", "campaign.yaml", "--format", "parquet", "-o", "table.parquet")
    assert pl.read_parquet("table.parquet")["transport.ack_every"].dtype == pl.Int64


@pytest.mark.usefixtures("full")
def test_the_report_is_a_page_with_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    shown(capfd, "report", "campaign.yaml", "--pareto", "completion_time_ms,queue_max_bytes")
    page = Path("acknowledge.html").read_text()
    for name in ("effects", "pair-0", "parallel"):
        assert f'id="plot-completion_time_ms-{name}"' in page
    assert 'id="plot-pareto"' in page
    assert "campaign: 1\nname: acknowledge" in page  # the file, to make it again
    assert page.count("<tr") > 10


def test_a_report_says_what_is_missing(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    measured(
        file,
        file.parent / "fabricbench-workspace",
        lambda facts, place: made(facts, place) if place else None,
    )
    shown(capfd, "report", "campaign.yaml", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "17 of 18 trials have a record" in page
    assert "not run" in page
    text = shown(capfd, "show", "campaign.yaml")
    assert "not run: data_size 1 MB, transport.ack_every 1, iteration 0" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--metric", "completion_time"], 'no metric "completion_time"'),
        (["--pareto", "completion_time_ms"], '--pareto: found "completion_time_ms"; allowed: two metrics'),
        (["--pareto", "completion_time_ms,speed"], 'no metric "speed"'),
        (["--job", "other"], '--job: found "other"; allowed: test'),
        (["--workspace", "nowhere"], "nowhere"),
    ],
)
@pytest.mark.usefixtures("full")
def test_what_cannot_be_shown_is_refused(
    capfd: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert told in shown(capfd, "show", "campaign.yaml", *arguments, status=2)


def test_a_campaign_without_any_record_is_no_report(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.open(file.parent / "fabricbench-workspace", create=True)
    text = shown(capfd, "report", "campaign.yaml", status=2)
    assert "none of its 18 trials has a record in" in text
    assert "hint: fabricbench campaign campaign.yaml runs them" in text
    assert not Path("acknowledge.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [["campaign.yaml", "--dry-run"], ["--dry-run", "campaign.yaml"], ["run", "campaign.yaml", "--dry-run"]],
)
@pytest.mark.usefixtures("file")
def test_a_file_is_run_whatever_stands_first(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert shown(capfd, *arguments).startswith("acknowledge: 18 trials of 1 plan")
