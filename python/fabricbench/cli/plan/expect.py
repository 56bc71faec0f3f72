"""The command `expect`: ranges of a plan's results over seeds and placements, and limits to accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricbench import importing
from fabricbench.cli.options import (
    ClusterOption,
    ForceOption,
    JobsOption,
    OverridesOption,
    PlanOrClusterArgument,
    QuickOption,
    ServersOption,
    TimeLimitOption,
    TopologyOption,
    VariantsOption,
    WorkspaceOption,
)
from fabricbench.cli.output import has_colour, note, warn, write
from fabricbench.cli.plan.expect_cluster import ClusterOptions, check_options, expect_cluster, formatted
from fabricbench.cli.progress import display
from fabricbench.plan.errors import named_as_written
from fabricbench.report.output.atomic_files import check_page_name, check_writable_target
from fabricbench.report.studies import expected as report
from fabricbench.report.studies.cluster_curves import ALLOWANCE_PERCENT, ClusterExpectation
from fabricbench.report.studies.expected import Expectation
from fabricbench.runner import loading
from fabricbench.runner.expect_trials import run_expect
from fabricbench.runner.loading import TIME_LIMIT_MIN
from fabricbench.runner.session import Session
from fabricbench.store import Workspace
from fabricbench.words import counted
from fabricbench.work import pattern_of

SEEDS, FALSE_ALARM_PERCENT = 50, 5.0


class ExpectFormat(StrEnum):
    """Output format of expected values."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"
    NCCL = "nccl"


