"""Draws every figure of one metric of a campaign, by name."""

from __future__ import annotations

from fabricbench.figures.campaign.effects import effects_plot
from fabricbench.figures.campaign.factor_pairs import pair_plots
from fabricbench.figures.campaign.parallel import parallel_plot
from fabricbench.figures.plot import Plot
from fabricbench.results.studies.factor_effects import Response


def plots_of(response: Response) -> dict[str, Plot]:
    """Draw all figures with data: `effects`, `pair-0` and so on, `parallel`."""
    plots = {"effects": effects_plot(response)}
    plots |= {f"pair-{number}": plot for number, plot in enumerate(pair_plots(response))}
    plots |= {"parallel": parallel_plot(response)}
    return {name: plot for name, plot in plots.items() if plot is not None}
