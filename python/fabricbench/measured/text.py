"""The text of a file: decoded, cut into numbered lines, its numbers and command lines."""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fabricbench.measured.errors import MeasuredError

MAX_FILE_BYTES = 16 << 20
MAX_ROWS = 2000
_MAX_SHOWN = 60
_INTEGER_MAX = (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_TAG = re.compile(r"^\[[^\]\s]{1,80}\]<std(?:out|err)>:? ?")
"""What `mpirun --tag-output` puts before each line."""
_TASK = re.compile(r"^\s*\d{1,6}: ?")
"""What `srun --label` puts before each line."""
_NOISE = re.compile(
    r"\bNCCL (INFO|WARN|TRACE|version)|Conflicting CPU frequency|CPU Frequency is not max"
    r"|^\s*(warning|note)\b|^\s*\[|^\S+:\d+:\d+ ",
    re.IGNORECASE,
)
"""Lines that libraries write between the rows of a table."""
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "srun", "prun", "orterun")
_AFTER = re.compile(r"-{4,}|={4,}|\*{4,}|```|\+ |\S*[$>%](?: |$)|\S+@\S+")
"""What ends a table without an empty line: a rule, or the next prompt of a shell."""
_RANK_OPTIONS = ("-n", "-np", "--np", "-ntasks", "--ntasks")


@dataclass(frozen=True)
class Line:
    """A line and its number, from 1."""

    number: int
    text: str

    @property
    def is_noise(self) -> bool:
        """Whether a library wrote it in between."""
        return bool(_NOISE.search(self.text))


@dataclass(frozen=True)
class Document:
    """The text of a file.

    Attributes:
        name: Name of the file, for errors.
        text: Its text.
    """

    name: str
    text: str

    @classmethod
    def decoded(cls, name: str, data: bytes) -> Document:
        """Decode a file: UTF-8, or UTF-16 with a mark. Bytes that are neither become U+FFFD.

        Raises:
            MeasuredError: It is empty, too large or no text.
        """
        if len(data) > MAX_FILE_BYTES:
            found, allowed = f"{len(data):,} bytes", f"at most {MAX_FILE_BYTES:,}"
            raise MeasuredError(name, None, found, allowed, "import the benchmark's output alone")
        encoding, skipped = next(
            ((kind, len(bom)) for bom, kind in _BOMS if data.startswith(bom)), ("utf-8", 0)
        )
        text = data[skipped:].decode(encoding, errors="replace")
        if not text.strip() or "\0" in text:
            found = "a file that is no text" if text.strip() else "an empty file"
            raise MeasuredError(name, None, found, "the output of a benchmark", FORMATS_HINT)
        return cls(name, text)

    @cached_property
    def lines(self) -> Sequence[Line]:
        """Its lines, without what launchers put before them."""
        texts = [_TAG.sub("", text.rstrip("\r")) for text in self.text.split("\n")]
        if all(_TASK.match(text) for text in texts if text.strip()):
            texts = [_TASK.sub("", text) for text in texts]
        indent = min((len(text) - len(text.lstrip(" ")) for text in texts if text.strip()), default=0)
        texts = [text[indent:] for text in texts]
        return [Line(number, text) for number, text in enumerate(texts, 1)]

    def error(self, line: int | None, found: str, expected: str, hint: str) -> MeasuredError:
        """Return an error about a line."""
        return MeasuredError(self.name, line, found, expected, hint)

    def number(self, line: int, column: str, cell: str) -> float:
        """Read a cell as a number of 0 or more.

        Raises:
            MeasuredError: It is none.
        """
        value = float(cell) if _NUMBER.fullmatch(cell) else -1.0
        if value < 0 or value > float(_INTEGER_MAX):
            raise self.error(line, f"{shown(cell)} in column {column}", "a number of 0 or more", ROW_HINT)
        return value

    def integer(self, line: int, column: str, cell: str) -> int:
        """Read a cell as a whole number of 0 or more.

        Raises:
            MeasuredError: It is none.
        """
        value = int(cell) if cell.isascii() and cell.isdecimal() and len(cell) < 20 else -1
        if not 0 <= value <= _INTEGER_MAX:
            found = f"{shown(cell)} in column {column}"
            raise self.error(line, found, "a whole number of 0 or more", ROW_HINT)
        return value

    def cells(self, line: Line, columns: Sequence[str]) -> list[str]:
        """Cut a row into as many cells as there are columns.

        Raises:
            MeasuredError: It has more or fewer.
        """
        cells = line.text.split()
        if len(cells) != len(columns):
            found = f"{len(cells)} cells in {shown(line.text.strip())}"
            raise self.error(line.number, found, f"{len(columns)}: {', '.join(columns)}", ROW_HINT)
        return cells


