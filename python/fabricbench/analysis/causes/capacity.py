"""Finds capacity that failures took from a job: switches on its paths with fewer or slower uplinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricbench.analysis.causes.evidence import Case
from fabricbench.analysis.causes.finding import Finding, percent, time_words
from fabricbench.analysis.faults.recovery import Recovery, recoveries
from fabricbench.analysis.faults.remaining_links import UplinksLeft

_SLOWER = 0.98
"""Fraction of its rate from which a job was not slowed down."""


def lost_uplinks(case: Case) -> Iterator[Finding]:
    """Find the time in which a job ran more slowly, with fewer of the uplinks that it uses.

    The explained effect is the reduction of that time at the rate before.
    """
    for recovery in recoveries(case.record, case.job["name"]):
        after = recovery.rate_after_gb_per_s
        own = [uplinks for uplinks in recovery.step.uplinks if case.uses_uplinks_of(uplinks.switch)]
        if own and after is not None and after < _SLOWER * recovery.rate_before_gb_per_s:
            yield _finding(case, recovery, own, after / recovery.rate_before_gb_per_s)


def _finding(
    case: Case, recovery: Recovery, own: Sequence[UplinksLeft], remaining_fraction: float
) -> Finding:
    step = recovery.step
    worst = min(own, key=lambda uplinks: (uplinks.rate_percent, uplinks.switch))
    begin_ps = recovery.settled_ps
    lasted_ps = min(step.until_ps, int(case.outcome["start_ps"]) + case.duration_ps) - begin_ps
    rest = len(own) - 1
    more = f", and {rest} more switch{'es have' if rest > 1 else ' has'} fewer" if rest else ""
    sentence = (
        f"from {time_words(begin_ps)} on, for {time_words(lasted_ps)}, {worst.switch} had {worst.up} of "
        f"{worst.all} uplinks ({percent(worst.rate_percent / 100)} of their rate{more}) after "
        f"{'; '.join(step.what)}; the job was delivered {percent(remaining_fraction)} of the rate before"
    )
    evidence = {
        "at_ps": step.at_ps,
        "switch": worst.switch,
        "switches": sorted(uplinks.switch for uplinks in own),
        "uplinks_up": worst.up,
        "uplinks": worst.all,
        "rate_percent": worst.rate_percent,
        "kept": remaining_fraction,
        "lasted_ps": lasted_ps,
    }
    cost_ps = lasted_ps * (1 - remaining_fraction)
    failed = [description.partition(": ")[2].split(",")[0] for description in step.what]
    explained, where = case.explained(cost_ps), (*failed, worst.switch)
    return Finding("fewer-uplinks", case.job["name"], explained, sentence, evidence, where)
