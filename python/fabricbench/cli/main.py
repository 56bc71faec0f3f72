"""The program `fabricbench`: its commands and its exit status."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from fabricbench.cli import config, hosts, lab, workspace
from fabricbench.cli.agent import agent_command
from fabricbench.cli.calibrate import calibrate_command
from fabricbench.cli.compare import compare_command
from fabricbench.cli.completion import VARIABLE, complete, completion_command
from fabricbench.cli.config_file import take_defaults
from fabricbench.cli.doctor import doctor_command
from fabricbench.cli.errors import OLD_PROCESSOR, exit_status
from fabricbench.cli.explain import explain_command
from fabricbench.cli.export import export_command
from fabricbench.cli.importing import import_command
from fabricbench.cli.plans import plan_check_command, plan_schema_command, plans_command
from fabricbench.cli.report import capture_command, notebook_command, report_command
from fabricbench.cli.run import run_command
from fabricbench.cli.serve import serve_command
from fabricbench.cli.trials import show_command, trials_command
from fabricbench.words import one_line

app = typer.Typer(
    name="fabricbench",
    help="Open test platform for AI network fabrics: collectives over RoCEv2, simulated packet by packet.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # its tables cut long words; plain text wraps at any width
)
_WORKSPACE_HELP = "Check, repair, export, import or purge the trials of a workspace."
workspace_app = typer.Typer(help=_WORKSPACE_HELP, short_help=_WORKSPACE_HELP)
_LAB_HELP = "Build a plan's fabric on this machine, out of network namespaces, for real endpoints."
lab_app = typer.Typer(help=_LAB_HELP, short_help=_LAB_HELP)
_HOSTS_HELP = "Let real hosts join, and look whether they can carry a run."
hosts_app = typer.Typer(help=_HOSTS_HELP, short_help=_HOSTS_HELP)
config_app = typer.Typer(
    callback=config.list_command,
    invoke_without_command=True,
    short_help="Show, and set, the defaults of options that you give each time.",
)
plan_app = typer.Typer(help="Check a plan, or write the schema of plans.")


def _add(group: typer.Typer, name: str, command: Callable[..., object]) -> None:
    """Add a command whose help has a line for each paragraph, which the terminal breaks where it ends.

    The list of commands has the first paragraph whole.
    """
    paragraphs = [" ".join(each.split()) for each in inspect.cleandoc(command.__doc__ or "").split("\n\n")]
    group.command(name, help="\n\n".join(paragraphs), short_help=paragraphs[0])(command)


_add(app, "run", run_command)
_add(app, "calibrate", calibrate_command)
_add(app, "plans", plans_command)
_add(app, "trials", trials_command)
_add(app, "show", show_command)
_add(app, "explain", explain_command)
_add(app, "compare", compare_command)
_add(app, "report", report_command)
_add(app, "notebook", notebook_command)
_add(app, "export", export_command)
_add(app, "import", import_command)
_add(app, "capture", capture_command)
app.add_typer(plan_app, name="plan")
app.add_typer(workspace_app, name="workspace")
app.add_typer(lab_app, name="lab")
app.add_typer(hosts_app, name="hosts")
app.add_typer(config_app, name="config")
_add(app, "agent", agent_command)
_add(app, "serve", serve_command)
_add(app, "doctor", doctor_command)
_add(app, "completion", completion_command)
_add(workspace_app, "check", workspace.check_command)
_add(workspace_app, "repair", workspace.repair_command)
_add(workspace_app, "export", workspace.export_command)
_add(workspace_app, "import", workspace.import_command)
_add(workspace_app, "purge", workspace.purge_command)
_add(lab_app, "up", lab.up_command)
_add(lab_app, "down", lab.down_command)
_add(lab_app, "list", lab.list_command)
_add(lab_app, "show", lab.show_command)
_add(lab_app, "counters", lab.counters_command)
_add(lab_app, "exec", lab.exec_command)
_add(hosts_app, "token", hosts.token_command)
_add(hosts_app, "check", hosts.check_command)
_add(hosts_app, "schema", hosts.schema_command)
_add(config_app, "get", config.get_command)
_add(config_app, "set", config.set_command)
_add(config_app, "unset", config.unset_command)
_add(config_app, "path", config.path_command)
_add(plan_app, "check", plan_check_command)
_add(plan_app, "schema", plan_schema_command)


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
        typer.echo(context.get_help())
    elif context.invoked_subcommand not in ("config", "completion"):
        take_defaults(context)


def main() -> None:
    """Run the program and end the process with its exit status.

    It is 0 when done, 1 for a fault of ours, 2 for one that the user can mend, 3 when the plan's criteria are
    not met, 128 + n after signal n.
    """
    # The libraries make a hundred thousand objects that stay. Looking for garbage among them at every 700th
    # new one costs a small run a sixth of its time, and looking again before the end a tenth.
    gc.set_threshold(200_000, 20, 100)
    if VARIABLE in os.environ:
        sys.exit(complete(app))
    # Where polars warns of the processor, it would die of an instruction that is not there.
    warnings.filterwarnings("error", OLD_PROCESSOR, RuntimeWarning)
    status = run(sys.argv[1:])
    gc.freeze()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run the program with arguments and return its exit status."""
    debug = "--debug" in arguments
    try:
        _check_text(arguments)
        status = typer.main.get_command(app)(arguments, prog_name="fabricbench", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 -- the one place that turns every error into a status
        return exit_status(error, debug=debug)
    return status if isinstance(status, int) else 0


def _check_text(arguments: Sequence[str]) -> None:
    """Check that arguments are text: names, paths and values go into messages, catalogs and files of UTF-8.

    Raises:
        typer.BadParameter: Python has kept a byte of one that is no text here as half of a surrogate pair.
    """
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            shown, encoding = one_line(argument, 200), sys.getfilesystemencoding()
            raise typer.BadParameter(f'the argument "{shown}" is no text in {encoding}')
