"""Removes prefixes of launchers, loggers and terminals from the lines of a benchmark: `bare`, `with_origins`.

No list of prefixes can be complete: tags of `mpirun`, numbers of `srun`, time stamps, names of jobs, pods and
hosts, quotation marks. But every table has lines with a known beginning, such as its head, and the other
lines have the same prefix, with other digits. So the shape of a prefix is learned from the known lines and
removed from every line that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
"""Control sequences of terminals (ECMA-48, 5.4 and 5.6): colours, cursor, titles of windows."""
_LINE_STARTS = re.compile(
    r"\bsize\s+count\s+type\b|\bnThread:? \d|\bCollective test starting:|\bOSU \S+ [^\n]{1,100} v\d"
    r"|\b(?:Group\s+#?)?bytes\s+#?(?:iterations|repetitions)\b|\bBenchmarking [A-Z]"
)
"""Known beginnings of lines, without a `#` before them: heads and titles of tables."""
_PREFIX_LENGTH_MAX = 160
_SHAPES_MAX, _PREFIXES_MAX = 16, 200
_PIECE = re.compile(r"\d+|[A-Za-z]+|\s+|.")
_CALENDAR = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*"
)
_STREAM = re.compile(r"info|warn(?:ing)?|error|debug|notice|(?:std)?(?:out|err)|[fpz]")
"""Words that differ from line to line: levels, streams, whether a line is full or partial."""


_CLOCK = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\d{9,}(?:\.\d+)?|\b\d+\.\d{3,}\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b(?: +\d{1,2}\b)?"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b",
    re.IGNORECASE,
)
"""Dates and times of a prefix: lines of one process differ in them."""
_LEVEL = re.compile(rf"\b(?:{_STREAM.pattern})\b", re.IGNORECASE)


def bare(text: str) -> list[str]:
    """Return the lines of a text without colours and without prefixes."""
    return [line for _, line in with_origins(text)]


def with_origins(text: str) -> list[tuple[str, str]]:
    """Return the lines of a text as `bare`, each with the host or process that its prefix names.

    The origin is the prefix without dates, times and levels; empty of lines without a prefix.
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if "\r" in text:
        lines = [line.rpartition("\r")[2] for line in lines]  # a terminal shows the last text
    shapes = _shapes(lines)
    return [_split_prefix(line, shapes) for line in lines] if shapes else [("", line) for line in lines]


def _shapes(lines: Sequence[str]) -> list[re.Pattern[str]]:
    """Return patterns of the prefixes of the known lines, the longest first."""
    shapes: dict[str, str] = {}
    for prefix in islice(dict.fromkeys(_prefixes(lines)), _PREFIXES_MAX):
        shapes.setdefault(_shape(prefix), prefix)
    patterns = [re.compile(shape) for shape, prefix in shapes.items() if _is_usable(shape, prefix, lines)]
    return sorted(patterns[:_SHAPES_MAX], key=lambda pattern: -len(pattern.pattern))


def _is_usable(shape: str, prefix: str, lines: Sequence[str]) -> bool:
    """Return whether a prefix is more than a number, which may begin a row too, or is on all lines."""
    if re.search(r"[^\d\s]", prefix):
        return True
    pattern = re.compile(shape)
    return all(pattern.match(line) for line in lines if line.strip())


def _prefixes(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        match = _LINE_STARTS.search(line, 0, _PREFIX_LENGTH_MAX * 2)
        before = line[: match.start()].rstrip() if match else ""
        prefix = before.removesuffix("#").rstrip()
        if prefix.strip("# ") and len(prefix) <= _PREFIX_LENGTH_MAX:
            yield prefix


def _shape(prefix: str) -> str:
    """Return a regular expression of a prefix, in which digits, days, months and levels may differ."""
    return r"\s*" + "".join(_piece(piece) for piece in _PIECE.findall(prefix.lstrip())) + "[ \\t]?"


def _piece(piece: str) -> str:
    if piece.isdecimal():
        return r"\d+"
    if piece.isspace():
        return r"\s+"
    lowered = piece.lower()
    if _STREAM.fullmatch(lowered) or _CALENDAR.fullmatch(lowered):
        return "[A-Za-z]+"
    return re.escape(piece)


def _split_prefix(line: str, shapes: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Return the origin of a line and its text, in a row also without tags between its parts.

    Hydra (`mpiexec -prepend-rank`) tags each write, and nccl-tests writes a row in several parts.
    """
    match = next((shape_match for shape in shapes if (shape_match := shape.match(line))), None)
    if match is None:
        return "", line
    tag, rest = match[0].strip(), line[match.end() :]
    is_row = rest.lstrip()[:1].isdigit()
    origin = " ".join(_LEVEL.sub(" ", _CLOCK.sub(" ", tag)).split()).strip(":| ")
    return origin, rest.replace(tag, " ") if is_row and tag.startswith("[") else rest
