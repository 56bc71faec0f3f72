"""Renames command-line options in errors to the arguments of the Python functions that share their code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from fabricbench.plan.errors import PlanError, Problem

_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_ARGUMENTS: Final = {"collective": "collectives", "force": "force=True", "nccl": "version"}
"""Arguments whose names are not those of the options."""


@contextmanager
def python_arguments() -> Iterator[None]:
    """Name Python arguments in the problems of the block instead of options.

    Raises:
        PlanError: That of the block.
    """
    try:
        yield
    except PlanError as error:
        raise PlanError(map(_renamed, error.problems)) from None


def _renamed(problem: Problem) -> Problem:
    return replace(
        problem,
        place=replace(problem.place, source=_argument_text(problem.place.source)),
        found=_argument_text(problem.found),
        allowed=_argument_text(problem.allowed),
        hint=_argument_text(problem.hint),
    )


def _argument_text(text: str) -> str:
    """Return a text with the names of arguments in place of options, except in commands of a shell."""
    parts = re.split(r"(`fabricbench [^`]*`)", text)
    return "".join(
        part if part.startswith("`fabricbench ") else _OPTION.sub(_argument, part) for part in parts
    )


def _argument(option: re.Match[str]) -> str:
    return _ARGUMENTS.get(option[1], option[1].replace("-", "_"))
