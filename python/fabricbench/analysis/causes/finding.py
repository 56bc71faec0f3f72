"""A likely cause with its evidence."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ACROSS_RAILS = "across-rails"
"""Cause: a job crosses rails; the load of uplinks follows from it."""
_PS_UNITS = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"))


@dataclass(frozen=True)
class Remedy:
    """What would take a cause away, or lessen it.

    Attributes:
        what: It in words.
        changes: Fields of the plan with the values to set, each FIELD=VALUE as for `-s`; empty where no
            setting does it.
    """

    what: str
    changes: Sequence[str] = ()

    @property
    def options(self) -> str:
        """The changes as they are typed: `-s FIELD=VALUE ...`."""
        return " ".join(f"-s {shlex.quote(change)}" for change in self.changes)

    @property
    def text(self) -> str:
        """What to do, in words and as options."""
        return f"{self.what}: `{self.options}`" if self.changes else self.what


@dataclass(frozen=True)
class Finding:
    """A likely cause why a job is below 95 % of its ideal, or never completed.

    Attributes:
        cause: Its name, one of `fabricbench.analysis.diagnosis.CAUSES`.
        job: Name of the job.
        explained: Share of the time lost against the ideal that it explains, 0 to 1; none where that does not
            follow from the counters, or the job never completed. Of what `diagnose` returns, the shares of
            a job do not overlap.
        sentence: What was found, with its figures.
        evidence: The figures by name; numbers, texts, and lists of them. Names end with the unit.
        where: The links, hosts, switches and queues that it concerns, the worst first.
        under: What follows from it, and the same at other places; their shares are part of this one's.
        remedies: What to do about it, the most promising first.
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
    """Write a time with four significant digits in the unit that suits it."""
    for length, unit in _PS_UNITS:
        if time_ps >= length:
            time = time_ps / length
            return f"{time:,.0f} {unit}" if time >= 1_000 else f"{time:.4g} {unit}"
    return f"{time_ps:.0f} ps"


def percent(share: float) -> str:
    """Write a share in percent, without decimals from 10 % on."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def listed(names: Sequence[str], most: int = 6) -> str:
    """List names, the first few of them."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
