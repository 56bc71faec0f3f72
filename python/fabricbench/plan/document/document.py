"""Document of a plan: plain values read from YAML, with the line and column of every field.

`nodes` parses the text; this module has the document, and reads files and texts with their errors.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fabricbench.inputs import read_input
from fabricbench.plan.document.nodes import Builder, compose, kind_name
from fabricbench.plan.errors import FieldPath, FieldProblem, Place, PlanError, Problem, dotted

FILE_BYTES_MAX: Final = 1 << 20
"""Largest plan file [bytes]."""


@dataclass(frozen=True)
class Document:
    """A plan as written: plain values, and the location of each.

    Attributes:
        source: Its file, as the user named it.
        text: Its text.
        data: Mappings, lists, strings, numbers, booleans and none.
        places: Location of the key (or list item) of each path.
        value_places: Location of its value.
    """

    source: str
    text: str
    data: dict[str, Any]
    places: dict[FieldPath, Place] = field(repr=False)
    value_places: dict[FieldPath, Place] = field(repr=False)

    def place(self, path: FieldPath) -> Place:
        """Return the location of `path`, or else of the nearest parent."""
        while path and path not in self.places:
            path = path[:-1]
        # A mapping begins below its key, and the location of an empty value is that of the following text.
        if isinstance(self.value(path), dict | list | None):
            return self.places.get(path, Place(self.source, 1, 1))
        return self.value_places[path]

    def value(self, path: FieldPath) -> Any:
        """Return the value at `path`, or none."""
        node: Any = self.data
        for part in path:
            if isinstance(node, dict):
                node = node.get(part)
            elif isinstance(node, list) and isinstance(part, int) and part < len(node):
                node = node[part]
            else:
                return None
        return node

    def problem(self, path: FieldPath, actual: str, allowed: str = "", hint: str = "") -> Problem:
        """Describe a problem with the field at `path`."""
        return Problem(self.place(path), dotted(path), actual, allowed, hint)

    def problems(self, field_problems: Iterable[FieldProblem]) -> list[Problem]:
        """Return problems of fields with the location of each in the file."""
        return [
            self.problem(field_problem.path, field_problem.found, field_problem.allowed, field_problem.hint)
            for field_problem in field_problems
        ]


def read_file(path: Path, source: str) -> Document:
    """Read a plan file.

    Args:
        path: The file.
        source: Its name in errors.

    Raises:
        PlanError: It cannot be read, is too large, is not UTF-8, or is no YAML mapping.
    """
    try:
        content = read_input(path, FILE_BYTES_MAX)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PlanError([Problem(Place(source), "", f"a file that cannot be read: {reason}")]) from error
    if len(content) > FILE_BYTES_MAX:
        raise PlanError([Problem(Place(source), "", "a larger file", f"at most {FILE_BYTES_MAX} bytes")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        actual = f"the byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise PlanError([Problem(Place(source, line, 1), "", actual, "UTF-8 text")]) from error
    return read_text(text, source)


def read_text(text: str, source: str) -> Document:
    """Read a plan from YAML text.

    Args:
        text: The YAML.
        source: Its name in errors.

    Raises:
        PlanError: It is no YAML, or no mapping, or repeats keys, or nests or repeats without bound.
    """
    root = compose(text, source)
    hint = "`fabricbench plans` lists plans to start from"
    if root is None:
        raise PlanError([Problem(Place(source), "", "an empty file", "a test plan", hint)])
    builder = Builder(source)
    data = builder.build(root, ())
    if builder.problems:
        raise PlanError(builder.problems)
    if not isinstance(data, dict):
        actual = f"{kind_name(data)} at the top"
        raise PlanError([Problem(builder.value_places[()], "", actual, "a mapping of fields", hint)])
    return Document(source, text, data, builder.places, builder.value_places)


def read_value(text: str, source: str) -> Any:
    """Read one YAML value, such as that of an override; none for empty text.

    Raises:
        PlanError: It is no YAML. Its location is `source`, without a line.
    """
    try:
        root = compose(text, source)
        builder = Builder(source)
        value = None if root is None else builder.build(root, ())
    except PlanError as error:
        raise PlanError(replace(problem, place=Place(source)) for problem in error.problems) from error
    if builder.problems:
        raise PlanError(replace(problem, place=Place(source)) for problem in builder.problems)
    return value
