"""Formats the results of a campaign as JSON and tables: its trials, effects of its factors, settings.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any, get_type_hints

from typing_extensions import TypedDict

from fabricbench.analysis.factorial.effects import Effects, LevelEffect
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.report.output import csv_escaping
from fabricbench.results.studies.factor_effects import CampaignTable, Front, Response, Setting, front_of

if TYPE_CHECKING:
    import polars as pl


_LevelEffectJson = TypedDict("_LevelEffectJson", get_type_hints(LevelEffect))  # type: ignore[misc]


class EffectJson(_LevelEffectJson):
    """Effect of a value of a factor."""

    factor: str
    value: str


class VarianceShareJson(TypedDict):
    """Fraction of the variance that a factor, a pair or group of factors, or the seeds explain."""

    source: str
    share: float


@dataclass(frozen=True)
class CampaignReport:
    """Contents of the report of a campaign.

    Attributes:
        name: Its name.
        title: One line about it.
        source: The text of its file.
        table: Its trials.
        responses: Effects of its factors on each requested metric.
        pareto: Two metrics for a Pareto front, if requested.
        alone: Number of excluded trials that run one of several jobs alone.
    """

    name: str
    title: str
    source: str
    table: CampaignTable
    responses: Sequence[Response]
    pareto: tuple[Response, Response] | None = None
    alone: int = 0

    @property
    def front(self) -> Front | None:
        """The requested Pareto front."""
        return front_of(*self.pareto) if self.pareto else None

    @property
    def recorded(self) -> int:
        """Number of trials with a record."""
        return self.table.trials - self.table.missing.height

    @property
    def extent(self) -> str:
        """Completeness of the campaign as a sentence."""
        record_count = f"{self.recorded:,} of {self.table.trials:,} trials have a record"
        return f"{record_count}; {self.alone:,} of a job alone are left out" if self.alone else record_count


def campaign_json(report: CampaignReport) -> str:
    """Return a campaign as one JSON object: its counts, missing trials, effects, settings and trials."""
    front, table = report.front, report.table
    content = {
        "campaign": report.name,
        "title": report.title,
        "trials": table.trials,
        "recorded": report.recorded,
        "alone": report.alone,
        "missing": table.missing.select("trial", "status", *table.factors, "iteration").to_dicts(),
        "notes": table.notes,
        "factors": table.factors,
        "metrics": [
            response_object(response) | {"settings": setting_rows(response)} for response in report.responses
        ],
        "pareto": {"metrics": [metric.name for metric in front.metrics], "front": front.rows()}
        if front
        else None,
        "table": table.typed.to_dicts(),
    }
    return json.dumps(content, indent=2, allow_nan=False)


def response_object(response: Response) -> dict[str, Any]:
    """Return the response of a metric as a JSON object, without the settings."""
    metric, effects = response.metric, response.effects
    return {
        "metric": metric.name,
        "unit": response.unit,
        "relative": response.relative,
        "better": metric.direction.value,
        "trials": response.trials,
        "unmeasured": response.unmeasured,
        "notes": response.notes(),
        "mean": effects.mean if effects else None,
        "effects": effect_rows(response),
        "variance": [{"source": source, "share": share} for source, share in shares(response)],
        "best_of_each": [
            _setting_row(response, setting) | {"as_good": response.as_good(setting)}
            for setting in response.best_of_each()
        ],
    }


def effect_rows(response: Response) -> list[dict[str, Any]]:
    """Return a row for each value of each factor, strongest factor first."""
    effects = response.effects
    return [
        {"factor": response.factors[number].name, "value": value, **asdict(level)}
        for number in response.strongest(len(response.factors))
        for value, level in zip(
            response.factors[number].levels, effects.levels[number] if effects else (), strict=True
        )
    ]


def shares(response: Response) -> list[tuple[str, float]]:
    """Return the fractions of variance explained by each factor, and then `shares_together`."""
    effects = response.effects
    if effects is None:
        return []
    order = response.strongest(len(response.factors))
    return [
        *((response.factors[number].name, effects.shares[number]) for number in order),
        *shares_together(response, effects),
    ]


def shares_together(response: Response, effects: Effects) -> list[tuple[str, float]]:
    """Return the fractions of variance explained by pairs of factors, by larger groups, and by seeds."""
    names = [factor.name for factor in response.factors]
    pairs = sorted(effects.pairs.items(), key=lambda pair: -pair[1])
    shares = [(f"{names[first]} x {names[second]}", share) for (first, second), share in pairs]
    shares += [("three and more together", effects.rest_share)] if len(names) > 2 else []
    return shares + ([("seeds", effects.repeats_share)] if effects.has_repeats else [])


def setting_rows(response: Response) -> list[dict[str, Any]]:
    """Return a row for each setting, the best first."""
    return [_setting_row(response, setting) for setting in response.ranked()]


def _setting_row(response: Response, setting: Setting) -> dict[str, Any]:
    values = dict(zip(response.names, setting.values, strict=True))
    return values | {"mean": setting.mean, "margin": setting.margin, "seeds": setting.count}


def write_table(frame: pl.DataFrame, file_format: str, stream: IO[bytes]) -> None:
    """Write the table of the trials as `csv`, with text escaped by `csv_escaping`, or as `parquet`."""
    if file_format == "parquet":
        frame.write_parquet(stream)
    else:
        csv_escaping.frame(frame).write_csv(stream)


def value_text(response: Response, value: float | None) -> str:
    """Format a value of a metric as in tables, without its unit; `-` for `None`."""
    return number(value, 4) if response.relative else metric_text(response.metric, value)


def per_cent(value: float | None, *, signed: bool = False) -> str:
    """Format a fraction or an effect [%] with three digits, and at most two decimals; `-` for `None`."""
    if value is None:
        return "-"
    if abs(value) < 0.005:
        return "0.00"
    decimals = max(0, min(2, 2 - math.floor(math.log10(abs(value)))))
    return f"{value:{'+' if signed else ''}.{decimals}f}"
