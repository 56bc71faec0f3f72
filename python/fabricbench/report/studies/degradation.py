"""Formats what jobs lose by degraded adapters, links and switches: text, JSON, CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.studies.degradation import (
    STOPPED,
    Degraded,
    DegradedGroupLike,
    Effect,
    ElementLike,
    degraded_of,
)
from fabricbench.words import counted, data_size, plural
from fabricbench.work import pattern_of

_SMALL: Final = 0.0005
"""Change below which nothing is lost, as a fraction."""
_MODELS: Final = {"flow": "flow model", "sim": "packets"}


@dataclass(frozen=True)
class Degradation:
    """What jobs lose by degraded elements of a fabric.

    Attributes:
        name: Name of the plan.
        sizes: Data size of each job [bytes].
        shortened: Data size of each job that a backend ran with less data, by job and backend [bytes].
        rows: Groups of elements in each state, the largest loss first.
        tiers: Tier of each node of the fabric.
        runs: Number of runs.
    """

    name: str
    sizes: Mapping[str, int]
    shortened: Mapping[tuple[str, str], int]
    rows: Sequence[Degraded]
    tiers: Mapping[str, int]
    runs: int

    @property
    def jobs(self) -> list[str]:
        """Names of the jobs."""
        return list(self.sizes)


class TrialsLike(Protocol):
    """Results of the trials of degraded elements."""

    @property
    def elements(self) -> Sequence[ElementLike]:
        """Adapters, links and switches of the fabric."""

    @property
    def groups(self) -> Sequence[DegradedGroupLike]:
        """Each group in each state."""

    @property
    def sizes(self) -> Mapping[tuple[int, str], int]:
        """Data size of each trial that a backend ran with less data, by trial and backend [bytes]."""

    @property
    def runs(self) -> int:
        """Number of runs."""


def degradation_of(
    name: str, trials: TrialsLike, labels: Sequence[str], run_specs: Sequence[Mapping[str, Any]]
) -> Degradation:
    """Return what jobs lose.

    Args:
        name: Name of the plan.
        trials: Results of its trials.
        labels: Name of the only job of each trial; an empty text keeps the names of its jobs.
        run_specs: RunSpec of each trial.
    """
    jobs = [
        (index, label or job["name"], pattern_of(job)["data_bytes"])
        for index, (label, spec) in enumerate(zip(labels, run_specs, strict=True))
        for job in spec["jobs"]
    ]
    return Degradation(
        name,
        {job: size for _, job, size in jobs},
        {
            (job, backend): size
            for (trial, backend), size in trials.sizes.items()
            for index, job, _ in jobs
            if index == trial
        },
        degraded_of(trials.groups, labels),
        {
            node: tier
            for element in trials.elements
            for node, tier in zip(element.nodes, element.tiers, strict=True)
        },
        trials.runs,
    )


def degradation_table(degradation: Degradation) -> Table:
    """Return the table: a row for each group and state, a column for each job."""
    columns = [
        Column("elements"),
        Column("", is_text=True),
        Column("such as", is_text=True),
        Column("state", is_text=True),
        *(Column(job) for job in degradation.jobs),
        Column("run"),
    ]
    rows = [
        Row(
            [
                f"{len(row.elements):,}",
                plural(len(row.elements), row.kind),
                (row.computed or row.elements)[0],
                row.state,
                *(change_text(effect) for effect in row.effects),
                str(len(row.computed)) if row.computed else "-",
            ],
            "bad" if row.worst == STOPPED else "",
        )
        for row in degradation.rows
    ]
    return Table(columns, rows)


def change_text(effect: Effect) -> str:
    """Format the change of a job's bandwidth: `-7 %`, `-9 to -7 %`, `stops`, `0`, or `?` if unknown."""
    if effect.worst is None or effect.least is None:
        return "?"
    worst, least = _percent(effect.worst), _percent(effect.least)
    if worst == least:
        return worst if worst in {"stops", "0"} else f"{worst} %"
    return f"{worst} to {least} %" if worst != "stops" else f"stops, or {least} %"


def _percent(change: float) -> str:
    if change == STOPPED:
        return "stops"
    if abs(change) < _SMALL:
        return "0"
    percent = 100 * change
    return f"{percent:+.0f}" if abs(percent) >= 9.5 else f"{percent:+.1f}"


