"""Failures planned for a time after the end of a run: they never happened, so its record lacks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.causes.finding import time_words
from fabricbench.analysis.faults.recovery import FAILURE_KINDS

_REPAIRS = ("link-up", "switch-up")
_PLACES = ("link", "switch", "host")


@dataclass(frozen=True)
class Unreached:
    """A failure planned for a time after the end of a run.

    Attributes:
        description: Its kind and location, such as `link down: spine1-leaf0`.
        at_ps: Its planned time [ps].
        end_ps: When the run ended [ps].
    """

    description: str
    at_ps: int
    end_ps: int

    @property
    def text(self) -> str:
        """The failure as a sentence."""
        when, end = time_words(self.at_ps), time_words(self.end_ps)
        return f"{self.description} at {when} never happened, the run ended at {end}"


def unreached_failures(run_spec: Mapping[str, Any], end_ps: int) -> list[str]:
    """Return the failures planned for a time after the end of a run, each as a sentence."""
    return [failure.text for failure in unreached(run_spec, end_ps)]


def unreached(run_spec: Mapping[str, Any], end_ps: int) -> list[Unreached]:
    """Return the failures planned for a time after the end of a run.

    Repairs are left out, as are failures that also happened before at the same location (flapping).
    """
    planned = run_spec.get("fabric", {}).get("failures", [])
    happened = {_failure_text(failure) for failure in planned if failure["at_ps"] <= end_ps}
    first: dict[str, int] = {}
    for failure in planned:
        if failure["at_ps"] > end_ps and failure["kind"] not in _REPAIRS:
            first.setdefault(_failure_text(failure), failure["at_ps"])
    return [Unreached(text, at_ps, end_ps) for text, at_ps in first.items() if text not in happened]


def _failure_text(failure: Mapping[str, Any]) -> str:
    """Return a failure and its location as text, such as `link down: spine1-leaf0`."""
    kind = FAILURE_KINDS[failure["kind"].replace("-", "_")]
    location = next(
        f"{'host' if name == 'host' else ''}{failure[name]}" for name in _PLACES if name in failure
    )
    return f"{kind}: {location}"
