"""Compares measured trials of a run with their twins, the simulator's predictions; as JSON and CSV."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

from typing_extensions import TypedDict

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.summary.job_summary import Summary, summary_of
from fabricbench.analysis.twins import Cause, Side, SlowPair, Trend, Twin, twin_of, with_trend
from fabricbench.metrics import BY_NAME
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text, value_text
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.results.axes import axes_label
from fabricbench.results.hosts import clock_error_ms
from fabricbench.results.result_source import made
from fabricbench.results.sizes import shown_size
from fabricbench.store import Trial
from fabricbench.store.catalog.trial import to_json

NO_PARTNER: Final = "no complete trial of the simulator has this run spec"
METRICS: Final = ("completion_time_ms", "algbw_gb_per_s", "busbw_gb_per_s")
"""Compared metrics, those of nccl-tests."""
_CAUSES: Final = 4


_TrendJson = TypedDict("_TrendJson", get_type_hints(Trend))  # type: ignore[misc]
_SlowPairJson = TypedDict("_SlowPairJson", get_type_hints(SlowPair))  # type: ignore[misc]


class TrendJson(_TrendJson):
    """Linear fit of the measured against the predicted times of a job."""

    variant: str
    job: str


class SlowPairJson(_SlowPairJson):
    """Ranks whose chunks took longest compared with the prediction."""

    ratio: float


class TwinSideJson(TypedDict):
    """The measured or the predicted trial of a job, with the metrics that benchmarks report."""

    id: str
    backend: str
    backend_version: str
    status: str
    completion_time_ms: float | None
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None


class TwinJson(TypedDict):
    """A measured job and its prediction; `missing` is why there is none."""

    job: str
    variant: str
    axes: dict[str, Any]
    data_size_bytes: int
    size: str
    iteration: int
    measured: TwinSideJson
    predicted: TwinSideJson | None
    deviation_percent: float | None
    causes: list[Cause]
    slowest: list[SlowPairJson]
    missing: str | None


class TwinsJson(TypedDict):
    """The measured jobs of a run with their predictions, and the trend of each job."""

    twins: list[TwinJson]
    trends: list[TrendJson]


class NoTwinError(Exception):
    """There is nothing to compare with a prediction; the text has the reason."""


@dataclass(frozen=True)
class TwinRow:
    """A job of a measured trial compared with its prediction.

    Attributes:
        twin: The two jobs, their deviation and its causes.
        measured: The measured trial.
        predicted: The trial of the simulator, or `None` if there is none with the same run spec.
    """

    twin: Twin
    measured: Trial
    predicted: Trial | None

    @property
    def size(self) -> str:
        """The size of the job, with the iteration if it is not the first."""
        iteration = self.measured.facts.iteration
        size = shown_size(self.measured, self.twin.measured)
        return f"{size} #{iteration}" if iteration else size

    @property
    def missing(self) -> str:
        """Why there is no prediction; empty if there is one."""
        return NO_PARTNER if self.predicted is None else ""


@dataclass(frozen=True)
class TwinGroup:
    """One job of one variant, at one combination of swept values, at every size.

    Attributes:
        rows: In the order of the plan.
        trend: Linear fit of measured against predicted times; `None` if there are too few sizes.
    """

    rows: Sequence[TwinRow]
    trend: Trend | None

    @property
    def title(self) -> str:
        """Plan, job and backend of the measurement."""
        facts, job = self.rows[0].measured.facts, self.rows[0].twin.measured
        variant = "" if facts.variant in ("", "base") else f"{facts.variant}, "
        variant += f"{axes}, " if (axes := axes_label(self.rows[0].measured)) else ""
        job_text = f"{variant}job {job.job}: {job.collective}, {job.ranks} ranks"
        return f"{facts.plan}, {job_text}, {made(self.rows[0].measured)} beside the simulator"

    @property
    def job(self) -> tuple[str, str]:
        """Name of the variant and of the job."""
        return self.rows[0].measured.facts.variant, self.rows[0].twin.measured.job


def twins_of(run: Sequence[Trial], others: Sequence[Trial]) -> list[TwinGroup]:
    """Compare the trials of a run with their predictions, or those of a simulated run with measurements.

    Args:
        run: The trials of the run.
        others: Trials of the same run specs by other backends, the preferred first.

    Raises:
        NoTwinError: The run was simulated, and no other backend measured a trial of it.
        StoreError: A table cannot be read.
    """
    run_trials = [trial for trial in run if not is_solo(trial.facts.variant)]
    measured = [trial for trial in run_trials if not trial.is_predicted] or _measured(run_trials, others)
    if not measured:
        raise NoTwinError("the run was simulated, and no other backend measured a trial of it")
    prediction_by_spec = _first_of_each([trial for trial in (*run_trials, *others) if trial.is_predicted])
    rows = [row for trial in measured for row in _rows(trial, prediction_by_spec.get(_spec(trial)))]
    groups: dict[tuple[str, str, str], list[TwinRow]] = {}
    for row in rows:
        key = (row.measured.facts.variant, axes_label(row.measured), row.twin.measured.job)
        groups.setdefault(key, []).append(row)
    return [_group(group_rows) for group_rows in groups.values()]


def _measured(run: Sequence[Trial], others: Sequence[Trial]) -> list[Trial]:
    trial_by_spec = _first_of_each([trial for trial in others if not trial.is_predicted])
    return [trial_by_spec[spec] for spec in map(_spec, run) if spec in trial_by_spec]


def _first_of_each(trials: Sequence[Trial]) -> dict[str, Trial]:
    return {_spec(trial): trial for trial in reversed(trials)}


def _spec(trial: Trial) -> str:
    return to_json(trial.facts.run_spec)


def _rows(measured: Trial, predicted: Trial | None) -> list[TwinRow]:
    # The twin of a trial has the same jobs with the same sizes.
    predicted_sides = {side.summary.key: side for side in _sides(predicted)} if predicted else {}
    return [
        TwinRow(twin_of(side, predicted_sides.get(side.summary.key)), measured, predicted)
        for side in _sides(measured)
    ]


def _sides(trial: Trial) -> list[Side]:
    error_ms = clock_error_ms(trial)
    return [Side(summary_of(row, trial.facts.run_spec), trial.tables, error_ms) for row in trial.results]


def _group(rows: Sequence[TwinRow]) -> TwinGroup:
    twins, trend = with_trend([row.twin for row in rows])
    rows_with_trend = [dataclasses.replace(row, twin=twin) for row, twin in zip(rows, twins, strict=True)]
    return TwinGroup(rows_with_trend, trend)


def twin_tables(groups: Sequence[TwinGroup]) -> list[Table]:
    """Return a table for each job: measured and predicted times and bandwidths, deviation, likely causes."""
    return [_table(group) for group in groups]


def _table(group: TwinGroup) -> Table:
    metrics = [BY_NAME[name] for name in METRICS]
    columns = [Column("size", is_text=True, head=("data", "size"))]
    columns += [
        Column(f"{side} {metric.label}", metric.unit, head=(side, *metric.lines))
        for side in ("measured", "predicted")
        for metric in metrics
    ]
    columns.append(Column("deviation", "%"))
    notes = [f"trend: {trend_text(group.trend)}"] if group.trend else []
    notes += [note for row in group.rows for note in _notes(row)]
    return Table(columns, [_row(row) for row in group.rows], title=group.title, notes=notes)


def _row(row: TwinRow) -> Row:
    metrics = [BY_NAME[name] for name in METRICS]
    twin, predicted = row.twin, row.twin.predicted
    measured = [value_text(row.measured, twin.measured, metric) for metric in metrics]
    predictions = [
        metric_text(metric, predicted.value(metric.name) if predicted else None) for metric in metrics
    ]
    deviation = "-" if twin.deviation_percent is None else f"{twin.deviation_percent:+.2f}"
    return Row([row.size, *measured, *predictions, deviation])


def _notes(row: TwinRow) -> Iterator[str]:
    """Yield why there is no prediction, or the likely causes and the slowest ranks."""
    if row.missing:
        yield f"{row.size}: {row.missing}"
    yield from (f"{row.size}: {cause.text}" for cause in row.twin.causes[:_CAUSES])
    slowest = [
        f"{pair.src_rank} to {pair.dst_rank} ({pair.ratio:.2f} times)"
        for pair in row.twin.slowest
        if pair.ratio > 1
    ]
    if slowest and row.twin.causes:
        yield f"{row.size}: slowest ranks against the prediction: {', '.join(slowest)}"


def twins_json(groups: Sequence[TwinGroup]) -> str:
    """Return one JSON object: `twins`, one for each measured job and size, and `trends`, one for each job."""
    content = {
        "twins": [_object(row) for group in groups for row in group.rows],
        "trends": [
            {"variant": group.job[0], "job": group.job[1]} | dataclasses.asdict(group.trend)
            for group in groups
            if group.trend
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _object(row: TwinRow) -> dict[str, Any]:
    facts, twin = row.measured.facts, row.twin
    return {
        "job": twin.measured.job,
        "variant": facts.variant,
        "axes": dict(facts.axes),
        "data_size_bytes": twin.measured.data_size_bytes,
        "size": row.size,
        "iteration": facts.iteration,
        "measured": _side(row.measured, twin.measured),
        "predicted": _side(row.predicted, twin.predicted) if row.predicted and twin.predicted else None,
        "deviation_percent": twin.deviation_percent,
        "causes": [dataclasses.asdict(cause) for cause in twin.causes],
        "slowest": [dataclasses.asdict(pair) | {"ratio": pair.ratio} for pair in twin.slowest],
        "missing": row.missing or None,
    }


def _side(trial: Trial, summary: Summary) -> dict[str, Any]:
    facts = trial.facts
    identity = {"id": trial.id, "backend": facts.backend, "backend_version": facts.backend_version}
    return identity | {"status": summary.status} | {name: summary.value(name) for name in METRICS}


_BOTH: Final = ("id", "backend", "backend_version", "status", *METRICS)
TWIN_COLUMNS: Final = (
    *("job", "variant", "data_size_bytes", "iteration"),
    *(f"measured_{name}" for name in _BOTH),
    *(f"predicted_{name}" for name in _BOTH),
    *("deviation_percent", "causes", "missing"),
)
"""Columns of twins as flat rows."""


def twin_rows(groups: Sequence[TwinGroup]) -> list[dict[str, Any]]:
    """Return a flat row for each measured job and size, with `TWIN_COLUMNS`; causes are one text."""
    return [_flat(_object(row)) for group in groups for row in group.rows]


def _flat(content: dict[str, Any]) -> dict[str, Any]:
    sides: dict[str, Callable[[str], Any]] = {
        side: (content[side] or {}).get for side in ("measured", "predicted")
    }
    row = {name: content.get(name) for name in TWIN_COLUMNS}
    row |= {f"{side}_{name}": value(name) for side, value in sides.items() for name in _BOTH}
    return row | {"causes": "; ".join(cause["text"] for cause in content["causes"]) or None}


def twins_csv(groups: Sequence[TwinGroup]) -> str:
    """Return one line for each measured job and size, with `TWIN_COLUMNS`."""
    return rows_csv(TWIN_COLUMNS, twin_rows(groups))


def trend_text(trend: Trend) -> str:
    """Format the linear fit of measured against predicted times."""
    exact = ", of two sizes and so exact" if trend.sizes == 2 else f", within {trend.residual_percent:.2g} %"
    fixed = f"{1000 * trend.fixed_ms:+.4g} us at every size"
    return f"measured = predicted {trend.rate_percent:+.3g} % {fixed}{exact}"
