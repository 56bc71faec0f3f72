"""The command `plan ports`: writes the port map of a plan; `show --ports` uses the same writer.

It has, for each rank, its host port, switch port, addresses and queue pairs.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fabricbench.cli.options import FormatOption, OverridesOption, PlanArgument, VariantsOption
from fabricbench.cli.output import Format, has_colour, write
from fabricbench.cli.results.report import chosen_trial
from fabricbench.report.documents.port_map import (
    PortMap,
    planned_ports,
    port_map_object,
    ports_table,
    table_of,
)
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import joined
from fabricbench.runner import loading


def plan_ports_command(
    plan: PlanArgument,
    overrides: OverridesOption = None,
    variants: VariantsOption = None,
    trial_index: Annotated[
        int | None,
        typer.Option(
            min=0, help="Which trial of the plan, in its order from 0; by default the first with all jobs."
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the port map of a plan without running it, to configure switches and testers by.

    A row for each rank and port: chassis and port, switch port, IP address with prefix and gateway, MAC
    address, VLAN, source ports, destination queue pairs, DSCP.
    """
    loaded = loading.load(plan, overrides or (), None, variants or ())
    loading.check_no_search(loaded, "plan ports")
    rows = planned_ports(chosen_trial(loaded.trials, trial_index, None).run_spec)
    if rows is None:
        raise typer.BadParameter(f"{plan}: the simulator refuses this trial, so it has no port map")
    write_ports(rows, output)


def write_ports(rows: PortMap, output: Format) -> None:
    """Write a port map to standard output."""
    if output is Format.JSON:
        write(json.dumps({"ports": port_map_object(rows)}, indent=2))
    elif output is Format.CSV:
        table = table_of({}, "port_map", rows)
        write(rows_csv(table.schema.names, table.to_pylist()))
    else:
        write(joined([ports_table(rows)], colour=has_colour(), with_captions=True))
