"""Builds the page of `degrade`: a map of the fabric for each state of its elements, and the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fabricbench import __version__
from fabricbench.figures.links.loss_map import MAX_LINKS, loss_map
from fabricbench.report.documents.table import Note, Tone
from fabricbench.report.html.page_parts import Answer, Page, Part, PlotPart, Section
from fabricbench.report.html.rendering import write_page
from fabricbench.report.output.atomic_files import check_writable_target
from fabricbench.report.studies.degradation import Degradation, change_text, degradation_table, notes
from fabricbench.results.studies.degradation import STOPPED
from fabricbench.words import counted

_KEYS: Final = {"half rate": "half-rate", "1e-4 loss": "loss", "down": "down"}


def write_degradation_page(degradation: Degradation, path: Path) -> int:
    """Write the page as one HTML file that opens offline.

    Args:
        degradation: What jobs lose.
        path: The file; replaced if it exists, unchanged if anything fails.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
    """
    check_writable_target(path)
    return write_page(degradation_page(degradation), path)


def degradation_page(degradation: Degradation) -> Page:
    """Build the page."""
    states = list(dict.fromkeys(row.state for row in degradation.rows))
    return Page(
        name=degradation.name,
        title="What a degraded link, adapter or switch costs",
        verdict=f"{', '.join(degradation.jobs)}: {counted(degradation.runs, 'run')}",
        tone="",
        focus=degradation.name,
        answers=list(_answers(degradation)),
        sections=[
            *(
                Section(_KEYS[state], f"Map: {state}", _map(degradation, state))
                for state in sorted(states, key=list(_KEYS).index)
            ),
            Section("table", "All elements", _table(degradation)),
        ],
        footer=f"fabricbench {__version__}",
    )


def _answers(degradation: Degradation) -> Iterator[Answer]:
    """Yield the worst row of each state."""
    for state, key in _KEYS.items():
        row = next((row for row in degradation.rows if row.state == state), None)
        if row is not None:
            worst = min(row.effects, key=lambda effect: effect.worst or 0.0)
            about = f"{worst.job}, {(row.computed or row.elements)[0]}"
            tone: Tone = "bad" if row.worst == STOPPED else ""
            yield Answer(f"Worst, {state}", change_text(worst), about, tone, key)


def _map(degradation: Degradation, state: str) -> list[Part]:
    texts = {
        name: "<br>".join(
            [name, *(f"{effect.job} {change_text(effect)}" for effect in row.effects)]
            + ([] if name in row.computed or not row.computed else [f"as {row.computed[0]}"])
        )
        for row in degradation.rows
        if row.state == state
        for name in row.elements
    }
    plot = loss_map(degradation.rows, degradation.tiers, texts, state)
    if plot is None:
        return [Note(f"A map has at most {MAX_LINKS:,} cables.")]
    return [PlotPart(f"map-{_KEYS[state]}", plot)]


def _table(degradation: Degradation) -> list[Part]:
    return [degradation_table(degradation), *map(Note, notes(degradation))]
