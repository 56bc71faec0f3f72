"""The command `compare`: compares trials, variants of a run, sizes of two runs, a run and its prediction."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.options import FormatOption, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, write
from fabricbench.report.documents.comparison import (
    Comparison,
    UnknownReferenceError,
    of_sizes,
    of_trials,
    of_variants,
)
from fabricbench.report.documents.twins import (
    NoTwinError,
    TwinGroup,
    twin_tables,
    twins_csv,
    twins_json,
    twins_of,
)
from fabricbench.report.output import json_csv
from fabricbench.report.terminal.by_size import sizes_text
from fabricbench.report.terminal.comparison import comparison_text
from fabricbench.report.terminal.text_table import render
from fabricbench.store import Workspace


class By(StrEnum):
    """Kind of comparison: the variants of one run, the sizes of two, or a run and its prediction."""

    VARIANT = "variant"
    SIZE = "size"
    TWIN = "twin"


def compare_command(
    trials: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRIAL...",
            autocompletion=completion.trials,
            help="Two trials or more, as for `show`; with --by one, `latest` by default.",
        ),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="`variant`: compare the variants of the run that the trial belongs to; "
            "`size`: the runs that two trials belong to, at every size that both have; "
            "`twin`: the run of the trial, measured, beside what the simulator predicts of it."
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --by variant: compare with this one, not the plan's reference."
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare trials: the parameters that differ, and metric by metric the ratio to the first.

    With `--by variant` the variants of a plan stand side by side, at every size; with `--by size` two runs,
    such as a measured and a simulated one.

    `--by twin` compares a run of another backend with the simulator's run of the same plan, as `run --twin`
    makes them: the difference at each size, and its likely causes.
    """
    store = Workspace.open(workspace)
    if by is By.TWIN:
        write(twins_written(_twins(store, trials or ["latest"], reference), output))
        return
    if by is By.VARIANT:
        comparison = by_variant(store, trials or ["latest"], reference)
    elif by is By.SIZE:
        comparison = _by_size(store, trials or [], reference)
    else:
        comparison = _trial_by_trial(store, trials or [], reference)
    if output is Format.JSON:
        write(json_csv.comparison_json(comparison))
    elif output is Format.CSV:
        write(json_csv.comparison_csv(comparison))
    elif by is By.SIZE:
        write(sizes_text(comparison, colour=has_colour()))
    else:
        write(comparison_text(comparison, colour=has_colour()))


def _trial_by_trial(store: Workspace, names: list[str], reference: str | None) -> Comparison:
    if reference is not None:
        raise typer.BadParameter(
            "--reference goes with --by variant; otherwise the first trial is the reference"
        )
    if len(names) < 2:
        raise typer.BadParameter("name two trials or more, or --by variant")
    trials = [store.find(name) for name in names]
    if len({trial.id for trial in trials}) < len(trials):
        raise typer.BadParameter(
            f"{' and '.join(names)} name the same trial; trials are compared with others"
        )
    comparison = of_trials(trials)
    if not comparison.pairs:
        raise typer.BadParameter("the trials have no job in common")
    return comparison


def _by_size(store: Workspace, names: list[str], reference: str | None) -> Comparison:
    if reference is not None or len(names) != 2:
        raise typer.BadParameter("--by size takes a trial of each of two runs; the first is the reference")
    first, second = (store.suite(store.find(name)) for name in names)
    if {trial.id for trial in first} == {trial.id for trial in second}:
        raise typer.BadParameter(
            f"{' and '.join(names)} are of the same run; --by size takes a trial of each of two runs"
        )
    comparison = of_sizes(first, second)
    if not comparison.pairs:
        raise typer.BadParameter("the runs have no collective, number of ranks and data size in common")
    return comparison


def _twins(store: Workspace, names: list[str], reference: str | None) -> list[TwinGroup]:
    if reference is not None or len(names) != 1:
        raise typer.BadParameter("--by twin takes one trial: its run is set beside the prediction of it")
    run = store.suite(store.find(names[0]))
    try:
        return twins_of(run, store.twins(run))
    except NoTwinError as error:
        raise typer.BadParameter(f"{error}; `run PLAN --backend NAME --twin` does") from error


def twins_written(groups: Sequence[TwinGroup], output: Format) -> str:
    """Return measured jobs and their predictions in a format."""
    if output is Format.JSON:
        return twins_json(groups)
    if output is Format.CSV:
        return twins_csv(groups)
    return "\n\n".join(render(table, colour=has_colour()) for table in twin_tables(groups))


def by_variant(store: Workspace, names: list[str], reference: str | None) -> Comparison:
    """Compare the variants of the run that one trial belongs to.

    Raises:
        typer.BadParameter: Not one trial is named, its plan has no variants, or there is no such reference.
        StoreError: There is no such trial, or it cannot be read.
    """
    if len(names) > 1:
        raise typer.BadParameter("--by variant takes one trial: it compares all variants of its run")
    focus = store.find(names[0])
    if focus.facts.reference is None:
        raise typer.BadParameter(f"trial {focus.id} is of a plan without variants")
    try:
        return of_variants(store.suite(focus), focus, reference)
    except UnknownReferenceError as error:
        raise typer.BadParameter(str(error)) from error
