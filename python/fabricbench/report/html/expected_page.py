"""Builds the page of `expect`: curves with their bands, bounds and limits, their tables, acceptance tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabricbench import __version__
from fabricbench.figures.results.expected_curve import expected_plot
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Note
from fabricbench.report.html.page_parts import Answer, Page, Part, PlotPart, Section, TextPart
from fabricbench.report.html.rendering import write_page
from fabricbench.report.studies import cluster_curves, expected
from fabricbench.report.studies.cluster_curves import ClusterExpectation
from fabricbench.report.studies.expected import Expectation
from fabricbench.results.studies.cluster_curve import Curve
from fabricbench.results.studies.expected_curve import ExpectedSeries
from fabricbench.words import data_size


def write_expected_page(
    expectation: ClusterExpectation | Expectation, benchmarks: Mapping[str, str], path: Path
) -> int:
    """Write the page of an expectation as one HTML file that opens offline.

    Args:
        expectation: That of a cluster, or of a plan.
        benchmarks: Program of nccl-tests for each collective.
        path: The file; replaced if it exists, unchanged if anything fails.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
    """
    if isinstance(expectation, ClusterExpectation):
        return write_page(_cluster_page(expectation, benchmarks), path)
    return write_page(_plan_page(expectation, benchmarks), path)


def _cluster_page(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> Page:
    limits = Section(
        "acceptance",
        "Acceptance",
        [
            TextPart(cluster_curves.cluster_nccl(expectation, benchmarks), "Calls of nccl-tests"),
            TextPart(cluster_curves.cluster_yaml(expectation), "Criteria"),
        ],
    )
    notes = [Note(f"{line[0].upper()}{line[1:]}.") for line in cluster_curves.legend(expectation)]
    return Page(
        name=f"{expectation.server}-x{expectation.servers}",
        title=expectation.title,
        verdict=expectation.source,
        tone="",
        focus="Expected curves",
        answers=[_answer(curve) for curve in expectation.curves],
        sections=[
            *(_curve_section(expectation, curve) for curve in expectation.curves),
            limits,
            Section("about", "About the tables", notes),
        ],
        footer=f"fabricbench {__version__}",
    )


def _answer(curve: Curve) -> Answer:
    point = curve.points[-1]
    text = f"{number(point.busbw.median, 4)} GB/s"
    about = f"at {data_size(point.data_size_bytes)}; bound: {expected.bound_text(point)}"
    return Answer(curve.collective, text, about, section=curve.collective)


def _curve_section(expectation: ClusterExpectation, curve: Curve) -> Section:
    series = cluster_curves.curve_series(expectation, curve)
    parts: list[Part] = [
        PlotPart(f"curve-{curve.collective}", expected_plot([series])),
        cluster_curves.curve_table(expectation, curve),
    ]
    return Section(curve.collective, cluster_curves.curve_title(curve), parts)


def _plan_page(expectation: Expectation, benchmarks: Mapping[str, str]) -> Page:
    series = expected.plan_series(expectation)
    plots = [PlotPart("curves", expected_plot(series))] if series else []
    notes = [
        Section(f"notes-{index}", f"{title[0].upper()}{title[1:]}", [Note(line) for line in lines])
        for index, (title, lines) in enumerate(expected.notes(expectation))
    ]
    limits = [
        TextPart(expected.nccl_text(expectation, benchmarks), "Calls of nccl-tests"),
        TextPart(expected.criteria_yaml(expectation), "Criteria"),
    ]
    return Page(
        name=expectation.plan,
        title=f"Expected results of {expectation.plan}",
        verdict=expected.source_text(expectation),
        tone="",
        focus="Expected results",
        answers=[_largest(one) for one in series],
        sections=[
            Section("curves", "Bus bandwidth", [*plots, expected.range_table(expectation)]),
            *notes,
            Section("acceptance", "Acceptance", limits),
        ],
        footer=f"fabricbench {__version__}",
    )


def _largest(series: ExpectedSeries) -> Answer:
    point = series.points[-1]
    busbw = point.busbw
    spread = "" if busbw.least == busbw.most else f", {number(busbw.least, 4)} to {number(busbw.most, 4)}"
    about = f"at {data_size(point.data_size_bytes)}{spread}"
    return Answer(series.name, f"{number(busbw.median, 4)} GB/s", about, section="curves")
