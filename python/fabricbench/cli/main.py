"""The program `fabricbench`: table of its commands, loading of the one that runs, and exit status."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc, get_annotations
from typing import Annotated, Final, NamedTuple

import typer

from fabricbench import __version__
from fabricbench.cli.completion import VARIABLE, complete, complete_words
from fabricbench.cli.config_file import take_defaults
from fabricbench.cli.errors import OLD_PROCESSOR, USER_ERROR, exit_status
from fabricbench.cli.output import write
from fabricbench.cli.value_conversion import PlainCommand, PlainGroup, defaulting
from fabricbench.words import one_line

_HELP: Final = (
    "Open test platform for AI network fabrics: collectives over RoCEv2, simulated packet by packet."
)


class Command(NamedTuple):
    """A command: its function, as `module:function` of this package, and its line in the list of commands."""

    function: str
    summary: str


class Group(NamedTuple):
    """Commands under one name, by their second name; "" is the group without a subcommand."""

    commands: Mapping[str, Command]
    summary: str


_COMMANDS: Final[Mapping[str, Command | Group]] = {
    "run": Command("runs.run:run_command", "Run a plan and print its results."),
    "suite": Command("runs.suite:suite_command", "Run the tests of a suite and report them by section."),
    "tune": Command("runs.tune:tune_command", "Search plan fields for the best metrics."),
    "calibrate": Command(
        "testbed.calibrate:calibrate_command", "Measure hosts and write a profile for plans."
    ),
    "new": Command("plan.new:new_command", "Write a plan to start from."),
    "plans": Command("plan.plans:plans_command", "List the shipped plans."),
    "trials": Command("results.trials:trials_command", "List the trials of a workspace."),
    "show": Command("results.show:show_command", "Show the metrics of a trial and why it is slow."),
    "expect": Command("plan.expect:expect_command", "Predict a plan's results: ranges, causes, limits."),
    "degrade": Command("plan.degrade:degrade_command", "Compute what a degraded link or switch costs."),
    "nccl": Command("plan.nccl:nccl_command", "Show what NCCL chooses on servers, by size."),
    "explain": Command("results.explain:explain_command", "Explain why a trial or a measurement is slow."),
    "compare": Command("results.compare:compare_command", "Compare trials: parameters and metrics."),
    "report": Command("results.report:report_command", "Write an HTML report that opens offline."),
    "notebook": Command("results.report:notebook_command", "Write a Jupyter notebook of a trial."),
    "export": Command("results.export:export_command", "Write a record table of a trial."),
    "import": Command("results.import_results:import_command", "Import results of benchmarks."),
    "convert": Command("plan.convert:convert_command", "Convert device configurations to plan fields."),
    "counters": Command("results.counters:counters_command", "Explain counters of adapters and switches."),
    "capture": Command("results.report:capture_command", "Capture frames in a pcapng file."),
    "agent": Command("testbed.agent:agent_command", "Run this host's part of runs."),
    "serve": Command("setup.serve:serve_command", "Serve a workspace: web application and HTTP API."),
    "doctor": Command("setup.doctor:doctor_command", "Check the installation."),
    "completion": Command("completion:completion_command", "Write the completion script of a shell."),
    "campaign": Group(
        {
            "run": Command("runs.campaign:campaign_command", "Run the plans of a campaign."),
            "report": Command("runs.campaign_report:report_command", "Write the report of a campaign."),
            "show": Command("runs.campaign_report:show_command", "Show the results of a campaign."),
        },
        "Run families of plans and compare them.",
    ),
    "views": Group(
        {
            "": Command("results.trials:views_command", "List saved views."),
            "delete": Command("results.trials:delete_view_command", "Delete a saved view."),
        },
        "List or delete saved lists of trials.",
    ),
    "plan": Group(
        {
            "check": Command("plan.plan_check:plan_check_command", "Check a plan."),
            "ports": Command("plan.port_map:plan_ports_command", "Show the port map of a plan."),
            "schema": Command("plan.plan_check:plan_schema_command", "Write the JSON Schema of plans."),
        },
        "Check a plan, show its port map, write the schema.",
    ),
    "workspace": Group(
        {
            "check": Command("setup.workspace:check_command", "Check a workspace."),
            "repair": Command("setup.workspace:repair_command", "Repair a workspace."),
            "export": Command("setup.workspace:export_command", "Export trials to a file."),
            "import": Command("setup.workspace:import_command", "Import trials from a file."),
            "purge": Command("setup.workspace:purge_command", "Delete trials for good."),
        },
        "Check, repair, export, import or purge trials.",
    ),
    "lab": Group(
        {
            "up": Command("testbed.lab:up_command", "Build a lab."),
            "down": Command("testbed.lab:down_command", "Remove a lab."),
            "list": Command("testbed.lab:list_command", "List the labs."),
            "show": Command("testbed.lab:show_command", "Show a lab."),
            "counters": Command("testbed.lab:counters_command", "Show the counters of a lab."),
            "exec": Command("testbed.lab:exec_command", "Run a program in a lab."),
        },
        "Build a plan's fabric of network namespaces.",
    ),
    "hosts": Group(
        {
            "token": Command("testbed.hosts:token_command", "Write a token for hosts to enrol."),
            "check": Command("testbed.hosts:check_command", "Check whether hosts can run a plan."),
            "schema": Command("testbed.hosts:schema_command", "Write the JSON Schema of host files."),
        },
        "Enrol real hosts and check them.",
    ),
    "config": Group(
        {
            "": Command("setup.config:list_command", "List the defaults of options."),
            "get": Command("setup.config:get_command", "Print a default."),
            "set": Command("setup.config:set_command", "Set a default."),
            "unset": Command("setup.config:unset_command", "Remove a default."),
            "path": Command("setup.config:path_command", "Print the path of the file."),
        },
        "Show and set defaults of options.",
    ),
}
"""The commands, in the order of the help."""
_RUN_BY_DEFAULT: Final = {"campaign": "run"}
"""Command of each group that runs if the arguments name none of the group's commands."""


