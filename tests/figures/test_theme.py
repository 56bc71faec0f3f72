"""Colours: lines stand out from their ground in light and dark, and a job has one colour in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from tests.support.contrast import contrast

import fabricbench as fb
from fabricbench.figures import theme
from fabricbench.figures.samples.downsampling import between_stretches, with_stretches

WHITE = "#ffffff"
_LINES = [
    *(theme.category(index) for index in range(3 * len(theme.CATEGORIES))),
    *(theme.curve(index) for index in range(21)),
    *(colour for count in (2, 5, 24) for colour in theme.order_colours(count)),
]


def channels(colour: str) -> list[float]:
    return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def inverted(colour: Sequence[float]) -> list[float]:
    """What `filter: invert(0.9) hue-rotate(180deg)` makes of it (Filter Effects 1, 8.5 and 8.6)."""
    red, green, blue = (0.9 - 0.8 * part for part in colour)
    rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
    return [min(1.0, max(0.0, a * red + b * green + c * blue)) for a, b, c in rows]


def test_the_formula_is_that_of_the_standard() -> None:
    assert contrast(channels("#000000"), channels(WHITE)) == pytest.approx(21)
    assert contrast(channels("#767676"), channels(WHITE)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colour", sorted(set(_LINES)))
def test_each_colour_of_a_line_stands_out_in_light_and_dark(colour: str) -> None:
    assert contrast(channels(colour), channels(WHITE)) >= 3
    assert contrast(inverted(channels(colour)), inverted(channels(WHITE))) >= 3


@pytest.mark.parametrize("colour", [theme.INK, theme.MUTED])
def test_text_is_legible_in_light_and_dark(colour: str) -> None:
    assert contrast(channels(colour), channels(WHITE)) >= 4.5
    assert contrast(inverted(channels(colour)), inverted(channels(WHITE))) >= 4.5


PLAN = """\
fabricbench: 1
name: jobs
fabric: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 6, spines: 2}, load_balancing: spray-random}
transport: {recovery: selective}
jobs:
  - {name: small, ranks: "0,1,6,7", collective: all-to-all, data_size: 256KB}
  - {name: large, ranks: "2-5,8-11", collective: all-to-all}
sweep: {data_size: 4MB}
solo: true
"""


def test_a_job_has_one_colour_in_every_figure(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(PLAN)
    run = fb.run(fb.load(tmp_path / "jobs.yaml"), workspace=tmp_path / "lab")
    trial = next(each for each in run if each.variant == "base")
    found: dict[str, set[str]] = {"small": set(), "large": set()}
    plots = [trial.plot.figure("goodput"), trial.plot.figure("order"), run.plot.figure("tenant-fct")]
    for figure in plots:
        for trace in figure.data:
            job = next((name for name in found if str(trace.name).startswith(name)), None)
            if job is not None:
                colour = trace.marker.color if trace.type == "bar" else trace.line.color
                found[job].add(str(colour))
    assert found == {"small": {theme.category(0)}, "large": {theme.category(1)}}


def test_no_line_crosses_a_time_without_samples() -> None:
    samples = pl.DataFrame({"time_ps": [0, 10, 20, 70, 80], "value": [1, 2, 3, 4, 5]})
    drawn = between_stretches(with_stretches(samples, 10))
    assert drawn["value"].to_list() == [1, 2, 3, None, 4, 5]
    whole = between_stretches(with_stretches(samples.head(3), 10))
    assert whole["value"].to_list() == [1, 2, 3]
