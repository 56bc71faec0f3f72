"""Fast conversion of simple command-line values, without loading pydantic.

Typer builds a validator of pydantic for every value, and loading pydantic takes longer than listing trials.
Texts, lists of texts, paths, numbers in digits, and members of a choice written as in the help are converted
here. All other values are passed to typer, which converts them or reports the error.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any, Final

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

_OTHER: Final = object()
_DIGITS_MAX: Final = 18


class PlainCommand(TyperCommand):
    """A command that converts plain values itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` included."""
        return _taking_plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands that converts plain values itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` included."""
        return _taking_plain(super().get_params(ctx))


def defaulting(name: str) -> type[PlainGroup]:
    """Return a group that runs one of its commands unless the arguments begin with another's name."""

    class DefaultingGroup(PlainGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Insert the name of the default command before arguments without a command."""
            is_own = not args or args[0] in self.commands or args[0] in ctx.help_option_names
            return super().parse_args(ctx, args if is_own else [name, *args])

        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            """Return the commands, and the options of the default command."""
            completions = super().shell_complete(ctx, incomplete)
            option_completions = (
                self.commands[name].shell_complete(ctx, incomplete) if incomplete[:1] == "-" else []
            )
            values = {completion.value for completion in completions}
            return [
                *completions,
                *(completion for completion in option_completions if completion.value not in values),
            ]

    return DefaultingGroup


def _taking_plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperArgument | TyperOption) and "process_value" not in vars(parameter):
            _take_plain(parameter)
    return parameters


def _take_plain(parameter: TyperArgument | TyperOption) -> None:
    convert = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        plain = _absent(parameter) if value is None else _plain(parameter.type_descriptor, value)
        if plain is _OTHER:
            return convert(ctx, value)
        return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)

    parameter.process_value = process_value  # type: ignore[method-assign]


def _absent(parameter: TyperArgument | TyperOption) -> Any:
    """Return the value of an omitted parameter."""
    if parameter.required:
        return _OTHER
    return () if parameter.multiple or parameter.nargs == -1 else None


def _plain(descriptor: Any, value: Any) -> Any:
    """Return a value converted to the type of a parameter, or `_OTHER` if typer has to convert it."""
    annotation = descriptor.annotation
    if annotation is str and isinstance(value, str):
        return value
    if annotation == list[str] and isinstance(value, list):
        return value
    if annotation is int:
        return _plain_number(descriptor.parameter_info, value)
    if annotation is Path and isinstance(value, str) and value:
        is_readable = not os.access(value, os.F_OK) or os.access(value, os.R_OK)
        return Path(value) if is_readable else _OTHER
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next((member for member in annotation if member is value or member.value == value), _OTHER)
    return _OTHER


def _plain_number(info: Any, value: Any) -> Any:
    """Return an integer within its limits, or `_OTHER`."""
    is_text = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS_MAX
    if type(value) is not int and not is_text:
        return _OTHER
    number = int(value)
    is_within = (info.min is None or info.min <= number) and (info.max is None or number <= info.max)
    return number if is_within else _OTHER
