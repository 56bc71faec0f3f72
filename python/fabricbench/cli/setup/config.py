"""The commands `config`: list, get, set and unset the user's defaults of options, each with its source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import config_file
from fabricbench.cli.config_file import SETTINGS, Value
from fabricbench.cli.options import FormatOption
from fabricbench.cli.output import Format, write
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.words import close_match_hint, one_line


def _keys(incomplete: str) -> list[str]:
    return [key for key in SETTINGS if key.startswith(incomplete)]


KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", autocompletion=_keys, help=f"One of {', '.join(SETTINGS)}.")
]


def list_command(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Show each default of the user with its source; `set` changes one.

    An option on the command line wins over its environment variable, that over the file, that over the
    built-in default.
    """
    if context.invoked_subcommand is not None:
        return
    file_values = config_file.read_config()
    rows = [_row(key, file_values) for key in SETTINGS]
    if output is Format.JSON:
        write(json.dumps({"file": str(config_file.config_path()), "settings": rows}, indent=2))
    elif output is Format.CSV:
        write(rows_csv(list(rows[0]), rows))
    else:
        cells = [{name: one_line(str(value), 200) for name, value in row.items()} for row in rows]
        widths = [max(len(row[name]) for row in cells) for name in ("key", "value")]
        write(
            "\n".join(f"{row['key']:{widths[0]}}  {row['value']:{widths[1]}}  {row['from']}" for row in cells)
        )


def _row(key: str, file_values: Mapping[str, Value]) -> dict[str, object]:
    """Return the value of a setting and its source."""
    setting = SETTINGS[key]
    if environment_value := os.environ.get(setting.variable):
        return {"key": key, "value": environment_value, "from": setting.variable}
    if key in file_values:
        return {"key": key, "value": file_values[key], "from": str(config_file.config_path())}
    return {"key": key, "value": setting.default, "from": "default"}


def get_command(key: KeyArgument) -> None:
    """Write the value of a default: of its environment variable, the file, or the built-in one."""
    _check_key(key)
    write(str(_row(key, config_file.read_config())["value"]))


def path_command() -> None:
    """Write where the file of defaults is, or would be."""
    write(str(config_file.config_path()))


def set_command(
    key: KeyArgument, value: Annotated[str, typer.Argument(metavar="VALUE", help="Its new value.")]
) -> None:
    """Write a default into the file, which is made if need be; the rest of it stays as it is."""
    _check_key(key)
    read = config_file.read_value(key, value, f"config set {key}")
    _edit(key, f"{key} = {json.dumps(read, ensure_ascii=False)}", {**config_file.read_config(), key: read})


def unset_command(key: Annotated[str, typer.Argument(metavar="KEY", help="A key of the file.")]) -> None:
    """Take a default out of the file."""
    path = config_file.config_path()
    if not path.is_file() or config_file.line_of(key, path.read_text(encoding="utf-8")) is None:
        _check_key(key)
        return
    _edit(key, None, None)


def _check_key(key: str) -> None:
    """Check that there is such a setting.

    Raises:
        typer.BadParameter: There is none.
    """
    if key not in SETTINGS:
        hint = close_match_hint(key.replace("-", "_"), SETTINGS)
        hint_text = f"; {hint}" if hint else ""
        raise typer.BadParameter(f"found the key {key!r}; allowed: {', '.join(SETTINGS)}{hint_text}")


def _edit(key: str, line: str | None, expected_values: Mapping[str, Value] | None) -> None:
    """Replace or remove the line of a key; all other lines stay.

    Raises:
        typer.BadParameter: The changed file would not have the expected values: the key is in several lines.
    """
    path = config_file.config_path().resolve()  # the target, if it is a link
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines, line_number = text.splitlines(), config_file.line_of(key, text)
    if line_number is not None:
        lines[line_number - 1 : line_number] = [] if line is None else [line]
    elif line is not None:
        lines.append(line)
    new_text = "".join(f"{new_line}\n" for new_line in lines)
    if expected_values is not None and config_file.values_in(new_text, path) != expected_values:
        raise typer.BadParameter(f"{path} has {key} in more than one line; change it there")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(f"{path}.{os.getpid()}.partial")
    try:
        partial.write_text(new_text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
