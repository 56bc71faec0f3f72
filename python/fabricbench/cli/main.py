"""The program `fabricbench`: its commands and its exit status."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc, get_annotations
from typing import Annotated, Final

import typer

from fabricbench.cli.completion import VARIABLE, complete
from fabricbench.cli.config_file import take_defaults
from fabricbench.cli.errors import OLD_PROCESSOR, USER_ERROR, exit_status
from fabricbench.cli.plain_values import PlainCommand, PlainGroup, defaulting
from fabricbench.words import one_line

_HELP: Final = (
    "Open test platform for AI network fabrics: collectives over RoCEv2, simulated packet by packet."
)
_COMMANDS: Final[Mapping[str, str | Mapping[str, str]]] = {
    "run": "run:run_command",
    "campaign": {
        "run": "campaign:campaign_command",
        "report": "campaign_report:report_command",
        "show": "campaign_report:show_command",
    },
    "suite": "suite:suite_command",
    "tune": "tune:tune_command",
    "calibrate": "calibrate:calibrate_command",
    "plans": "plans:plans_command",
    "trials": "trials:trials_command",
    "views": {"": "trials:views_command", "delete": "trials:delete_view_command"},
    "show": "trials:show_command",
    "expect": "expect:expect_command",
    "explain": "explain:explain_command",
    "compare": "compare:compare_command",
    "report": "report:report_command",
    "notebook": "report:notebook_command",
    "export": "export:export_command",
    "import": "importing:import_command",
    "convert": "convert:convert_command",
    "counters": "counters:counters_command",
    "capture": "report:capture_command",
    "plan": {
        "check": "plans:plan_check_command",
        "ports": "ports:plan_ports_command",
        "schema": "plans:plan_schema_command",
    },
    "workspace": {
        "check": "workspace:check_command",
        "repair": "workspace:repair_command",
        "export": "workspace:export_command",
        "import": "workspace:import_command",
        "purge": "workspace:purge_command",
    },
    "lab": {
        "up": "lab:up_command",
        "down": "lab:down_command",
        "list": "lab:list_command",
        "show": "lab:show_command",
        "counters": "lab:counters_command",
        "exec": "lab:exec_command",
    },
    "hosts": {
        "token": "hosts:token_command",
        "check": "hosts:check_command",
        "schema": "hosts:schema_command",
    },
    "config": {
        "": "config:list_command",
        "get": "config:get_command",
        "set": "config:set_command",
        "unset": "config:unset_command",
        "path": "config:path_command",
    },
    "agent": "agent:agent_command",
    "serve": "serve:serve_command",
    "doctor": "doctor:doctor_command",
    "completion": "completion:completion_command",
}
"""Where each command is, in the order of the help: a module of this package and its function; without a name,
what a group does by itself."""

_GROUPS: Final = {
    "campaign": "Run families of plans as one, and show what came of them; `campaign FILE` runs FILE.",
    "plan": "Check a plan, show its port map, or write the schema of plans.",
    "workspace": "Check, repair, export, import or purge the trials of a workspace.",
    "views": "List, or forget, saved lists of trials.",
    "lab": "Build a plan's fabric on this machine, out of network namespaces, for real endpoints.",
    "hosts": "Let real hosts join, and look whether they can carry a run.",
    "config": "Show, and set, the defaults of options that you give each time.",
}
"""Help of commands that have commands of their own."""
_RUN_BY_DEFAULT: Final = {"campaign": "run"}
"""What a group takes arguments for that name none of its commands."""


def program(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the program.

    Args:
        arguments: What it is going to be given: where they name a command, only that one is loaded.
    """
    app = typer.Typer(
        cls=PlainGroup,
        name="fabricbench",
        help=_HELP,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,  # its tables cut long words; plain text wraps at any width
    )
    app.callback(invoke_without_command=True)(_program)
    named = next((each for each in arguments if not each.startswith("-")), "")
    for name in (named,) if named in _COMMANDS else _COMMANDS:
        _add(app, name, _COMMANDS[name])
    return app


def _add(app: typer.Typer, name: str, place: str | Mapping[str, str]) -> None:
    """Add a command, or a group of them, whose help has a line for each paragraph, which the terminal breaks.

    The list of commands has the first paragraph whole.
    """
    if not isinstance(place, str):
        kind = defaulting(_RUN_BY_DEFAULT[name]) if name in _RUN_BY_DEFAULT else PlainGroup
        group = typer.Typer(cls=kind, help=_GROUPS[name], short_help=_GROUPS[name])
        for each, its_place in place.items():
            _add(group, each, its_place)
        app.add_typer(group, name=name)
        return
    module, _, function = place.partition(":")
    command = getattr(import_module(f"fabricbench.cli.{module}"), function)
    # Typer reads them twice, and would have them evaluated each time.
    command.__annotations__ = get_annotations(command, eval_str=True)
    paragraphs = [" ".join(each.split()) for each in cleandoc(command.__doc__ or "").split("\n\n")]
    if name:
        app.command(name, cls=PlainCommand, help="\n\n".join(paragraphs), short_help=paragraphs[0])(command)
    else:
        app.callback(invoke_without_command=True, help="\n\n".join(paragraphs))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from fabricbench import __version__
        from fabricbench.cli.output import write

        write(f"fabricbench {__version__}")
        raise typer.Exit


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
    # The plans' models need no plugin of pydantic, which would be looked for among all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if VARIABLE in os.environ:
        sys.exit(complete(program()))
    # Where polars warns of the processor, it would die of an instruction that is not there.
    warnings.filterwarnings("error", OLD_PROCESSOR, RuntimeWarning)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 -- until the process ends
    if sys.stdout is None:
        sys.stderr.write("error: standard output is closed\nhint: `> /dev/null` drops what is written\n")
        sys.exit(USER_ERROR)
    status = run(sys.argv[1:])
    gc.freeze()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run the program with arguments and return its exit status."""
    debug = "--debug" in arguments
    try:
        _check_text(arguments)
        status = typer.main.get_command(program(arguments))(
            arguments, prog_name="fabricbench", standalone_mode=False
        )
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 -- the one place that turns every error into a status
        try:
            return exit_status(error, debug=debug)
        except OSError as another:  # what was written before cannot be, which is found as the error is told
            return exit_status(another, debug=debug)
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
