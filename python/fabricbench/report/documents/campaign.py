"""Tables of a campaign: effects of factors, explained variance, best and worst settings, Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.factorial.effects import Effects, LevelEffect
from fabricbench.report.documents.numbers import count
from fabricbench.report.documents.table import Column, Note, Row, Table
from fabricbench.report.documents.table_cells import axis_columns, metric_columns, metric_text
from fabricbench.report.studies.campaign import per_cent, shares_together, value_text
from fabricbench.results.studies.factor_effects import CampaignTable, Front, Response, Setting
from fabricbench.words import counted


def effect_tables(
    response: Response, effects: Effects, most_levels: int | None = None, most_pairs: int | None = None
) -> list[Table]:
    """Return the effect of each value of each factor, and the variance that factors explain together.

    Args:
        response: The metric.
        effects: Effects on it.
        most_levels: Maximum number of values of a factor.
        most_pairs: Maximum number of pairs of factors.
    """
    columns = [Column("factor", "value", is_text=True), Column("mean", response.unit), Column("effect", "%")]
    columns += [Column("± 95 %", "%", head=("+-", "95 %"))]
    columns += [Column("of the variance", "%", head=("of the", "variance %"))]
    rows: list[Row] = []
    for number in response.strongest(len(response.factors)):
        factor, levels = response.factors[number], effects.levels[number]
        rows.append(Row([factor.name, "", "", "", per_cent(100 * effects.shares[number])], "strong"))
        level_values = list(zip(factor.levels, levels, strict=True))
        rows += [_level(response, value, level) for value, level in level_values[:most_levels]]
        if most_levels and len(level_values) > most_levels:
            rows.append(Row([f"  and {len(level_values) - most_levels} more", "", "", "", ""], "muted"))
    caption = (
        "The mean of the settings that have the value, and the effect against the mean of all settings, the "
        "other factors being the same. Of the variance: eta squared."
    )
    together, pairs = shares_together(response, effects), len(effects.pairs)
    shares = [*together[: min(pairs, pairs if most_pairs is None else most_pairs)], *together[pairs:]]
    share_columns = [Column("together, beyond each alone", is_text=True), Column("variance %")]
    share_rows = [Row([name, per_cent(100 * share)]) for name, share in shares]
    return [Table(columns, rows, caption), Table(share_columns, share_rows)]


def _level(response: Response, value: str, level: LevelEffect) -> Row:
    effect, margin = per_cent(level.percent, signed=True), per_cent(level.margin_percent)
    return Row([f"  {value}", value_text(response, level.mean), effect, margin, ""])


def settings_table(response: Response, ends: int, most: int) -> Table:
    """Return the best and the worst settings, and the best of each plan and size if there are several.

    Args:
        response: The metric.
        ends: Maximum number of best settings, and of worst settings.
        most: Maximum number of plans and sizes.
    """
    ranked = response.ranked()
    best, worst = ranked[:ends], ranked[ends:][-ends:]
    columns = [Column("", is_text=True), *axis_columns(response.names)]
    columns += [Column("mean", response.unit), Column("± 95 %", response.unit, head=("+-", "95 %"))]
    columns += [Column("seeds"), Column("others", "as good")]
    of_each = response.best_of_each()
    names = ["best", *[""] * (len(best) - 1), *[""] * (len(worst) - 1), *["worst"] * bool(worst)]
    shown = [*best, *worst]
    if 1 < len(of_each) <= most:
        names += ["best of each", *[""] * (len(of_each) - 1)]
        shown += of_each
    of_best = {id(setting) for setting in (*best[:1], *of_each)}
    rows = [
        _setting(response, name, setting, is_best=id(setting) in of_best)
        for name, setting in zip(names, shown, strict=True)
    ]
    omitted = len(ranked) - len(best) - len(worst)
    caption = f"{counted(omitted, 'setting')} between best and worst left out. " if omitted else ""
    caption += (
        "As good: how many others of its plan and size the seeds do not tell from it (Welch's test, 95 %)."
    )
    return Table(columns, rows, caption)


def _setting(response: Response, name: str, setting: Setting, *, is_best: bool) -> Row:
    mean, margin = (value_text(response, value) for value in (setting.mean, setting.margin))
    as_good = count(response.as_good(setting)) if is_best else ""
    return Row([name, *setting.values, mean, margin, str(setting.count), as_good])


def front_table(front: Front, most: int) -> Table:
    """Return the settings of a Pareto front."""
    columns = [*axis_columns(front.names), *metric_columns(front.metrics)]
    rows = [
        Row([*front.settings[number], *_values(front, front.points[number])]) for number in front.best[:most]
    ]
    omitted = len(front.best) - most
    notes = [f"and {omitted} more: the report has all of them"] if omitted > 0 else []
    title = f"Pareto front of {front.metrics[0].phrase} and {front.metrics[1].phrase}"
    return Table(columns, rows, title=title, notes=notes)


def missing_table(table: CampaignTable, most: int) -> Table | None:
    """Return the trials without a record, or `None` if each has one."""
    missing, names = table.missing, list(table.factors)
    if not missing.height:
        return None
    columns = [Column("trial", is_text=True), Column("status", is_text=True), *axis_columns(names)]
    columns.append(Column("iteration"))
    shown = missing.select("trial", "status", *names, "iteration").head(most)
    rows = [Row([str(value) for value in row]) for row in shown.iter_rows()]
    omitted = missing.height - len(rows)
    notes = [f"and {omitted:,} more"] if omitted > 0 else []
    return Table(columns, rows, title="without a record", notes=notes)


def response_notes(response: Response) -> list[Note]:
    """Return what a metric lacks, and how its effects were computed."""
    unmeasured = response.unmeasured
    texts = [f"{unmeasured:,} with a record have no {response.metric.name}."] if unmeasured else []
    return list(map(Note, [*texts, *response.notes()]))


def _values(front: Front, point: Sequence[float]) -> list[str]:
    return [metric_text(metric, value) for metric, value in zip(front.metrics, point, strict=True)]
