"""Builds the table of failures: each job's rate before, during and after them, and its recovery."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.causes.finding import time_words
from fabricbench.analysis.faults.recovery import THRESHOLD, Recovery
from fabricbench.figures.scales import significant
from fabricbench.report.documents.table import Cell, Column, Note, Row, Table

_CAPTION = (
    f"Rates are payload delivered. A dip is a rate below {100 * THRESHOLD:.0f} % of the mean before the "
    "first failure. A job has recovered when it is back above, in the mean of all that follows as well; one "
    "that has not is steady when it reached the rate it kept. After is the mean from then on to the next "
    "failure or repair. Frames lost are those of the whole fabric until the next failure or repair, or the "
    "end. Rounds are means: of those that ended before, were under way, began later."
)
_UPLINKS_MAX = 8
_COLUMNS = (
    Column("at"),
    Column("job", is_text=True),
    Column("before", "GB/s"),
    Column("lowest", "GB/s"),
    Column("after", "GB/s"),
    Column("after", "% of before"),
    Column("recovered", "after", is_text=True),
    Column("lost", "frames"),
    Column("round before", "ms", head=("round ms", "before")),
    Column("round during", "ms", head=("", "during")),
    Column("round after", "ms", head=("", "after")),
    Column("what", is_text=True),
    Column("uplinks left", is_text=True),
)


def recovery_table(recoveries: Sequence[Recovery], unreached: Sequence[str], most: int) -> Table | None:
    """Return the effect of each failure and repair on each job, or `None` without failures.

    Args:
        recoveries: Recoveries of the jobs.
        unreached: Descriptions of failures scheduled after the end of the run.
        most: Maximum number of rows, and of such descriptions.
    """
    if not recoveries and not unreached:
        return None
    rows = [_row(recovery) for recovery in recoveries[:most]]
    omitted = len(recoveries) - most
    omission = [f"and {omitted} more; --format json has all"] if omitted > 0 else []
    notes: list[Note | str] = [*omission, *(Note(text, "bad") for text in unreached[:most])]
    title = "failures and recovery"
    if not rows:
        return Table((), rows, title=title, notes=notes)
    window = time_words(max(recovery.window_ps for recovery in recoveries))
    return Table(_COLUMNS, rows, _CAPTION, f"{title}, rates averaged over {window}", notes)


def _row(recovery: Recovery) -> Row:
    step = recovery.step
    rounds = (recovery.rounds_before_ms, recovery.rounds_during_ms, recovery.rounds_after_ms)
    return Row(
        [
            time_words(step.at_ps),
            recovery.job,
            significant(recovery.rate_before_gb_per_s),
            significant(recovery.rate_low_gb_per_s),
            _number(recovery.rate_after_gb_per_s),
            _number(recovery.after_percent, 3),
            _recovery_text(recovery),
            f"{recovery.lost_frames:,}",
            *map(_number, rounds),
            "; ".join(step.what),
            "; ".join(uplinks.text for uplinks in step.uplinks[:_UPLINKS_MAX]),
        ]
    )


def _recovery_text(recovery: Recovery) -> str:
    """Format the time to recover."""
    if recovery.fell_ps is None:
        return "no dip"
    if recovery.stopped_ps is not None:
        return f"never; stopped after {time_words(recovery.stopped_ps - recovery.step.at_ps)}"
    if recovery.rate_after_gb_per_s is None:
        return f"not; nor steady until {time_words(recovery.settled_ps)}"
    if recovery.recovered_ps is None:
        return f"not; steady after {time_words(recovery.settled_ps - recovery.step.at_ps)}"
    return time_words(recovery.recovered_ps - recovery.step.at_ps)


def _number(value: float | None, digits: int = 4) -> Cell:
    return Cell("-", tone="muted") if value is None else Cell(significant(value, digits))