def expect_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plan: PlanOrClusterArgument = None,
    cluster: ClusterOption = None,
    servers: ServersOption = None,
    topology: TopologyOption = None,
    switch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="SONiC configuration (config_db.json) of the cluster's switches."),
    ] = None,
    collectives: Annotated[
        list[str] | None,
        typer.Option(
            "--collective",
            metavar="NAME",
            help="all-reduce, all-gather, reduce-scatter, all-to-all or send-receive; may be given again. "
            "All of them by default.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Data sizes of the cluster's curves: one, several with commas, or a range that doubles. "
            "8 B to 16 GB by powers of 4 by default.",
        ),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("-x", metavar="NAME=VALUE", help="A variable of NCCL, such as NCCL_ALGO=ring."),
    ] = None,
    version: Annotated[
        str | None, typer.Option("--nccl", metavar="VERSION", help="Version of NCCL, 2.18 to 2.31.")
    ] = None,
    overrides: OverridesOption = None,
    variants: VariantsOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help=f"Trials of each size and variant, each with a seed; {SEEDS} by default, 1 with --cluster.",
        ),
    ] = None,
    placements: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000,
            help="Placements of the jobs on the servers, drawn, each with every seed; 0 for the plan's own.",
        ),
    ] = 0,
    false_alarm: Annotated[
        float,
        typer.Option(
            "--false-alarm",
            metavar="PERCENT",
            min=0.01,
            max=50,
            help="Probability at which a limit may fail a fabric that is as the plan says [%].",
        ),
    ] = FALSE_ALARM_PERCENT,
    allowance: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0,
            max=99,
            help="What limits are looser by, for what your hosts add [%]; 0 by default, "
            f"{ALLOWANCE_PERCENT:g} with --cluster.",
        ),
    ] = None,
    as_one: Annotated[
        bool,
        typer.Option(
            "--as-one", help="All jobs are one operation of nccl-tests, as rings on rails are; not tenants."
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also simulate packets for the first seed of each size and variant: how far is the flow "
            "model off?",
        ),
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What carries the plan out; the plan's `backend` by default."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE.html", help="Also write a page of the curves; replaced if it exists."
        ),
    ] = None,
    jobs: JobsOption = None,
    quick: QuickOption = False,
    workspace: WorkspaceOption = None,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
    output: Annotated[
        ExpectFormat,
        typer.Option(
            "--format",
            help="How to write it: `yaml` has criteria for the plan, `nccl` arguments of nccl-tests.",
        ),
    ] = ExpectFormat.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="The same as --format yaml.")] = False,
) -> None:
    """Predict the results of a plan: ranges over seeds and placements, their causes, limits to accept.

    With --cluster SERVER --servers N and no plan: what NCCL's collectives give on such servers and a fabric
    that blocks nothing, by data size, with the bound at each. Its trials are not stored.

    Its trials are those of `run`, with `iterations` set to the seeds: those that the workspace has are not
    run again.

    Exit status: 0; 2 for an error in the plan or the workspace, or jobs that `--as-one` cannot take
    together; 130 when stopped by Ctrl-C, 143 by SIGTERM, and the same command continues.
    """
    output = ExpectFormat.JSON if as_json else ExpectFormat.YAML if as_yaml else output
    options = ClusterOptions(cluster, servers, topology, switch, collectives, sizes, variables, version)
    plan_options: dict[str, object] = {
        "--variant": variants,
        "--placements": placements,
        "--backend": backend,
    }
    plan_options |= {"--as-one": as_one, "--check": check}
    plan_options |= {"--quick": quick}
    check_options(options, plan, plan_options)
    if out is not None:
        check_page_name(out)
        check_writable_target(out)
    if plan is None:
        allowance = ALLOWANCE_PERCENT if allowance is None else allowance
        curves = expect_cluster(options, overrides or (), seeds or 1, allowance)
        write(formatted(curves, output))
        _write_page(curves, out)
        return
    seeds, allowance = seeds or SEEDS, allowance or 0.0
    option_overrides = {"--seeds": f"iterations={seeds}"}
    option_overrides |= {"--backend": f'backend="{backend}"'} if backend else {}
    limits = None if force else loading.machine_limits(time_limit)
    with named_as_written(option_overrides):
        loaded = loading.load(
            plan, [*(overrides or ()), *option_overrides.values()], limits, variants or (), quick=quick
        )
    loading.check_no_search(loaded, "expect")
    warn(loaded)
    if as_one:
        _check_as_one([job for trial in loaded.trials if not trial.is_solo for job in trial.run_spec["jobs"]])
    carrier = loading.backend_of(loaded)
    for sentence in loading.notes_of(loaded, carrier):
        note(f"note: {sentence}")
    store = Workspace.open(workspace, create=True)
    with display() as listener:
        session = Session(store, listener, jobs=jobs)
        trials = run_expect(session, loaded, carrier, placements, check=check)
    if trials.stopped_by is not None:
        note(f"interrupted: {counted(len(trials.draws), 'trial')} finished and stay in {store.root}")
        note("hint: the same command goes on with the rest")
        raise typer.Exit(128 + trials.stopped_by)
    settings = report.Settings(seeds, placements, false_alarm / 100, allowance / 100, as_one=as_one)
    expectation = report.expectation(
        loaded.plan.name, carrier.name, settings, trials.draws, trials.packets, trials.gains
    )
    write(_formatted(expectation, output, importing.PROGRAMS))
    if warning := report.far_text(expectation):
        note(f"warning: {warning}")
    _write_page(expectation, out)


def _write_page(expectation: ClusterExpectation | Expectation, out: Path | None) -> None:
    """Write the page of an expectation to a file, if there is one."""
    if out is None:
        return
    from fabricbench.report.html.expected_page import write_expected_page

    size_bytes = write_expected_page(expectation, importing.PROGRAMS, out)
    note(f"wrote {out}: {size_bytes / 1e6:.1f} MB")


def _check_as_one(jobs: Sequence[Mapping[str, Any]]) -> None:
    """Check that jobs to be combined do the same."""
    kinds = {(pattern_of(job)["collective"], job["start_ps"]) for job in jobs}
    if len(kinds) > 1:
        texts = ", ".join(sorted({str(collective) for collective, _ in kinds}))
        raise typer.BadParameter(
            f"found jobs of {texts}, or of several starts; allowed: jobs of one collective that start "
            "together; "
            "leave --as-one out"
        )


def _formatted(expectation: Expectation, output: ExpectFormat, programs: dict[str, str]) -> str:
    match output:
        case ExpectFormat.JSON:
            return report.expectation_json(expectation, programs)
        case ExpectFormat.CSV:
            return report.expectation_csv(expectation)
        case ExpectFormat.YAML:
            return report.criteria_yaml(expectation)
        case ExpectFormat.NCCL:
            return report.nccl_text(expectation, programs)
        case ExpectFormat.TABLE:
            return report.expectation_text(expectation, colour=has_colour())
