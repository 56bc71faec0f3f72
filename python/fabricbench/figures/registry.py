"""Registry of all figures by name, each declared in its drawing module; draws one of them for a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fabricbench.figures.chunks.channels import CHANNELS_FIGURE
from fabricbench.figures.chunks.latency import LATENCY_FIGURE
from fabricbench.figures.chunks.progress import PROGRESS_FIGURE
from fabricbench.figures.chunks.reordering import ORDER_FIGURE
from fabricbench.figures.chunks.timeline import TIMELINE_FIGURE
from fabricbench.figures.chunks.timeline_lanes import Window
from fabricbench.figures.figure import Figure, Section
from fabricbench.figures.links.map import MAP_FIGURE
from fabricbench.figures.links.matrix import MATRIX_FIGURE
from fabricbench.figures.links.tiers import TIERS_FIGURE
from fabricbench.figures.links.uplinks import UPLINKS_FIGURE
from fabricbench.figures.plot import Plot
from fabricbench.figures.results.bandwidth import BANDWIDTH_FIGURES
from fabricbench.figures.results.fct import FCT_FIGURES
from fabricbench.figures.results.sweep import CURVES_FIGURE, SWEEP_FIGURES
from fabricbench.figures.results.tenants import KEPT_FIGURE, SHARED_FIGURES
from fabricbench.figures.results.twins import TWIN_FIGURE
from fabricbench.figures.results.variants import RATIO_FIGURE
from fabricbench.figures.samples.control import PAUSES_FIGURE, RATES_FIGURE
from fabricbench.figures.samples.goodput import GOODPUT_FIGURE, TCP_GOODPUT_FIGURE
from fabricbench.figures.samples.series import LINK_USE_FIGURE, QUEUES_FIGURE, VOQS_FIGURE
from fabricbench.figures.samples.thresholds import THRESHOLDS_FIGURE
from fabricbench.figures.scales import time_text
from fabricbench.figures.trial_data import subject_of
from fabricbench.store import Trial

_FIGURES: Final = (
    CURVES_FIGURE,
    RATIO_FIGURE,
    *SWEEP_FIGURES,
    *SHARED_FIGURES,
    KEPT_FIGURE,
    *BANDWIDTH_FIGURES,
    TWIN_FIGURE,
    *FCT_FIGURES,
    UPLINKS_FIGURE,
    TIMELINE_FIGURE,
    PROGRESS_FIGURE,
    CHANNELS_FIGURE,
    MAP_FIGURE,
    TIERS_FIGURE,
    MATRIX_FIGURE,
    LATENCY_FIGURE,
    ORDER_FIGURE,
    GOODPUT_FIGURE,
    TCP_GOODPUT_FIGURE,
    LINK_USE_FIGURE,
    QUEUES_FIGURE,
    VOQS_FIGURE,
    THRESHOLDS_FIGURE,
    PAUSES_FIGURE,
    RATES_FIGURE,
)
FIGURES: Final[dict[str, Figure]] = {figure.name: figure for figure in _FIGURES}
"""Figures by name, in listing order."""


def figures_of(section: Section) -> list[Figure]:
    """Return the figures of a section."""
    return [figure for figure in _FIGURES if figure.section is section]


def drawn(name: str, trial: Trial, run: Sequence[Trial], window: Window | None = None) -> Plot | None:
    """Draw a figure of a trial or of its run, or return `None` if there is nothing to draw.

    Without a window, a figure over time ends where only an idle rest follows, such as the timeouts of a
    broken link.

    Raises:
        StoreError: A table cannot be read.
    """
    figure = FIGURES[name]
    trials = run if figure.of_run else [trial]
    subject = subject_of(trial, trials, window)
    if window is not None or not figure.over_time or (idle_from_ps := subject.idle_from_ps) is None:
        return figure.draw(subject)
    plot = figure.draw(subject_of(trial, trials, Window(0, idle_from_ps)))
    if plot is None:
        return None
    rest = f"Nothing completes from {time_text(idle_from_ps)} to the end at {time_text(subject.end_ps)}."
    return replace(plot, caption=f"{plot.caption} {rest}", reduced=True)
