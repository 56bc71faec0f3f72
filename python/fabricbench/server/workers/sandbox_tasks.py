"""Tasks of the sandbox process: check or make a plan, capture frames, read measurements, expect a curve.

Imported before any process is forked, so nothing here may start a thread or load a heavy library.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NotRequired, cast

from typing_extensions import TypedDict

from fabricbench import importing
from fabricbench.backend.protocol import BackendError, RefusedError
from fabricbench.backend.registry import capturing
from fabricbench.errors import UserError
from fabricbench.plan import engine
from fabricbench.plan._run_spec import RunSpec
from fabricbench.plan.cluster import SIZES, Cluster, collectives_named
from fabricbench.plan.devices.fragment import NOT_IN_FILE, value_text
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.devices.whole_plan import assumed_text, whole_plan
from fabricbench.plan.document.document import read_text
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.plan.estimates.cost import Limits, is_beyond, least_cost
from fabricbench.plan.estimates.flow_error import backend_for
from fabricbench.plan.expand import PlannedTrial, first_spec
from fabricbench.plan.load import validate
from fabricbench.plan.sweep.search_range import range_of
from fabricbench.plan.templates import cluster_text
from fabricbench.report.studies.cluster_curves import (
    ALLOWANCE_PERCENT,
    cluster_expectation,
    cluster_object,
    curve_series,
    legend,
)
from fabricbench.runner import loading
from fabricbench.runner.cluster_trials import run_cluster
from fabricbench.runner.session import Phase, phases_of
from fabricbench.server.workers.plan_fabric import plan_fabric
from fabricbench.server.workers.plan_yaml import yaml_of
from fabricbench.server.workers.run_target import RunTarget

SOURCE: Final = "plan"
"""Source named in errors about the plan text of a request."""
TRIALS_MAX: Final = 1000
"""Maximum number of listed trials of a run."""


class PlanCost(TypedDict):
    """Estimated cost of the trials that `basis` names; `text` has it in words."""

    basis: str
    memory_bytes: int
    seconds: float
    longest_seconds: float
    packet_hops: int
    chunks: int
    queue_pairs: int
    hosts: int
    text: NotRequired[str]


def check(
    text: str | None,
    document: Mapping[str, Any] | None,
    overrides: Sequence[str],
    chosen: Sequence[str],
    limits: tuple[int | None, int | None],
    run_target: Mapping[str, Any],
) -> dict[str, Any]:
    """Check a plan and return its errors, cost, trials and topology without running it.

    Args:
        text: Its YAML; with `document`, the YAML whose comments are preserved.
        document: Its fields; they take precedence over `text`.
        overrides: Changes, each FIELD=VALUE.
        chosen: Names of the variants to run; all if empty.
        limits: Memory [bytes] and time [ms] that a trial may take; none for no limit.
        run_target: Its run target: the attributes of `RunTarget`.
    """
    bounds = Limits(*limits)
    try:
        text = yaml_of(document, text) if document is not None else text or ""
        result: dict[str, Any] = {"yaml": text, "document": None, "errors": [], "warnings": []}
        result["document"] = _plain(read_text(text, SOURCE).data)
    except PlanError as error:
        return _empty(text) | {"errors": _faults(error)}
    empty = _empty(text) | result
    try:
        loaded = loading.load_text(text, SOURCE, overrides, bounds, chosen)
    except PlanError as error:
        refusal = empty | {"errors": _faults(error)}
        return refusal | _cost_of_refused(text, overrides, error.problems)
    target = RunTarget(**run_target)
    try:
        return empty | _described(
            phases_of(loaded, target.settings(loaded), bounds, chosen, twin=target.twin)
        )
    except (BackendError, PlanError, RefusedError) as error:
        problems = target.problems(error, loaded, SOURCE)
        return empty | {"errors": [_fault(problem, "error") for problem in problems]}


def capture(spec: Mapping[str, Any], backend: str, qps: Sequence[int], count: int) -> dict[str, Any]:
    """Run a trial until some queue pairs have sent `count` frames.

    Args:
        spec: Its RunSpec.
        backend: Name of the backend that ran it.
        qps: Numbers of the queue pairs; the first one if empty.
        count: Maximum number of frames.
    """
    planned = PlannedTrial(0, "", 0, 0, "data", cast("RunSpec", dict(spec)))
    try:
        source = capturing(backend)
        wiring = source.wiring(planned)
        queue_pair_count = len(wiring.queue_pairs)
        unknown_qps = [qp for qp in qps if not 0 <= qp < queue_pair_count]
        if unknown_qps:
            return {"error": f"qp: found {unknown_qps[0]}", "allowed": f"0 to {queue_pair_count - 1}"}
        frames = source.frames(planned, list(qps) or [0], count)
    except UserError as error:
        return {"error": error.text(), "allowed": ""}
    return {
        "frames": [(time_ps, b64encode(data).decode()) for time_ps, data in frames],
        "lids": wiring.lids,
        "addresses": wiring.ip_addresses,
        "rates_bps": wiring.host_rates_bps,
    }


def measure(
    name: str,
    text: str,
    format_name: str | None,
    ranks: int | None,
    benchmark: str,
    plan: str | None,
) -> dict[str, Any]:
    """Parse measured results without storing them; see `fabricbench.importing`.

    Args:
        name: Name of the file in errors.
        text: Its content in Base64.
        format_name: Its format; none to detect it.
        ranks: Number of ranks, if the file does not state it.
        benchmark: Name of the benchmark, if the file does not state it.
        plan: Name of the shipped plan that simulates it.
    """
    user_facts = importing.UserFacts(ranks, benchmark)
    loaded = loading.load(plan) if plan else None
    if loaded is not None:
        try:
            loading.check_no_search(loaded, "measured results")
        except PlanError as error:
            return {"error": _faults(error)[0] | {"line": None, "column": None}}
    options = importing.Options(format_name, "", "", user_facts, loaded)
    try:
        return {"count": importing.count_results(importing.Source(name, b64decode(text)), options)}
    except importing.MeasuredError as error:
        return {"error": _measured_fault(error)}


def explain(files: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """Explain pasted files; see `fabricbench.explaining.pasted`.

    Args:
        files: Name, text and `earlier` of each file; `earlier` for counters before the run.
        given: Values of the user: the attributes of `Given`.
    """
    from fabricbench.explaining.pasted import Given, explained

    sources = {
        is_earlier: [
            importing.Source(file["name"], file["text"].encode(errors="replace"))
            for file in files
            if file["earlier"] == is_earlier
        ]
        for is_earlier in (False, True)
    }
    try:
        return explained(sources[False], sources[True], Given(**given))
    except importing.MeasuredError as error:
        return {"error": _measured_fault(error)}
    except PlanError as error:
        return {"error": _faults(error)[0] | {"file": error.problems[0].place.source}}


def make_cluster_plan(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a collective on a cluster.

    Args:
        question: The attributes of `ClusterQuestion`.
    """
    name, servers = question["cluster"], question["servers"]
    cluster = Cluster(
        name,
        servers,
        question["topology"],
        nics=question["adapters"],
        tiers=question["tiers"],
        oversubscription=question["oversubscription"],
        load_balancing=question["load_balancing"],
    )
    try:
        text = cluster_text(cluster, question["collective"], f"{name}-x{servers}")
    except PlanError as error:
        return {"error": _faults(error)[0]}
    return {"yaml": text, "source": f"{servers} x {name}"}


