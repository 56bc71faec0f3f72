"""Formats the results of a campaign: effects of factors, explained variance, best and worst settings.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

from typing import Final

from fabricbench.report.documents.campaign import effect_tables, front_table, settings_table
from fabricbench.report.studies.campaign import (
    CampaignReport,
    settings_of,
    value_text,
)
from fabricbench.report.terminal.text_table import Style, render, styled
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
    parts = ["\n".join([head, *([report.title] if report.title else []), *_missing(report), *notes])]
    parts += [_response(response, colour=colour) for response in report.responses]
    if front := report.front:
        table = front_table(front, _FRONT_MAX)
        empty = f"{styled(table.title, Style.BOLD, colour=colour)}: no setting has both"
        parts.append(render(table, colour=colour) if table.rows else empty)
    return "\n\n".join(parts)


def _missing(report: CampaignReport) -> list[str]:
    missing, table = report.table.missing, report.table
    lines = [
        f"missing: {row['trial']}, {row['status']}: {settings_of(table, row)}"
        for row in missing.head(_MISSING_MAX).to_dicts()
    ]
    omitted = missing.height - _MISSING_MAX
    return (
        [*lines, f"and {counted(omitted, 'more')[: -1 if omitted > 1 else None]}"] if omitted > 0 else lines
    )


def _response(response: Response, *, colour: bool) -> str:
    metric, effects, title = response.metric, response.effects, response.title
    if effects is None:
        return f"{styled(title, Style.BOLD, colour=colour)}: no trial has it"
    settings = counted(response.analysed, "setting")
    about = f"mean {value_text(response, effects.mean)} of {settings}; {metric.direction} is better"
    tables = effect_tables(response, effects, _LEVELS_MAX, _PAIRS_MAX) if response.factors else []
    tables.append(settings_table(response, _ENDS, _LOADS_MAX))
    texts = [render(table, colour=colour) for table in tables]
    notes = [f"{response.unmeasured:,} with a record have no {metric.name}."] if response.unmeasured else []
    text = "\n".join(f"note: {note}" for note in [*notes, *response.notes()])
    texts += [text] if text else []
    return "\n\n".join([f"{styled(title, Style.BOLD, colour=colour)}: {about}", *texts])
