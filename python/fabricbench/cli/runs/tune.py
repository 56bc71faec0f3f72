"""The command `tune`: search for the values of plan fields with the best metrics over some plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.errors import NOT_MET, SIGNALLED, bad_value
from fabricbench.cli.options import DryRunOption, OverridesOption, TimeLimitOption, WorkspaceOption
from fabricbench.cli.output import Format, note, warn, write
from fabricbench.cli.progress import bar
from fabricbench.cli.runs.tune_result import check_files, formatted, write_files
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.loading import backend_of, machine_limits, notes_of
from fabricbench.runner.tuning.confirmation import SEEDS_MIN
from fabricbench.runner.tuning.definition import Tried, TuningDefinition
from fabricbench.runner.tuning.evaluation import Units
from fabricbench.runner.tuning.journal import library
from fabricbench.runner.tuning.objectives import Aim, aims_of, check_direction, limits_of
from fabricbench.runner.tuning.result import TuneResult, check_cost, cost_ms, cost_text, run_tuning
from fabricbench.runner.tuning.space import space_of
from fabricbench.store import Workspace


def tune_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plans: Annotated[
        list[str],
        typer.Argument(
            metavar="PLAN...", autocompletion=completion.plans, help="Shipped plans' names, or files."
        ),
    ],
    search: Annotated[
        list[str],
        typer.Option(
            metavar="FIELD=LOW..HIGH",
            autocompletion=completion.fields,
            help="A field and its range, with :STEP if wanted, or its choices A|B|C; may be given again.",
        ),
    ],
    minimize: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="A metric to make small; with several there is a Pareto front."),
    ] = None,
    maximize: Annotated[
        list[str] | None, typer.Option(metavar="METRIC", help="A metric to make large.")
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="METRIC<=VALUE",
            help="What every trial has to keep, with =, <= or >=; may be given again.",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=100_000, help="Points to try.")] = 100,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Seeds of each plan at each point; the plan's own.")
    ] = None,
    confirm: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000,
            help=f"Other seeds to compare the best point with: {SEEDS_MIN} or more, or 0 for none.",
        ),
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=1_000, help="Points suggested and run together.")
    ] = 4,
    pruning: Annotated[
        bool, typer.Option(help="Stop poor points after their smaller sizes, where there is one aim.")
    ] = True,
    overrides: OverridesOption = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="local|ray://HOST:PORT",
            help="Where trials run: on the cores of this machine, or on a Ray cluster.",
        ),
    ] = "local",
    write_plan: Annotated[
        Path | None,
        typer.Option("--write-plan", metavar="FILE", help="Write the best point as YAML for a plan."),
    ] = None,
    write_sonic: Annotated[
        Path | None,
        typer.Option("--write-sonic", metavar="FILE", help="Write its thresholds as SONiC's JSON."),
    ] = None,
    dry_run: DryRunOption = False,
    force: Annotated[bool, typer.Option("--force", help="Search however long it may take.")] = False,
    time_limit: TimeLimitOption = 60,
    workspace: WorkspaceOption = None,
    output: Annotated[
        Format, typer.Option("--format", help="How to write what was found; csv has every point.")
    ] = Format.TABLE,
) -> None:
    """Search for the values of plan fields that make metrics best over plans, sizes and seeds.

    A metric counts as its ratio to that of the plans as shipped. The best point is compared again with seeds
    that are none of the search. Trials are in the workspace, and the same command continues the search.

    Exit status: 0 when a point keeps every limit, 2 for a mistake, 3 when none does, 130 when
    stopped by Ctrl-C.
    """
    if 0 < confirm < SEEDS_MIN:
        raise bad_value("--confirm", confirm, f"0, or {SEEDS_MIN} or more")
    check_files(write_plan, write_sonic)
    library()
    aims, metric_limits = _aims(minimize or [], maximize or []), limits_of(subject_to or [])
    limits = None if force else machine_limits(time_limit)
    loaded = [_load_plan(plan, overrides or [], seeds, limits) for plan in plans]
    iterations = tuple(plan_loaded.plan.iterations for plan_loaded in loaded)
    search_spec = TuningDefinition(
        space_of(loaded, search, limits), aims, metric_limits, iterations, seed, at_once, pruning
    )
    units = Units(loaded)
    milliseconds = cost_ms(search_spec, units, trials, confirm)
    cost = cost_text(search_spec, trials, milliseconds)
    if dry_run:
        write(cost)
        return
    if not force:
        check_cost(search_spec, trials, milliseconds)
    note(cost)
    for sentence in dict.fromkeys(
        sentence for plan_loaded in loaded for sentence in notes_of(plan_loaded, backend_of(plan_loaded))
    ):
        note(f"note: {sentence}")
    result = _run_search(search_spec, units, Workspace.open(workspace, create=True), on, (trials, confirm))
    write(formatted(result, output))
    if result.best is None:
        raise typer.Exit(NOT_MET)
    write_files(result, write_plan, write_sonic)


def _load_plan(plan: str, overrides: list[str], seeds: int | None, limits: Limits | None) -> LoadedPlan:
    seed_override = [] if seeds is None else [f"iterations={seeds}"]
    loaded = loading.load(plan, [*overrides, *seed_override], limits)
    loading.check_no_search(loaded, "tune")
    warn(loaded)
    return loaded


def _aims(minimized: list[str], maximized: list[str]) -> tuple[Aim, ...]:
    aims = aims_of(minimized, maximized)
    for remark in filter(None, map(check_direction, aims)):
        note(f"note: {remark}")
    return aims


def _run_search(
    search_spec: TuningDefinition,
    units: Units,
    store: Workspace,
    on: str,
    trials_and_confirm: tuple[int, int],
) -> TuneResult:
    """Run the search; end the command if the user stops it."""
    trials, confirm = trials_and_confirm
    with Interrupts() as interrupts, _display(search_spec, trials) as on_point:
        try:
            return run_tuning(search_spec, units, store, on, trials, confirm, on_point, interrupts)
        except KeyboardInterrupt:
            message = f"what has ended stays in {store.root}"
            note(f"interrupted: {message}\nhint: the same command goes on from there")
            raise typer.Exit(SIGNALLED + (interrupts.received or SIGINT)) from None


@contextmanager
def _display(search_spec: TuningDefinition, trials: int) -> Iterator[Callable[[Tried, int], None]]:
    """Show the progress of a search until the block ends, while standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _tried, _count: None
        return
    tried_points: list[Tried] = []
    with bar() as shown:
        task = shown.add_task("tune", total=trials, detail="")

        def on_point(tried: Tried, count: int) -> None:
            tried_points.append(tried)
            best = search_spec.best(tried_points)
            detail = f"{count} of {trials} points"
            detail += (
                f", best {', '.join(f'{ratio:.4g}' for ratio in best.ratios)} of shipped" if best else ""
            )
            shown.update(task, completed=count, detail=detail)

        yield on_point
