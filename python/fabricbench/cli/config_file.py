"""The user's file of defaults: a value for an option that neither the command line nor the environment has.

It is `fabricbench/config.toml` in `$XDG_CONFIG_HOME`, which is `~/.config` unless set, or the file that
FABRICBENCH_CONFIG names. If it does not exist, nothing is read or imported for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.inputs import read_input_text
from fabricbench.runner.limits import JOBS_MAX, THREADS_MAX
from fabricbench.store.names import CATALOG_URL_VARIABLE, TABLES_URL_VARIABLE, WORKSPACE_VARIABLE
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    import typer

    from fabricbench.plan.errors import PlanError

VARIABLE: Final = "FABRICBENCH_CONFIG"
_MINUTES_MAX: Final = 1 << 31
_LINE: Final = re.compile(r"line (\d+)")
_FORMATS: Final = ("table", "json", "csv")
_TEXT_MAX: Final = 4096

Value = str | int


class _RefusedError(ValueError):
    """A value that a setting cannot have; the text lists the allowed values."""


@dataclass(frozen=True)
class Setting:
    """A key of the file: the option or environment variable whose default it is.

    Attributes:
        default: The built-in default, in words.
        read: Parses a value of TOML or of the command line; raises `_RefusedError`.
        option: The option whose default it is; empty if there is only a variable.
        commands: The commands to whose option it applies; empty for all that have the option.
        variable: The environment variable for the same value; may be empty.
    """

    default: str
    read: Callable[[object], Value]
    option: str = ""
    commands: tuple[str, ...] = ()
    variable: str = ""


def _text(value: object) -> Value:
    if isinstance(value, str) and 0 < len(value) <= _TEXT_MAX and value.isprintable():
        return value
    raise _RefusedError("text of one line")


def _path(value: object) -> Value:
    return str(Path(str(_text(value))).expanduser())


def _format(value: object) -> Value:
    if value in _FORMATS:
        return str(value)
    raise _RefusedError(", ".join(_FORMATS))


def _number(maximum: int) -> Callable[[object], Value]:
    def read(value: object) -> Value:
        with suppress(ValueError):
            number = int(value) if isinstance(value, str) else value
            if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= maximum:
                return number
        raise _RefusedError(f"1 to {maximum}")

    return read


SETTINGS: Final[Mapping[str, Setting]] = {
    "workspace": Setting("./fabricbench-workspace", _path, "--workspace", variable=WORKSPACE_VARIABLE),
    "catalog_url": Setting("a file in the workspace", _text, variable=CATALOG_URL_VARIABLE),
    "tables_url": Setting("a folder in the workspace", _text, variable=TABLES_URL_VARIABLE),
    "format": Setting("table", _format, "--format"),
    "jobs": Setting("as many as cores and memory allow", _number(JOBS_MAX), "--jobs", ("run",)),
    "threads": Setting("as many as help", _number(THREADS_MAX), "--threads", ("run",)),
    "time_limit": Setting("60", _number(_MINUTES_MAX), "--time-limit"),
}
"""Every key of the file."""


def config_path() -> Path:
    """Return the file, whether it exists or not."""
    path_from_environment = os.environ.get(VARIABLE)
    if path_from_environment:
        return Path(path_from_environment)
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "fabricbench" / "config.toml"


def read_config() -> dict[str, Value]:
    """Return the values of the file; empty if there is no file.

    Raises:
        PlanError: It is no TOML, or has an unknown key or a value that is not allowed.
    """
    path = config_path()
    try:
        text = read_input_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise _error(path, None, "", "what is no text in UTF-8", "TOML") from error
    return values_in(text, path)


def values_in(text: str, path: Path) -> dict[str, Value]:
    """Return the values of a text of TOML.

    Raises:
        PlanError: It is no TOML, or has an unknown key or a value that is not allowed; the message names
            `path`.
    """
    if not text.strip():
        return {}
    import tomllib

    try:
        toml_values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = _LINE.search(str(error))
        raise _error(
            path, int(line[1]) if line else None, "", f"no TOML: {error}", 'KEY = "VALUE"'
        ) from error
    return {key: read_value(key, value, path, line_of(key, text)) for key, value in toml_values.items()}


def read_value(key: str, value: object, path: Path | str, line: int | None = None) -> Value:
    """Return the parsed value of a setting.

    Raises:
        PlanError: There is no such setting, or it cannot have that value.
    """
    setting = SETTINGS.get(key)
    if setting is None:
        hint = close_match_hint(key.replace("-", "_"), SETTINGS)
        raise _error(path, line, key, "an unknown key", ", ".join(SETTINGS), hint)
    try:
        return setting.read(value)
    except _RefusedError as error:
        value_text = f'"{value}"' if isinstance(value, str) else str(value)
        raise _error(path, line, key, value_text[:200], str(error)) from error


def line_of(key: str, text: str) -> int | None:
    """Return the line of a key, from 1; `None` if it is not written as `KEY = VALUE`."""
    key_pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=|\s*\[+{re.escape(key)}[\].]""")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if key_pattern.match(line))
    return next(lines, None)


def _error(
    path: Path | str, line: int | None, key: str, actual: str, allowed: str, hint: str = ""
) -> PlanError:
    from fabricbench.plan.errors import Place, PlanError, Problem

    return PlanError([Problem(Place(str(path), line), key, actual, allowed, hint)])


def take_defaults(context: typer.Context) -> None:
    """Apply the file's values to options and environment variables that the user has not set.

    Raises:
        PlanError: The file cannot be used.
    """
    file_values = read_config()
    if not file_values:
        return
    for key, value in file_values.items():
        setting = SETTINGS[key]
        if setting.variable and not setting.option and not os.environ.get(setting.variable):
            os.environ[setting.variable] = str(value)
    context.default_map = _defaults(context.command, file_values)


def _defaults(command: Any, file_values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the values of the parameters of a command and, by name, of its subcommands."""
    subcommands = getattr(command, "commands", {})
    values: dict[str, Any] = {
        name: _defaults(subcommand, file_values) for name, subcommand in subcommands.items()
    }
    for key, value in file_values.items():
        setting = SETTINGS[key]
        if setting.commands and command.name not in setting.commands:
            continue
        names = [option.name for option in command.params if setting.option and setting.option in option.opts]
        values |= dict.fromkeys(names, value)
    return values
