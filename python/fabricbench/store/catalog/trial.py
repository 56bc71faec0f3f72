"""Types of trials in the catalog: facts known before a run, and status and results after; parses rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricbench.store.catalog.rows import checked_row
from fabricbench.store.catalog.schema import FINISHED
from fabricbench.store.record.earlier_specs import current_spec
from fabricbench.store.record.tables import TableFolder

MEASURED = "measured"
"""Key in the run spec of such a trial instead of a fabric: the benchmark and the settings it printed."""
IMPORTED = "imported"
"""Backend of trials that were measured elsewhere."""
FLOW = "flow"
"""Backend of trials computed by the flow model."""
SIMULATOR = "sim"
"""Backend of trials that are predictions."""


@dataclass(frozen=True)
class TrialFacts:
    """Facts of a trial that are determined before it runs.

    Attributes:
        id: Hash of the RunSpec, the backend and the version of its results: the same id is the same result.
        plan: Name of the plan.
        title: Its title.
        plan_source: Its text as the user wrote it.
        overrides: Changes for this run, each FIELD=VALUE.
        suite: Hash of the plan's name, the ids of all trials that it expanded to and the tag: trials with the
            same value belong together.
        position: Index within the suite, from 0.
        variant: Label of the variant, `base` if the plan has none; see `fabricbench.plan.sweep.labels`.
        iteration: Number of the iteration, from 0.
        data_size_bytes: Size of the sweep's step.
        size_kind: Kind of that size: `data` or `message` (the data of a rank for each other rank, or its
            input).
        tag: The user's tag; may be empty.
        run_spec: The RunSpec.
        published: The published row for this data size, if the plan names a table that has one: `table` (file
            name), `source` (its origin) and `values` (column to value).
        criteria: Conditions on metrics for the test to pass: `metric`, `min`, `max` and `job`, the latter
            three None if not given; empty if the plan has none.
        backend: Name of the backend.
        backend_version: Version of its results, as in the id.
        engine_version: Version of the program that made the record.
        reference: Name of the variant that the others of the plan are compared with; None without variants.
        observed: Tables with rows in the record, from its backend: for each `at`, where they were observed
            (`fabric`, `device` or `endpoint`), and `unmeasured`, the columns that are null.
        axes: The swept fields by their dotted paths, in the order of the plan, each with its value as written
            in the plan; empty for a plan without swept fields.
    """

    id: str
    plan: str
    title: str
    plan_source: str
    overrides: tuple[str, ...]
    suite: str
    position: int
    variant: str
    iteration: int
    data_size_bytes: int
    size_kind: str
    tag: str
    run_spec: Mapping[str, Any]
    published: Mapping[str, Any] | None
    criteria: tuple[Mapping[str, Any], ...]
    backend: str
    backend_version: str
    engine_version: str
    reference: str | None = None
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    axes: tuple[tuple[str, Any], ...] = ()

    @property
    def point(self) -> tuple[str, int, int]:
        """Swept values, size and iteration: equal for the same trial of different variants of a run."""
        return to_json(self.axes), self.data_size_bytes, self.iteration


@dataclass(frozen=True)
class Trial:
    """A row of the catalog: one attempt at a trial, with its tables if it has finished.

    Attributes:
        attempt: Number of the attempt; a later one has a higher number.
        facts: Facts of the trial.
        status: `running`, `complete`, `incomplete`, `interrupted` or `failed`.
        message: Why it is not complete; empty if it is.
        started_at: Start, wall-clock time, ISO 8601 in UTC.
        ended_at: End, likewise; None while running.
        summary: The deterministic part of the backend's summary; None unless finished.
        results: One flat row of metrics for each job; empty unless finished.
        engine: Cost of the run (`packet_hops`, `events`, `wall_s`, `cpu_s`, `peak_rss_bytes`, `threads`);
            empty unless finished.
        machine: The machine that ran it.
        tables: Its record.
        stored_spec: The JSON of its run spec as stored, in the form of its version.
    """

    attempt: int
    facts: TrialFacts
    status: str
    message: str
    started_at: str
    ended_at: str | None
    summary: Mapping[str, Any] | None
    results: tuple[Mapping[str, Any], ...]
    engine: Mapping[str, Any]
    machine: Mapping[str, Any]
    tables: TableFolder = field(repr=False, compare=False)
    stored_spec: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """The id of the trial."""
        return self.facts.id

    @property
    def is_finished(self) -> bool:
        """Whether the trial has a record: it is complete or incomplete."""
        return self.status in FINISHED

    def has(self, *tables: str) -> bool:
        """Return whether the record has all of some tables, according to `observed`."""
        return all(table in self.facts.observed for table in tables)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for every report of it: why its backend was chosen, how inaccurate a model may be."""
        return tuple((self.summary or {}).get("notes", ()))

    @property
    def is_predicted(self) -> bool:
        """Whether it is a prediction of the simulator."""
        return self.facts.backend == SIMULATOR

    @property
    def is_printed(self) -> bool:
        """Whether its run spec has the settings that a benchmark printed, instead of a RunSpec."""
        return MEASURED in self.facts.run_spec


def row_of(facts: TrialFacts) -> dict[str, Any]:
    """Return the catalog columns of the facts."""
    row = {name: getattr(facts, name) for name in facts.__dataclass_fields__}
    row["run_spec"] = to_json(facts.run_spec)
    row["observed"] = to_json(facts.observed)
    row["overrides"] = to_json(list(facts.overrides))
    row["criteria"] = to_json(list(facts.criteria))
    row["axes"] = to_json(facts.axes)
    row["published"] = to_json(facts.published) if facts.published is not None else None
    return row


def trial_of(row: Mapping[str, Any], tables_of: Callable[[Mapping[str, Any]], TableFolder]) -> Trial:
    """Parse a row of the catalog.

    Args:
        row: The row.
        tables_of: Returns the record of a valid row.

    Raises:
        RowError: It has invalid values.
    """
    parsed = checked_row(row)
    facts = {name: parsed.get(name, row[name]) for name in TrialFacts.__dataclass_fields__}
    facts |= {name: tuple(parsed[name]) for name in ("overrides", "criteria")}
    facts["run_spec"] = current_spec(parsed["run_spec"])
    facts["axes"] = tuple((name, value) for name, value in parsed["axes"])
    return Trial(
        attempt=row["attempt"],
        facts=TrialFacts(**facts),
        status=row["status"],
        message=row["message"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        summary=parsed["summary"],
        results=tuple(parsed["results"] or ()),
        engine=parsed["engine"] or {},
        machine=parsed["machine"],
        tables=tables_of(row),
        stored_spec=row["run_spec"],
    )


def to_json(value: object) -> str:
    """Write canonical JSON: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
