"""Parser of NCCL's RAS reports (`ncclras`, text or JSON): ranks that are behind, missing or dead.

`read` returns a `RasReport` with the facts of all reports of a file; `is_output` and `is_json` detect them. A
`Difference` has the ranks (`RankOf`) of a communicator in groups (`Group`); `Lost` is a line about ranks or
processes that did not answer. Counts are operations that a rank has launched. A report is one moment:
different counts are usual while a job runs, and mean a hang if a later report has the same. A file may have
several reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fabricbench.measured.file_text.document import Document
from fabricbench.measured.file_text.json_fields import documents_and_lines
from fabricbench.words import counted

NAME: Final = "nccl-ras"
_START: Final = re.compile(r"Job summary")
"""The head of a report; an excerpt may be without it."""
_IS_RAS: Final = re.compile(
    r"\d+ ranks have launched up to operation \d+|Communicator ranks have different .*"
    r"|#\d+-\d+ \([0-9a-f]+\) [A-Z, ]+|Communicators\.\.\. \(\d.*|Missing communicator data from \d+ .*"
    r"|\d+ job process(?:es)? (?:is|are) considered dead.*|\[[\d :.-]+\] PEER_\w+: .+"
)
_COMMUNICATOR: Final = re.compile(r"#(\d+-\d+) \((?:0x)?([0-9a-f]+)\)(?: (.*))?")
_DIFFERENT: Final = re.compile(r"Communicator ranks have different (?:(.+?)(?: operation)? counts|status)")
_GROUP: Final = re.compile(
    r"(\d+) ranks? (?:has|have) (?:launched up to operation (\d+)|not launched any operations?|status (\w+))"
)
_RANK: Final = re.compile(
    r"Rank (\d+)(?: has (?:launched up to operation (\d+)|(not launched any operations?)|status (\w+)))?"
    r" -- GPUs? (\S+(?: \S+)?) managed by process (\d+) on node (\S+)"
)
_MISSING: Final = re.compile(r"The missing ranks?: (.+)")
_PROCESS: Final = re.compile(r"Process (\d+) on node (\S+) managing GPUs? (.+)")
_DEAD: Final = re.compile(r"(\d+) job process(?:es)? (?:is|are) considered dead.*")
_UNRESPONSIVE: Final = re.compile(r"Missing communicator data from (\d+) job process(?:es)?.*")
_NO_COMMA: Final = re.compile(r'([\d"el\]}])([ \t]*\n\s*)("[^"\n]*"\s*:)')
"""Where NCCL 2.28.9 leaves a comma out in its JSON."""
_JOB: Final = re.compile(r"(\d+)\s+\d+(?:-\d+)?\s+\d+(?:-\d+)?\s+(\d+)\s+(\d+)")
"""Nodes, processes of a node, GPUs of a process, processes, GPUs."""
_OF_GROUP: Final = re.compile(r"\d+\s+(\d+)(?:\s+\d+(?:-\d+)?){4}\s+[A-Z]+\s+([A-Z]+)")
"""Group, its communicators, nodes, ranks of a node, ranks, ranks in all, status, errors."""
_TIMEOUTS: Final = re.compile(r"Encountered (\d+) communication timeouts?\b.*")
_EVENT: Final = re.compile(r"\[[\d :.-]+\] (PEER_\w+): (.+)")
"""A line of the monitoring mode."""
_PEER_DEAD: Final = "PEER_DEAD"
_ERRORS: Final = ("ERROR", "ABORT")
_NO_ERRORS: Final = (0, 7)
"""`ncclSuccess` and `ncclInProgress`."""
_STATUS: Final = "status"
_RUNNING: Final = "RUNNING"
_IN_PROGRESS: Final = 7
"""`ncclInProgress` of `ncclResult_t`: a communicator that is set up is no error."""


@dataclass(frozen=True)
class RankOf:
    """A rank that a report names, with its GPU, process and node; empty where the report has none."""

    rank: int
    gpu: str = ""
    pid: str = ""
    host: str = ""

    def __str__(self) -> str:
        location = f" (GPU {self.gpu}, process {self.pid} on {self.host})" if self.host else ""
        return f"rank {self.rank}{location}"


@dataclass
class Group:
    """Ranks of a communicator with the same number of launched operations, or with one status.

    Attributes:
        launched: Operations that they have launched; none for a group by status.
        count: Number of ranks.
        named: The ranks that the report names.
        status: Their status, for a group by status.
    """

    launched: int | None
    count: int
    named: list[RankOf] = field(default_factory=list)
    status: str = ""


@dataclass
class Difference:
    """Ranks of a communicator that differ in launched operations or status.

    Attributes:
        communicator: Its hash.
        operation: The collective, `collective` for all of them, or `status`.
        line: Line of the report.
        groups: Ranks by launched operations or status.
        report: Number of the report, from 0.
    """

    communicator: str
    operation: str
    line: int
    report: int
    groups: list[Group] = field(default_factory=list)

    @property
    def statuses(self) -> set[str]:
        """Statuses of its groups; empty for groups by operations."""
        return {group.status for group in self.groups} - {""}

    @property
    def most(self) -> int:
        """Most operations that a rank has launched."""
        return max((group.launched for group in self.groups if group.launched is not None), default=0)

    @property
    def behind(self) -> list[Group]:
        """Groups that have launched less, the last first."""
        groups = [group for group in self.groups if group.launched is not None and group.launched < self.most]
        return sorted(groups, key=lambda group: group.launched or 0)

    @property
    def ranks(self) -> int:
        """Number of ranks of all groups."""
        return sum(group.count for group in self.groups)


@dataclass(frozen=True)
class Lost:
    """A line of a report about processes or ranks that did not answer, or about an error.

    Attributes:
        line: Line of the report.
        text: Text of the report.
        is_dead: Whether it considers them dead, not only unresponsive.
        report: Number of the report.
    """

    line: int
    text: str
    is_dead: bool
    report: int


@dataclass
class RasReport:
    """Facts of all reports of a file.

    Attributes:
        reports: Number of reports.
        differences: Communicators whose ranks differ.
        lost: Processes and ranks that did not answer.
        errors: Communicators that report errors.
        communicators: Number of listed communicators; in text those of the groups.
        job: Nodes, processes and GPUs of the last report, for JSON its communicators, in words; empty if the
            report has none.
        groups: Number of communicators for each state in its table of groups.
        timeouts: Its line about timeouts while it queried the processes.
    """

    reports: int = 0
    differences: list[Difference] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    errors: list[Lost] = field(default_factory=list)
    communicators: int = 0
    job: str = ""
    groups: dict[str, int] = field(default_factory=dict)
    timeouts: str = ""

    @property
    def summary(self) -> list[str]:
        """Job and communicators of the last report, in words."""
        states = ", ".join(f"{count:,} {state}" for state, count in self.groups.items())
        communicators = counted(sum(self.groups.values()), "communicator")
        return [*([self.job] if self.job else []), *([f"{communicators} ({states})"] if states else [])]


def is_output(document: Document) -> bool:
    """Return whether a text is a report of RAS."""
    return any(_IS_RAS.fullmatch(line.text.strip()) for line in document.lines)


def is_json(content: Any) -> bool:
    """Return whether a JSON document is a report of RAS, or an event of its monitoring mode."""
    if not isinstance(content, dict):
        return False
    is_listed = isinstance(content.get("communicators"), list) and "nccl_version" in content
    return is_listed or _is_event(content)


def _is_event(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("peer"), dict) and str(content.get("event", "")).startswith("PEER_")


def read(document: Document) -> RasReport | None:
    """Read the reports of a file, as text or JSON; none if it has none.

    Raises:
        MeasuredError: It is JSON that is cut off.
    """
    if document.text.lstrip().startswith("{"):
        if '"communicators"' not in document.text and '"PEER_' not in document.text:
            return None
        mended = Document(document.name, _NO_COMMA.sub(r"\1,\2\3", document.text))
        contents = documents_and_lines(mended)
        if not all(is_json(content) for _, content in contents):
            return None
        return _of_json(contents)
    return _Text().read(document) if is_output(document) else None


class _Text:
    """Reads the text of reports line by line."""

    def __init__(self) -> None:
        self.facts = RasReport()
        self._communicator = ""
        self._difference: Difference | None = None
        self._is_dead = False

    def read(self, document: Document) -> RasReport:
        for line in document.lines:
            self._take(line.text.strip(), line.number)
        self.facts.reports = max(self.facts.reports, 1)
        return self.facts

    def _take(self, text: str, line: int) -> None:
        report = max(self.facts.reports - 1, 0)
        if _START.fullmatch(text):
            self.facts.reports += 1
            self._difference, self._communicator = None, ""
            self.facts.job, self.facts.groups, self.facts.timeouts = "", {}, ""
        elif match := _JOB.fullmatch(text):
            nodes, processes, gpus = map(int, match.groups())
            running = f"{processes:,} process{'' if processes == 1 else 'es'}"
            self.facts.job = f"{counted(nodes, 'node')}, {running}, {counted(gpus, 'GPU')}"
        elif match := _OF_GROUP.fullmatch(text):
            self.facts.groups[match[2]] = self.facts.groups.get(match[2], 0) + int(match[1])
        elif _TIMEOUTS.fullmatch(text):
            self.facts.timeouts = text
        elif match := _COMMUNICATOR.fullmatch(text):
            self._communicator, self._difference = match[2], None
            if any(word in (match[3] or "") for word in _ERRORS):
                self.facts.errors.append(Lost(line, text, False, report))
            self.facts.communicators += 1
        elif match := _DIFFERENT.fullmatch(text):
            name = (match[1] or _STATUS).removesuffix(" operation")
            self._difference = Difference(self._communicator, name, line, report)
            self.facts.differences.append(self._difference)
        elif self._difference is not None and (match := _GROUP.fullmatch(text)):
            launched = None if match[3] else int(match[2] or 0)
            self._difference.groups.append(Group(launched, int(match[1]), status=match[3] or ""))
        elif self._difference is not None and (match := _RANK.fullmatch(text)):
            self._name(self._difference, match)
        else:
            self._take_lost(text, line, report)

    def _name(self, difference: Difference, match: re.Match[str]) -> None:
        """Add a named rank to the last group, or as a new group if its line has a count or status."""
        rank = RankOf(int(match[1]), match[5], match[6], match[7])
        if match[2] or match[3] or match[4]:
            launched = None if match[4] else int(match[2] or 0)
            difference.groups.append(Group(launched, 1, [rank], match[4] or ""))
        elif difference.groups:
            difference.groups[-1].named.append(rank)

    def _take_lost(self, text: str, line: int, report: int) -> None:
        if event := _EVENT.fullmatch(text):
            self.facts.lost.append(Lost(line, text, event[1] == _PEER_DEAD, report))
        elif _DEAD.fullmatch(text):
            self._is_dead = True
            self.facts.lost.append(Lost(line, text, True, report))
        elif _UNRESPONSIVE.fullmatch(text):
            self._is_dead = False
            self.facts.lost.append(Lost(line, text, False, report))
        elif _PROCESS.fullmatch(text) or _MISSING.fullmatch(text):
            is_process = bool(_PROCESS.fullmatch(text))
            is_dead = self._is_dead and is_process
            if self._communicator and not is_process:
                text = f"{text} (communicator {self._communicator})"
            self.facts.lost.append(Lost(line, text, is_dead, report))


def _of_json(contents: Sequence[tuple[int, Any]]) -> RasReport:
    report = RasReport(reports=len(contents))
    for number, (line, content) in enumerate(contents):
        if _is_event(content):
            peer, event = content["peer"], content["event"]
            text = f"{event}: process {peer.get('pid', '?')} on {peer.get('host', '?')}"
            report.lost.append(Lost(line, text, event == _PEER_DEAD, number))
            continue
        report.job = counted(len(content["communicators"]), "communicator")
        for communicator in content["communicators"]:
            if isinstance(communicator, dict):
                report.communicators += 1
                report.differences += _differences(communicator, line, number)
                report.differences += _states(communicator, line, number)
                report.lost += _lost(communicator, line, number)
                report.errors += _errors(communicator, line, number)
    return report


def _differences(communicator: Mapping[str, Any], line: int, report: int) -> Iterator[Difference]:
    """Yield the collectives that ranks of a communicator have launched in different numbers."""
    ranks = [rank for rank in communicator.get("ranks", ()) if isinstance(rank, dict)]
    names = dict.fromkeys(name for rank in ranks for name in rank.get("collective_counts", {}))
    for name in names:
        groups: dict[int, Group] = {}
        for rank in ranks:
            launched = rank.get("collective_counts", {}).get(name)
            if isinstance(launched, int):
                group = groups.setdefault(launched, Group(launched, 0))
                group.count += 1
                group.named.append(_rank(rank))
        if len(groups) > 1:
            key = str(communicator.get("hash", "")).removeprefix("0x")
            yield Difference(key, name, line, report, list(groups.values()))


def _states(communicator: Mapping[str, Any], line: int, report: int) -> Iterator[Difference]:
    """Yield the difference if ranks are in different states, by the names of the text form."""
    groups: dict[str, Group] = {}
    for each in communicator.get("ranks", ()):
        status = each.get("status") if isinstance(each, dict) else None
        if isinstance(status, dict) and (state := _state(status)):
            group = groups.setdefault(state, Group(None, 0, status=state))
            group.count += 1
            group.named += [] if state == _RUNNING else [_rank(each)]
    if len(groups) > 1:
        key = str(communicator.get("hash", "")).removeprefix("0x")
        yield Difference(key, _STATUS, line, report, sorted(groups.values(), key=lambda each: -each.count))


def _state(status: Mapping[str, Any]) -> str:
    """Return the state of a rank; empty for one that ended with an error."""
    if status.get("abort_flag") is True:
        return "ABORT"
    if status.get("finalize_called") is True or status.get("destroy_flag") is True:
        return "FINALIZE"
    return {0: _RUNNING, _IN_PROGRESS: "INIT"}.get(status.get("init_state", 0), "")


def _rank(entry: Mapping[str, Any]) -> RankOf:
    # `cuda_dev` counts only the GPUs that the process sees: 0 of each with one GPU for a process.
    gpu = entry.get("nvml_dev")
    gpu = str(entry.get("cuda_dev", "") if gpu in (None, -1) else gpu)
    pid, host = (str(entry.get(name, "")) for name in ("pid", "host"))
    number = entry.get("rank")
    return RankOf(number if isinstance(number, int) else -1, gpu, pid, host)


def _errors(communicator: Mapping[str, Any], line: int, report: int) -> Iterator[Lost]:
    """Yield the ranks whose initialisation or operations ended with an error: `ncclResult_t` but 0 and 7."""
    for rank in communicator.get("ranks", ()):
        status = rank.get("status") if isinstance(rank, dict) else None
        values = status if isinstance(status, dict) else {}
        for name in ("init_state", "async_error"):
            if values.get(name) not in (None, *_NO_ERRORS):
                text = f"{_rank(rank)} of {communicator.get('hash', '?')}: {name} {values[name]}"
                yield Lost(line, text, False, report)


def _lost(communicator: Mapping[str, Any], line: int, report: int) -> Iterator[Lost]:
    missing = communicator.get("missing_ranks")
    for rank in missing if isinstance(missing, list) else ():
        if isinstance(rank, dict):
            status = rank.get("status")
            is_dead = isinstance(status, dict) and status.get("considered_dead") is True
            state = "considered dead" if is_dead else "unresponsive"
            yield Lost(
                line, f"{_rank(rank)} of {communicator.get('hash', '?')}: missing, {state}", is_dead, report
            )
