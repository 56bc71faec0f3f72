"""Expected curves: bands where seeds differ, bounds and choices of a single curve, measured results."""

from typing import Any

from fabricbench.figures.results.expected_curve import expected_plot
from fabricbench.results.studies.expected import Range
from fabricbench.results.studies.expected_curve import (
    ExpectedPoint,
    ExpectedSeries,
    MeasuredSeries,
    bus_bandwidth_together,
)

WIDE = Range(1.0, 2.0, 3.0, 4.0, 5.0)
NARROW = Range(3.0, 3.0, 3.0, 3.0, 3.0)


def series(name: str, values: Range, **more: Any) -> ExpectedSeries:
    return ExpectedSeries(name, [ExpectedPoint(1 << shift, values, **more) for shift in (10, 12, 14)])


def test_bands_are_drawn_where_seeds_differ() -> None:
    filled = [trace for trace in expected_plot([series("a", WIDE)]).figure.data if trace.fill == "toself"]
    assert [sorted(set(trace.y)) for trace in filled] == [[1.0, 5.0], [2.0, 4.0]]
    plot = expected_plot([series("a", NARROW)])
    assert not [trace for trace in plot.figure.data if trace.fill == "toself"]
    assert "dark band" not in plot.caption


def test_a_single_curve_has_its_choices_and_bounds() -> None:
    plot = expected_plot([series("a", NARROW, choice="Ring LL 1", bound="latency")])
    assert [note.text for note in plot.figure.layout.annotations] == ["Ring<br>LL<br>1"]
    assert "bound: latency" in [trace.name for trace in plot.figure.data]
    several = expected_plot([series("a", NARROW, choice="Ring LL 1"), series("b", WIDE)])
    assert not several.figure.layout.annotations


def test_measured_results_are_next_to_the_curve() -> None:
    plot = expected_plot([series("a", NARROW)], [MeasuredSeries("measured", [(1 << 12, 2.5)])])
    (measured,) = (trace for trace in plot.figure.data if trace.name == "measured")
    assert list(measured.y) == [2.5]
    assert "legend" in plot.caption


def test_more_curves_than_colours_are_named_in_the_caption() -> None:
    plot = expected_plot([series(str(number), NARROW) for number in range(16)])
    assert plot.reduced
    assert plot.caption.endswith("Not drawn: 2 more curves.")


def test_jobs_that_end_together_have_the_bandwidth_of_all_ports() -> None:
    rings = [("all-reduce", 64, 1_000_000)] * 8
    assert bus_bandwidth_together(rings, 100.0) == 8 * bus_bandwidth_together(rings[:1], 100.0)