def degradation_text(degradation: Degradation, *, colour: bool) -> str:
    """Format the table, the worst first, and what its columns mean."""
    head = f"{degradation.name}: change of the bandwidth by one degraded element"
    table = render(degradation_table(degradation), colour=colour)
    return "\n\n".join([styled(head, Style.BOLD, colour=colour), table, "\n".join(notes(degradation))])


def notes(degradation: Degradation) -> Iterator[str]:
    """Yield what the table means, and how it was computed."""
    sizes = ", ".join(f"{job} {data_size(size)}" for job, size in degradation.sizes.items())
    yield f"{sizes}; {counted(degradation.runs, 'run')}"
    yield "run: elements of the row that were run, those with most and with least load of it; others have"
    yield "the same load, or one between; `-`: no data use them, so nothing is lost"
    yield "half rate: of an adapter or link in both directions, of a switch on all its links. down: after the"
    yield "routes have changed; `stops`: no other path. 1e-4 loss: of frames in each direction"
    for backend, name in _MODELS.items():
        if used := _used(degradation, backend):
            yield f"{name}: {used}{_less(degradation, backend)}"
    waits, job = max((effect.waits, effect.job) for row in degradation.rows for effect in row.effects)
    if waits:
        yield "not in the changes: a lost last packet waits for the timeout of the transport, on average"
        yield f"{number(waits, 2)} times an operation of {job}, with the worst element"
    for reason in dict.fromkeys(effect.refused for row in degradation.rows for effect in row.effects):
        if reason:
            yield f"?: {reason}"


def _used(degradation: Degradation, backend: str) -> str:
    """Return the states that a backend ran, each with its jobs unless these are all."""
    jobs_by_state: dict[str, list[str]] = {}
    for row in degradation.rows:
        for effect in row.effects:
            if effect.backend == backend:
                jobs = jobs_by_state.setdefault(row.state, [])
                jobs += [] if effect.job in jobs else [effect.job]
    return ", ".join(
        state if len(jobs) == len(degradation.jobs) else f"{state} ({', '.join(jobs)})"
        for state, jobs in sorted(jobs_by_state.items())
    )


def _less(degradation: Degradation, backend: str) -> str:
    shortened = [
        f"{job} {data_size(size)}" for (job, ran), size in degradation.shortened.items() if ran == backend
    ]
    return f", on the line through two sizes ({', '.join(shortened)} and half)" if shortened else ""


def rows_of(degradation: Degradation) -> list[dict[str, Any]]:
    """Return a row for each group, state and job, the largest loss first."""
    return [
        {
            "kind": row.kind,
            "elements": len(row.elements),
            "such_as": (row.computed or row.elements)[0],
            "equal_loads": row.are_equal,
            "state": row.state,
            "job": effect.job,
            "change_worst": effect.worst,
            "change_least": effect.least,
            "stops": effect.worst == STOPPED,
            "timeout_waits": effect.waits,
            "backend": effect.backend or None,
            "refused": effect.refused or None,
        }
        for row in degradation.rows
        for effect in row.effects
    ]


def degradation_json(degradation: Degradation) -> str:
    """Return everything as one JSON object; `degraded` has also the names of all elements."""
    content = {
        "plan": degradation.name,
        "data_size_bytes": degradation.sizes,
        "runs": degradation.runs,
        "run_with_less_data": [
            {"job": job, "backend": backend, "data_size_bytes": size}
            for (job, backend), size in degradation.shortened.items()
        ],
        "degraded": [
            {
                "kind": row.kind,
                "state": row.state,
                "elements": row.elements,
                "equal_loads": row.are_equal,
                "jobs": [
                    {
                        "job": effect.job,
                        "change_worst": effect.worst,
                        "change_least": effect.least,
                        "stops": effect.worst == STOPPED,
                        "changes": effect.changes,
                        "timeout_waits": effect.waits,
                        "backend": effect.backend or None,
                        "refused": effect.refused or None,
                    }
                    for effect in row.effects
                ],
            }
            for row in degradation.rows
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def degradation_csv(degradation: Degradation) -> str:
    """Return a row for each group, state and job as CSV."""
    rows = rows_of(degradation)
    return rows_csv(list(rows[0]), rows).rstrip("\n")
