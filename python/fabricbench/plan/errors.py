"""Errors of plans: `FieldProblem`, `Problem` with file and line, and `PlanError`, whose text is for users."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from fabricbench.errors import UserError
from fabricbench.words import one_line

_SHOWN_MAX: Final = 50
_PLACE_LENGTH_MAX: Final = 500
_FIELD_LENGTH_MAX: Final = 200
_WORDS_LENGTH_MAX: Final = 2_000

UNKNOWN_KEY: Final = "an unknown key"
"""Text `found` of a key that a mapping does not have."""

FieldPath = tuple[str | int, ...]
"""Keys and list indices from the top of a plan down to a field."""


@dataclass(frozen=True)
class Place:
    """Location of a user's input.

    Attributes:
        source: The file, or the override as given on the command line.
        line: Line in the file, from 1; none for an override or a file that cannot be read.
        column: Column in that line, from 1.
    """

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        source = one_line(self.source, _PLACE_LENGTH_MAX)
        return source if self.line is None else f"{source}:{self.line}"


@dataclass(frozen=True)
class FieldProblem:
    """A problem of a field, without its location in a file, which `Document.problems` adds.

    Attributes:
        path: Path of the field; empty for the file as a whole.
        found: The actual value, in words.
        allowed: The allowed values, in words; may be empty.
        hint: Advice to the user, or an empty string.
    """

    path: FieldPath
    found: str
    allowed: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Problem:
    """One thing to change in a plan, with its location in a file.

    Attributes:
        place: Location of the input to change.
        field: Dotted path of the field, such as `jobs.0.ranks`; empty for the file as a whole.
        found: The actual value, in words.
        allowed: The allowed values, in words; may be empty.
        hint: Advice to the user, or an empty string.
    """

    place: Place
    field: str
    found: str
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return self.text("error")

    def text(self, severity: str) -> str:
        """Return the text for the user, as an `error` or a `warning`: a line, and one for its hint."""
        actual, allowed, hint = (
            one_line(part, _WORDS_LENGTH_MAX) for part in (self.found, self.allowed, self.hint)
        )
        parts = [str(self.place), one_line(self.field, _FIELD_LENGTH_MAX), f"found {actual}"]
        text = f"{severity}: " + ": ".join(part for part in parts if part)
        if allowed:
            text += f"; allowed: {allowed}"
        return f"{text}\nhint: {hint}" if hint else text


class PlanError(UserError):
    """A plan that cannot be run as it is written; the user can repair it.

    The text is for the user: an `error:` line for each problem, followed by its `hint:` line.

    Attributes:
        problems: All problems, in the order of the file. The text shows the first 50.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:_SHOWN_MAX]]
        if len(self.problems) > _SHOWN_MAX:
            lines.append(f"error: and {len(self.problems) - _SHOWN_MAX} more")
        super().__init__("\n".join(lines))

    def text(self) -> str:
        """Return the text for the user: that of each problem."""
        return str(self)


@contextmanager
def named_as_written(overrides: Mapping[str, str], variants: Iterable[str] = ()) -> Iterator[None]:
    """Rename the sources of problems to the user's own input, for overrides that come from elsewhere.

    Args:
        overrides: Each override by the user's input that it replaces, such as an option.
        variants: Names of variants that were chosen without the option `--variant`.

    Raises:
        PlanError: That of the block.
    """
    names_by_source = {
        f"-s {override}": (name, override.partition("=")[0]) for name, override in overrides.items()
    }
    names_by_source |= {f"--variant {name}": (f'variant "{name}"', "") for name in variants}
    try:
        yield
    except PlanError as error:
        raise PlanError(
            _renamed(problem, *names_by_source.get(problem.place.source, ("", "")))
            for problem in error.problems
        ) from None


def _renamed(problem: Problem, name: str, field: str) -> Problem:
    if not name:
        return problem
    return replace(problem, place=Place(name), field="" if problem.field == field else problem.field)


def dotted(path: FieldPath) -> str:
    """Return a path as text: `jobs.0.ranks`."""
    return ".".join(str(part) for part in path)
