"""Builds the page of a campaign: effects of its factors on each metric, best settings, missing trials, file.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fabricbench import __version__
from fabricbench.figures.campaign.effects import effects_plot
from fabricbench.figures.campaign.factor_pairs import pair_plots
from fabricbench.figures.campaign.parallel import parallel_plot
from fabricbench.figures.campaign.pareto import pareto_plot
from fabricbench.figures.plot import Plot
from fabricbench.report.documents.campaign import (
    effect_tables,
    front_table,
    missing_table,
    response_notes,
    settings_table,
)
from fabricbench.report.documents.table import Note
from fabricbench.report.html.page_parts import Answer, Page, Part, PlotPart, Section, TextPart
from fabricbench.report.html.rendering import write_page
from fabricbench.report.output.atomic_files import check_writable_target
from fabricbench.report.studies.campaign import CampaignReport, per_cent, value_text
from fabricbench.results.studies.factor_effects import Front, Response, Setting, setting_text

_ENDS: Final = 10
"""Number of listed best settings, and of worst settings."""
_ROWS_MAX: Final = 1_000


def write_campaign_report(report: CampaignReport, path: Path) -> int:
    """Write the report of a campaign as one HTML file that opens offline.

    Args:
        report: The campaign.
        path: The file; replaced if it exists, unchanged if anything fails.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
    """
    check_writable_target(path)
    return write_page(campaign_page(report), path)


def campaign_page(report: CampaignReport) -> Page:
    """Build the page."""
    front = report.front
    answers = [answer for response in report.responses[:1] for answer in _answers(response)]
    notes = map(Note, report.table.notes)
    missing = missing_table(report.table, _ROWS_MAX)
    return Page(
        name=report.name,
        title=report.title or report.name,
        verdict=report.extent,
        tone="bad" if report.table.missing.height else "",
        focus=f"Campaign {report.name}",
        answers=answers,
        sections=[
            *(section for response in report.responses for section in _sections(response)),
            *([_front_section(front)] if front else []),
            *([Section("missing", "Without a record", [missing])] if missing else []),
            Section("campaign", "Campaign", [TextPart(report.source.rstrip()), *notes]),
        ],
        footer=f"fabricbench {__version__}",
    )


def _answers(response: Response) -> list[Answer]:
    """Return the answers from the first metric: best, worst, and the strongest factor."""
    effects, metric = response.effects, response.metric
    if effects is None:
        return []
    ranked, key = response.ranked(), f"{metric.name}-settings"
    answers = [
        Answer("Best", _value(response, ranked[0]), setting_text(response.names, ranked[0].values), "", key)
    ]
    if len(ranked) > 1:
        about = setting_text(response.names, ranked[-1].values)
        answers.append(Answer("Worst", _value(response, ranked[-1]), about, "", key))
    for number in response.strongest(1):
        share = per_cent(100 * effects.shares[number])
        about = f"{share} % of the variance of {metric.phrase}"
        answers.append(
            Answer("Matters most", response.factors[number].name, about, "", f"{metric.name}-effects")
        )
    return answers


def _value(response: Response, setting: Setting) -> str:
    margin = "" if setting.margin is None else f" ± {value_text(response, setting.margin)}"
    return f"{value_text(response, setting.mean)}{margin} {response.unit}".rstrip()


def _sections(response: Response) -> list[Section]:
    """Return the sections of a metric: effects, and settings."""
    metric, effects, title = response.metric, response.effects, response.title
    if effects is None:
        return [Section(f"{metric.name}-effects", title, [Note("No trial has it.")])]
    parts = [
        *_plot(f"{metric.name}-effects", effects_plot(response)),
        *(
            PlotPart(f"{metric.name}-pair-{number}", plot, half=True)
            for number, plot in enumerate(pair_plots(response))
        ),
        *(effect_tables(response, effects) if response.factors else []),
        *response_notes(response),
    ]
    settings = [
        *_plot(f"{metric.name}-parallel", parallel_plot(response)),
        settings_table(response, _ENDS, _ROWS_MAX),
    ]
    return [
        Section(f"{metric.name}-effects", f"{title}: what each factor does", parts),
        Section(f"{metric.name}-settings", f"{title}: settings", settings),
    ]


def _plot(name: str, plot: Plot | None) -> list[Part]:
    return [PlotPart(name, plot)] if plot else []


def _front_section(front: Front) -> Section:
    table = front_table(front, _ROWS_MAX)
    parts = [table if table.rows else Note("No setting has both metrics.")]
    return Section("pareto", "Pareto front", [*_plot("pareto", pareto_plot(front)), *parts])