def make_device_plan(name: str, text: str) -> dict[str, Any]:
    """Return the plan made of a device's file, with its fields and those that are assumed.

    Args:
        name: Name of the file.
        text: Its content.
    """
    try:
        fragment = read_device(text.encode(errors="replace"), name, ReadOptions())
    except PlanError as error:
        return {"error": _faults(error)[0] | {"file": name}}
    plan = whole_plan(fragment)
    return {
        "yaml": plan.text,
        "source": f"{fragment.format} {name}",
        "read": list(fragment.read),
        "fields": [
            {"field": value.field, "value": value_text(value.value), "origin": value.origin}
            for value in fragment.values
            if value.origin != NOT_IN_FILE
        ],
        "assumed": [assumed_text(value) for value in plan.assumed],
        "warnings": list(fragment.warnings),
        "not_modelled": list(fragment.left_out),
    }


def _measured_fault(error: importing.MeasuredError) -> dict[str, Any]:
    return {
        "message": str(error),
        "hint": error.hint,
        "file": error.name,
        "line": error.line,
        "found": error.found,
        "allowed": error.expected,
    }


def _empty(text: str | None) -> dict[str, Any]:
    return {
        "yaml": text or "",
        "document": None,
        "name": None,
        "title": None,
        "extent": None,
        "variants": [],
        "errors": [],
        "warnings": [],
        "beyond_machine": False,
        "cost": None,
        "backend": None,
        "notes": [],
        "trials": [],
        "trials_total": 0,
        "search": None,
        "topology": None,
    }


