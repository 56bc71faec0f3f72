"""Writes a Jupyter notebook that loads a trial and draws its plots, as a start for further analysis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fabricbench.figures.registry import FIGURES, drawn
from fabricbench.metrics import View, in_views
from fabricbench.report.output.atomic_files import atomic_file
from fabricbench.store import Trial
from fabricbench.words import data_size, one_line

_TEXT_LENGTH_MAX: Final = 4_000
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>()#!&|~$]")
"""Characters with a meaning in Markdown or in Jupyter's mathematics."""
_FIGURES = ("timeline", "topology", "links", "queues", "link-use", "latency")
_METHODS = {"cdf-run": "cdf", "link-use": "link_use"}
_COLUMNS = ("job", "data_size_bytes", "status", *(metric.name for metric in in_views(View.TRIALS)))


def write_notebook(trial: Trial, suite: Sequence[Trial], workspace: Path, path: Path) -> None:
    """Write a Jupyter notebook about a trial and its run.

    Args:
        trial: The trial.
        suite: The trials of its run, including itself.
        workspace: Folder that the notebook opens.
        path: The file; replaced if it exists.

    Raises:
        OutputFileError: It cannot be written.
        StoreError: A table of a trial cannot be read.
    """
    import nbformat

    cells = [*_opening(trial, workspace), *_run_cells(trial, suite)]
    cells += _trial_cells(trial) if trial.has("chunks") else []
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=_METADATA)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # deterministic: the same notebook for the same trial
    nbformat.validate(notebook)
    with atomic_file(path) as stream:
        stream.write(nbformat.writes(notebook).encode())


_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _opening(trial: Trial, workspace: Path) -> list[object]:
    facts = trial.facts
    title = (
        f"# {_plain(facts.title or facts.plan)}\n\n"
        f"Trial {trial.id} of plan {_plain(facts.plan)}, data size {data_size(facts.data_size_bytes)}, "
        f"variant {_plain(facts.variant)}, iteration {facts.iteration}: {trial.status}.\n\n"
        "`help(fb)` says what else there is."
    )
    load = (
        "import fabricbench as fb\n\n"
        f"workspace = fb.workspace({str(workspace)!r})\n"
        f"trial = workspace.trial({trial.id!r})\n"
        "run = workspace.run_of(trial)\n"
        "run"
    )
    return [_text(title), _code(load)]


def _run_cells(trial: Trial, suite: Sequence[Trial]) -> list[object]:
    columns = ", ".join(f'"{name}"' for name in _COLUMNS)
    return [
        _text("## The run\n\nEvery metric of each job of each trial: `run.summary.columns` lists them."),
        _code(f"run.summary.select({columns})"),
        *_figure("bandwidth", trial, suite),
        *_figure("cdf-run", trial, suite),
    ]


def _trial_cells(trial: Trial) -> list[object]:
    drawn = [cell for name in _FIGURES for cell in _figure(name, trial, [trial])]
    slowest = 'trial.chunks.sort("fct_ps", descending=True, nulls_last=True).head(10)'
    busiest = 'trial.ports.sort("queue_max_bytes", descending=True).head(10)'
    return [
        _text(f"## Trial {trial.id}"),
        *drawn,
        _text("The slowest chunks, and the ports with the longest queues:"),
        _code(slowest),
        _code(busiest),
    ]


def _figure(name: str, trial: Trial, run: Sequence[Trial]) -> list[object]:
    """Return the cells of a figure with its caption; empty if there is nothing to draw."""
    plot = drawn(name, trial, run)
    if plot is None:
        return []
    of = "run" if FIGURES[name].of_run else "trial"
    return [_text(_plain(plot.caption)), _code(f"{of}.plot.{_METHODS.get(name, name)}()")]


def _plain(text: str) -> str:
    """Escape text for Markdown: no HTML, links, pictures or second line."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text, _TEXT_LENGTH_MAX))


def _text(source: str) -> object:
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(source)


def _code(source: str) -> object:
    from nbformat.v4 import new_code_cell

    return new_code_cell(source)
