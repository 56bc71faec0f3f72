"""Expected curves of measured files: those of a cluster, or of a plan at the measured sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from fabricbench.backend.protocol import RefusedError
from fabricbench.importing import Fabric, FileFacts, Point, Table
from fabricbench.plan.cluster import COLLECTIVES, Cluster, option_problem
from fabricbench.plan.engine import SpecError, shares
from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.jobs.nccl_run import choices, nccl_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.studies.cluster_curves import choice_text, cluster_expectation, curve_series
from fabricbench.results.studies.expected import Range
from fabricbench.results.studies.expected_curve import (
    ExpectedPoint,
    ExpectedSeries,
    MeasuredSeries,
    bus_bandwidth_together,
)
from fabricbench.runner import loading
from fabricbench.runner.cluster_trials import run_cluster
from fabricbench.runner.unrecorded_trials import UnrecordedTrials
from fabricbench.words import counted
from fabricbench.work import nccl_text, pattern_of

if TYPE_CHECKING:
    from fabricbench.plan.engine import NcclAnswer

_OF_CHOICE: Final = ("algorithm", "protocol", "channels")
_TIME_LIMIT_MIN: Final = 2
"""Longest estimated time of a trial of a plan [min]."""


@dataclass(frozen=True)
class FileCurve:
    """The expected curve of a file.

    Attributes:
        series: Its points.
        source: Origin of the points, in words.
        as_chosen: What NCCL's choices in the log give, where they differ from those of the curve.
        adapters: Adapters of a server; none if unknown.
        answer: NCCL's graphs and channels; none if they are not those of a cluster.
        variables: NCCL's variables of the curve.
    """

    series: ExpectedSeries
    source: str
    as_chosen: MeasuredSeries | None = None
    adapters: int | None = None
    answer: NcclAnswer | None = None
    variables: Mapping[str, str] | None = None


def judged_table(parsed: FileFacts) -> Table | None:
    """Return the table of the largest size among those by which the network is judged."""
    tables = [table for table in parsed.tables if table.is_judged and table.rows]
    return max(tables, key=lambda table: max(row.size_bytes for row in table.rows), default=None)


def _is_of(point: Point, table: Table) -> bool:
    return (point.benchmark, point.ranks) == (table.benchmark, table.ranks)


def cluster_curve(cluster: Cluster, parsed: FileFacts) -> FileCurve:
    """Return the expected curve of a file whose results are those of a cluster.

    Raises:
        PlanError: The cluster is not allowed, or has another number of ranks.
    """
    cluster.check()
    table = judged_table(parsed)
    name = f"{cluster.servers} x {cluster.server}, {cluster.topology}, NCCL {cluster.version}"
    collective = table.collective if table else COLLECTIVES[0]
    ranks = table.ranks if table else parsed.facts.ranks
    if ranks not in {None, cluster.ranks}:
        found = f"{cluster.servers} x {cluster.server}, {counted(cluster.ranks, 'rank')}"
        raise option_problem("--servers", found, f"the {counted(ranks or 0, 'rank')} of the file")
    answer = cluster.question(COLLECTIVES[0], "1GB").answer()
    adapters = cluster.adapters
    if table is None or collective not in COLLECTIVES:
        return FileCurve(ExpectedSeries(name, []), name, None, adapters, answer, cluster.variables)
    points = [point for point in parsed.points if _is_of(point, table)]
    sizes = sorted({point.size_bytes for point in points if point.size_bytes})
    times = run_cluster(cluster, [collective], _text(sizes))
    expectation = cluster_expectation(cluster, times, 0.0)
    series = curve_series(expectation, expectation.curves[0])
    series = ExpectedSeries(series.name, [replace(point, accept_gb_per_s=None) for point in series.points])

    def run(variables: Mapping[str, str], sizes: Sequence[int]) -> Iterator[_Result]:
        chosen = replace(cluster, variables=variables)
        chosen_times = run_cluster(chosen, [collective], _text(sizes), has_bounds=False)
        for point in cluster_expectation(chosen, chosen_times, 0.0).curves[0].points:
            yield point.data_size_bytes, point.busbw.median, choice_text(point)

    def ignored(variables: Mapping[str, str]) -> list[str]:
        return replace(cluster, variables=variables).check()

    given = cluster.variables or {}
    as_chosen = _as_chosen(_Reruns(given, run, ignored), series, points, parsed.facts.settings)
    return FileCurve(series, f"{name}, flow model", as_chosen, adapters, answer, cluster.variables)


def _text(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


_Result = tuple[int, float, str]
"""Data size, bus bandwidth and NCCL's choice."""


