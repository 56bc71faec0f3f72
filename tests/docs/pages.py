"""The commands of a page of the documentation: what it has the reader write, type and see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    DOCS / "tutorial.md",
    DOCS / "own-fabric.md",
    DOCS / "nccl.md",
    *sorted((DOCS / "methods").glob("*.md")),
)
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REST = "..."
"""Stands for lines of output that a page leaves out."""


@dataclass(frozen=True)
class Step:
    """Something that a reader does.

    Attributes:
        kind: `file`, `command` or `python`.
        text: The name of the file, the command line, or the program.
        body: The content of the file, or the lines that a command prints, with `REST` for those left out.
        status: Exit status of a command.
    """

    kind: str
    text: str
    body: Sequence[str] = ()
    status: int = 0


def steps(page: Path) -> list[Step]:
    """Return what a page has its reader do, in order."""
    return [step for match in _BLOCK.finditer(page.read_text()) for step in _of_block(*match.groups())]


def _of_block(language: str, title: str | None, text: str) -> Iterator[Step]:
    if title:
        yield Step("file", title, (text,))
    elif language == "python":
        yield Step("python", text)
    elif language == "console":
        yield from _commands(text)


def _commands(text: str) -> Iterator[Step]:
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    told = [part.rstrip("\n").split("\n") for part in parts]
    for index, (command, *lines) in enumerate(told):
        if command == "echo $?":
            continue
        asked = told[index + 1] if index + 1 < len(told) else [""]
        status = int(asked[1]) if asked[0] == "echo $?" else 0
        yield Step("command", command, lines, status)


def is_shown(lines: Sequence[str], output: str) -> bool:
    """Tell whether a command printed what a page shows: all of it, or the parts between `REST` in order."""
    printed = [line.rstrip() for line in output.rstrip("\n").split("\n")]
    place, may_skip = 0, False
    for line in lines:
        if line == REST:
            may_skip = True
            continue
        found = next((at for at in range(place, len(printed)) if printed[at] == line.rstrip()), None)
        if found is None or (not may_skip and found != place):
            return False
        place, may_skip = found + 1, False
    return may_skip or place == len(printed) or not any(printed)
