"""The commands `lab up`, `down`, `list`, `show`, `counters` and `exec`.

A lab is the fabric of a plan built of network namespaces on this machine.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fabricbench.cli.errors import SIGNALLED
from fabricbench.cli.options import FormatOption, OverridesOption, PlanArgument
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.lab import agents, build, endpoints, removal, state
from fabricbench.lab.blueprint import Blueprint, blueprint
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel import namespaces
from fabricbench.lab.kernel.counters import counters
from fabricbench.lab.state import Lab
from fabricbench.plan import engine
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import render
from fabricbench.runner import loading
from fabricbench.runner.interrupts import Interrupts
from fabricbench.words import close_match_hint, counted

LAB_SCALE = 1_000
"""400 Gb/s become 400 Mb/s, which software endpoints of eight hosts keep up with on two cores."""
_NAME_RULE = "letters, digits and hyphens, 1 to 24 of them"

NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Which lab; the only one by default.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which lab; the only one by default.")
]


def _lab_name(value: str | None) -> str | None:
    import re

    if value is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,23}", value):
        raise typer.BadParameter(f'found "{value}"; allowed: {_NAME_RULE}')
    return value


def up_command(
    plan: PlanArgument,
    scale: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=1_000_000, help="Divide the rates of all links by N."),
    ] = LAB_SCALE,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", callback=_lab_name, help="Name of the lab; that of the plan by default."
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Build the fabric of this variant.")
    ] = None,
    overrides: OverridesOption = None,
    agents: Annotated[
        bool, typer.Option("--agents", help="Start an agent on each host and name the file of hosts.")
    ] = False,
) -> None:
    """Build the fabric of a plan out of network namespaces on this machine.

    It stays until `lab down`. Nothing is left of one that cannot be built, or is interrupted.
    """
    build.check_rights()
    lab_blueprint = blueprint_of(plan, overrides or (), variant, scale, name)
    with Interrupts() as interrupts:
        try:
            lab = build.up(lab_blueprint, interrupts.check)
            if agents:
                endpoints.start_or_remove(lab, interrupts.check)
        except KeyboardInterrupt as error:
            note(f"interrupted: nothing is left of lab {lab_blueprint.name}")
            raise typer.Exit(SIGNALLED + (interrupts.received or signal.SIGINT)) from error
    note_omissions(lab)
    hosts, switches = len(lab_blueprint.hosts), len(lab_blueprint.switches)
    write(f"lab {lab.name}: {counted(hosts, 'host')}, {_switches(switches)}, scale {scale:,}")
    if agents:
        write(f"file of hosts: {endpoints.hosts_file(lab)}")


def blueprint_of(
    plan: str, overrides: Sequence[str], variant: str | None, scale: int, name: str | None
) -> Blueprint:
    """Return the lab that a plan describes.

    Raises:
        PlanError: The plan cannot be run.
        LabError: Its fabric differs among variants, or no lab can have it.
    """
    loaded = loading.load(plan, overrides, None, (variant,) if variant else ())
    return blueprint_of_loaded(loaded, scale, name)


def blueprint_of_loaded(loaded: LoadedPlan, scale: int, name: str | None = None) -> Blueprint:
    """Return the lab of a plan that is loaded; its trials must agree about the fabric.

    Raises:
        LabError: The fabric differs among variants, swept or searched values, or no lab can have it.
    """
    trials = [trial for trial in loaded.trials if not trial.is_solo] or loaded.trials
    first = trials[0]
    for trial in (trial for end in loaded.ends for trial in end.trials):
        if not trial.is_solo and trial.run_spec["fabric"] != first.run_spec["fabric"]:
            raise _searched_fabric(loaded)
    for trial in trials:
        if trial.run_spec["fabric"] != first.run_spec["fabric"]:
            raise _different_fabrics(loaded, trial.case.axes != first.case.axes)
    description, choices = engine.describe(first.spec_json), engine.path_choices(first.spec_json)
    own_name = name or default_name(loaded.plan.name)
    return blueprint(own_name, loaded.plan.name, first.run_spec, description, scale, choices)


def _searched_fabric(loaded: LoadedPlan) -> LabError:
    searched = loaded.plan.search.field if loaded.plan.search else ""
    return LabError(
        f"the search of {loaded.plan.name} tries values of {searched}, which is of the fabric",
        "a lab has one fabric: `-s search=null` takes the plan as it stands",
    )


def _different_fabrics(loaded: LoadedPlan, is_swept: bool) -> LabError:
    if is_swept:
        hint = "give each swept field of the fabric one value: -s 'sweep.FIELD=[VALUE]'"
        return LabError(f"the swept values of {loaded.plan.name} give different fabrics", hint)
    names = ", ".join(variant.name for variant in loaded.plan.variants)
    return LabError(
        f"the variants of {loaded.plan.name} have different fabrics", f"choose one by --variant: {names}"
    )


def default_name(plan: str) -> str:
    """Return the default name of a lab: the plan's name, reduced to allowed characters."""
    import re

    return re.sub(r"[^A-Za-z0-9]+", "-", plan).strip("-")[:24].rstrip("-") or "lab"