def expect(server: str, servers: int, collective: str, topology: str, seeds: int) -> dict[str, Any]:
    """Return the expected curve of a collective on a cluster as an object, with its figure.

    Args:
        server: A shipped server.
        servers: Number of servers.
        collective: The collective.
        topology: Kind of the fabric.
        seeds: Trials of each size.
    """
    from fabricbench.figures.results.expected_curve import expected_plot

    cluster = Cluster(server, servers, topology)
    try:
        cluster.check()
        times = run_cluster(cluster, collectives_named([collective]), SIZES, seeds)
    except PlanError as error:
        return {"error": _faults(error)[0]}
    expectation = cluster_expectation(cluster, times, ALLOWANCE_PERCENT / 100)
    plot = expected_plot([curve_series(expectation, expectation.curves[0])])
    return {
        **cluster_object(expectation, importing.PROGRAMS),
        "title": expectation.title,
        "source": expectation.source,
        "legend": list(legend(expectation)),
        "figure": {**json.loads(plot.json()), "caption": plot.caption},
    }


def _faults(error: PlanError) -> list[dict[str, Any]]:
    return [_fault(problem, "error") for problem in error.problems]


def _fault(problem: Problem, severity: str) -> dict[str, Any]:
    text = problem.text(severity).removeprefix(f"{severity}: ").partition("\nhint: ")[0]
    location = problem.place
    return {
        "message": text,
        "hint": problem.hint,
        "field": problem.field,
        "file": "",
        "line": location.line,
        "column": location.column,
        "found": problem.found,
        "allowed": problem.allowed,
    }


def _cost_of_refused(text: str, overrides: Sequence[str], problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the cost of a refused plan: of its first trial, or the least possible cost of its ranks.

    For a search, the first trial is the one at the end of the range that costs too much.
    """
    if not all(is_beyond(problem) for problem in problems):
        return _least_cost(text, overrides, problems)
    document = apply_overrides(read_text(text, SOURCE), overrides)
    plan = validate(document)
    if plan.search is not None:
        searched = range_of(plan, document)
        end = searched.low if problems[0].field == "search.from" else searched.high
        plan = validate(apply_overrides(document, searched.at(end)))
    spec_json = json.dumps(first_spec(plan))
    estimate = engine.estimate(spec_json, backend_for(spec_json, plan.backend))
    cost = _cost([estimate], "the first trial") if estimate else None
    return {"beyond_machine": True, "cost": cost, "name": plan.name, "title": plan.title}


def _least_cost(text: str, overrides: Sequence[str], problems: Sequence[Problem]) -> dict[str, Any]:
    try:
        document = apply_overrides(read_text(text, SOURCE), overrides)
    except PlanError:
        return {}  # the errors are in the overrides
    estimate = least_cost(problems, document)
    return {"cost": _cost([estimate], "so many ranks at the least")} if estimate else {}


def _described(phases: Sequence[Phase]) -> dict[str, Any]:
    loaded, backend = phases[-1].loaded, phases[-1].backend
    simulated = phases[0].loaded  # trials on hosts have no estimate
    search, estimates = loaded.plan.search, simulated.bounds
    return {
        "name": loaded.plan.name,
        "title": loaded.plan.title,
        "extent": loaded.extent,
        "variants": [variant.name for variant in loaded.plan.variants],
        "warnings": [_fault(warning, "warning") for warning in loaded.warnings],
        "cost": _cost(estimates, "all trials at most" if search else "all trials") | {"text": simulated.cost}
        if estimates
        else None,
        "backend": backend.name,
        "notes": loading.notes_of(loaded, backend),
        "trials": list(islice((trial for phase in phases for trial in phase.trials()), TRIALS_MAX)),
        "trials_total": sum(phase.loaded.trials_max for phase in phases),
        "search": search.field if search else None,
        "topology": drawn.model_dump() if (drawn := plan_fabric(loaded)) else None,
    }


def _cost(estimates: Sequence[engine.Estimate], basis: str) -> PlanCost:
    """Return the estimated cost of trials: the largest memory, the sum of the times, the largest counts."""
    times = [estimate["time_ms"] for estimate in estimates]
    return {
        "basis": basis,
        "memory_bytes": max(estimate["memory_bytes"] for estimate in estimates),
        "seconds": sum(times) / 1000,
        "longest_seconds": max(times) / 1000,
        "packet_hops": sum(estimate["packet_hops"] for estimate in estimates),
        "chunks": max(estimate["chunks"] for estimate in estimates),
        "queue_pairs": max(estimate["queue_pairs"] for estimate in estimates),
        "hosts": max(estimate["hosts"] for estimate in estimates),
    }


def _plain(value: Any) -> Any:
    """Return the values of a plan as JSON values: infinite numbers and NaN become texts."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
