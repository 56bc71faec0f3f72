"""Trials as text for people: the table of a run, one trial in full, a list of trials, a comparison."""

from fabricbench.report.terminal.by_size import sizes_text
from fabricbench.report.terminal.cells import metric_text
from fabricbench.report.terminal.comparison import comparison_text
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.tenants import seeds_text
from fabricbench.report.terminal.trial import trial_list, trial_text
from fabricbench.report.terminal.twins import twins_text

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
