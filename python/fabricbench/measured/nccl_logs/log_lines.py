"""NCCL's log (`NCCL_DEBUG=INFO`) within the output of nccl-tests: joins split rows, reads algorithm choices.

nccl-tests prints a row in three parts, and NCCL's log lines may be written between them without a line break;
`mended` joins these rows. With `NCCL_DEBUG_SUBSYS=TUNING` NCCL logs algorithm and protocol of each call
(`ncclGetAlgoInfo` and its successors in src/enqueue.cc); `choices` reads them, `has_choices` detects them and
`chosen_for` returns those of a result. These lines have no times, so they are no results. `host_of` returns
the host of a log line; `algorithm_name` and `protocol_name` normalise names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Final

from fabricbench.measured.file_text.line import Line

_HOST: Final = re.compile(r"([^\s:\[\]<>]{1,255}):\d+:\d+ ")
_PREFIX_MAX: Final = 400
"""Characters at the start of a line in which its host is searched, after the prefixes of a launcher."""
_LOG = re.compile(r"^\s*(?:\[[^\]]{1,60}\] )?([^\s:]{1,255}):\d+:\d+ \[[^\]]{1,20}\] NCCL ")
_DEVICE = re.compile(r"\bRank +\d+ .{0,60}? on +([^\s:]{1,255}) +device ")
_ROW = re.compile(r"\s*\d+\s+\d+\s+[A-Za-z]\w*\s")
_REST = re.compile(r"\s*(?:\d|\.\d|N/A)")
_PROCESS = re.compile(r":\d+:\d+ {1,3}(?:\[\d+\] )?NCCL ")
_TIME = re.compile(r"\[\d{4}-[^\]]{1,40}\] $")
_CHOICE = re.compile(
    r"(?:^|\s)(?:(\w{1,40}): +)?(\d{1,19}) Bytes -> Algo (\w{1,20}) proto (\w{1,20})"
    r"(?:.{0,40}?channel\{Lo\.\.Hi\}=\{(\d{1,4})\.\.(\d{1,4})\})?"
)
_ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
_PROTOCOLS = ("LL", "LL128", "Simple")
"""In the order of their numbers (src/include/nccl_tuner.h)."""
_FUNCTIONS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "alltoall",
}
Choices = Mapping[tuple[str, int], Mapping[str, str]]
"""`algorithm`, `protocol` and `channels` by function, empty if the line has none, and number of bytes."""


def host_of(text: str) -> str:
    """Return the host at the beginning of a log line of NCCL; empty if there is none."""
    match = _HOST.search(text, 0, _PREFIX_MAX)
    return match[1] if match else ""


def mended(lines: Sequence[Line]) -> list[Line]:
    """Join the rows that NCCL's log has split; each is at the position of its last part."""
    logs = (_LOG.match(line.text) for line in lines if "] NCCL " in line.text)
    devices = (_DEVICE.search(line.text) for line in lines if " device " in line.text)
    hosts = {match[1] for match in chain(logs, devices) if match}
    whole_lines: list[Line] = []
    row: Line | None = None
    for line in lines:
        is_row, is_rest = bool(_ROW.match(line.text)), row is not None and bool(_REST.match(line.text))
        start = _start_of_log(hosts, line.text) if is_row or is_rest else None
        if start:
            whole_lines += [row] if row is not None and is_row else []
            row = _joined(None if is_row else row, line, line.text[:start])
            whole_lines.append(line.with_text(line.text[start:]))
        elif start is None and is_rest and not is_row:
            whole_lines.append(_joined(row, line, line.text))
            row = None
        elif start is None and row is not None and line.text.strip() and not line.is_noise:
            whole_lines += [row, line]  # the parser of the row reports the missing cells
            row = None
        else:
            whole_lines.append(line)
    return whole_lines if row is None else [*whole_lines, row]


def _start_of_log(hosts: Set[str], text: str) -> int | None:
    """Return the position in a line at which a log line of a known host begins; none if there is none."""
    log = _PROCESS.search(text)
    if log is None:
        return None
    word_start = text.rfind(" ", 0, log.start()) + 1
    # The root of the row may be directly before the host, so the longest known host is taken.
    start = next(
        (index for index in range(word_start, log.start()) if text[index : log.start()] in hosts), None
    )
    if start is None:
        return None
    time = _TIME.search(text, max(start - 64, 0), start)
    return time.start() if time else start


def _joined(row: Line | None, line: Line, piece: str) -> Line:
    return line.with_text(piece) if row is None else row.with_text(f"{row.text} {piece}")


def choices(lines: Iterable[Line]) -> dict[tuple[str, int], dict[str, str]]:
    """Return NCCL's choices for each function and number of bytes; several are separated by commas."""
    choices_by_call: dict[tuple[str, int], dict[tuple[str, str, str], None]] = {}
    for match in chain.from_iterable(
        _CHOICE.finditer(line.text) for line in lines if " -> Algo " in line.text
    ):
        function = (match[1] or "").lower()
        key = _FUNCTIONS.get(function, function), int(match[2])
        channels = str(int(match[6]) - int(match[5]) + 1) if match[5] else ""
        choice = algorithm_name(match[3]), protocol_name(match[4]), channels
        choices_by_call.setdefault(key, {})[choice] = None
    return {key: dict(_texts(list(calls))) for key, calls in choices_by_call.items()}


def _texts(algorithm_choices: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    for name, texts in zip(
        ("algorithm", "protocol", "channels"), zip(*algorithm_choices, strict=True), strict=True
    ):
        labels = [text for text in dict.fromkeys(texts) if text]
        if labels:
            yield name, ", ".join(labels)[:80]


def algorithm_name(text: str) -> str:
    """Return NCCL's spelling of an algorithm, also from its number or another case."""
    return _named(text, _ALGORITHMS)


def protocol_name(text: str) -> str:
    """Return NCCL's spelling of a protocol, also from its number or another case."""
    return _named(text, _PROTOCOLS)


def _named(text: str, names: Sequence[str]) -> str:
    if text.isascii() and text.isdecimal():
        return names[int(text)] if int(text) < len(names) else text
    return next((name for name in names if name.lower() == text.lower().replace("_", "")), text)


def chosen_for(algorithms: Choices, benchmark: str, size_bytes: int) -> Mapping[str, str]:
    """Return NCCL's choices for the calls of a result; empty without any."""
    return algorithms.get((benchmark, size_bytes)) or algorithms.get(("", size_bytes)) or {}


def has_choices(lines: Iterable[Line]) -> bool:
    """Return whether a line has a choice of NCCL."""
    return any(" -> Algo " in line.text and _CHOICE.search(line.text) for line in lines)
