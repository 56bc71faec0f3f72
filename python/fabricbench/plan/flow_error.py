"""Measured error of the flow model against packets, by kind of traffic, and the choice of `auto` by it.

`flow_error.json` is measured by `make flow-error`: the errors of the completion times of jobs by their kinds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from fabricbench.plan import engine
from fabricbench.plan._run_spec import RunSpec
from fabricbench.plan.kinds import kinds_of

FILE: Final = Path(__file__).with_name("flow_error.json")
JOBS_MIN: Final = 20
"""Fewer jobs of a kind say nothing of it: by nearest rank, their 95th percentile is the worst of them."""
ERROR_MAX_PERCENT: Final = 5.0
"""`auto` takes flows where the 95th percentile is below. Source: half of what the model is to keep (10 %)."""
PACKETS_MAX_MS: Final = 10_000
"""`auto` takes packets where they are estimated to take no longer: nobody waits for them."""


@dataclass(frozen=True)
class Measured:
    """How far completion times of jobs of a kind were from those of packets, without sign.

    Attributes:
        jobs: How many jobs were run on both engines.
        median_percent: The error of the middle one [%].
        p95_percent: The 95th percentile by nearest rank [%].
        worst_percent: The largest [%].
    """

    jobs: int
    median_percent: float
    p95_percent: float
    worst_percent: float

    @property
    def is_known(self) -> bool:
        """Whether there are enough jobs to say anything."""
        return self.jobs >= JOBS_MIN

    def text(self, kind: str) -> str:
        """Say it of a kind."""
        if not self.is_known:
            return f"{kind}: unknown, {self.jobs} of at least {JOBS_MIN} jobs measured"
        return (
            f"{kind}: median {self.median_percent:.1f} %, 95th percentile {self.p95_percent:.1f} %, "
            f"worst {self.worst_percent:.1f} % of {self.jobs} jobs measured"
        )


_NEVER: Final = Measured(0, 0.0, 0.0, 0.0)


@cache
def _content() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def results_version() -> str:
    """Return the version of the flow model's results that was measured."""
    return str(_content()["results"])


def measured(kind: str) -> Measured:
    """Return the error of a kind; of one that was never measured, that of no jobs."""
    found = _content()["kinds"].get(kind)
    return Measured(**found) if found else _NEVER


def error_text(spec: RunSpec) -> str:
    """State the error of the flow model for the kinds of traffic of a run spec."""
    kinds = dict.fromkeys(kinds_of(spec))
    told = "; ".join(measured(kind).text(kind) for kind in kinds)
    return f"error of completion times against packets, measured for {told}"


@dataclass(frozen=True)
class Choice:
    """What carries a trial out that leaves it open.

    Attributes:
        backend: Name of the backend.
        why: Why, in a sentence.
    """

    backend: str
    why: str


def backend_for(spec_json: str, backend: str) -> str:
    """Return the backend that carries a run spec out: the given one, or what `auto` chooses."""
    return choose(spec_json).backend if backend == engine.AUTO else backend


_CHOSEN: Final[dict[bytes, Choice]] = {}
_KEPT_MAX: Final = 1 << 14


def choose(spec_json: str) -> Choice:
    """Choose the backend of a run spec.

    Flows where packets would take long, the model covers the trial, nothing can be lost, and the error of
    every kind of its traffic is known to be small; packets otherwise.
    """
    # The text may be a megabyte, and is asked for several times.
    key = hashlib.sha256(spec_json.encode()).digest()
    if key not in _CHOSEN:
        if len(_CHOSEN) >= _KEPT_MAX:
            _CHOSEN.clear()
        _CHOSEN[key] = _choose(spec_json)
    return _CHOSEN[key]


def _choose(spec_json: str) -> Choice:
    packets = engine.estimate(spec_json)
    if packets is not None and packets["time_ms"] <= PACKETS_MAX_MS:
        return _packets(f"they take no more than {PACKETS_MAX_MS // 1000} s")
    refusals = engine.check(spec_json, engine.FLOW)
    if refusals:
        return _packets(f"the flow model does not cover `{refusals[0].field}`: {refusals[0].found}")
    spec: RunSpec = json.loads(spec_json)
    if not is_lossless(spec):
        return _packets("frames may be lost without PFC, which the flow model does not cover")
    kinds = list(dict.fromkeys(kinds_of(spec)))
    for kind in kinds:
        known = measured(kind)
        if not known.is_known or known.p95_percent >= ERROR_MAX_PERCENT:
            return _packets(f"the error of the flow model is not known to be small ({known.text(kind)})")
    long = "packets cannot be simulated at this size"
    if packets is not None:
        long = f"packets take more than {PACKETS_MAX_MS // 1000} s"
    small = f"its error is known to be small for this kind of traffic, {', '.join(kinds)}"
    return Choice(engine.FLOW, f"auto chose the flow model: {long}, and {small}")


def _packets(why: str) -> Choice:
    return Choice(engine.SIMULATOR, f"auto chose packets: {why}")


def is_lossless(spec: RunSpec) -> bool:
    """Tell whether PFC keeps data from being lost."""
    pfc = spec["fabric"]["switch"].get("pfc")
    return pfc is not None and spec["transport"]["priorities"]["data"] in pfc["priorities"]
