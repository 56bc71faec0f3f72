"""Data classes of a likely cause (`Finding`) and its remedies; formats times, fractions and lists in them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ACROSS_RAILS = "across-rails"
"""Cause: a job crosses rails, which determines the load of uplinks."""
UNRECOVERED = "loss-without-recovery"
"""Cause: senders send nothing again."""
_PS_UNITS = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"))


@dataclass(frozen=True)
class Remedy:
    """A measure that removes or reduces a cause.

    Attributes:
        action: Its description.
        changes: Fields of the plan with the values to set, each FIELD=VALUE as for `-s`; empty if none helps.
    """

    action: str
    changes: Sequence[str] = ()

    @property
    def options(self) -> str:
        """The changes as command-line options: `-s FIELD=VALUE ...`."""
        return " ".join(f"-s {shlex.quote(change)}" for change in self.changes)

    @property
    def text(self) -> str:
        """The measure with its options."""
        return f"{self.action}: `{self.options}`" if self.changes else self.action


@dataclass(frozen=True)
class Finding:
    """A likely reason why a job is below 95 % of its ideal, or never completed.

    Attributes:
        cause: Its name, one of `fabricbench.analysis.causes.diagnosis.CAUSES`.
        job: Name of the job.
        explained: Fraction of the time lost against the ideal that it explains, 0 to 1; none if that does not
            follow from the counters, or the job never completed. In the result of `diagnose`, the fractions
            of a job do not overlap.
        sentence: Description of the cause, with its figures.
        evidence: The figures by name; numbers, texts, and lists of them. Names end with the unit.
        where: The links, hosts, switches and queues affected, the worst first.
        under: Its consequences, and the same cause at other locations; their fractions are part of its own.
        remedies: Measures against it, the most promising first.
    """

    cause: str
    job: str
    explained: float | None
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    where: Sequence[str] = ()
    under: Sequence[Finding] = ()
    remedies: Sequence[Remedy] = ()


def time_words(time_ps: float) -> str:
    """Return a time with four significant digits in a suitable unit."""
    for length, unit in _PS_UNITS:
        if time_ps >= length:
            time = time_ps / length
            return f"{time:,.0f} {unit}" if time >= 1_000 else f"{time:.4g} {unit}"
    return f"{time_ps:.0f} ps"


def percent(share: float) -> str:
    """Return a fraction in percent, without decimals from 10 % up."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return the first few names as text, with the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
