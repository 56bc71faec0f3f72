"""Builds the section on failures: each job's rate before, during and after them, and its recovery."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.faults.recovery import THRESHOLD, Recovery
from fabricbench.figures.scales import significant, time_text
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.html.page_parts import NotePart, Part, Section

MAX_ROWS = 40
_COLUMNS = (
    Column("at"),
    Column("what", is_text=True),
    Column("job", is_text=True),
    Column("before", "GB/s"),
    Column("lowest", "GB/s"),
    Column("after", "GB/s"),
    Column("after", "% of before"),
    Column("recovered", "after"),
    Column("lost", "frames"),
    Column("round before", "ms"),
    Column("round during", "ms"),
    Column("round after", "ms"),
)


def recovery_section(recoveries: Sequence[Recovery], unreached: Sequence[str] = ()) -> Section | None:
    """List the effect of each failure and repair on each job, or return `None` without failures.

    Args:
        recoveries: Recoveries of the jobs.
        unreached: Descriptions of failures scheduled after the end of the run.
    """
    parts: list[Part] = [NotePart(f"{text}.") for text in unreached[:MAX_ROWS]]
    if recoveries:
        rows = [_row(recovery) for recovery in recoveries[:MAX_ROWS]]
        parts.insert(0, Table(_COLUMNS, rows, _caption(recoveries)))
    return Section("recovery", "Failures and recovery", parts) if parts else None


def _row(recovery: Recovery) -> Row:
    step = recovery.step
    below = [uplinks.text for uplinks in step.uplinks]
    return Row(
        [
            time_text(step.at_ps),
            Cell("; ".join(step.what), below=below),
            recovery.job,
            significant(recovery.rate_before_gb_per_s),
            significant(recovery.rate_low_gb_per_s),
            _number(recovery.rate_after_gb_per_s),
            _number(recovery.after_percent, 3),
            recovery_words(recovery),
            f"{recovery.lost_frames:,}",
            *(
                _number(value)
                for value in (
                    recovery.rounds_before_ms,
                    recovery.rounds_during_ms,
                    recovery.rounds_after_ms,
                )
            ),
        ]
    )


def recovery_words(recovery: Recovery) -> str:
    """Format the time to recover."""
    if recovery.fell_ps is None:
        return "no dip"
    if recovery.stopped_ps is not None:
        return f"never; stopped after {time_text(recovery.stopped_ps - recovery.step.at_ps)}"
    if recovery.rate_after_gb_per_s is None:
        return f"not; nor steady until {time_text(recovery.settled_ps)}"
    if recovery.recovered_ps is None:
        return f"not; steady after {time_text(recovery.settled_ps - recovery.step.at_ps)}"
    return time_text(recovery.recovered_ps - recovery.step.at_ps)


def _number(value: float | None, digits: int = 4) -> Cell:
    return Cell("–", tone="muted") if value is None else Cell(significant(value, digits))


def _caption(recoveries: Sequence[Recovery]) -> str:
    window = max(recovery.window_ps for recovery in recoveries)
    text = (
        f"Rates are payload delivered. A dip is a rate below {100 * THRESHOLD:.0f} % of the mean before the "
        f"first failure, averaged over {time_text(window)}. A job has recovered when it is back above, in "
        "the mean of all that follows as well; one that has not is steady when it reached the rate "
        "it kept. After is the mean from then on to the next failure or repair. Frames lost are those of the "
        "whole fabric until the next failure or repair, or the end. Rounds are means: of those that ended "
        "before, were under way, began later."
    )
    if len(recoveries) > MAX_ROWS:
        text += f" Reduced: the first {MAX_ROWS} of {len(recoveries)}."
    return text
