"""Types of the JSON objects of jobs, trials and comparisons; metrics are those of `fabricbench.metrics`.

The HTTP interface describes its answers by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NotRequired, TypeVar, get_type_hints

from typing_extensions import TypedDict

from fabricbench.analysis.comparison.ratios import Verdict
from fabricbench.analysis.comparison.verdict import Judgement
from fabricbench.analysis.faults.recovery import Recovery
from fabricbench.analysis.summary.job_summary import COLUMNS
from fabricbench.analysis.summary.reordering import Reordering
from fabricbench.analysis.summary.tcp_traffic import TcpResult
from fabricbench.metrics import ALONE_RATIOS, BY_NAME, Direction
from fabricbench.report.documents.diagnosis import FabricJson, FindingJson
from fabricbench.report.documents.fabric_metrics import OF_FABRIC
from fabricbench.report.documents.measured import MeasuredJson

Value = TypeVar("Value")

ENGINE_SUMS: Final = (
    "packet_hops",
    "events",
    "fast_windows",
    "exact_windows",
    "fast_forward_ps",
    "wall_s",
    "cpu_s",
)
"""Counters and costs of the engine that are summed over trials."""
ENGINE_MAXIMA: Final = ("peak_rss_bytes", "threads")
"""Costs of the engine of which the largest of all trials counts."""

_TYPES: Final[Mapping[str, Any]] = {
    "str": str,
    "str | None": str | None,
    "int": int,
    "int | None": int | None,
    "float | None": float | None,
}


def nested(row: Mapping[str, Value]) -> dict[str, Any]:
    """Return a flat row of a job with the metrics of a group in an object of that name."""
    content: dict[str, Any] = {}
    for name, value in row.items():
        if name in BY_NAME and (group := BY_NAME[name].group):
            content.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        else:
            content[name] = value
    return content


def _result_fields() -> dict[str, Any]:
    fields = nested({name: _TYPES[declared] for name, declared in COLUMNS.items()})
    return {
        name: _group_type(name, declared) if isinstance(declared, dict) else declared
        for name, declared in fields.items()
    }


def _group_type(name: str, declared: dict[str, Any]) -> Any:
    title = "".join(word.capitalize() for word in name.split("_"))
    return TypedDict(f"{title}Json", declared)  # type: ignore[operator]


def _without_job(kind: type) -> dict[str, Any]:
    return {name: declared for name, declared in get_type_hints(kind).items() if name != "job"}


class IdentityJson(TypedDict):
    """What a trial is."""

    id: str
    tag: str
    plan: str
    variant: str
    iteration: int
    backend: str
    backend_version: str


JobResultJson = TypedDict("JobResultJson", _result_fields())  # type: ignore[misc]
"""Parameters, outcome and metrics of a job; null where nothing was measured."""
FabricMetricsJson = TypedDict(  # type: ignore[misc]
    "FabricMetricsJson", {metric.name: float | None for metric in OF_FABRIC}
)
"""Metrics of the whole fabric."""
_AloneRatiosJson = TypedDict("_AloneRatiosJson", dict.fromkeys(ALONE_RATIOS, float | None))  # type: ignore[misc]
ReorderingJson = TypedDict("ReorderingJson", _without_job(Reordering))  # type: ignore[misc]
"""Order in which the frames of a job arrived."""
_RecoveryJson = TypedDict("_RecoveryJson", _without_job(Recovery))  # type: ignore[misc]
_TcpResultJson = TypedDict("_TcpResultJson", get_type_hints(TcpResult))  # type: ignore[misc]
_EngineCostJson = TypedDict(  # type: ignore[misc]
    "_EngineCostJson", dict.fromkeys((*ENGINE_SUMS, *ENGINE_MAXIMA), float | None)
)


class PublishedJson(TypedDict):
    """A published value of a metric."""

    value: float
    deviation_percent: float | None


class AloneJson(_AloneRatiosJson, JobResultJson):
    """Results of a job run alone; `kept_percent` and the ratios compare those among others with them."""

    trial: str
    kept_percent: float | None


class ReferenceJson(TypedDict):
    """The trial of the reference variant, and the ratios to it."""

    variant: str
    trial: str
    ratios: dict[str, float | None]


class UnreachedFailureJson(TypedDict):
    """A failure of the plan that was scheduled after the end of the trial."""

    failure: str
    at_ps: int


class JobJson(IdentityJson, JobResultJson):
    """A job of a trial with its metrics; null where nothing was measured."""

    axes: dict[str, Any]
    message_size_bytes: int
    fabric_metrics: FabricMetricsJson
    published: dict[str, PublishedJson] | None
    alone: AloneJson | None
    reference: ReferenceJson | None
    criteria: list[Judgement]
    verdict: str | None
    unreached_failures: list[UnreachedFailureJson]
    notes: list[str]


class RecoveryJson(_RecoveryJson):
    """Effect of failures and repairs on a job."""

    recovery_ms: float | None
    after_percent: float | None


class ShownJobJson(JobJson):
    """A job of a trial with its diagnosis; without data of the fabric there is none."""

    tags: list[str]
    reordering: ReorderingJson | None
    recoveries: list[RecoveryJson] | None
    diagnosis: list[FindingJson] | None
    measured: NotRequired[MeasuredJson | None]


class EngineTotalsJson(_EngineCostJson):
    """Cost of trials; null where no trial reports it."""

    seed: int | None
    version: str | None
    backend: str | None


class TcpJson(IdentityJson, _TcpResultJson):
    """TCP traffic of a trial."""


class ShownJson(TypedDict):
    """The jobs of a trial, the cost of its run and the state of its fabric."""

    trials: list[ShownJobJson]
    engine: EngineTotalsJson
    tcp: NotRequired[list[TcpJson]]
    fabric: FabricJson | None


class ComparedTrialJson(IdentityJson):
    """A job of a comparison."""

    axes: dict[str, Any]
    job: str
    data_size_bytes: int


class ComparedMetricJson(TypedDict):
    """A metric of two jobs; the verdict is about the second."""

    unit: str
    direction: Direction
    first: float | None
    second: float | None
    ratio: float | None
    verdict: Verdict | None


class ComparedJobJson(TypedDict):
    """Two jobs with every metric."""

    first: ComparedTrialJson
    second: ComparedTrialJson
    metrics: dict[str, ComparedMetricJson]


class ParameterJson(TypedDict):
    """A parameter in which compared trials differ, with its value in each."""

    field: str
    values: dict[str, str | None]


class ComparisonJson(TypedDict):
    """Compared trials: labels, differing parameters, every metric of each pair of jobs."""

    compared: list[str]
    parameters: list[ParameterJson]
    note: NotRequired[str]
    jobs: list[ComparedJobJson]
