"""`Document`: the decoded text of a file in numbered lines, with methods that read cells and report errors.

Functions for all text formats: `table_lines`, `whole_rows` and `failure` return the rows and the end of a
table, `starts_with_number` and `is_elided` classify a line, `command_lines`, `command_before`,
`launched_processes` and `launched_ranks` read command lines, `shown` quotes a text for a message.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.file_text.prefixes import with_origins
from fabricbench.measured.nccl_logs.debug_facts import FAILED
from fabricbench.measured.nccl_logs.log_lines import mended

MAX_FILE_BYTES = 16 << 20
MAX_LINES = 200_000
MAX_LINE = 8000
"""Characters after which a line is cut: no benchmark prints so long a line."""
MAX_ROWS = 2000
_COMMANDS_MAX = 2000
_MAX_SHOWN = 60
_INTEGER_MAX = (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COMMA = re.compile(r"\d+,\d+")
_GZIP = b"\x1f\x8b"
_MIXED = re.compile(r"\d+\s+\d+\s+[A-Za-z]\w*\s")
"""Beginning of a row of nccl-tests; no log line begins in this form."""
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "srun", "prun", "orterun")
_AFTER = re.compile(
    r"-{4,}|={4,}|\*{4,}|```|\+ |\S*[$>%](?: |$)|\S+@\S+|Out of bounds values|Avg bus bandwidth"
    r"|Collective test|nThread:? \d|nccl-tests version|size\s+count\s+type"
    r"|DATA VALIDATION ERROR\b|\^[CZ\\]|(?:Killed|Terminated|Interrupted?|Aborted|logout)\b"
)
"""Lines that end a table without an empty line: a rule, the next prompt of a shell, a foot without its `#`,
the failed check of OSU benchmarks, a key that ended the program, or a shell's message about it."""
_DOTS, _AROUND_DOTS = frozenset(".:\u2026\u00b7\u22ee"), frozenset(" \t[](){}<>#")
_SNIPPED = re.compile(r"\W{0,20}(?:snip|cut|truncated|omitted)(?:ped)?\W{0,20}", re.IGNORECASE)
_SHELL_PROMPT = re.compile(r"^(?:\(\S+\)\s*)?(?:[>$%+]+|\[[^\]]{1,100}\][$#>%]|\S*[\w~\])][$#>%])\s+")
_RANK_OPTIONS = ("-n", "-np", "--np", "-ntasks", "--ntasks")


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
    def decoded(
        cls, name: str, data: bytes, expected: str = "", hint: str = "", bytes_max: int = MAX_FILE_BYTES
    ) -> Document:
        """Decode a file: UTF-8, or UTF-16 with a mark. Bytes that are neither become U+FFFD.

        Args:
            name: Name of the file, for errors.
            data: Its bytes.
            expected: Expected content; the output of a benchmark by default.
            hint: Hint of the error for other content.
            bytes_max: Most bytes that it may have, unpacked.

        Raises:
            MeasuredError: It is empty, too large or no text.
        """
        data = _unpacked(name, data, bytes_max)
        if len(data) > bytes_max:
            kind_of_file, allowed = f"more than {bytes_max:,} bytes", f"at most {bytes_max:,}"
            raise MeasuredError(name, None, kind_of_file, allowed, hint or OUTPUT_HINT)
        encoding, skipped = next(
            ((kind, len(bom)) for bom, kind in _BOMS if data.startswith(bom)), ("utf-8", 0)
        )
        text = data[skipped:].decode(encoding, errors="replace")
        if not text.strip() or "\0" in text:
            kind_of_file = "a file that is no text" if text.strip() else "an empty file"
            expected = expected or "the output of a benchmark"
            raise MeasuredError(name, None, kind_of_file, expected, hint or FORMATS_HINT)
        return cls(name, text)

    @cached_property
    def lines(self) -> Sequence[Line]:
        """Its lines, without colours and without the prefixes of launchers and loggers.

        Raises:
            MeasuredError: There are more than `MAX_LINES`.
        """
        count = self.text.count("\n") or self.text.count("\r")
        if count > MAX_LINES:
            raise self.error(None, f"{count:,} lines", f"at most {MAX_LINES:,}", OUTPUT_HINT)
        texts = [text[:MAX_LINE] for _, text in self._with_origins]
        indent = min((len(text) - len(text.lstrip(" ")) for text in texts if text.strip()), default=0)
        lines = [Line(number, text[indent:]) for number, text in enumerate(texts, 1)]
        return mended(lines) if "] NCCL " in self.text else lines

    @cached_property
    def _with_origins(self) -> Sequence[tuple[str, str]]:
        return with_origins(self.text)

    @property
    def origins(self) -> Sequence[str]:
        """For each line the host or process that its prefix names; empty without a prefix."""
        return [origin for origin, _ in self._with_origins]

    def of_lines(self, lines: Sequence[Line]) -> Document:
        """Return the file with only some of its lines."""
        part = Document(self.name, self.text)
        part.__dict__["lines"] = lines
        return part

    def error(self, line: int | None, actual: str, expected: str, hint: str) -> MeasuredError:
        """Return an error about a line."""
        return MeasuredError(self.name, line, actual, expected, hint)

    def require_rows(self, tables: Sequence[Sequence[object]]) -> None:
        """Refuse a file with more rows than can be imported, before more of it is read.

        Raises:
            MeasuredError: There are more.
        """
        rows = sum(len(table) for table in tables)
        if rows > MAX_ROWS:
            raise self.error(None, f"{rows:,} results or more", f"at most {MAX_ROWS:,}", "split the file")

    def number(self, line: int, column: str, cell: str) -> float:
        """Read a cell as a number of 0 or more.

        Raises:
            MeasuredError: It is none.
        """
        value = float(cell) if _NUMBER.fullmatch(cell) else -1.0
        if value < 0 or value > float(_INTEGER_MAX):
            hint = COMMA_HINT if _COMMA.fullmatch(cell) else ROW_HINT
            raise self.error(line, f"{shown(cell)} in column {column}", "a number of 0 or more", hint)
        return value

    def integer(self, line: int, column: str, cell: str) -> int:
        """Read a cell as a whole number of 0 or more.

        Raises:
            MeasuredError: It is none.
        """
        value = int(cell) if cell.isascii() and cell.isdecimal() and len(cell) < 20 else -1
        if not 0 <= value <= _INTEGER_MAX:
            cell_text = f"{shown(cell)} in column {column}"
            raise self.error(line, cell_text, "a whole number of 0 or more", ROW_HINT)
        return value

    def cells(self, line: Line, columns: Sequence[str]) -> list[str]:
        """Return the cells of a row, one for each column.

        Raises:
            MeasuredError: It has more or fewer.
        """
        cells = line.text.split()
        if len(cells) != len(columns):
            row_text = f"{len(cells)} cells in {shown(line.text.strip())}"
            raise self.error(line.number, row_text, f"{len(columns)}: {', '.join(columns)}", ROW_HINT)
        return cells


