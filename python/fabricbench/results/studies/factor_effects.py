"""Table of a campaign's trials; computes effects of its factors on a metric, Pareto front of two metrics.

A campaign runs plans over combinations of factor values (settings); trials of one setting differ only in
their seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from fabricbench.analysis.factorial.effects import Cell, Effects, effects_of
from fabricbench.analysis.factorial.pareto_front import front
from fabricbench.analysis.factorial.student_t import quantile_975
from fabricbench.metrics import BY_NAME, Direction, Metric
from fabricbench.results.axes import short_names
from fabricbench.results.studies.factors import Factor, SeparableFactors, separable_factors
from fabricbench.store.catalog.schema import FINISHED


def _number_or_text(column: pl.Series) -> pl.Series:
    import polars as pl

    for kind in (pl.Int64, pl.Float64):
        with suppress(pl.exceptions.InvalidOperationError):
            return column.cast(kind)
    return column


STATUS: Final = "status"


_LOADS: Final = ("plan", "data_size", "message_size", "size")
"""Factors that define the load."""


@dataclass(frozen=True)
class Setting:
    """One setting of all factors, and the results of its trials.

    Attributes:
        values: The value of each factor of the campaign, as text.
        mean: Mean of its trials.
        count: Number of trials with a value.
        variance: Their variance; 0 for a single one.
    """

    values: tuple[str, ...]
    mean: float
    count: int
    variance: float

    @property
    def margin(self) -> float | None:
        """Half of the 95 % confidence interval of the mean, by Student's t; none for a single trial."""
        if self.count < 2:
            return None
        return quantile_975(self.count - 1) * math.sqrt(self.variance / self.count)


