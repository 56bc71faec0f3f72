"""Causes that NCCL's RAS report speaks for: ranks that are behind or gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench.measured.examined import CERTAIN, LIKELY, POSSIBLE, Examined, Suspect
from fabricbench.measured.ras import Difference, Group, RasReport

_NAMED_MAX: Final = 8
_LINES_MAX: Final = 6
_AGAIN: Final = (
    "`ncclras` again after 10 s: the same counts mean a hang, then `py-spy dump` or gdb of the processes "
    "that are behind, `nvidia-smi` and `dmesg` (Xid) of their node; counts that grow with the same ranks "
    "behind mean a slow host (load, clocks, data loader)"
)


def lost_processes(case: Examined) -> Iterator[Suspect]:
    """Processes that RAS does not reach."""
    report = case.ras
    if report is None or not report.lost:
        return
    last = [each for each in report.lost if each.report == report.reports - 1] or report.lost
    is_dead = any(each.is_dead for each in last)
    yield Suspect(
        "process-lost",
        "a process of the job is dead: the collectives of its ranks never end"
        if is_dead
        else "a process of the job does not answer (stopped, hung or cut off): its ranks' collectives wait",
        CERTAIN if is_dead else LIKELY,
        [f"line {each.line}: {each.text}" for each in last[:_LINES_MAX]],
        "the process on its node: `ps`, the last lines of its log, `dmesg` (out of memory, Xid); the "
        "management network between the nodes, which RAS uses",
    )


def communicator_errors(case: Examined) -> Iterator[Suspect]:
    """Communicators that report errors."""
    report = case.ras
    if report is not None and report.errors:
        yield Suspect(
            "communicator-error",
            "NCCL reports an error in a communicator: its operations fail or never end",
            LIKELY,
            [f"line {each.line}: {each.text}" for each in report.errors[:_LINES_MAX]],
            "NCCL_DEBUG=WARN of these ranks: the first `NCCL WARN` says why; `dmesg` (Xid) of their nodes",
        )


def ranks_differ(case: Examined) -> Iterator[Suspect]:
    """Ranks of a communicator that are in different states, as while it is set up or ends."""
    report = case.ras
    differing = [each for each in report.differences if len(each.statuses) > 1] if report is not None else []
    if differing:
        yield Suspect(
            "ranks-differ",
            "ranks of a communicator are in different states, as while it is set up or ends",
            POSSIBLE,
            [
                f"line {each.line}: communicator {each.communicator}: {_states(each)}"
                for each in differing[:_LINES_MAX]
            ],
            "`ncclras` again after 10 s: states that stay mean ranks that wait in ncclCommInitRank or "
            "ncclCommFinalize for those that are missing",
        )


def _states(difference: Difference) -> str:
    return ", ".join(
        f"{each.count} {each.status}{_named(each) if each.named else ''}" for each in difference.groups
    )


def ranks_behind(case: Examined) -> Iterator[Suspect]:
    """Ranks that have launched fewer operations than others of their communicator."""
    report = case.ras
    if report is None:
        return
    last = [each for each in report.differences if each.report == report.reports - 1 and each.behind]
    if not last:
        return
    stuck = [each for each in last if _stands_still(each, report)]
    lines = [line for each in (stuck or last) for line in _lines(each)]
    worst = max(stuck or last, key=lambda each: each.most - (each.behind[0].launched or 0))
    yield Suspect(
        "ranks-behind",
        f"{_told(worst)}; the counts are the same in an earlier report: a hang"
        if stuck
        else f"{_told(worst)}; of one moment, which may be chance while a job runs",
        LIKELY if stuck else POSSIBLE,
        lines[:_LINES_MAX],
        _AGAIN,
    )


def _told(difference: Difference) -> str:
    behind = difference.behind
    gap = difference.most - (behind[0].launched or 0)
    count = sum(each.count for each in behind)
    what = "operation" if gap == 1 else "operations"
    ranks = "rank is" if count == 1 else "ranks are"
    up_to = "" if len(behind) == 1 else "up to "
    return f"{count} of {difference.ranks} {ranks} {up_to}{gap} {what} behind the others"


def _lines(difference: Difference) -> Iterator[str]:
    kind = "" if difference.operation == "collective" else f" of {difference.operation}"
    for group in difference.behind:
        told = f"{group.count} at operation {group.launched}{kind}, others at {difference.most}"
        yield f"line {difference.line}: communicator {difference.communicator}: {told}{_named(group)}"


def _named(group: Group) -> str:
    shown = ", ".join(map(str, group.named[:_NAMED_MAX]))
    rest = group.count - min(len(group.named), _NAMED_MAX)
    more = f", {rest} {'more' if shown else 'that the report does not name'}" if rest else ""
    return f": {shown}{more}" if shown else more


def _stands_still(difference: Difference, report: RasReport) -> bool:
    """Tell whether an earlier report has the same communicator with the same counts."""

    def counts(each: Difference) -> Sequence[tuple[int | None, int]]:
        return sorted(((group.launched, group.count) for group in each.groups), key=str)

    return any(
        other.report < difference.report
        and (other.communicator, other.operation) == (difference.communicator, difference.operation)
        and counts(other) == counts(difference)
        for other in report.differences
    )
