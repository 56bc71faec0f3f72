"""Shell completion: candidates for a word on the command line, and the command `completion`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from fabricbench.cli.config_file import read_config
from fabricbench.cli.output import write
from fabricbench.metrics import METRICS
from fabricbench.store.names import WORKSPACE_VARIABLE, last_trials, view_names

VARIABLE: Final = "_FABRICBENCH_COMPLETE"
"""Environment variable with which a shell's completion function requests the candidates for a word."""
_INSTALLED: Final = {
    "bash": 'eval "$(fabricbench completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(fabricbench completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "fabricbench completion fish | source   # in ~/.config/fish/config.fish",
}
_END: Final = "    return 0\n"
_NO_BLANK: Final = '    [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace\n'
"""For the function of bash: the value of `-s FIELD=` follows at once."""


class Shell(StrEnum):
    """A shell that can complete the words of a command line."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion_command(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Write what a shell needs to complete commands, options, plans, trials and, after `-s`, fields.

    For bash: eval "$(fabricbench completion bash)" in ~/.bashrc; for zsh the same with zsh in ~/.zshrc, after
    compinit; for fish: fabricbench completion fish | source in ~/.config/fish/config.fish.
    """
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="fabricbench", complete_var=VARIABLE, shell=shell.value)
    write(f"# {_INSTALLED[shell.value]}\n{script.replace(_END, _NO_BLANK + _END)}")


def complete_words() -> list[str]:
    """Return the words of the command line after the program and before the one that is completed."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()[1:]
    return words if line[-1:].isspace() else words[:-1]


def complete(app: typer.Typer) -> int:
    """Write the candidates for the last word of a command line and nothing else; return the exit status."""
    from typer import _completion_classes, completion

    # Our help has no markup, and rich is slow to load.
    _completion_classes._sanitize_help_text = lambda text: text
    _completion_classes.completion_init()
    instruction = os.environ.pop(VARIABLE)
    try:
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
            command = typer.main.get_command(app)
            status = completion.shell_complete(command, {}, "fabricbench", VARIABLE, instruction)
            sys.stdout.flush()
    except Exception:  # noqa: BLE001 -- no message while the user types
        return 1
    return status


def plans(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the shipped plans and the plan files of this folder that begin with a text."""
    from fabricbench.plan.document.shipped import shipped_plans

    for name in shipped_plans():
        if name.startswith(incomplete):
            yield name, ""
    for file in sorted(Path().glob("*.y*ml")):
        if file.name.startswith(incomplete):
            yield file.name, ""


def servers(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the shipped servers that begin with a text."""
    from fabricbench.plan.fabric.server import shipped_servers

    yield from ((name, "") for name in shipped_servers() if name.startswith(incomplete))


def nccl_collectives(incomplete: str) -> list[str]:
    """Return the collectives of `nccl` that begin with a text."""
    from fabricbench.plan.jobs.nccl_run import COLLECTIVES

    return [name for name in COLLECTIVES if name.startswith(incomplete)]


def trials(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the trials of the workspace that begin with a text, the newest first, each with its plan."""
    trials_and_plans = last_trials(_workspace(context))
    for name, description in (
        [("latest", "the trial that finished last"), *trials_and_plans] if trials_and_plans else ()
    ):
        if name.startswith(incomplete):
            yield name, description
    for plan in dict.fromkeys(plan for _, plan in trials_and_plans):
        if plan.startswith(incomplete):
            yield plan, "its last trial"


def views(context: typer.Context, incomplete: str) -> list[str]:
    """Return the saved views of the workspace that begin with a text."""
    return [name for name in view_names(_workspace(context)) if name.startswith(incomplete)]


def _workspace(context: typer.Context) -> Path | None:
    """Return the folder from the command line or the user's defaults; `None` for the built-in default."""
    root: Path | None = context.params.get("workspace")
    if (
        root is None
        and not os.environ.get(WORKSPACE_VARIABLE)
        and "workspace" in (file_values := read_config())
    ):
        root = Path(str(file_values["workspace"]))
    return root


def metrics(incomplete: str) -> list[tuple[str, str]]:
    """Return the metrics that begin with a text, each with its title."""
    return [(metric.name, metric.title) for metric in METRICS if metric.name.startswith(incomplete)]


def fields(incomplete: str) -> list[str]:
    """Return the fields of a plan that begin with a text, each followed by an equals sign.

    A field of a mapping in a list is that of the first, such as `jobs.0.ranks`.
    """
    from fabricbench.plan.document.validate import field_paths

    names = {".".join(path) for path in field_paths(item=("0",))}
    return [f"{name}=" for name in sorted(names) if name.startswith(incomplete)]
