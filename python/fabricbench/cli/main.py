"""The program `fabricbench`: its commands and its exit status."""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Annotated

import typer

from fabricbench.cli import workspace
from fabricbench.cli.compare import compare_command
from fabricbench.cli.doctor import doctor_command
from fabricbench.cli.errors import OLD_PROCESSOR, exit_status
from fabricbench.cli.export import export_command
from fabricbench.cli.importing import import_command
from fabricbench.cli.plans import plan_check_command, plan_schema_command, plans_command
from fabricbench.cli.report import capture_command, notebook_command, report_command
from fabricbench.cli.run import run_command
from fabricbench.cli.serve import serve_command
from fabricbench.cli.trials import show_command, trials_command

app = typer.Typer(
    name="fabricbench",
    help="Open test platform for AI network fabrics: collectives over RoCEv2, simulated packet by packet.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
workspace_app = typer.Typer(help="Check, repair, export, import or purge the trials of a workspace.")
plan_app = typer.Typer(help="Check a plan, or write the schema of plans.")

app.command("run")(run_command)
app.command("plans")(plans_command)
app.command("trials")(trials_command)
app.command("show")(show_command)
app.command("compare")(compare_command)
app.command("report")(report_command)
app.command("notebook")(notebook_command)
app.command("export")(export_command)
app.command("import")(import_command)
app.command("capture")(capture_command)
app.add_typer(plan_app, name="plan")
app.add_typer(workspace_app, name="workspace")
app.command("serve")(serve_command)
app.command("doctor")(doctor_command)
workspace_app.command("check")(workspace.check_command)
workspace_app.command("repair")(workspace.repair_command)
workspace_app.command("export")(workspace.export_command)
workspace_app.command("import")(workspace.import_command)
workspace_app.command("purge")(workspace.purge_command)
plan_app.command("check")(plan_check_command)
plan_app.command("schema")(plan_schema_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from fabricbench import __version__
        from fabricbench.cli.output import write

        write(f"fabricbench {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")
    ] = False,
) -> None:
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        context.get_help()  # prints it


def main() -> None:
    """Run the program and end the process with its exit status.

    It is 0 when done, 1 for a fault of ours, 2 for one that the user can mend, 3 when the plan's criteria are
    not met, 128 + n after signal n.
    """
    # The libraries make a hundred thousand objects that stay. Looking for garbage among them at every 700th
    # new one costs a small run a sixth of its time, and looking again before the end a tenth.
    gc.set_threshold(200_000, 20, 100)
    # Where polars warns of the processor, it would die of an instruction that is not there.
    warnings.filterwarnings("error", OLD_PROCESSOR, RuntimeWarning)
    status = run(sys.argv[1:])
    gc.freeze()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run the program with arguments and return its exit status."""
    debug = "--debug" in arguments
    try:
        status = typer.main.get_command(app)(arguments, prog_name="fabricbench", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 -- the one place that turns every error into a status
        return exit_status(error, debug=debug)
    return status if isinstance(status, int) else 0