@dataclass(frozen=True)
class _Reruns:
    """Runs of a curve with other variables of NCCL.

    Attributes:
        given: Variables of the curve.
        run: Runs some data sizes with variables.
        ignored: Returns the variables that change no choice.
    """

    given: Mapping[str, str]
    run: Callable[[Mapping[str, str], Sequence[int]], Iterable[_Result]]
    ignored: Callable[[Mapping[str, str]], Sequence[str]]


def _as_chosen(
    reruns: _Reruns, series: ExpectedSeries, points: Sequence[Point], settings: Mapping[str, str]
) -> MeasuredSeries | None:
    """Return the bandwidth of a curve with the variables and the choices of the log, if they differ.

    There is none if NCCL's rules do not accept a variable, and of sizes at which they do not make the choice.
    """
    chosen = {point.size_bytes: point.chosen for point in points if point.chosen}
    expected = {point.data_size_bytes: point.choice for point in series.points}
    logged = {name: value for name, value in settings.items() if name not in reruns.given}
    variables = {**reruns.given, **logged}
    values: list[tuple[int, float]] = []
    try:
        is_set = set(logged) - set(reruns.ignored(variables))
        for forced, group in groupby(
            sorted(expected), lambda size: _forced(chosen.get(size, {}), expected[size])
        ):
            if forced or is_set:
                values += [
                    (size, busbw)
                    for size, busbw, choice in reruns.run({**variables, **dict(forced)}, list(group))
                    if same_choice(chosen_words(chosen.get(size, {})), choice)
                ]
    except (PlanError, RefusedError, SpecError):
        return None
    return MeasuredSeries("expected with the choices of the log", values) if values else None


def _forced(chosen: Mapping[str, str], expected: str) -> tuple[tuple[str, str], ...]:
    """Return the variables by which NCCL makes a logged choice; empty if it is the expected one."""
    names = [chosen.get(name, "") for name in _OF_CHOICE]
    if any("," in name for name in names) or not names[0] or same_choice(chosen_words(chosen), expected):
        return ()
    channels = [("NCCL_MIN_NCHANNELS", names[2]), ("NCCL_MAX_NCHANNELS", names[2])] if names[2] else []
    return (("NCCL_ALGO", names[0]), ("NCCL_PROTO", names[1]), *channels)


def chosen_words(chosen: Mapping[str, str]) -> str:
    """Return a logged choice in words; empty without one."""
    return " ".join(chosen[name] for name in _OF_CHOICE if name in chosen)


def same_choice(logged: str, expected: str) -> bool:
    """Return whether two choices are equal; a logged one may lack its channels."""
    words, others = (text.lower().replace("-", "").split() for text in (logged, expected))
    return words == others[: len(words)]


def workspace_curve(fabric: Fabric, loaded: LoadedPlan | None) -> FileCurve:
    """Return the expected curve of a file by the trials of its plan in the workspace."""
    source = f"plan {fabric.plan}, {counted(fabric.trials, 'trial')} of "
    source += f"{counted(len(fabric.values), 'size')} in the workspace"
    return _of_plan(fabric.plan, loaded, fabric.values, fabric.choices, source)


def plan_curve(loaded: LoadedPlan, parsed: FileFacts) -> FileCurve | None:
    """Return the expected curve of a file by its plan at the measured sizes, by the flow model.

    Returns:
        The curve; none if the plan does not run the measured operation, or the flow model does not cover it.
    """
    table = judged_table(parsed)
    sizes = sorted({point.size_bytes for point in parsed.points if table and _is_of(point, table)})
    jobs = _jobs_of(loaded, table) if table else None
    if table is None or jobs is None:
        return None
    try:
        results = list(_plan_results(loaded, table, jobs, sizes))
    except (PlanError, RefusedError):
        return None
    values: dict[int, list[float]] = {}
    for size, busbw, _ in results:
        values.setdefault(size, []).append(busbw)
    if not values:
        return None
    source = f"plan {loaded.plan.name}, {counted(len(values), 'size')} by the flow model"
    by_size = {size: choice for size, _, choice in results}
    curve = _of_plan(loaded.plan.name, loaded, values, by_size, source)
    return _with_choices(curve, loaded, parsed, table) if jobs == 1 else curve


