"""The command `import`: measured results of benchmarks as trials of backend `imported`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench import importing
from fabricbench.cli.options import OverridesOption, WorkspaceOption
from fabricbench.cli.output import Format, note, write
from fabricbench.cli.runs.run import render
from fabricbench.importing import plan_sizes, pooled_jobs
from fabricbench.metrics import BUS_BANDWIDTH
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.results.job_reports import reports_of_run
from fabricbench.runner import loading
from fabricbench.store import Trial, Workspace
from fabricbench.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence


class ResultFormat(StrEnum):
    """Program whose output a file is."""

    NCCL_TESTS = "nccl-tests"
    PERFTEST = "perftest"
    OSU = "osu"
    IMB = "imb"
    NCCOM = "nccom-test"
    NCCL_INSPECTOR = "nccl-inspector"


def import_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Outputs of benchmarks, text or JSON.")
    ],
    result_format: Annotated[
        ResultFormat | None, typer.Option("--format", help="Whose output it is; detected by default.")
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What to call the trials, in place of the benchmark's name.")
    ] = "",
    tag: Annotated[str, typer.Option(help="A label to find the trials again.")] = "",
    ranks: Annotated[
        int | None,
        typer.Option(min=1, max=1 << 24, help="Number of ranks, where the output does not say it."),
    ] = None,
    benchmark: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the benchmark, where the output does not say it.")
    ] = "",
    plan: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="The plan that simulates it: gives the trials its name and ideal."),
    ] = None,
    overrides: OverridesOption = None,
    workspace: WorkspaceOption = None,
    output: Annotated[Format, typer.Option("--output", help="How to write the results.")] = Format.TABLE,
) -> None:
    """Import measured results: nccl-tests, perftest, OSU, Intel MPI Benchmarks or NCCL Inspector.

    Each result becomes a trial of backend `imported`, shown and compared as simulated ones are. A file is
    imported whole or, where a line cannot be read, not at all. docs/import.md has the details.
    """
    if overrides and plan is None:
        raise typer.BadParameter("-s changes the plan that --plan names")
    loaded = loading.load(plan, overrides or ()) if plan is not None else None
    if loaded is not None:
        loading.check_no_search(loaded, "measured results")
    ranks_and_benchmark = importing.UserFacts(ranks, benchmark)
    options = importing.Options(result_format and result_format.value, name, tag, ranks_and_benchmark, loaded)
    sources = [importing.Source.of(path) for path in files]
    store = Workspace.open(workspace, create=True)
    trials: list[Trial] = []
    for source in sources:
        imported = importing.import_results(store, source, options)
        trials += imported.trials
        for warning in imported.warnings:
            note(f"warning: {warning}")
        note(f"imported {source.name}: {imported.format}, {counted(len(imported.trials), 'trial')}")
    if benchmark and all(trial.results[0][BUS_BANDWIDTH.name] is None for trial in trials):
        note(f'warning: "{benchmark}" is no benchmark that is known, so there is no bus bandwidth')
    write(render(reports_of_run(trials), output))
    if loaded is not None:
        note(_simulate_hint(str(plan), loaded, trials, sources[0].name))


def _simulate_hint(plan: str, loaded: LoadedPlan, trials: Sequence[Trial], file: str) -> str:
    """Return the commands that simulate the same sizes, compare both, and show the expected curve."""
    kind, sizes = plan_sizes(loaded, trials)
    changes = "".join(f" -s '{override}'" for override in loaded.overrides)
    swept = ", ".join(map(str, sizes))
    lines = [f"simulate the same: fabricbench run {plan}{changes} -s 'sweep.{kind}_size=[{swept}]'"]
    if pooled_jobs(trials[0]) == 1:
        lines.append(f"then compare: fabricbench compare --by size {trials[0].id} latest")
    lines.append(f"set it next to the expected curve: fabricbench explain {file} --plan {plan}{changes}")
    return "\n".join(f"hint: {line}" for line in lines)
