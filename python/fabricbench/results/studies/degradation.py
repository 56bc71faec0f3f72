"""Bandwidth that jobs lose by a degraded adapter, link or switch.

The change of a bandwidth is the ratio of the times as it is and degraded, minus 1; -1 if the job stops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

STOPPED: Final = -1.0
"""Change of the bandwidth of a job that stops."""


class ElementLike(Protocol):
    """An adapter, link or switch."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kind(self) -> str:
        """`adapter`, `link` or `switch`."""

    @property
    def nodes(self) -> Sequence[str]:
        """Its nodes: of a cable two, lower tier first."""

    @property
    def tiers(self) -> Sequence[int]:
        """Their tiers."""


class GroupLike(Protocol):
    """Elements with equal or similar loads."""

    @property
    def elements(self) -> Sequence[ElementLike]:
        """From the largest load to the smallest."""

    @property
    def are_equal(self) -> bool:
        """Whether their loads are equal."""


class TimesLike(Protocol):
    """Times of a job, as it is and with an element of a group degraded."""

    @property
    def job(self) -> str:
        """Name of the job."""

    @property
    def trial(self) -> int:
        """Index of its trial."""

    @property
    def backend(self) -> str:
        """What ran it; empty if the job is unaffected, without a run."""

    @property
    def before_us(self) -> float:
        """Time as it is [us]."""

    @property
    def after_us(self) -> Mapping[str, float | None]:
        """Time with an element degraded, by its name [us]; none if the job stops."""

    @property
    def waits(self) -> float:
        """How often it waits for the transport's timeout, on average."""

    @property
    def refused(self) -> str:
        """Why it could not be run; else empty."""


class DegradedGroupLike(Protocol):
    """A group in a state, and the times of all jobs."""

    @property
    def group(self) -> GroupLike:
        """The group."""

    @property
    def state(self) -> str:
        """`half rate`, `1e-4 loss` or `down`."""

    @property
    def jobs(self) -> Sequence[TimesLike]:
        """Times of each job."""


@dataclass(frozen=True)
class Effect:
    """Effect of a degraded element on a job.

    Attributes:
        job: Name of the job.
        backend: What ran it; empty if the job is unaffected, without a run.
        changes: Change of the bandwidth for each element that was run, by its name, as a fraction.
        waits: How often the job waits for the transport's timeout, on average; not in the changes.
        refused: Why it could not be run; else empty.
    """

    job: str
    backend: str
    changes: Mapping[str, float]
    waits: float
    refused: str

    @property
    def worst(self) -> float | None:
        """Largest loss; none if unknown."""
        return None if self.refused else min(self.changes.values(), default=0.0)

    @property
    def least(self) -> float | None:
        """Smallest loss; none if unknown."""
        return None if self.refused else max(self.changes.values(), default=0.0)


@dataclass(frozen=True)
class Degraded:
    """Elements with equal or similar loads in a state, and the effect of one of them on each job.

    Attributes:
        kind: `adapter`, `link` or `switch`.
        elements: Names, from the largest load to the smallest.
        nodes: Nodes of each element.
        are_equal: Whether their loads are equal.
        state: `half rate`, `1e-4 loss` or `down`.
        effects: Effect on each job.
    """

    kind: str
    elements: Sequence[str]
    nodes: Sequence[Sequence[str]]
    are_equal: bool
    state: str
    effects: Sequence[Effect]

    @property
    def worst(self) -> float:
        """Largest loss of all jobs."""
        return min((effect.worst for effect in self.effects if effect.worst is not None), default=0.0)

    @property
    def computed(self) -> list[str]:
        """Elements that were run."""
        return list(dict.fromkeys(name for effect in self.effects for name in effect.changes))


def degraded_of(groups: Sequence[DegradedGroupLike], labels: Sequence[str]) -> list[Degraded]:
    """Return the effects of all groups and states, the largest loss first.

    Args:
        groups: Groups with the times of their jobs.
        labels: Name of the only job of each trial; an empty text keeps the names of its jobs.
    """
    states = [
        Degraded(
            str(each.group.elements[0].kind),
            [element.name for element in each.group.elements],
            [element.nodes for element in each.group.elements],
            each.group.are_equal,
            str(each.state),
            [_effect(times, labels[times.trial]) for times in each.jobs],
        )
        for each in groups
    ]
    return sorted(states, key=lambda each: each.worst)


def _effect(times: TimesLike, label: str) -> Effect:
    changes = {
        name: STOPPED if after_us is None else times.before_us / after_us - 1
        for name, after_us in times.after_us.items()
    }
    return Effect(label or times.job, times.backend, changes, times.waits, times.refused)