def note_omissions(lab: Lab) -> None:
    """Note the parts of the plan that a lab does not have."""
    for omission in lab.blueprint.omissions:
        note(f"not as in the plan: {omission.field}: {omission.text}")
    if lab.without_order:
        note(f"not as in the plan: frames of a flow may overtake each other: {lab.without_order}")
    if lab.without_priority:
        note(f"not as in the plan: acknowledgements wait behind data: {lab.without_priority}")
    if lab.without_marks:
        note(f"not as in the plan: no ECN marks and no losses: {lab.without_marks}")


def down_command(name: NameArgument = None) -> None:
    """Remove a lab, with everything that runs in it; what a crash has left of one, too."""
    build.check_rights()
    lab_names = state.names()
    if not lab_names or (name is not None and name not in lab_names):
        note(f"no lab {name} is up" if name else "no lab is up")
        return
    lab_name = state.choose(name)
    removed = removal.down(lab_name)
    ended_text = f" and {removed.processes} processes" if removed.processes else ""
    write(f"lab {lab_name}: {counted(removed.namespaces, 'namespace')}{ended_text} removed")


def list_command(output: FormatOption = Format.TABLE) -> None:
    """List the labs of this machine."""
    rows = [_row(lab) for lab in state.labs()]
    if not rows and output is Format.TABLE:
        note("no lab is up")
        return
    _write_rows("labs", rows, output)


def _row(lab: Lab) -> dict[str, Any]:
    import time

    nodes = lab.blueprint.nodes
    present = sum(namespaces.path_of(node.namespace).exists() for node in nodes)
    state = lab.phase if present == len(nodes) else f"{present} of {len(nodes)} namespaces"
    if lab.phase == "building" and not lab.is_being_built:
        state = "cut short"
    traffic = _traffic(lab) if state == "up" else None
    return {
        "name": lab.name,
        "plan": lab.blueprint.plan,
        "scale": lab.blueprint.scale,
        "hosts": len(lab.blueprint.hosts),
        "switches": len(lab.blueprint.switches),
        "state": state,
        "agents": sum(agent.is_running for agent in agents.running(lab)),
        "age_s": int(time.time() - lab.made_at),
        "sent_bytes": None if traffic is None else traffic[0],
        "drops": None if traffic is None else traffic[1],
    }


def _traffic(lab: Lab) -> tuple[int, int] | None:
    """Return bytes sent and frames dropped by all links; `None` without the right to read them."""
    import os

    if os.geteuid() != 0:
        return None
    rows = counters(lab)
    return sum(row.tx_bytes for row in rows), sum(row.drops for row in rows)


def show_command(name: NameArgument = None, output: FormatOption = Format.TABLE) -> None:
    """Show the ports of a lab: addresses, rates, queues, and what is at the other end."""
    lab = state.find(name)
    rows = [
        {
            "node": node.name,
            "interface": port.interface,
            "address": port.address or node.loopback or "",
            "rate_mbps": port.rate_bps / 1e6,
            "queue_bytes": port.queue_bytes,
            "to": f"{port.peer}:port{port.peer_port}",
            "namespace": node.namespace,
        }
        for node in lab.blueprint.nodes
        for port in node.ports
    ]
    if output is Format.TABLE:
        note_omissions(lab)
    _write_rows("ports", rows, output)


def counters_command(name: NameArgument = None, output: FormatOption = Format.TABLE) -> None:
    """Show what each direction of each link of a lab has sent, dropped and marked since it was made."""
    from dataclasses import asdict

    build.check_rights()
    _write_rows("links", [asdict(row) for row in counters(state.find(name))], output)


def exec_command(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A host or a switch, such as host0 or leaf1.")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run there.")],
    name: NameOption = None,
) -> None:
    """Run a command in the namespace of a host or a switch; its exit status is the command's."""
    import os

    build.check_rights()
    lab = state.find(name)
    nodes = {each_node.name: each_node for each_node in lab.blueprint.nodes}
    if node not in nodes:
        hint = close_match_hint(node, nodes) or f"`fabricbench lab show {lab.name}` lists all"
        raise LabError(f'lab {lab.name} has no node "{node}"', hint)
    entering = agents.entering(nodes[node], command)
    os.execv(entering[0], entering)


def _write_rows(key: str, rows: Sequence[dict[str, Any]], output: Format) -> None:
    """Write rows in a format."""
    if output is Format.JSON:
        write(json.dumps({key: rows}, indent=2))
    elif output is Format.CSV:
        write(rows_csv(list(rows[0]) if rows else [], rows))
    else:
        write(_table(rows))


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns = [
        Column(key.replace("_", " "), is_text=isinstance(value, str)) for key, value in rows[0].items()
    ]
    table = Table(columns, [Row([_cell(value) for value in row.values()]) for row in rows])
    return render(table, colour=has_colour())


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,g}" if isinstance(value, float) else str(value)


def _switches(number: int) -> str:
    return f"{number:,} switch{'' if number == 1 else 'es'}"
