"""Parser of the output of OSU micro-benchmarks, with or without `-f`: `is_output` and `read`.

Rates are MB/s of 1e6 bytes, times microseconds. The size is the message size: the bytes from a rank to each
other rank, or the block that each rank contributes (OSU micro-benchmarks, README and c/mpi). Latencies of
point-to-point tests are half a round trip; those of collectives are the mean over the ranks, and with `-f`
also the smallest and largest rank. osu_bibw adds up both directions, osu_mbw_mr all pairs. The output lacks
the number of ranks of a collective: it is in the command line before the output, or given by the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.measured.file_text.document import (
    RANKS_HINT,
    ROW_HINT,
    Document,
    command_before,
    command_lines,
    launched_ranks,
    shown,
    table_lines,
    whole_rows,
)
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.file_text.origins import read_each
from fabricbench.measured.model import Row, Table, UserFacts, Value, times_of_ranks

NAME = "osu"
PROGRAM = r"osu_\w+"
_TITLE = re.compile(r"^#?\s*OSU (?P<what>\S.*?)(?: Test)? v(?P<version>\d\S*)\s*$")
_BELOW = re.compile(r"#(?!\s*(?:OSU|Size)\b)")
"""Comments below the head, such as the datatype in versions 7."""
_INVALID = "DATA VALIDATION ERROR"
_SHOWN = 120
_MEGA_PER_GIGA = 1000.0


@dataclass(frozen=True)
class _Kind:
    """A benchmark: its program and collective, and the number of directions in its rate."""

    program: str
    collective: str
    directions: int = 1


_KINDS: Mapping[str, _Kind] = {
    "latency": _Kind("osu_latency", "send-receive"),
    "multi-threaded latency": _Kind("osu_latency_mt", "send-receive"),
    "multi-process latency": _Kind("osu_latency_mp", "send-receive"),
    "multi latency": _Kind("osu_multi_lat", "send-receive"),
    "bandwidth": _Kind("osu_bw", "send-receive"),
    "bi-directional bandwidth": _Kind("osu_bibw", "send-receive", 2),
    "multiple bandwidth / message rate": _Kind("osu_mbw_mr", "send-receive"),
    "all-to-all personalized exchange latency": _Kind("osu_alltoall", "all-to-all"),
    "all-to-allv personalized exchange latency": _Kind("osu_alltoallv", "all-to-all"),
    "all-to-allw personalized exchange latency": _Kind("osu_alltoallw", "all-to-all"),
    "allreduce latency": _Kind("osu_allreduce", "all-reduce"),
    "allgather latency": _Kind("osu_allgather", "all-gather"),
    "allgatherv latency": _Kind("osu_allgatherv", "all-gather"),
    "broadcast latency": _Kind("osu_bcast", "broadcast"),
    "reduce latency": _Kind("osu_reduce", "reduce"),
    "reduce_scatter latency": _Kind("osu_reduce_scatter", "reduce-scatter"),
    "reduce_scatter_block latency": _Kind("osu_reduce_scatter_block", "reduce-scatter"),
    "gather latency": _Kind("osu_gather", "gather"),
    "gatherv latency": _Kind("osu_gatherv", "gather"),
    "scatter latency": _Kind("osu_scatter", "scatter"),
    "scatterv latency": _Kind("osu_scatterv", "scatter"),
}
"""Benchmarks by their titles, without the library such as `MPI-CUDA`."""
_LIBRARIES = ("mpi", "nccl", "rccl")
_TWO_RANKS = ("osu_latency", "osu_latency_mt", "osu_latency_mp", "osu_bw", "osu_bibw")
_PAIRS = re.compile(r"\[ pairs: (\d+) \]")
_WINDOW = re.compile(r"\[ window size: (\w{1,20}) \]")
_BUFFERS = re.compile(r"Send Buffer on (\w{1,20}) .{0,20}Receive Buffer on (\w{1,20})")
_MEMORIES: Mapping[str, str] = {"H": "HOST", "D": "DEVICE", "M": "MANAGED", "MH": "HOST", "MD": "DEVICE"}
_TIMES = ("latency (us)", "avg latency(us)", "latency(us)", "avg lat(us)")
_OF_RANKS = ("min latency(us)", "max latency(us)")
_RATES = ("bandwidth (mb/s)", "mb/s")


def is_output(document: Document) -> bool:
    """Return whether a text has a title of an OSU micro-benchmark."""
    return any(_TITLE.match(line.text) for line in document.lines)


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every table of a file; benchmarks that measure something else are left out with a warning.

    Raises:
        MeasuredError: A row is malformed, or the number of ranks is missing.
    """
    return read_each(document, _TITLE, lambda part, part_warnings: _read(part, user_facts, part_warnings))