def _plan_results(
    loaded: LoadedPlan, table: Table, jobs: int, sizes: Sequence[int], overrides: Sequence[str] = ()
) -> Iterator[_Result]:
    """Yield the results of a plan at some data sizes, with more overrides.

    Raises:
        PlanError: The plan cannot run with the overrides, or would take too long.
        RefusedError: The flow model does not cover the plan.
    """
    kind = loaded.trials[0].size_kind
    parts = shares(table.collective, table.ranks // jobs) if kind == "message" else 1
    written = [size // jobs // parts for size in sizes if size // jobs // parts]
    fields = [f"sweep.{kind}_size={written}", "backend=flow", "iterations=1", *overrides]
    planned = loading.reload(loaded, fields, loading.machine_limits(_TIME_LIMIT_MIN))
    trials = [trial for trial in planned.trials if not trial.is_solo]
    times = UnrecordedTrials(loading.backend_of(planned)).times_us(trials)
    for trial, times_us in zip(trials, times, strict=True):
        yield from _results(trial, times_us, table, jobs)


def _with_choices(curve: FileCurve, loaded: LoadedPlan, parsed: FileFacts, table: Table) -> FileCurve:
    """Return the curve of a plan with NCCL's graphs, and with what the choices of the log give.

    They are of the job that runs the measured operation, if NCCL does it and the plan has no variants.
    """
    trial = next(trial for trial in loaded.trials if not trial.is_solo)
    kinds = [_kind(job) for job in trial.run_spec["jobs"]]
    number = kinds.index((table.collective, table.ranks))
    plan, job = loaded.plan, loaded.plan.jobs[number]
    if (nccl := nccl_of(plan, job)) is None or len(loaded.variants) > 1:
        return curve
    given = nccl

    def run(variables: Mapping[str, str], sizes: Sequence[int]) -> Iterator[_Result]:
        library = json.dumps({"nccl": {"version": given.version, "env": dict(variables)}})
        return _plan_results(loaded, table, 1, sizes, [f"jobs.{number}.library={library}"])

    def ignored(variables: Mapping[str, str]) -> list[str]:
        library = given.model_copy(update={"env": dict(variables)})
        return choices(plan, job, library, trial.data_size_bytes)["ignored"]

    points = [point for point in parsed.points if _is_of(point, table)]
    reruns = _Reruns(given.env, run, ignored)
    as_chosen = _as_chosen(reruns, curve.series, points, parsed.facts.settings)
    answer = choices(plan, job, given, trial.data_size_bytes)
    return replace(curve, as_chosen=as_chosen, answer=answer, variables=given.env)


def _of_plan(
    name: str,
    loaded: LoadedPlan | None,
    values: Mapping[int, Sequence[float]],
    choices: Mapping[int, str],
    source: str,
) -> FileCurve:
    points = [
        ExpectedPoint(size, Range.of(values[size]), choice=choices.get(size, "")) for size in sorted(values)
    ]
    fabric: Mapping[str, Any] = loaded.trials[0].run_spec["fabric"] if loaded else {}
    server = fabric.get("server") or {}
    adapters = server["adapters"] // server.get("machines", 1) if server else None
    return FileCurve(ExpectedSeries(name, points), source, None, adapters)


def _jobs_of(loaded: LoadedPlan, table: Table) -> int | None:
    """Return how many jobs of a plan together run a measured operation; none if they do not."""
    for trial in loaded.trials:
        jobs = [] if trial.is_solo else trial.run_spec["jobs"]
        if any(_kind(job) == (table.collective, table.ranks) for job in jobs):
            return 1
        kinds = {_kind(job)[0] for job in jobs}
        if kinds == {table.collective} and sum(_kind(job)[1] for job in jobs) == table.ranks:
            return len(jobs)
    return None


def _kind(job: Mapping[str, Any]) -> tuple[str, int]:
    return pattern_of(job)["collective"], len(job["hosts"])


def _results(
    trial: PlannedTrial, times_us: Sequence[float], table: Table, jobs: int
) -> Iterator[tuple[int, float, str]]:
    """Yield data size, bus bandwidth and choice of each matching job, or of all jobs together."""
    specs = list(zip(trial.run_spec["jobs"], times_us, strict=True))
    matching = [[spec] for spec in specs if _kind(spec[0]) == (table.collective, table.ranks)]
    for group in matching if jobs == 1 else [specs]:
        sizes = [pattern_of(job)["data_bytes"] for job, _ in group]
        parts = [(*_kind(job), size) for (job, _), size in zip(group, sizes, strict=True)]
        busbw = bus_bandwidth_together(parts, max(time_us for _, time_us in group))
        yield sum(sizes), busbw, nccl_text(group[0][0]) if len(group) == 1 else ""
