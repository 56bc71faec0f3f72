"""Measured error of the flow model against packet simulation, by kind of traffic.

`choose` uses it for `--backend auto`: the flow model for trials that are long in packet simulation and have a
small known error. `tools/flow_error.py` measures `flow_error.json`: the errors of the completion times of
jobs by their kinds.
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
from fabricbench.plan.estimates.traffic_kinds import kinds_of
from fabricbench.plan.jobs import data_priorities

FILE: Final = Path(__file__).with_name("flow_error.json")
JOBS_MIN: Final = 20
"""Fewest jobs of a kind for an error: of fewer, the 95th percentile by nearest rank is the worst one."""
ERROR_MAX_PERCENT: Final = 5.0
"""`auto` chooses flows if the 95th percentile is below. Source: half of the model's error limit (10 %)."""
PACKETS_MAX_MS: Final = 10_000
"""`auto` chooses packets if they are estimated to take no longer: nobody waits for them."""


@dataclass(frozen=True)
class Measured:
    """Absolute error of completion times of jobs of a kind against packets.

    Attributes:
        jobs: Number of jobs that were run on both engines.
        median_percent: The median error [%].
        p95_percent: The 95th percentile by nearest rank [%].
        worst_percent: The largest [%].
    """

    jobs: int
    median_percent: float
    p95_percent: float
    worst_percent: float

    @property
    def is_known(self) -> bool:
        """Whether there are enough jobs for an error."""
        return self.jobs >= JOBS_MIN

    def text(self, kind: str) -> str:
        """Return the error as text, with the name of its kind."""
        if not self.is_known:
            return f"{kind}: unknown, {self.jobs} of at least {JOBS_MIN} jobs measured"
        return (
            f"{kind}: median {self.median_percent:.1f} %, 95th percentile {self.p95_percent:.1f} %, "
            f"worst {self.worst_percent:.1f} % of {self.jobs} jobs measured"
        )


_UNMEASURED: Final = Measured(0, 0.0, 0.0, 0.0)


@cache
def _content() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def measured(kind: str) -> Measured:
    """Return the error of a kind; for an unmeasured kind, that of no jobs."""
    statistics = _content()["kinds"].get(kind)
    return Measured(**statistics) if statistics else _UNMEASURED


def error_text(spec: RunSpec) -> str:
    """State the error of the flow model for the kinds of traffic of a run spec."""
    kinds = dict.fromkeys(kinds_of(spec))
    kind_texts = "; ".join(measured(kind).text(kind) for kind in kinds)
    return f"error of completion times against packets, measured for {kind_texts}"


@dataclass(frozen=True)
class Choice:
    """Backend that `auto` chooses for a trial.

    Attributes:
        backend: Name of the backend.
        why: The reason, in a sentence.
    """

    backend: str
    why: str


def backend_for(spec_json: str, backend: str) -> str:
    """Return the backend that runs a run spec: the given one, or the choice of `auto`."""
    return choose(spec_json).backend if backend == engine.AUTO else backend


_CHOSEN: Final[dict[bytes, Choice]] = {}
_CACHE_MAX: Final = 1 << 14


def choose(spec_json: str) -> Choice:
    """Choose the backend of a run spec.

    Flows if packets would take long, the model covers the trial, no frame can be lost, and the error of
    every kind of its traffic is known to be small; packets otherwise.
    """
    # The text may be a megabyte, and is used as a key several times.
    key = hashlib.sha256(spec_json.encode()).digest()
    if key not in _CHOSEN:
        if len(_CHOSEN) >= _CACHE_MAX:
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
        kind_error = measured(kind)
        if not kind_error.is_known or kind_error.p95_percent >= ERROR_MAX_PERCENT:
            return _packets(f"the error of the flow model is not known to be small ({kind_error.text(kind)})")
    packets_text = "packets cannot be simulated at this size"
    if packets is not None:
        packets_text = f"packets take more than {PACKETS_MAX_MS // 1000} s"
    error_text = f"its error is known to be small for this kind of traffic, {', '.join(kinds)}"
    return Choice(engine.FLOW, f"auto chose the flow model: {packets_text}, and {error_text}")


def _packets(why: str) -> Choice:
    return Choice(engine.SIMULATOR, f"auto chose packets: {why}")


def is_lossless(spec: RunSpec) -> bool:
    """Whether PFC protects all data from loss."""
    pfc = spec["fabric"]["switch"].get("pfc")
    return pfc is not None and data_priorities(spec).issubset(pfc["priorities"])
