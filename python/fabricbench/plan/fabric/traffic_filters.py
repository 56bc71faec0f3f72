"""Parses filters that select queue pairs by traffic: `"0-3>4"` is the traffic of ranks 0 to 3 to rank 4.

The engine numbers queue pairs in the order in which jobs post their transfers; users need no such numbers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from fabricbench.units import UnitError, describe

if TYPE_CHECKING:
    from fabricbench.plan.engine import QueuePairDescription

_SET: Final = r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*"
FLOW_PATTERN: Final = rf"^(?:([A-Za-z0-9][A-Za-z0-9._-]*)/)?({_SET})>({_SET})(?:@({_SET}))?(?:#({_SET}))?$"
"""Regular expression of the text form: job, senders, receivers, steps, parts."""
_SPACES: Final = re.compile(r"\s*([>,@#/-])\s*")
_ALLOWED: Final = (
    'flows such as "0>4" (rank 0 to rank 4), "0-3>4,5@2" (at step 2), "0>4#1" (part 1) or "job/0>4"'
)

Numbers = tuple[range, ...]
"""Whole numbers, as written: ranges with their end included."""


@dataclass(frozen=True)
class FlowFilter:
    """Filter of queue pairs.

    Attributes:
        text: As written.
        job: Name of the job; none for every job.
        senders: Sending ranks.
        receivers: Receiving ranks.
        steps: Steps at which a queue pair is used; none for all.
        parts: Numbers of queue pairs of a rank pair; none for all.
    """

    text: str
    job: str | None
    senders: Numbers
    receivers: Numbers
    steps: Numbers | None
    parts: Numbers | None

    def takes(self, pair: "QueuePairDescription") -> bool:
        """Whether a queue pair matches."""
        return (
            self.job in (None, pair["job"])
            and _has(self.senders, pair["src_rank"])
            and _has(self.receivers, pair["dst_rank"])
            and (self.steps is None or _has(self.steps, pair["step"]))
            and (self.parts is None or _has(self.parts, pair["part"]))
        )


class QueuePairIndex:
    """The queue pairs of a run by their ranks, so that a filter need not check them all."""

    def __init__(self, pairs: list["QueuePairDescription"]) -> None:
        self._by_ranks: dict[int, dict[int, list[QueuePairDescription]]] = {}
        for pair in pairs:
            self._by_ranks.setdefault(pair["src_rank"], {}).setdefault(pair["dst_rank"], []).append(pair)

    def find(self, flow: FlowFilter) -> Iterator["QueuePairDescription"]:
        """Yield the queue pairs that match a filter, in their order."""
        matches = [
            pair
            for sender, by_receiver in self._by_ranks.items()
            if _has(flow.senders, sender)
            for receiver, pairs in by_receiver.items()
            if _has(flow.receivers, receiver)
            for pair in pairs
            if flow.takes(pair)
        ]
        yield from sorted(matches, key=lambda pair: pair["qp"])


def parse_flow(value: object) -> FlowFilter:
    """Read a filter such as "0-3>4@2".

    Raises:
        UnitError: It is no filter.
    """
    if isinstance(value, FlowFilter):
        return value
    match = _flow().fullmatch(_SPACES.sub(r"\1", value.strip())) if isinstance(value, str) else None
    if match is None or not isinstance(value, str):
        raise UnitError(describe(value), _ALLOWED)
    job, senders, receivers, steps, parts = match.groups()
    numbers: Mapping[str, Numbers | None] = {
        name: None if text is None else _numbers(text, value)
        for name, text in (("senders", senders), ("receivers", receivers), ("steps", steps), ("parts", parts))
    }
    return FlowFilter(
        value, job, numbers["senders"] or (), numbers["receivers"] or (), numbers["steps"], numbers["parts"]
    )


@cache
def _flow() -> re.Pattern[str]:
    """Return the compiled pattern. Compiling takes 20 ms, and few plans name a flow."""
    return re.compile(FLOW_PATTERN, re.ASCII)


def _numbers(text: str, flow_text: str) -> Numbers:
    """Read "0-3,5"."""
    ranges = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        if last and int(last) < int(first):
            raise UnitError(
                f'"{item}" in {describe(flow_text)}, which runs backwards', "ranges from low to high"
            )
        ranges.append(range(int(first), int(last or first) + 1))
    return tuple(ranges)


def _has(numbers: Numbers, number: int) -> bool:
    return any(number in part for part in numbers)
