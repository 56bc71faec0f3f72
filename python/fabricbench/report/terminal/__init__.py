"""Trials as text for people: the table of a run, one trial in full, a list of trials, a comparison.

Modules are imported on first use, so that the table of a run does not wait for imports of a comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.report.terminal.by_size import sizes_text
    from fabricbench.report.terminal.cells import metric_text
    from fabricbench.report.terminal.comparison import comparison_text
    from fabricbench.report.terminal.run import run_table
    from fabricbench.report.terminal.tenants import seeds_text
    from fabricbench.report.terminal.trial import trial_list, trial_text
    from fabricbench.report.terminal.twins import twins_text

_MODULES = {
    "comparison_text": "comparison",
    "metric_text": "cells",
    "run_table": "run",
    "seeds_text": "tenants",
    "sizes_text": "by_size",
    "trial_list": "trial",
    "trial_text": "trial",
    "twins_text": "twins",
}

__all__ = [
    "comparison_text",
    "metric_text",
    "run_table",
    "seeds_text",
    "sizes_text",
    "trial_list",
    "trial_text",
    "twins_text",
]


def __getattr__(name: str) -> object:
    """Import a function on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
