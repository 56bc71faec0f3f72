"""Failures that a plan has and a run did not reach: its record says nothing of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.causes.finding import time_words
from fabricbench.analysis.failures import FAILURE_KINDS

_REPAIRS = ("link-up", "switch-up")
_PLACES = ("link", "switch", "host")


@dataclass(frozen=True)
class Unreached:
    """A failure that would have come after the end of a run.

    Attributes:
        what: Kind and place of it, such as `link down: spine1-leaf0`.
        at_ps: When it was to come [ps].
        end_ps: When the run ended [ps].
    """

    what: str
    at_ps: int
    end_ps: int

    @property
    def text(self) -> str:
        """It as a sentence."""
        when, end = time_words(self.at_ps), time_words(self.end_ps)
        return f"{self.what} at {when} never happened, the run ended at {end}"


def unreached_failures(run_spec: Mapping[str, Any], end_ps: int) -> list[str]:
    """Return the failures that would have come after the end of a run, each as a sentence."""
    return [each.text for each in unreached(run_spec, end_ps)]


def unreached(run_spec: Mapping[str, Any], end_ps: int) -> list[Unreached]:
    """Return the failures that would have come after the end of a run.

    Repairs are left out, and what happened before at the same place, as with a link that flaps.
    """
    planned = run_spec.get("fabric", {}).get("failures", [])
    happened = {_what(failure) for failure in planned if failure["at_ps"] <= end_ps}
    first: dict[str, int] = {}
    for failure in planned:
        if failure["at_ps"] > end_ps and failure["kind"] not in _REPAIRS:
            first.setdefault(_what(failure), failure["at_ps"])
    return [Unreached(what, at_ps, end_ps) for what, at_ps in first.items() if what not in happened]


def _what(failure: Mapping[str, Any]) -> str:
    """Name a failure and its place, such as `link down: spine1-leaf0`."""
    kind = FAILURE_KINDS[failure["kind"].replace("-", "_")]
    place = next(f"{'host' if name == 'host' else ''}{failure[name]}" for name in _PLACES if name in failure)
    return f"{kind}: {place}"