class Response:
    """Effects of the factors of a campaign on one metric.

    Attributes:
        metric: The metric.
        relative: Whether values are relative to the mean of all settings of the same plan and size, so that
            small sizes have the same weight as large ones.
        names: The factors of the campaign, in the order of the values of a setting.
        trials: Number of trials with the metric.
        unmeasured: Number of trials with a record without it.
        settings: Every setting that has a value, in the order of the campaign.
    """

    def __init__(self, table: CampaignTable, metric: Metric, *, relative: bool = False) -> None:
        """Collect the settings from a metric of a table."""
        import polars as pl

        self.metric = metric
        self.relative = relative
        self.names = list(table.factors)
        self._order = table.factors
        value = pl.col(metric.name)
        frame = table.frame
        if metric.name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.Float64).alias(metric.name))
        measured = frame.filter(value.is_finite())
        self.trials = measured["trial"].n_unique()
        self.unmeasured = table.trials - table.missing.height - self.trials
        keys: list[Any] = [*self.names] or [pl.lit("").alias("")]
        self._planned = table.frame.select(keys).unique().height
        # No factor has a name with a zero byte.
        self.settings = [
            Setting(tuple(row[:-3]), *row[-3:])
            for row in measured.group_by(keys, maintain_order=True)
            .agg(value.mean().alias("\0mean"), value.len().alias("\0count"), value.var().fill_null(0.0))
            .filter(pl.col("\0count") > 0)  # without factors there is one group, which may be empty
            .select(*self.names, "\0mean", "\0count", metric.name)
            .iter_rows()
        ]
        if relative:
            self.settings = self._relative()

    @property
    def unit(self) -> str:
        """Unit of the values; empty for a pure number."""
        return "" if self.relative else self.metric.unit

    @property
    def title(self) -> str:
        """Title of the values, with their unit."""
        about = ", relative to the mean of its plan and size" if self.relative else ""
        return f"{self.metric.title}{about}{f' ({self.unit})' if self.unit else ''}"

    def _load_of(self, setting: Setting) -> tuple[str, ...]:
        """Return plan and size of a setting, as far as they differ."""
        named = zip(self.names, setting.values, strict=True)
        return tuple(value for name, value in named if name in _LOADS)

    def _relative(self) -> list[Setting]:
        means: dict[tuple[str, ...], list[float]] = {}
        for setting in self.settings:
            means.setdefault(self._load_of(setting), []).append(setting.mean)
        settings = []
        for setting in self.settings:
            own = means[self._load_of(setting)]
            mean = sum(own) / len(own)
            # If all are 0, they are equal.
            scaled = (setting.mean / mean, setting.variance / mean / mean) if mean else (1.0, 0.0)
            settings.append(Setting(setting.values, scaled[0], setting.count, scaled[1]))
        return settings

    @cached_property
    def _separable(self) -> SeparableFactors:
        columns = {
            name: [setting.values[index] for setting in self.settings]
            for index, name in enumerate(self.names)
        }
        return separable_factors(columns, self._order)

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """The values of each factor of the campaign that settings have, in order."""
        present = {
            name: {setting.values[index] for setting in self.settings}
            for index, name in enumerate(self.names)
        }
        return {name: [level for level in self._order[name] if level in own] for name, own in present.items()}

    @property
    def factors(self) -> Sequence[Factor]:
        """The factors whose effects can be separated, in the order of `effects`."""
        return self._separable.factors

    @cached_property
    def _cells(self) -> list[Cell]:
        """The settings in which effects can be separated."""
        settings = self.settings
        chosen = [settings[number] for number in self._separable.settings] if self.names else settings
        levels = (
            zip(*(factor.numbers for factor in self.factors), strict=True) if self.factors else repeat(())
        )
        return [
            Cell(own, setting.mean, setting.count, setting.variance)
            for own, setting in zip(levels, chosen, strict=False)
        ]

    @property
    def analysed(self) -> int:
        """Number of settings in the analysis of effects."""
        return len(self._cells)

    @cached_property
    def effects(self) -> Effects | None:
        """Effect of each factor; none if no trial has the metric."""
        return (
            effects_of(self._cells, [len(factor.levels) for factor in self.factors]) if self._cells else None
        )

    def ranked(self) -> list[Setting]:
        """Return the settings, the best first; equal ones in their order."""
        sign = 1 if self.metric.direction is Direction.LOWER else -1
        return sorted(self.settings, key=lambda setting: sign * setting.mean)

    def best_of_each(self) -> list[Setting]:
        """Return the best setting for each load (plan and size), as loads are given and not chosen.

        Empty if nothing else differs.
        """
        best_by_load: dict[tuple[str, ...], Setting] = {}
        for setting in self.ranked():
            best_by_load.setdefault(self._load_of(setting), setting)
        if not set(self.names) - set(_LOADS):
            return []
        levels = [self.levels[name] for name in self.names if name in _LOADS]
        order = [{level: index for index, level in enumerate(names)} for names in levels]
        indices = {
            load: [own[value] for own, value in zip(order, load, strict=True)] for load in best_by_load
        }
        return [best_by_load[load] for load in sorted(best_by_load, key=lambda load: indices[load])]

    def as_good(self, setting: Setting) -> int | None:
        """Return the number of other settings of the same load that are not significantly different.

        By Welch's test of two means at 95 % confidence; none if one of them has a single trial.
        """
        load = self._load_of(setting)
        others = [other for other in self.settings if other is not setting and self._load_of(other) == load]
        if min((other.count for other in (setting, *others)), default=0) < 2:
            return None
        return sum(1 for other in others if not _differ(setting, other))

    def strongest(self, count: int) -> list[int]:
        """Return the numbers of the factors that explain most of the variance, the strongest first."""
        fractions = self.effects.shares if self.effects else []
        return sorted(range(len(fractions)), key=lambda number: -fractions[number])[:count]

    def grid(self, one: int, other: int) -> dict[tuple[int, int], float]:
        """Return the mean of all settings that have a level of each of two factors, by their numbers."""
        means_by_levels: dict[tuple[int, int], list[float]] = {}
        for cell in self._cells:
            means_by_levels.setdefault((cell.levels[one], cell.levels[other]), []).append(cell.mean)
        return {levels: sum(values) / len(values) for levels, values in means_by_levels.items()}

    def notes(self) -> list[str]:
        """Return the limits of the analysis: missing settings and seeds, factors that cannot be separated."""
        if not self.settings:
            return []
        notes = [*self._counts(), *self._separable.notes]
        combinations = math.prod(len(factor.levels) for factor in self.factors)
        present = len({cell.levels for cell in self._cells})
        if present < combinations:
            notes.append(
                f"{present:,} of {combinations:,} combinations are there: effects are those of an additive "
                "model by least squares, and shares of the variance may overlap."
            )
        factors_with_levels = zip(self.factors, self.effects.levels if self.effects else (), strict=True)
        names = [
            factor.name
            for factor, levels in factors_with_levels
            if any(level.effect is None for level in levels)
        ]
        if names:
            notes.append(f"{', '.join(names)}: too few combinations are there to tell these effects apart.")
        return notes

    def _counts(self) -> Iterator[str]:
        """Yield notes on missing settings and seeds."""
        counts = [setting.count for setting in self.settings]
        most, least = max(counts), min(counts)
        if (without_value := self._planned - len(counts)) > 0:
            yield f"{without_value:,} of {self._planned:,} settings have no value."
        if most == 1:
            yield "One seed of each setting: there are no intervals, and chance is not told from effects."
        elif least < most:
            fewer = sum(1 for count in counts if count < most)
            yield (
                f"{fewer:,} of {len(counts):,} settings have fewer than {most} seeds, the fewest {least}; "
                "each setting counts the same."
            )


