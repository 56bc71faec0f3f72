"""Formats plans and trials as HTML for notebook output: small, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fabricbench.metrics import View
from fabricbench.report.documents.columns import run_columns
from fabricbench.report.documents.table_cells import full_label, value_text
from fabricbench.results.job_reports import JobReport

_ROWS_MAX = 50
# No colours of its own: text has the page's, and lines are a grey that is visible on white and black.
_TABLE = "border-collapse:collapse;color:inherit;background:transparent;font-variant-numeric:tabular-nums"
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.4);padding:.2em .6em"
_WARNING = "border-left:3px solid rgba(200,130,0,.9);padding-left:.5em;margin:.3em 0"


def plan_cell(name: str, texts: Sequence[str], changes: Sequence[str], warnings: Sequence[str]) -> str:
    """Return a plan: its name and description, changes and warnings."""
    first, *others = texts
    parts = [f"<b>{escape(name)}</b> {escape(first)}", *map(escape, others)]
    parts += [f"<code>{escape(change)}</code>" for change in changes]
    lines = "".join(f"<div>{part}</div>" for part in parts)
    warning_lines = "".join(f'<div style="{_WARNING}">{escape(warning)}</div>' for warning in warnings)
    return f"<div>{lines}{warning_lines}</div>"


def trials_cell(title: str, jobs: Sequence[JobReport]) -> str:
    """Return trials: a title, and a line for each job with the metrics of the run table."""
    if not jobs:
        return f"<div><b>{escape(title)}</b></div>"
    shown = jobs[:_ROWS_MAX]
    metrics = run_columns(shown, View.RUN, View.ROUNDS, View.ADAPTERS)
    repeats = any(job.trial.facts.iteration for job in shown)
    heads = ["trial", "plan", "job", "size", *(" ".join(metric.lines) for metric in metrics), "status"]
    rows = [
        [
            job.trial.id,
            job.trial.facts.plan,
            job.summary.job,
            full_label(job, with_iteration=repeats),
            *(value_text(job.trial, job.summary, metric) for metric in metrics),
            job.summary.status,
        ]
        for job in shown
    ]
    omission = f"<div>and {len(jobs) - len(shown)} more</div>" if len(jobs) > len(shown) else ""
    head, body = _line("th", heads), "".join(_line("td", row) for row in rows)
    table = f'<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return f'<div style="overflow-x:auto"><b>{escape(title)}</b>{table}{omission}</div>'


def _line(tag: str, cells: Sequence[str]) -> str:
    """Return a row; columns that are text in every table are aligned left, numbers right."""
    sides = ["left"] * 3 + ["right"] * (len(cells) - 4) + ["left"]
    return (
        "<tr>"
        + "".join(
            f'<{tag} style="{_LINE};text-align:{side}">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        + "</tr>"
    )