def _read(document: Document, user_facts: UserFacts, warnings: list[str]) -> list[Table]:
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    for index, line in enumerate(document.lines):
        title = _TITLE.match(line.text)
        if title is None:
            continue
        kind = _kind(title["what"])
        if kind is None:
            warnings.append(f'{document.name}:{line.number}: "OSU {title["what"][:60]}" is not imported')
            continue
        columns, start = _columns(document, index)
        lines, end = table_lines(document, start, _BELOW) if columns else ([], start)
        warnings += _invalid(document, end)
        lines = whole_rows(document, lines, warnings)
        if not lines:
            warnings.append(f"{document.name}:{line.number}: the title of a table without rows")
        rows = [_row(document, row, columns, kind) for row in lines]
        command = command_before(commands, line.number, kind.program)
        if rows:
            pairs = _pairs(document, index, start)
            ranks = 2 * pairs if pairs else _ranks(document, line, kind, command, user_facts)
            rows = [_of_pair(row, pairs) for row in rows] if pairs else rows
            warnings += _meaning(document, line, kind, rows, pairs)
            facts = _facts(title["what"], document, index, start)
            tables.append(
                Table(
                    kind.program,
                    kind.collective,
                    ranks,
                    "message",
                    line.number,
                    rows,
                    title["version"],
                    command,
                    facts,
                    settings={
                        "library": title["what"].split()[0],
                        **_buffers(command, kind.program),
                        **_settings(document, index, start),
                    },
                )
            )
            document.require_rows([table.rows for table in tables])
    return tables


def _invalid(document: Document, end: int) -> Iterator[str]:
    """Yield a warning if the check of values (`-c`) failed, which ends the table."""
    line = document.lines[end] if end < len(document.lines) else None
    if line is not None and line.text.strip().startswith(_INVALID):
        yield f"{document.name}:{line.number}: the run failed: {' '.join(line.text.split())[:_SHOWN]}"


def _meaning(
    document: Document, line: Line, kind: _Kind, rows: Sequence[Row], pairs: int | None
) -> Iterator[str]:
    """Yield a warning if the rates are not the printed ones."""
    position = f"{document.name}:{line.number}: {kind.program}"
    if kind.directions > 1:
        yield f"{position}: what is printed is the sum of both directions; here it is one, half of it"
    elif rows[0].gb_per_s is not None and pairs and pairs > 1:
        total = max(row.gb_per_s or 0.0 for row in rows) * pairs
        yield f"{position}: rates are of one of {pairs} pairs; all together have {total:.5g} GB/s at most"
    elif rows[0].time_us is not None and kind.collective == "send-receive":
        yield f"{position}: it measures times; rates here are size over time"


def _kind(title: str) -> _Kind | None:
    """Return the kind of a title such as `MPI-CUDA Allreduce Latency`."""
    words = title.lower().split()
    if not words or words[0].partition("-")[0] not in _LIBRARIES:
        return None
    return _KINDS.get(" ".join(words[1:]))


def _columns(document: Document, title_index: int) -> tuple[list[str], int]:
    """Return the columns of the table below a title, and the index of its first row; none without a table."""
    for index in range(title_index + 1, min(title_index + 12, len(document.lines))):
        text = document.lines[index].text.strip()
        if _TITLE.match(text):
            break
        if re.match(r"#?\s*size\b", text, re.IGNORECASE):
            names = [name.lower() for name in re.split(r"\s{2,}|\t", text.lstrip("# "))]
            if names[0] != "size" or len(set(names)) < len(names):
                expected = "columns, Size first, with two spaces or more between them"
                raise document.error(document.lines[index].number, shown(text), expected, ROW_HINT)
            return names, index + 1
    return [], title_index + 1


