"""Figures, page, tables and commands of what a campaign came to."""

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
from hypothesis import given, settings, strategies as st
from tests.support.campaigns import (
    TIME,
    made,
    measured,
)

from fabricbench.cli.main import run
from fabricbench.figures import theme
from fabricbench.figures.campaign.parallel import LINES_MAX, parallel_plot
from fabricbench.report.html.campaign_page import campaign_page
from fabricbench.report.html.rendering import _environment
from fabricbench.report.studies.campaign import CampaignReport, campaign_json
from fabricbench.report.terminal.campaign import campaign_text
from fabricbench.results.studies.factor_effects import CampaignTable, Response
from fabricbench.store import Workspace


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
    assert "not run 1 MB 1 0" in " ".join(text.split())


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
