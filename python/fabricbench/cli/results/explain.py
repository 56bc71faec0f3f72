"""The command `explain`: causes of a slow trial or measurement; runs the plan with remedies (`--try`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.options import (
    BeforeOption,
    ForceOption,
    FormatOption,
    OverridesOption,
    ServersOption,
    TimeLimitOption,
    TopologyOption,
    WorkspaceOption,
)
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.cli.plan.expect_cluster import ClusterOptions, check_options, cluster_of
from fabricbench.cli.progress import display
from fabricbench.explaining.files import explanation_of
from fabricbench.explaining.options import FileOptions, check_uplinks, hardware_of
from fabricbench.explaining.text import explanation_json as explanation_as_json, explanation_text as file_text
from fabricbench.importing import Source, SwitchCounters, UserFacts, switch_counters
from fabricbench.plan.cluster import Cluster
from fabricbench.plan.devices.json_text import content_of
from fabricbench.plan.devices.nccl_graphs import graphs_of
from fabricbench.plan.engine import SIMULATOR
from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.diagnosis import insight_of, record_of
from fabricbench.report.output.atomic_files import check_page_name, check_writable_target
from fabricbench.report.studies.explanation import (
    Explanation,
    Tried,
    best_first,
    explanation_json,
    explanation_text,
)
from fabricbench.results.job_reports import (
    JobReport,
    current_reports,
    reports_of_run,
)
from fabricbench.runner import loading
from fabricbench.runner.listener import Listener
from fabricbench.runner.loading import TIME_LIMIT_MIN
from fabricbench.runner.session import Session
from fabricbench.store import Trial, Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence


def explain_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    trial: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL|FILE",
            autocompletion=completion.trials,
            help="A trial: an id or its beginning, `latest` or `latest~1`, or a plan for its last trial. Or "
            "a file: output of nccl-tests, perftest or NCCL Inspector, or a log of NCCL_DEBUG=INFO.",
        ),
    ] = "latest",
    tries: Annotated[
        bool,
        typer.Option("--try", help="Run the most promising remedies, three at most, and show their gain."),
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN", help="Of a file: the plan of its fabric; looked for in the workspace by default."
        ),
    ] = None,
    overrides: OverridesOption = None,
    adapters: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Of a file: adapters of a host, where it does not say it."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of a file: rate of an adapter, such as 400Gbps.")
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(min=1, max=1 << 24, help="Of a file: number of ranks, where it does not say it."),
    ] = None,
    benchmark: Annotated[
        str, typer.Option(metavar="NAME", help="Of a file: name of the benchmark, where it does not say it.")
    ] = "",
    counters: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Of a file: what a switch or host counted, as `counters` reads it; may be given again.",
        ),
    ] = None,
    before: BeforeOption = None,
    uplinks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PORT",
            help="Of --counters: a port towards the next tier, or a pattern such as 'Ethernet9?' or "
            "'Ethernet{0,8}'; may be given again.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="SERVER",
            autocompletion=completion.servers,
            help="Of a file, without a plan: a shipped server, such as dgx-h100, or a file of one.",
        ),
    ] = None,
    servers: ServersOption = None,
    topology: TopologyOption = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--nccl", metavar="VERSION", help="NCCL of the cluster; the version of the log by default."
        ),
    ] = None,
    graphs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.xml", help="Of a file: NCCL's graphs of a host, as NCCL_GRAPH_DUMP_FILE has them."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE.html", help="Of a file: also write a page; replaced if it exists."
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Explain why a trial or a measurement is slow: the causes with their evidence, and what to do.

    With `--try` the remedies run in the simulator as trials of the same plan, size and seed, and are printed
    with their gain, the best first. They stay in the workspace, where `compare` finds them.

    A FILE is compared with the bandwidth expected of its fabric at each size: that of a plan, or of a
    cluster without one (--cluster SERVER --servers N). Each cause names the test or counter that separates it
    from others. `--counters` adds counters of switches and hosts as evidence,
    their growth since `--before` if that is given.

    Exit status: 0, 130 when stopped by Ctrl-C, 143 by SIGTERM; what finished before is printed.
    """
    if output is Format.CSV:
        raise typer.BadParameter("found --format csv; allowed: table, json", param_hint="--format")
    if Path(trial).exists() and not Path(trial).is_dir():
        if tries:
            raise typer.BadParameter("--try runs remedies of a trial, and this is a file; leave it out")
        if out is not None:
            check_page_name(out)
            check_writable_target(out)
        source = Source.of(Path(trial))
        given = UserFacts(ranks, benchmark)
        file_options = FileOptions(
            _plan(plan, overrides or ()),
            _cluster(cluster, servers, topology, version, plan),
            version is not None,
            given,
            hardware_of(adapters, rate),
            _switches(counters or (), before or (), uplinks or ()),
            uplinks or (),
            graphs_of(content_of(graphs, str(graphs)), str(graphs)) if graphs is not None else (),
        )
        _explain_file(source, file_options, Workspace.open(workspace, create=True), output, out)
        return
    options_for_files = {
        "plan": plan,
        "adapters": adapters,
        "rate": rate,
        "ranks": ranks,
        "benchmark": benchmark or None,
        "cluster": cluster,
        "servers": servers,
        "topology": topology,
        "nccl": version,
        "graphs": graphs,
        "out": out,
    }
    _check_is_trial(trial, **options_for_files, counters=counters, before=before, uplinks=uplinks)
    store = Workspace.open(workspace)
    stored_trial = store.find(trial)
    if tries:
        _check_simulated(store, stored_trial)
    explanation = Explanation(stored_trial, current_reports(stored_trial), insight_of(stored_trial))
    stopped_by: int | None = None
    if tries:
        explanation, stopped_by = _with_attempts(store, explanation, None if force else time_limit)
    write(
        explanation_json(explanation)
        if output is Format.JSON
        else explanation_text(explanation, colour=has_colour())
    )
    if stopped_by is not None:
        note("interrupted\nhint: the same command goes on with the rest")
        raise typer.Exit(128 + stopped_by)