def _row(document: Document, line: Line, columns: Sequence[str], kind: _Kind) -> Row:
    cells = dict(zip(columns, document.cells(line, columns), strict=True))
    size = document.integer(line.number, "size", cells.pop("size"))
    verdict = cells.pop("validation", "")
    iterations = cells.pop("iterations", "")
    time = next((name for name in _TIMES if name in cells), None)
    rate = next((name for name in _RATES if name in cells), None)
    if time is None and rate is None:
        expected = "a latency or a bandwidth"
        raise document.error(line.number, f"columns {', '.join(columns)}", expected, ROW_HINT)
    values: dict[str, Value] = {
        name: document.number(line.number, name, cell)
        for name, cell in cells.items()
        if cell != "-" or name in (time, rate)
    }
    _require_message_rate(document, line.number, size, values)
    least, most = times_of_ranks(values, _OF_RANKS)
    return Row(
        line.number,
        size,
        time_us=None if time is None else float(values.pop(time)),
        rank_us_min=least,
        rank_us_max=most,
        gb_per_s=None if rate is None else float(values[rate]) / _MEGA_PER_GIGA / kind.directions,
        iterations=document.integer(line.number, "iterations", iterations) if iterations else None,
        wrong={"pass": 0, "fail": 1}.get(verdict.lower()),
        values=values,
    )


def _require_message_rate(document: Document, line: int, size: int, values: Mapping[str, Value]) -> None:
    """Refuse a row of osu_mbw_mr whose bandwidth is not its messages per second times their size.

    Raises:
        MeasuredError: It is not.
    """
    rate, messages = values.get("mb/s"), values.get("messages/s")
    if not (isinstance(rate, float) and isinstance(messages, float)):
        return
    counted = Interval.written(messages, 2).times(size / 1e6)
    if not Interval.written(rate, 2).meets(Interval(counted.low * 0.99, counted.high * 1.01)):
        expected = f"{counted.high:.2f}, which {messages:.2f} messages of {size} bytes make"
        raise document.error(line, f"{rate:.2f} MB/s", expected, ROW_HINT)


def _settings(document: Document, title_index: int, start: int) -> dict[str, str]:
    """Return the window and the memory of buffers that a head names."""
    texts = [line.text for line in document.lines[title_index:start]]
    windows = (_WINDOW.search(text) for text in texts)
    buffers = (_BUFFERS.search(text) for text in texts)
    settings = {"window size": next((match[1] for match in windows if match), "")}
    settings["buffers"] = next((f"{match[1]} to {match[2]}" for match in buffers if match), "")
    return {name: value for name, value in settings.items() if value}


def _buffers(command: str, program: str) -> dict[str, str]:
    """Return the memory of buffers that the end of a command names: `osu_bw -d cuda D D`."""
    words = re.split(r"\s[|>]", command)[0].split()
    indices = [index for index, word in enumerate(words) if word.rpartition("/")[2] == program]
    if not indices or len(words) < indices[-1] + 3:
        return {}
    ends = [_MEMORIES.get(word.strip("'\""), "") for word in words[-2:]]
    return {"buffers": " to ".join(ends)} if all(ends) else {}


def _pairs(document: Document, title_index: int, start: int) -> int | None:
    """Return the number of pairs that a head names; none if it names none."""
    matches = (_PAIRS.search(line.text) for line in document.lines[title_index:start])
    counts = [int(match[1]) for match in matches if match and len(match[1]) < 9]
    return next((count for count in counts if count), None)


def _of_pair(row: Row, pairs: int) -> Row:
    """Return a row with the rate of one pair."""
    from dataclasses import replace

    return row if row.gb_per_s is None else replace(row, gb_per_s=row.gb_per_s / pairs)


def _ranks(document: Document, line: Line, kind: _Kind, command: str, user_facts: UserFacts) -> int:
    if kind.program in _TWO_RANKS:
        return 2
    ranks = user_facts.ranks or launched_ranks(command, PROGRAM)
    if ranks is None:
        expected = f'the command line, such as "mpirun -np 8 {kind.program}", before the table'
        raise document.error(line.number, "a table of unknown ranks", expected, RANKS_HINT)
    return ranks


def _facts(title: str, document: Document, title_index: int, start: int) -> dict[str, Value]:
    library = title.split(maxsplit=1)[0]
    facts: dict[str, Value] = {} if library == "MPI" else {"library": library}
    kind = next(
        (line.text for line in document.lines[title_index : start + 3] if "Datatype:" in line.text), ""
    )
    return facts | ({"datatype": kind.partition("Datatype:")[2].strip(" .")[:80]} if kind else {})
