"""Draws heat maps of the mean of a metric over each pair of the strongest factors of a campaign."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Final

from fabricbench.figures.plot import Plot
from fabricbench.figures.results.sweep import maps_figure
from fabricbench.results.studies.factor_effects import Response
from fabricbench.results.studies.factors import Factor
from fabricbench.results.studies.sweep import Dimension, MetricGrid

_FACTORS: Final = 3
"""Number of strongest factors, of which all pairs are drawn."""
_LEVELS_MAX: Final = 60


def pair_plots(response: Response) -> list[Plot]:
    """Draw the pairs of the factors that explain most of the variance."""
    drawable = [
        number
        for number in response.strongest(len(response.factors))
        if len(response.factors[number].levels) <= _LEVELS_MAX
    ]
    return [pair_plot(response, one, other) for one, other in combinations(drawable[:_FACTORS], 2)]


def pair_plot(response: Response, one: int, other: int) -> Plot:
    """Draw a metric over two factors, which are numbered as in the response."""
    rows, columns = sorted(
        (response.factors[one], response.factors[other]), key=lambda factor: len(factor.levels)
    )
    means = response.grid(response.factors.index(rows), response.factors.index(columns))
    values = {(rows.levels[row], columns.levels[column]): value for (row, column), value in means.items()}
    grid = MetricGrid("", _dimension(rows), _dimension(columns), values)
    caption = f"{response.title} over {rows.name} and {columns.name}: means over all other factors and seeds."
    return Plot(maps_figure([grid], replace(response.metric, unit=response.unit)), caption)


def _dimension(factor: Factor) -> Dimension:
    return Dimension(factor.name, factor.name.rpartition(".")[2], factor.levels, is_size=False, places=())
