"""Formats the results of a campaign: effects of factors, explained variance, best and worst settings.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

from typing import Final

from fabricbench.report.documents.campaign import (
    effect_tables,
    front_table,
    missing_table,
    response_notes,
    settings_table,
)
from fabricbench.report.studies.campaign import (
    CampaignReport,
    value_text,
)
from fabricbench.report.terminal.text_table import Style, joined, note_lines, render, styled
from fabricbench.results.studies.factor_effects import Response
from fabricbench.words import counted

_LEVELS_MAX: Final = 24
"""Maximum shown values of a factor."""
_PAIRS_MAX: Final = 5
_ENDS: Final = 3
"""Number of shown best settings, and of worst settings."""
_LOADS_MAX: Final = 12
"""Maximum plans and sizes with a shown best setting."""
_FRONT_MAX: Final = 12
_MISSING_MAX: Final = 5


def campaign_text(report: CampaignReport, *, colour: bool = False) -> str:
    """Return a campaign as text."""
    head = styled(f"{report.name}: {report.extent}", Style.BOLD, colour=colour)
    notes = [f"note: {note}" for note in report.table.notes]
    missing = missing_table(report.table, _MISSING_MAX)
    parts = ["\n".join([head, *([report.title] if report.title else []), *notes])]
    parts += [render(missing, colour=colour)] if missing else []
    parts += [_response(response, colour=colour) for response in report.responses]
    if front := report.front:
        table = front_table(front, _FRONT_MAX)
        empty = f"{styled(table.title, Style.BOLD, colour=colour)}: no setting has both"
        parts.append(render(table, colour=colour) if table.rows else empty)
    return "\n\n".join(parts)


def _response(response: Response, *, colour: bool) -> str:
    metric, effects, title = response.metric, response.effects, response.title
    if effects is None:
        return f"{styled(title, Style.BOLD, colour=colour)}: no trial has it"
    settings = counted(response.analysed, "setting")
    about = f"mean {value_text(response, effects.mean)} of {settings}; {metric.direction} is better"
    tables = effect_tables(response, effects, _LEVELS_MAX, _PAIRS_MAX) if response.factors else []
    tables.append(settings_table(response, _ENDS, _LOADS_MAX))
    notes = "\n".join(note_lines(response_notes(response), colour=colour))
    texts = [joined(tables, colour=colour), *([notes] if notes else [])]
    return "\n\n".join([f"{styled(title, Style.BOLD, colour=colour)}: {about}", *texts])