FORMATS_HINT = "docs/import.md says which outputs can be imported; --format names the format"
ROW_HINT = "a row may be cut off or mixed with other output: mend or remove this line"
RANKS_HINT = "say it: --ranks N"


def shown(text: str) -> str:
    """Quote a text for an error, cut where it is long."""
    cut = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
    return '"' + "".join(each if each.isprintable() else "?" for each in cut) + '"'


def starts_with_number(text: str) -> bool:
    """Tell whether a line begins like a row of a table."""
    return text.lstrip()[:1].isdigit()


def table_lines(document: Document, index: int, *, has_units: bool = False) -> tuple[list[Line], int]:
    """Return the rows of a table, which begin with a number, and the place where something else follows.

    Args:
        document: The file.
        index: Place of the first line below the head.
        has_units: Whether comments may stand between the head and the first row.

    Raises:
        MeasuredError: A line within the table is neither a row nor known as what libraries write in between.
    """
    rows: list[Line] = []
    is_apart = False
    while index < len(document.lines) and len(rows) <= MAX_ROWS:
        line = document.lines[index]
        text = line.text.strip()
        if starts_with_number(text) and not line.is_noise:
            rows.append(line)
            is_apart = False
        elif not text:
            is_apart = True
        elif text.startswith("#") and not (has_units and not rows):
            break
        elif not text.startswith("#") and not line.is_noise:
            if (rows and is_apart) or _AFTER.match(text):
                break
            raise document.error(line.number, shown(text), "a row of the table that begins above", ROW_HINT)
        index += 1
    return rows, index


def command_lines(lines: Sequence[Line], program: str) -> list[tuple[int, str]]:
    """Return the command lines that run a program, each with the number of its line.

    Args:
        lines: The lines of a file.
        program: A regular expression of the program's name.
    """
    pattern = re.compile(rf"(?:^|[\s/])(?:{program})(?:\s|$)")
    found, index = [], 0
    while index < len(lines):
        start, parts = lines[index].number, [lines[index].text]
        while parts[-1].rstrip().endswith("\\") and index + 1 < len(lines) and len(parts) < 100:
            index += 1
            parts.append(lines[index].text)
        whole = " ".join(part.strip().rstrip("\\").strip() for part in parts)
        if pattern.search(whole) and not whole.startswith("#") and len(whole) < 8000:
            found.append((start, _without_prompt(whole)))
        index += 1
    return found


def command_before(commands: Sequence[tuple[int, str]], line: int, program: str | None = None) -> str:
    """Return the last command line before a line that runs a program, or any; empty if there is none."""
    pattern = re.compile("" if program is None else rf"(?:^|[\s/]){re.escape(program)}(?:_mpi)?(?:\s|$)")
    return next((text for number, text in reversed(commands) if number < line and pattern.search(text)), "")


def _without_prompt(text: str) -> str:
    return re.sub(r"^(?:[>$%+]+|\S*[\w~\])][$#>])\s+", "", text).strip()


def launched_ranks(command: str, program: str) -> int | None:
    """Return the number of ranks that a launcher was asked for; none if it does not say."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    pattern = re.compile(rf"(?:.*/)?(?:{program})")
    end = next((index for index, word in enumerate(words) if pattern.fullmatch(word)), 0)
    before = words[:end]
    if not any(word.rsplit("/", 1)[-1] in _LAUNCHERS for word in before):
        return None
    ranks = _option(before, _RANK_OPTIONS)
    nodes, each = _option(before, ("-N", "--nodes")), _option(before, ("--ntasks-per-node", "-ppn"))
    return ranks or (nodes * each if nodes and each else None)


def _option(words: Sequence[str], names: Sequence[str]) -> int | None:
    """Return the value of an option: `-n 8`, `--ntasks=8` or `-N2`."""
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names and not value:
            value = words[index + 1] if index + 1 < len(words) else ""
        elif name not in names:
            value = word[2:] if word[:2] in names else ""
        if value.isascii() and value.isdecimal() and 0 < len(value) < 9:
            return int(value)
    return None
