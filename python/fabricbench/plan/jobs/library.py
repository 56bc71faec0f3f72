"""Communication library of a job: NCCL with its version and variables, none, or a flat ring.

NCCL's variables that belong to the network transport are defaults of fields of the plan: `fill_job` sets
those of the job, `fill_plan` those of the transport.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.units import UnitError, describe

NCCL_VERSION: Final = "2.30"
"""Version of NCCL whose rules apply by default."""
TRAFFIC_CLASS: Final = "NCCL_IB_TC"
TIMEOUT: Final = "NCCL_IB_TIMEOUT"
QUEUE_PAIRS: Final = "NCCL_IB_QPS_PER_CONNECTION"
SPLIT: Final = "NCCL_IB_SPLIT_DATA_ON_QPS"
_TIMEOUT_UNIT_NS: Final = 4_096
_TIMEOUT_MAX: Final = 31
"""Largest local ACK timeout (IBTA 1.7, 9.7.6.1.3)."""
_TRAFFIC_CLASS_MAX: Final = 255
_QUEUE_PAIRS_MAX: Final = 128


def _variable(value: object) -> str:
    """Read the value of an environment variable.

    Raises:
        UnitError: It is neither a text nor a whole number.
    """
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise UnitError(describe(value), "a text or a whole number")


Variable = Annotated[str, BeforeValidator(_variable)]


class Nccl(PlanModel):
    """NCCL: the version whose rules apply, and its environment."""

    version: str = Field(
        default=NCCL_VERSION,
        max_length=20,
        description="Version, 2.18 to 2.31 [text]. Source: the newest that runs on most clusters.",
    )
    env: dict[str, Variable] = Field(
        default={},
        description=(
            "Its environment variables, such as `{NCCL_ALGO: ring}`; those without an effect on the model "
            "are reported."
        ),
    )


class Library(PlanModel):
    """The library, if it has settings."""

    nccl: Nccl = Field(default_factory=Nccl, description="NCCL.")


class NoLibrary(Library):
    """No library: ranks run the algorithm among them, wherever they are."""


class FlatRing(Library):
    """A single ring over all ranks, without servers."""


NCCL: Final = "nccl"
NO_LIBRARY: Final = "none"
FLAT_RING: Final = "flat-ring"
LIBRARIES: Final[Mapping[str, Any]] = {NCCL: {}, NO_LIBRARY: NoLibrary(), FLAT_RING: FlatRing()}
"""The libraries by the name that a plan has in `library`."""
LibraryField = Annotated[Library | None, Named(LIBRARIES)]


def fill_job(job: Any) -> Any:
    """Return a job as written with the code point and the priority of NCCL's traffic class."""
    traffic_class = _number(_variables(job), TRAFFIC_CLASS, _TRAFFIC_CLASS_MAX)
    if traffic_class is None:
        return job
    dscp = traffic_class >> 2
    return {"dscp": dscp, "priority": dscp >> 3} | job


def fill_plan(plan: Any) -> Any:
    """Return a plan as written with the timeout and the queue pairs of NCCL, and hosts for flat rings."""
    jobs = plan.get("jobs") if isinstance(plan, dict) else None
    if not isinstance(jobs, list) or not jobs:
        return plan
    fabric, transport = plan.get("fabric"), plan.get("transport", {})
    if isinstance(fabric, dict) and all(_is_flat(job) for job in jobs):
        plan = plan | {"fabric": {"server": "none"} | fabric}
    if isinstance(transport, dict):
        fields = {name: value for job in jobs for name, value in transport_fields(_variables(job))}
        plan = plan | {"transport": fields | transport} if fields else plan
    return plan


def transport_fields(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the transport that NCCL's variables set, with their values as in a plan."""
    exponent = _number(variables, TIMEOUT, _TIMEOUT_MAX)
    if exponent:  # 0 is an unlimited timeout
        yield "timeout", f"{_TIMEOUT_UNIT_NS << exponent}ns"
    count = _number(variables, QUEUE_PAIRS, _QUEUE_PAIRS_MAX)
    if count and _number(variables, SPLIT, 1) == 1:
        yield "qps_per_rank_pair", count


def honoured(variables: Mapping[str, str]) -> frozenset[str]:
    """Return the variables of the network transport that fields of the plan follow."""
    names = {TRAFFIC_CLASS} & variables.keys()
    fields = {name for name, _ in transport_fields(variables)}
    names |= {TIMEOUT} if "timeout" in fields else set()
    return frozenset(names | ({QUEUE_PAIRS, SPLIT} if "qps_per_rank_pair" in fields else set()))


def _is_flat(job: Any) -> bool:
    return isinstance(job, dict) and job.get("library") == FLAT_RING


def _variables(job: Any) -> Mapping[str, Any]:
    """Return the environment of a job as written; empty where it has none."""
    value: Any = job
    for name in ("library", "nccl", "env"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _number(variables: Mapping[str, Any], name: str, most: int) -> int | None:
    """Return a variable as C reads it; none if it is absent or no number that it takes."""
    try:
        value = int(str(variables[name]), 0)
    except (KeyError, ValueError):
        return None
    return value if 0 <= value <= most else None
