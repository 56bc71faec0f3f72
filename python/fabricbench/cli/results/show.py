"""The command `show`: metrics of a trial and why it is slow; its port map; metrics by observation point.

Observation points are the edge of the fabric, the devices and the endpoints. The port map has, for each rank,
its port, switch port, addresses and queue pairs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import FormatOption, TrialArgument, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, write
from fabricbench.cli.plan.port_map import write_ports
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.documents.port_map import ports_of
from fabricbench.report.output import json_csv
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.diagnosis import insight_text
from fabricbench.report.terminal.run import seeds_tables
from fabricbench.report.terminal.text_table import joined
from fabricbench.report.terminal.trial import trial_text
from fabricbench.results.job_reports import (
    ComparisonTrials,
    current_reports,
    measured_reports,
    reports_of_run,
)
from fabricbench.store import Workspace
from fabricbench.store.queries.tags import tags_of


def show_command(
    trial: TrialArgument = "latest",
    points: Annotated[
        bool,
        typer.Option(
            "--points",
            help="Show the KPIs of the BMWG drafts, and what each observation point tells: the boundary of "
            "the fabric, devices, endpoints.",
        ),
    ] = False,
    ports: Annotated[
        bool,
        typer.Option(
            "--ports",
            help="Show the port map: chassis, port, switch port, addresses, queue pairs, DSCP of each rank.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the metrics of a trial, and why it is slow if it is, computed from its record.

    JSON and CSV have every metric; `--points` has the KPIs of the BMWG drafts, `--ports` the port map.
    """
    if points and ports:
        raise typer.BadParameter("--points and --ports are two tables: give one")
    if ports:
        _show_ports(trial, workspace, output)
        return
    if points:
        _show_points(trial, workspace, output)
        return

    store = Workspace.open(workspace)
    stored = store.find(trial)
    tags = tags_of(store, [stored])[stored.id]
    family = store.family(stored)
    jobs = current_reports(stored, ComparisonTrials(family))
    if output is Format.CSV:
        write(json_csv.trials_csv(jobs))
        return
    insight = insight_of(stored)
    if output is Format.JSON:
        write(json_csv.shown_json(jobs, insight, tags))
    elif insight is None:
        write(trial_text(jobs, tags, colour=has_colour()))
    else:
        insight_section = insight_text(insight, colour=has_colour())
        seeds = joined(seeds_tables(reports_of_run(family)), colour=has_colour())
        parts = (trial_text(jobs, tags, colour=has_colour()), seeds, insight_section)
        write("\n\n".join(part for part in parts if part))


def _show_ports(trial: str, workspace: Path | None, output: Format) -> None:
    """Show the port map of a trial."""
    stored = Workspace.open(workspace).find(trial)
    rows = ports_of(stored)
    if rows is None:
        raise typer.BadParameter(
            f"trial {stored.id} was imported: it has no ranks at ports; leave --ports out"
        )
    write_ports(rows, output)


def _show_points(trial: str, workspace: Path | None, output: Format) -> None:
    """Show the measurements of a trial at each observation point."""
    from fabricbench.report.documents.observation_points import (
        POINT_COLUMNS,
        point_rows,
        points_object,
        points_of,
        points_tables,
    )

    store = Workspace.open(workspace)
    stored = store.find(trial)
    points = points_of(stored)
    if points is None:
        raise typer.BadParameter(
            f"trial {stored.id} was imported, with what its benchmark printed and no record of the fabric; "
            "leave --points out"
        )
    if output is Format.CSV:
        write(rows_csv(POINT_COLUMNS, point_rows(points)))
        return
    jobs = measured_reports(stored, ComparisonTrials(store.family(stored)))
    if output is Format.JSON:
        write(json.dumps(points_object(jobs, points), indent=2, allow_nan=False))
    else:
        write(joined(points_tables(jobs, points), colour=has_colour()))