def _differ(one: Setting, other: Setting) -> bool:
    """Return whether two settings differ by more than their seeds explain."""
    parts = [(setting.variance / setting.count, setting.count - 1) for setting in (one, other)]
    variance = sum(part for part, _ in parts)
    if not variance:
        return one.mean != other.mean
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return abs(one.mean - other.mean) > quantile_975(round(freedom, 3)) * math.sqrt(variance)


@dataclass(frozen=True)
class Front:
    """Two metrics of the settings of a campaign, with their Pareto front.

    Attributes:
        metrics: The two.
        names: The factors of the campaign.
        settings: The values of the factors in each setting that has both.
        points: The means of both metrics in each setting.
        best: The numbers of the settings on the front, by the first metric.
    """

    metrics: tuple[Metric, Metric]
    names: Sequence[str]
    settings: Sequence[tuple[str, ...]]
    points: Sequence[tuple[float, float]]
    best: Sequence[int]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each setting of the front: its factors, and both metrics."""
        names = (metric.name for metric in self.metrics)
        columns = [*self.names, *names]
        return [
            dict(zip(columns, (*self.settings[number], *self.points[number]), strict=True))
            for number in self.best
        ]

    def label(self, number: int) -> str:
        """Return the description of a setting."""
        return setting_text(self.names, self.settings[number])


def front_of(one: Response, other: Response) -> Front:
    """Return the Pareto front of two metrics of one table."""
    other_means = {setting.values: setting.mean for setting in other.settings}
    common = [setting for setting in one.settings if setting.values in other_means]
    points = [(setting.mean, other_means[setting.values]) for setting in common]
    signs = tuple(1 if response.metric.direction is Direction.LOWER else -1 for response in (one, other))
    settings = [setting.values for setting in common]
    return Front((one.metric, other.metric), one.names, settings, points, front(points, (signs[0], signs[1])))


def setting_text(names: Sequence[str], values: Sequence[str]) -> str:
    """Return the values of factors with the last part of their names: `kmin 100KB, window 32`."""
    short = short_names(names)
    return ", ".join(f"{short[name]} {value}" for name, value in zip(names, values, strict=True))


class CampaignTable:
    """The trials of a campaign with their results.

    Attributes:
        frame: A row for each trial and plan that it is part of: `trial`, `iteration`, `seed`, `size_bytes`,
            each factor as text, `status`, and each metric, of the job with the worst value. A metric is null
            where no job has it, and where the trial has no record.
        factors: The levels of each factor, in their order.
        notes: Notes on results, such as the possible error of a model, with the number of trials concerned.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        factors: Mapping[str, Sequence[str]],
        notes: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Create the table from a frame, the levels of its factors in order, and notes with their counts."""
        self.frame = frame
        self.factors = {name: tuple(levels) for name, levels in factors.items()}
        trials = self.trials
        self.notes = [f"{count:,} of {trials:,} trials: {note}." for note, count in notes.items()]

    @property
    def typed(self) -> pl.DataFrame:
        """The frame with factors as numbers if all of their values are numbers."""
        return self.frame.with_columns(_number_or_text(self.frame[name]) for name in self.factors)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in the frame."""
        return [BY_NAME[name] for name in self.frame.columns if name in BY_NAME]

    @cached_property
    def missing(self) -> pl.DataFrame:
        """The trials that have no record, each once."""
        import polars as pl

        return self.frame.filter(~pl.col(STATUS).is_in(FINISHED)).unique("trial", maintain_order=True)

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.frame["trial"].n_unique()

    def response(self, metric: Metric, *, relative: bool = False) -> Response:
        """Return the effects of the factors on a metric; see `Response`."""
        return Response(self, metric, relative=relative)
