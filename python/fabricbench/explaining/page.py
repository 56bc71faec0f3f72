"""Builds the page of an explanation: picture of measured and expected bandwidth, table, causes, the file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fabricbench import __version__
from fabricbench.explaining.files import FileExplanation
from fabricbench.explaining.text import (
    CAUSES_MAX,
    NO_CAUSE,
    fabric_lines,
    heading,
    result_table,
    shortfall_lines,
    warnings,
)
from fabricbench.figures.plot import Plot
from fabricbench.figures.results.expected_curve import expected_plot
from fabricbench.importing import AS_EXPECTED, CONFIDENCE
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Cell, Column, Note, Row, Table
from fabricbench.report.html.page_parts import Answer, Page, Part, PlotPart, Section, TextPart
from fabricbench.report.html.rendering import write_page
from fabricbench.words import data_size

BANDWIDTH: Final = "bandwidth"
"""Key of the section with measured and expected bandwidth."""
_TEXT_MAX: Final = 64 << 10
"""Most characters of the file in the page."""


def write_explanation(explanation: FileExplanation, path: Path) -> int:
    """Write the page of an explanation as one HTML file that opens offline.

    Args:
        explanation: The explanation.
        path: The file; replaced if it exists, unchanged if anything fails.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
    """
    return write_page(explanation_page(explanation), path)


def explanation_page(explanation: FileExplanation) -> Page:
    """Build the page."""
    causes = explanation.causes
    is_well = bool(causes) and causes[0].cause == AS_EXPECTED
    cut = "\n... (cut)" if len(explanation.text) > _TEXT_MAX else ""
    file = TextPart(f"{explanation.text[:_TEXT_MAX].rstrip()}{cut}", explanation.name, folded=True)
    verdict = f"{causes[0].cause}: {causes[0].sentence}" if causes else "no cause found"
    return Page(
        name=explanation.name,
        title=f"Measured and expected: {explanation.name}",
        verdict=verdict,
        tone="good" if is_well else "bad" if causes else "",
        focus=heading(explanation),
        answers=list(_answers(explanation)),
        sections=[
            Section(BANDWIDTH, "Measured and expected", _bandwidth_parts(explanation)),
            Section("causes", "Causes, the likeliest first", _cause_parts(explanation)),
            Section("file", "File", [file]),
        ],
        footer=f"fabricbench {__version__}",
    )


def _answers(explanation: FileExplanation) -> list[Answer]:
    """Return the largest size measured and expected, and the first cause."""
    answers: list[Answer] = []
    case = explanation.case
    of_size = [point for point in case.judged if point.size_bytes in explanation.expected]
    if of_size:
        size = max(point.size_bytes for point in of_size)
        best = max(point.busbw or 0.0 for point in of_size if point.size_bytes == size)
        expected = explanation.expected[size]
        at = f"at {data_size(size)}"
        answers.append(Answer("Measured", f"{number(best, 4)} GB/s", at, section=BANDWIDTH))
        bound = f"; bound: {expected.bound}" if expected.bound else ""
        text = f"{number(expected.busbw.least, 4)} GB/s"
        answers.append(Answer("Expected", text, f"{at}{bound}", section=BANDWIDTH))
    elif (best_point := case.best) and not case.is_latency:
        at = f"at {data_size(best_point.size_bytes)}"
        answers.append(
            Answer("Measured", f"{number(best_point.busbw or 0.0, 4)} GB/s", at, section=BANDWIDTH)
        )
        if case.target and case.crosses:
            text = f"{number(case.target, 4)} GB/s"
            answers.append(Answer("Line rate allows", text, "headers left out", section=BANDWIDTH))
    answers += [
        Answer("Cause", suspect.cause, CONFIDENCE[suspect.confidence], section="causes")
        for suspect in explanation.causes[:1]
    ]
    return answers


def explanation_plot(explanation: FileExplanation) -> Plot | None:
    """Draw measured and expected bus bandwidth against data size; none without measured ones."""
    curve = explanation.curve
    series = [curve.series] if curve and curve.series.points else []
    measured = explanation.measured_series + ([curve.as_chosen] if curve and curve.as_chosen else [])
    return expected_plot(series, measured) if measured else None


def _bandwidth_parts(explanation: FileExplanation) -> list[Part]:
    drawn = explanation_plot(explanation)
    plot: list[Part] = [PlotPart("measured", drawn)] if drawn else []
    table: list[Part] = [result_table(explanation)] if explanation.case.points else []
    lines = [*warnings(explanation), *shortfall_lines(explanation), *fabric_lines(explanation)]
    return [*plot, *table, *map(Note, lines)]


def _cause_parts(explanation: FileExplanation) -> list[Part]:
    """Return a table of causes with their evidence and the test of each."""
    shown, others = explanation.causes[:CAUSES_MAX], explanation.causes[CAUSES_MAX:]
    columns = [Column(title, is_text=True) for title in ("cause", "why", "test that tells")]
    rows = [
        Row(
            [
                Cell(suspect.cause, [CONFIDENCE[suspect.confidence]]),
                Cell(suspect.sentence, suspect.evidence),
                Cell(suspect.test),
            ]
        )
        for suspect in shown
    ]
    caption = f"Less likely: {', '.join(suspect.cause for suspect in others)}." if others else ""
    return [Table(columns, rows, caption)] if rows else [Note(NO_CAUSE)]
