"""Finds causes of a hang in NCCL's RAS report: lost processes, errors, ranks that differ or are behind.

Rules: `lost_processes`, `communicator_errors`, `ranks_differ`, `usual_difference`, `ranks_behind`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench.measured.causes.evidence import AS_EXPECTED, CERTAIN, LIKELY, POSSIBLE, Suspect
from fabricbench.measured.nccl_logs.ras_report import Difference, Group, RasReport
from fabricbench.measured.rule_input import RuleInput

_RANKS_SHOWN_MAX: Final = 8
_LINES_MAX: Final = 6
_REPEAT_HINT: Final = (
    "`ncclras` again after 10 s: the same counts mean a hang, then `py-spy dump` or gdb of the processes "
    "that are behind, `nvidia-smi` and `dmesg` (Xid) of their node; counts that grow with the same ranks "
    "behind mean a slow host (load, clocks, data loader)"
)


def lost_processes(case: RuleInput) -> Iterator[Suspect]:
    """Processes that do not answer RAS."""
    report = case.ras
    if report is None or not report.lost:
        return
    last = [lost for lost in report.lost if lost.report == report.reports - 1] or report.lost
    is_dead = any(lost.is_dead for lost in last)
    yield Suspect(
        "process-lost",
        "a process of the job is dead: the collectives of its ranks never end"
        if is_dead
        else "a process of the job does not answer (stopped, hung or cut off): its ranks' collectives wait",
        CERTAIN if is_dead else LIKELY,
        [f"line {lost.line}: {lost.text}" for lost in last[:_LINES_MAX]],
        "the process on its node: `ps`, the last lines of its log, `dmesg` (out of memory, Xid); the "
        "management network between the nodes, which RAS uses",
    )


def communicator_errors(case: RuleInput) -> Iterator[Suspect]:
    """Communicators that report errors."""
    report = case.ras
    if report is not None and report.errors:
        yield Suspect(
            "communicator-error",
            "NCCL reports an error in a communicator: its operations fail or never end",
            LIKELY,
            [f"line {error.line}: {error.text}" for error in report.errors[:_LINES_MAX]],
            "NCCL_DEBUG=WARN of these ranks: the first `NCCL WARN` says why; `dmesg` (Xid) of their nodes",
        )


def ranks_differ(case: RuleInput) -> Iterator[Suspect]:
    """Ranks of a communicator that called different operations, or are in different states."""
    report = case.ras
    crossed = _crossed(report) if report is not None else []
    if crossed:
        yield Suspect(
            "ranks-differ",
            "ranks called different operations: some are ahead in one and behind in another, which no delay "
            "does",
            LIKELY,
            crossed[:_LINES_MAX],
            _MISMATCH,
        )
        return
    differing = (
        [difference for difference in report.differences if len(difference.statuses) > 1]
        if report is not None
        else []
    )
    if differing:
        yield Suspect(
            "ranks-differ",
            "ranks of a communicator are in different states, as while it is set up or ends",
            POSSIBLE,
            [
                f"line {difference.line}: communicator {difference.communicator}: {_states(difference)}"
                for difference in differing[:_LINES_MAX]
            ],
            "`ncclras` again after 10 s: states that stay mean ranks that wait in ncclCommInitRank or "
            "ncclCommFinalize for those that are missing",
        )


_MISMATCH: Final = (
    "the program of the ranks named: a branch that calls another collective, or in another order, on some "
    "ranks (`TORCH_DISTRIBUTED_DEBUG=DETAIL`, NCCL flight recorder); `ncclras` again shows counts that stay"
)


def _crossed(report: RasReport) -> list[str]:
    """Return lines on ranks with more calls of one operation and fewer of another than the other ranks.

    The calls of a late rank are a prefix of those of the others, so that none of its counts is above theirs:
    counts that cross mean different calls.
    """
    last = [difference for difference in report.differences if difference.report == report.reports - 1]
    lines: list[str] = []
    for name in dict.fromkeys(difference.communicator for difference in last):
        deviations = [
            (difference, _deviations(difference)) for difference in last if difference.communicator == name
        ]
        less = [
            (difference, rank_name)
            for difference, deviation in deviations
            for rank_name, gap in deviation.items()
            if gap < 0
        ]
        more = {rank_name for _, deviation in deviations for rank_name, gap in deviation.items() if gap > 0}
        if any(rank_name in more for _, rank_name in less):
            lines += [
                f"line {difference.line}: communicator {name}: {_counts(difference)}"
                for difference, deviation in deviations
                if deviation
            ]
    return lines


def _deviations(difference: Difference) -> dict[str, int]:
    """Return the deviation of ranks, or of groups without names, from the count of most ranks."""
    groups = [group for group in difference.groups if group.launched is not None]
    if len(groups) < 2:
        return {}
    usual = max(groups, key=lambda group: group.count)
    deviations: dict[str, int] = {}
    for group in groups:
        if group is not usual:
            names = [str(rank.rank) for rank in group.named] or [f"{group.count} ranks"]
            deviations |= dict.fromkeys(names, (group.launched or 0) - (usual.launched or 0))
    return deviations


def _counts(difference: Difference) -> str:
    return f"{difference.operation}: " + ", ".join(
        f"{group.count} at {group.launched}{_rank_list(group)}"
        for group in sorted(difference.groups, key=lambda group: -group.count)
    )


def usual_difference(case: RuleInput) -> Iterator[Suspect]:
    """A difference of few operations on several nodes, as any report of a running job has."""
    report = case.ras
    if report is None or report.lost or report.errors or _crossed(report):
        return
    last_differences = [
        difference for difference in report.differences if difference.report == report.reports - 1
    ]
    if not last_differences or any(
        difference.statuses or not difference.behind for difference in last_differences
    ):
        return
    gap = max(difference.most - (difference.behind[0].launched or 0) for difference in last_differences)
    ranks = [rank for difference in last_differences for group in difference.behind for rank in group.named]
    behind = max(sum(group.count for group in difference.behind) for difference in last_differences)
    is_spread = len({rank.host for rank in ranks}) > 1 or (not ranks and behind > 1)
    if (
        gap <= _USUAL_GAP
        and is_spread
        and not any(_is_unchanged(difference, report) for difference in last_differences)
    ):
        yield Suspect(
            AS_EXPECTED,
            "ranks of several nodes are a moment behind, as in any report of a job that runs",
            POSSIBLE,
            [line for difference in last_differences for line in _lines(difference)][:_LINES_MAX],
            _REPEAT_HINT,
        )


_USUAL_GAP: Final = 2
"""Operations by which ranks differ while a job runs, as each is queried at another moment. Assumption."""


def _states(difference: Difference) -> str:
    return ", ".join(
        f"{group.count} {group.status}{_rank_list(group) if group.named else ''}"
        for group in difference.groups
    )


def ranks_behind(case: RuleInput) -> Iterator[Suspect]:
    """Ranks that have launched fewer operations than others of their communicator."""
    report = case.ras
    if report is None:
        return
    last_differences = [
        difference
        for difference in report.differences
        if difference.report == report.reports - 1 and difference.behind
    ]
    if not last_differences:
        return
    stuck = [difference for difference in last_differences if _is_unchanged(difference, report)]
    lines = [line for difference in (stuck or last_differences) for line in _lines(difference)]
    worst = max(
        stuck or last_differences,
        key=lambda difference: difference.most - (difference.behind[0].launched or 0),
    )
    yield Suspect(
        "ranks-behind",
        f"{_summary(worst)}; the counts are the same in an earlier report: a hang"
        if stuck
        else f"{_summary(worst)}; of one moment, which may be chance while a job runs",
        LIKELY if stuck else POSSIBLE,
        lines[:_LINES_MAX],
        _REPEAT_HINT,
    )


def _summary(difference: Difference) -> str:
    behind = difference.behind
    gap = difference.most - (behind[0].launched or 0)
    count = sum(group.count for group in behind)
    unit = "operation" if gap == 1 else "operations"
    ranks = "rank is" if count == 1 else "ranks are"
    up_to = "" if len(behind) == 1 else "up to "
    return f"{count} of {difference.ranks} {ranks} {up_to}{gap} {unit} behind the others"


def _lines(difference: Difference) -> Iterator[str]:
    kind = "" if difference.operation == "collective" else f" of {difference.operation}"
    for group in difference.behind:
        counts = f"{group.count} at operation {group.launched}{kind}, others at {difference.most}"
        yield f"line {difference.line}: communicator {difference.communicator}: {counts}{_rank_list(group)}"


def _rank_list(group: Group) -> str:
    shown = ", ".join(map(str, group.named[:_RANKS_SHOWN_MAX]))
    rest = group.count - min(len(group.named), _RANKS_SHOWN_MAX)
    omission = f", {rest} {'more' if shown else 'that the report does not name'}" if rest else ""
    return f": {shown}{omission}" if shown else omission


def _is_unchanged(difference: Difference, report: RasReport) -> bool:
    """Return whether an earlier report has the same communicator with the same counts."""

    def counts(report_difference: Difference) -> Sequence[tuple[int | None, int]]:
        return sorted(((group.launched, group.count) for group in report_difference.groups), key=str)

    return any(
        other.report < difference.report
        and (other.communicator, other.operation) == (difference.communicator, difference.operation)
        and counts(other) == counts(difference)
        for other in report.differences
    )
