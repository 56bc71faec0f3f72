"""`MeasuredError`: an error in a file of measured results, with its line and a hint how to correct it."""

from __future__ import annotations

from fabricbench.errors import UserError


class MeasuredError(UserError):
    """A file that cannot be read as the output of a benchmark.

    Attributes:
        name: Name of the file.
        line: Number of the line, from 1; none if it is about the whole file.
        found: Content of the file at this line.
        expected: Allowed content.
        hint: How to correct it.
    """

    def __init__(self, name: str, line: int | None, found: str, expected: str, hint: str) -> None:
        position = name if line is None else f"{name}:{line}"
        super().__init__(f"{position}: found {found}; expected {expected}")
        self.name = name
        self.line = line
        self.found = found
        self.expected = expected
        self.hint = hint
        self.add_note(f"hint: {hint}")  # a traceback shows it