def _unpacked(name: str, data: bytes, bytes_max: int) -> bytes:
    """Return the content of a gzip file, up to one byte above the limit; other files unchanged.

    Raises:
        MeasuredError: It is cut off or damaged.
    """
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            return stream.read(bytes_max + 1)
    except (OSError, EOFError, zlib.error) as error:
        hint = "the file may be cut off: gunzip it and import what comes out"
        raise MeasuredError(
            name, None, f"gzip that cannot be read ({error})", "a whole gzip file", hint
        ) from error


OUTPUT_HINT = "keep nothing but the output that is wanted in the file"
FORMATS_HINT = "docs/import.md says which outputs can be imported; --format names the format"
ROW_HINT = "a row may be cut off or mixed with other output: mend or remove this line"
COMMA_HINT = "numbers have a decimal point: run the benchmark with LC_ALL=C, or put points in"
MIXED_HINT = "mend this line; NCCL_DEBUG_FILE=nccl.%h.%p keeps NCCL's log out of the output"
RANKS_HINT = "say it: --ranks N"


def shown(text: str) -> str:
    """Return a text in quotation marks for a message, cut if it is long."""
    cut = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
    return '"' + "".join(each if each.isprintable() else "?" for each in cut) + '"'


def is_elided(text: str) -> bool:
    """Return whether a line replaces omitted rows: only dots, or a word such as `snip`."""
    characters = set(text)
    is_dots = bool(characters & _DOTS) and characters <= _DOTS | _AROUND_DOTS
    return is_dots or bool(_SNIPPED.fullmatch(text.strip()))


def starts_with_number(text: str) -> bool:
    """Return whether a line begins like a row of a table."""
    return text.lstrip()[:1].isdigit()


