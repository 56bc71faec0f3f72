"""The commands `campaign report` and `campaign show`: effects of factors, best and worst settings.

A campaign is a family of plans; its factors are the fields that differ among its trials.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.errors import USER_ERROR, bad_value
from fabricbench.cli.options import WorkspaceOption
from fabricbench.cli.output import has_colour, note, write
from fabricbench.inputs import read_input_text
from fabricbench.metrics import BY_NAME
from fabricbench.report.html.campaign_page import write_campaign_report
from fabricbench.report.output.atomic_files import atomic_file, check_page_name, check_writable_target
from fabricbench.report.studies.campaign import CampaignReport, campaign_json, write_table
from fabricbench.report.terminal.campaign import campaign_text
from fabricbench.results.studies.campaign_table import campaign_table, main_metric
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.trial_table import members_of
from fabricbench.store import Workspace
from fabricbench.store.queries.listing import check_metric
from fabricbench.words import counted


class CampaignFormat(StrEnum):
    """Output format of a campaign."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the campaign.")]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        autocompletion=completion.metrics,
        help="What is analysed; may be given again. By default what says most about jobs of their kind.",
    ),
]
ParetoOption = Annotated[
    str | None,
    typer.Option("--pareto", metavar="METRIC,METRIC", help="Also set two metrics against each other."),
]
RelativeOption = Annotated[
    bool,
    typer.Option(
        "--relative",
        help="Values as shares of the mean of their plan and size: small sizes count as much as large ones.",
    ),
]
JobOption = Annotated[
    str | None,
    typer.Option("--job", metavar="JOB", help="Metrics of this job, not of the one that fares worst."),
]


def report_command(
    file: FileArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE.html", show_default="NAME.html", help="The file to write or replace."
        ),
    ] = None,
    metric: MetricOption = None,
    pareto: ParetoOption = None,
    job: JobOption = None,
    relative: RelativeOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write the report of a campaign: one HTML file that opens offline. Nothing is run.

    It has the effects of the factors on the metrics, with confidence over the seeds, and every setting.
    """
    if out is not None:
        check_page_name(out)
        check_writable_target(out)
    report = _report(file, metric or [], pareto, job, workspace, relative=relative)
    out = out or Path(f"{report.name}.html")
    size_bytes = write_campaign_report(report, out)
    note(f"wrote {out}: {report.extent}, {size_bytes / 1e6:.1f} MB")


def show_command(
    file: FileArgument,
    metric: MetricOption = None,
    pareto: ParetoOption = None,
    job: JobOption = None,
    relative: RelativeOption = False,
    output: Annotated[
        CampaignFormat,
        typer.Option("--format", help="A table of effects, all as JSON, or the trials as CSV or Parquet."),
    ] = CampaignFormat.TABLE,
    target: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; standard output by default."),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Show the results of a campaign: effects of its factors, best and worst settings. Nothing is run.

    As CSV or Parquet it is the table of its trials, with every metric unless some are named.
    """
    is_table = output in {CampaignFormat.CSV, CampaignFormat.PARQUET}
    if output is CampaignFormat.PARQUET and target is None and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text for a terminal; name a file with -o")
    report = _report(
        file, metric or [], pareto, job, workspace, relative=relative, with_all=is_table and not metric
    )
    if is_table:
        if target is not None:
            with atomic_file(target) as stream:
                write_table(report.table.typed, output.value, stream)
        else:
            write_table(report.table.typed, output.value, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    text = campaign_json(report) if output is CampaignFormat.JSON else ""
    text = text or campaign_text(report, colour=target is None and has_colour())
    if target is None:
        write(text)
    else:
        with atomic_file(target) as stream:
            stream.write(f"{text}\n".encode())


def _report(
    file: Path,
    metrics: list[str],
    pareto: str | None,
    job: str | None,
    workspace: Path | None,
    *,
    relative: bool = False,
    with_all: bool = False,
) -> CampaignReport:
    """Analyse a campaign. Note how many trials have no record; it is an error if none has one."""
    pareto_metrics = _pareto_metrics(pareto) if pareto is not None else []
    for name in [*metrics, *pareto_metrics]:
        check_metric(name)
    store = Workspace.open(workspace)
    campaign = load_campaign(file)
    members = members_of(campaign)
    if job is not None and job not in members.job_names:
        raise bad_value("--job", f'"{job}"', ", ".join(members.job_names))
    response_names = list(dict.fromkeys(metrics or [main_metric(members.jobs).name]))
    metric_names = None if with_all else [*response_names, *pareto_metrics]
    table = campaign_table(store, members.frame, members.factors, metric_names, job)
    report = CampaignReport(
        campaign.name,
        campaign.title,
        read_input_text(file),
        table,
        [] if with_all else [table.response(BY_NAME[name], relative=relative) for name in response_names],
        (table.response(BY_NAME[pareto_metrics[0]]), table.response(BY_NAME[pareto_metrics[1]]))
        if pareto_metrics
        else None,
        members.alone,
    )
    if not report.recorded:
        trials = counted(table.trials, "trial")
        note(f"error: {file}: none of its {trials} has a record in {store.root}")
        note(f"hint: fabricbench campaign {file} runs them, or --workspace names where they are")
        raise typer.Exit(USER_ERROR)
    if table.missing.height:
        note(f"{table.missing.height:,} of {table.trials:,} trials have no record, and are left out")
    return report


def _pareto_metrics(pareto: str) -> list[str]:
    """Return the two metrics to plot against each other."""
    names = [name.strip() for name in pareto.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise bad_value("--pareto", f'"{pareto}"', "two metrics, such as completion_time_ms,fct_ms_p99")
    return names