def _plan(plan: str | None, overrides: Sequence[str]) -> LoadedPlan | None:
    if plan is None:
        return None
    loaded = loading.load(plan, overrides)
    loading.check_no_search(loaded, "measured results")
    return loaded


def _cluster(
    server: str | None, servers: int | None, topology: str | None, version: str | None, plan: str | None
) -> Cluster | None:
    """Return the cluster of a file from the options, and check that they belong together."""
    options = ClusterOptions(server, servers, topology, None, None, None, None, version)
    check_options(options, None, {"--plan": plan}, needs_one=False)
    return None if server is None else cluster_of(options)


def _explain_file(
    source: Source, options: FileOptions, store: Workspace, output: Format, out: Path | None
) -> None:
    explanation = explanation_of(source, options, store)
    is_json = output is Format.JSON
    write(explanation_as_json(explanation) if is_json else file_text(explanation, colour=has_colour()))
    if out is not None:
        from fabricbench.explaining.page import write_explanation

        size_bytes = write_explanation(explanation, out)
        note(f"wrote {out}: {size_bytes / 1e6:.1f} MB")


def _switches(
    counters: Sequence[Path], before: Sequence[Path], uplinks: Sequence[str]
) -> list[SwitchCounters]:
    """Read the counters of switches, and check that uplinks are among their ports.

    Raises:
        MeasuredError: A file cannot be read.
        PlanError: An uplink is none of their ports.
    """
    for name, values in (("--before", before), ("--uplinks", uplinks)):
        if values and not counters:
            raise typer.BadParameter(f"found {name} without --counters; name the file that it belongs to")
    switches = switch_counters(counters, before)
    check_uplinks(switches, uplinks)
    return switches


def _check_is_trial(trial: str, **options: object) -> None:
    """Check that a name is that of a trial: without options for files, and unlike the name of a file."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(
                f"found --{name}, which says something of a file, and {trial} is no file here; leave it "
                "out or "
                "name a file"
            )
    if "/" in trial or Path(trial).suffix in (".txt", ".log", ".json", ".out", ".jsonl"):
        raise typer.BadParameter(
            f"found {trial}, and there is no such file; name a file, or a trial by its id"
        )


def _check_simulated(store: Workspace, trial: Trial) -> None:
    """Refuse remedies of a measured trial: the gain would include the error of the simulator."""
    if trial.facts.backend == SIMULATOR:
        return
    twins = [twin.id for twin in store.twins([trial]) if twin.facts.backend == SIMULATOR]
    if trial.is_printed:
        advice = "`run PLAN` of the same fabric, and explain that"
    elif twins:
        advice = f"`explain {twins[0]} --try` does so with its prediction"
    else:
        advice = "`run PLAN --backend NAME --twin` predicts it, and `explain` takes the prediction"
    source = "was measured elsewhere" if trial.is_printed else f"was made by backend {trial.facts.backend}"
    raise typer.BadParameter(
        f"trial {trial.id} {source}, and remedies are tried in the simulator, whose times do not compare "
        f"with it; {advice}"
    )


def _with_attempts(
    store: Workspace, explanation: Explanation, time_limit: int | None
) -> tuple[Explanation, int | None]:
    """Return the explanation with trials of the most promising remedies, and the signal that stopped them."""
    limits = None if time_limit is None else loading.machine_limits(time_limit)
    attempts: list[Tried] = []
    stopped_by: int | None = None
    with display() as listener:
        for attempt, loaded in _loaded(explanation, limits):
            if loaded is None:
                attempts.append(attempt)
                continue
            jobs, stopped_by = _run(store, loaded, listener)
            attempts += [replace(attempt, jobs=jobs)] if jobs else []
            if stopped_by is not None:
                break
    return replace(explanation, tried=best_first(attempts, explanation.unhealthy)), stopped_by


def _loaded(explanation: Explanation, limits: Limits | None) -> Iterator[tuple[Tried, LoadedPlan | None]]:
    """Yield each remedy to try with its changed plan; `None` if that plan cannot be run."""
    plan = record_of(explanation.trial).plan
    if plan is None:
        return
    for attempt in explanation.to_try():
        try:
            yield attempt, plan.load(attempt.remedy.changes, limits)
        except PlanError as error:
            problem = error.problems[0]
            yield replace(attempt, refused=f"{problem.found}; allowed: {problem.allowed}"), None


def _run(store: Workspace, loaded: LoadedPlan, listener: Listener) -> tuple[list[JobReport], int | None]:
    """Run a plan; return the jobs of its trial if it finished, and the signal that stopped it if one did."""
    outcome = Session(store, listener).run(loaded, resume=True)
    return reports_of_run(outcome.trials), outcome.stopped_by