def program(name: str | None = None) -> typer.Typer:
    """Return the program with one of its commands, or with all.

    A module of a command imports the libraries that the command needs, so only those of `name` are loaded.

    Args:
        name: The command to load; others are in the list of commands only. None loads all.
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
    for command_name, entry in _COMMANDS.items():
        if name in (None, command_name):
            _add(app, command_name, entry)
        else:
            app.command(command_name, short_help=entry.summary)(_listed)
    return app


def named_command(words: Sequence[str]) -> str:
    """Return the command that the words of a command line name: the first that is no option; "" without."""
    return next((word for word in words if not word.startswith("-")), "")


def _listed() -> None:
    """Placeholder for a command that is not loaded."""
    raise AssertionError


def _add(app: typer.Typer, name: str, entry: Command | Group) -> None:
    """Add a command or a group; each paragraph of its help is one line, which the terminal wraps."""
    if isinstance(entry, Group):
        kind = defaulting(_RUN_BY_DEFAULT[name]) if name in _RUN_BY_DEFAULT else PlainGroup
        group = typer.Typer(cls=kind, help=entry.summary, short_help=entry.summary)
        for command_name, command in entry.commands.items():
            _add(group, command_name, command)
        app.add_typer(group, name=name)
        return
    module, _, function = entry.function.partition(":")
    command = getattr(import_module(f"fabricbench.cli.{module}"), function)
    # Typer reads the annotations twice and would evaluate them each time.
    command.__annotations__ = get_annotations(command, eval_str=True)
    help_text = "\n\n".join(
        " ".join(paragraph.split()) for paragraph in cleandoc(command.__doc__ or "").split("\n\n")
    )
    if name:
        app.command(name, cls=PlainCommand, help=help_text, short_help=entry.summary)(command)
    else:
        app.callback(invoke_without_command=True, help=help_text)(command)


def _print_version(is_requested: bool) -> None:
    if is_requested:
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
    # The libraries create a hundred thousand permanent objects. Collecting garbage at every 700th new object
    # costs a small run a sixth of its time, and the last collection before the end a tenth.
    gc.set_threshold(200_000, 20, 100)
    # The plans' models need no plugin of pydantic; the search for one reads all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if VARIABLE in os.environ:
        sys.exit(complete(program(named_command(complete_words()))))
    # After its warning about the processor, polars would crash with an illegal instruction.
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
        status = typer.main.get_command(program(named_command(arguments)))(
            arguments, prog_name="fabricbench", standalone_mode=False
        )
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 -- every error becomes an exit status here
        try:
            return exit_status(error, debug=debug)
        except OSError as later_error:  # output that was buffered before cannot be written
            return exit_status(later_error, debug=debug)
    return status if isinstance(status, int) else 0


def _check_text(arguments: Sequence[str]) -> None:
    """Check that arguments are text: names, paths and values go into messages, catalogs and files of UTF-8.

    Raises:
        typer.BadParameter: One has a byte that is no text here, which Python represents as half of a
            surrogate pair.
    """
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            argument_text, encoding = one_line(argument, 200), sys.getfilesystemencoding()
            raise typer.BadParameter(f'the argument "{argument_text}" is no text in {encoding}')
