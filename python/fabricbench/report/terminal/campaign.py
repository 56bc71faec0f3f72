"""Formats the results of a campaign: effects of factors, explained variance, best and worst settings.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabricbench.analysis.factorial.effects import Effects, LevelEffect
from fabricbench.report.documents.numbers import count
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import axis_columns, metric_columns, metric_text
from fabricbench.report.studies.campaign import (
    CampaignReport,
    per_cent,
    settings_of,
    shares_together,
    value_text,
)
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.studies.factor_effects import Front, Response, Setting
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
    front = report.front
    return "\n\n".join([*parts, *([_front(front, colour=colour)] if front else [])])


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
    parts = (_effects, _shares) if response.factors else ()
    tables = [part(response, effects, colour=colour) for part in parts]
    notes = [f"{response.unmeasured:,} with a record have no {metric.name}."] if response.unmeasured else []
    text = "\n".join(f"note: {note}" for note in [*notes, *response.notes()])
    tables += [_ends(response, colour=colour), *([text] if text else [])]
    return "\n\n".join([f"{styled(title, Style.BOLD, colour=colour)}: {about}", *tables])


def _effects(response: Response, effects: Effects, *, colour: bool) -> str:
    columns = [Column("factor", "value", is_text=True), Column("mean", response.unit)]
    columns += [Column("effect", "%"), Column("+-", "95 %"), Column("of the", "variance %")]
    rows: list[Row] = []
    for number in response.strongest(len(response.factors)):
        factor, levels = response.factors[number], effects.levels[number]
        rows.append(Row([factor.name, "", "", "", per_cent(100 * effects.shares[number])], "strong"))
        level_values = list(zip(factor.levels, levels, strict=True))
        rows += [_level(response, value, level) for value, level in level_values[:_LEVELS_MAX]]
        if len(level_values) > _LEVELS_MAX:
            rows.append(Row([f"  and {len(level_values) - _LEVELS_MAX} more", "", "", "", ""], "muted"))
    return render(Table(columns, rows), colour=colour)


def _level(response: Response, value: str, level: LevelEffect) -> Row:
    effect, margin = per_cent(level.percent, signed=True), per_cent(level.margin_percent)
    return Row([f"  {value}", value_text(response, level.mean), effect, margin, ""])


def _shares(response: Response, effects: Effects, *, colour: bool) -> str:
    """Return the variance explained by combinations of factors; of pairs only the strongest."""
    together = shares_together(response, effects)
    pairs = len(effects.pairs)
    rows = [*together[: min(pairs, _PAIRS_MAX)], *together[pairs:]]
    columns = [Column("together, beyond each alone", is_text=True), Column("variance %")]
    return render(Table(columns, [Row([name, per_cent(100 * share)]) for name, share in rows]), colour=colour)


def _ends(response: Response, *, colour: bool) -> str:
    """Return the best and the worst settings."""
    ranked = response.ranked()
    best, worst = ranked[:_ENDS], ranked[_ENDS:][-_ENDS:]
    columns = [Column("", is_text=True)]
    columns += axis_columns(response.names)
    columns += [Column("mean", response.unit), Column("+-", "95 %"), Column("seeds")]
    columns.append(Column("others", "as good"))
    of_each = response.best_of_each()
    names = ["best", *[""] * (len(best) - 1), *[""] * (len(worst) - 1), *["worst"] * bool(worst)]
    shown = [*best, *worst]
    if 1 < len(of_each) <= _LOADS_MAX:
        names += ["best of each", *[""] * (len(of_each) - 1)]
        shown += of_each
    of_best = {id(setting) for setting in (*best[:1], *of_each)}
    rows = [
        _setting(response, name, setting, is_best=id(setting) in of_best)
        for name, setting in zip(names, shown, strict=True)
    ]
    return render(Table(columns, rows), colour=colour)


def _setting(response: Response, name: str, setting: Setting, *, is_best: bool) -> Row:
    mean, margin = (value_text(response, value) for value in (setting.mean, setting.margin))
    as_good = count(response.as_good(setting)) if is_best else ""
    return Row([name, *setting.values, mean, margin, str(setting.count), as_good])


def _front(front: Front, *, colour: bool) -> str:
    title = f"Pareto front of {front.metrics[0].phrase} and {front.metrics[1].phrase}"
    columns = axis_columns(front.names)
    columns += metric_columns(front.metrics)
    rows = [
        Row([*front.settings[number], *_values(front, front.points[number])])
        for number in front.best[:_FRONT_MAX]
    ]
    omitted = len(front.best) - _FRONT_MAX
    omission = [f"and {omitted} more: the report has all of them"] if omitted > 0 else []
    if not rows:
        return f"{styled(title, Style.BOLD, colour=colour)}: no setting has both"
    return "\n".join(
        [styled(title, Style.BOLD, colour=colour), render(Table(columns, rows), colour=colour), *omission]
    )


def _values(front: Front, point: Sequence[float]) -> list[str]:
    return [metric_text(metric, value) for metric, value in zip(front.metrics, point, strict=True)]
