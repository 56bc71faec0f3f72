"""Background thread that loads the modules for the first trial page in advance."""

from __future__ import annotations

from importlib import import_module
from threading import Thread
from typing import Final

_MODULES: Final = (
    "fabricbench.analysis.diagnosis",
    "fabricbench.report.insight",
    "fabricbench.figures.registry",
)
"""Modules that take tenths of a second to load, some of them by imports at their first call."""


def warm_up() -> Thread:
    """Start the thread and return it; it ends after the imports."""
    thread = Thread(target=_load, name="warming", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    import plotly.graph_objects as go

    for module in _MODULES:
        import_module(module)
    # Plotly loads the code of each kind of trace, and of axes, at their first use.
    traces = (go.Scatter(x=[0], y=[0]), go.Bar(x=[0], y=[0]), go.Heatmap(z=[[0]]))
    figure = go.Figure(traces, layout={"xaxis": {"title": {"text": ""}}, "yaxis": {"title": {"text": ""}}})
    figure.to_json(validate=False)