def table_lines(
    document: Document, index: int, below: re.Pattern[str] | None = None
) -> tuple[list[Line], int]:
    """Return the rows of a table, which begin with a number, and the index of the line after the table.

    Args:
        document: The file.
        index: Index of the first line below the head.
        below: Pattern of lines allowed between the head and the first row; none for no such line.

    Raises:
        MeasuredError: A line within the table is neither a row nor a known message of a library.
    """
    rows: list[Line] = []
    is_after_gap = False
    while index < len(document.lines) and len(rows) <= MAX_ROWS:
        line = document.lines[index]
        text = line.text.strip()
        if _MIXED.match(text) and line.is_noise:
            raise document.error(line.number, shown(text), "a row without NCCL's log in it", MIXED_HINT)
        if starts_with_number(text) and not line.is_noise:
            rows.append(line)
            is_after_gap = False
        elif not text:
            is_after_gap = True
        elif is_elided(text) or (below is not None and not rows and below.match(text)):
            pass
        elif text.startswith("#"):
            break
        elif not line.is_noise:
            if (rows and is_after_gap) or _AFTER.match(text) or FAILED.match(text):
                break
            raise document.error(line.number, shown(text), "a row of the table that begins above", ROW_HINT)
        index += 1
    return rows, index


def whole_rows(document: Document, rows: list[Line], warnings: list[str]) -> list[Line]:
    """Return the rows of a table without a last row cut off at the end of the file, which a warning names.

    A last row without a line feed is cut off if it has fewer cells than the first row, or fewer decimals in
    its last cell.
    """
    if len(rows) < 2 or rows[-1] is not document.lines[-1]:
        return rows
    first, cut = rows[0].text.split(), rows[-1].text.split()
    is_rounded = len(cut) == len(first) and len(cut[-1].partition(".")[2]) < len(first[-1].partition(".")[2])
    if len(cut) >= len(first) and not is_rounded:
        return rows
    cut_text = shown(" ".join(cut))
    warnings.append(
        f"{document.name}:{rows[-1].number}: the file ends in this row, which is left out: {cut_text}"
    )
    return rows[:-1]


def failure(document: Document, index: int) -> list[str]:
    """Return a warning if the line that ends a table reports a failed run; empty otherwise."""
    if index >= len(document.lines) or not FAILED.match(document.lines[index].text):
        return []
    line = document.lines[index]
    return [f"{document.name}:{line.number}: the run failed: {shown(line.text.strip())}"]


def command_lines(lines: Sequence[Line], program: str) -> list[tuple[int, str]]:
    """Return the command lines that run a program, each with the number of its line.

    Args:
        lines: The lines of a file.
        program: A regular expression of the program's name.
    """
    pattern = re.compile(rf"(?:^|[\s/])(?:{program})(?:\s|$)")
    commands: list[tuple[int, str]] = []
    index = 0
    while index < len(lines) and len(commands) < _COMMANDS_MAX:
        start, parts = lines[index].number, [lines[index].text]
        while parts[-1].rstrip().endswith("\\") and index + 1 < len(lines) and len(parts) < 100:
            index += 1
            parts.append(lines[index].text)
        command = " ".join(part.strip().rstrip("\\").strip() for part in parts)
        if pattern.search(command) and not command.startswith("#") and len(command) < 8000:
            commands.append((start, _SHELL_PROMPT.sub("", command, count=1).strip()))
        index += 1
    return commands


def command_before(commands: Sequence[tuple[int, str]], line: int, program: str | None = None) -> str:
    """Return the last command line before a line that runs a program, or any; empty if there is none."""
    pattern = re.compile("" if program is None else rf"(?:^|[\s/]){re.escape(program)}(?:_mpi)?(?:\s|$)")
    return next((text for number, text in reversed(commands) if number < line and pattern.search(text)), "")


def _words_before(command: str, program: str) -> list[str]:
    """Return the words of a command line before the program."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    pattern = re.compile(rf"(?:.*/)?(?:{program})")
    return words[: next((index for index, word in enumerate(words) if pattern.fullmatch(word)), 0)]


def _has_launcher(words: Sequence[str]) -> bool:
    return any(word.rsplit("/", 1)[-1] in _LAUNCHERS for word in words)


def launched_processes(command: str, program: str) -> int | None:
    """Return the number of processes that a command line starts: one without a launcher; none if unknown."""
    if not command:
        return None
    return launched_ranks(command, program) if _has_launcher(_words_before(command, program)) else 1


def launched_ranks(command: str, program: str) -> int | None:
    """Return the number of ranks in the options of a launcher; none without launcher or number."""
    before = _words_before(command, program)
    if not _has_launcher(before):
        return None
    ranks = _option(before, _RANK_OPTIONS)
    nodes, ranks_per_node = _option(before, ("-N", "--nodes")), _option(before, ("--ntasks-per-node", "-ppn"))
    return ranks or (nodes * ranks_per_node if nodes and ranks_per_node else None)


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
