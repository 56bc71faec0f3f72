"""A trial as the workspace knows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fabricbench.store.catalog_schema import FINISHED
from fabricbench.store.rows import checked_row

if TYPE_CHECKING:
    from fabricbench.store.tables import TableFolder


MEASURED = "measured"
"""What the run spec of such a trial has in place of a fabric: the benchmark and what it printed of itself."""
IMPORTED = "imported"
"""Backend of trials that were measured elsewhere."""
FLOW = "flow"
"""Backend of trials that the flow model computed."""
SIMULATOR = "sim"
"""Backend of trials that are predictions."""


@dataclass(frozen=True)
class TrialFacts:
    """What is known of a trial before it runs.

    Attributes:
        id: Hash of the RunSpec, the backend and the version of its results: the same id is the same result.
        plan: Name of the plan.
        title: Its title.
        plan_source: Its text as the user wrote it.
        overrides: What was changed for this run, each FIELD=VALUE.
        suite: Hash of the plan's name, the ids of all trials that it expanded to and the tag: which trials
            belong together.
        position: Place within the suite, from 0.
        variant: Label of the variant, `base` if the plan has none; see `fabricbench.plan.sweep.labels`.
        iteration: Number of the iteration, from 0.
        data_size_bytes: Size of the sweep's step.
        size_kind: What that size is: `data` or `message` (what a rank gives to each other rank or puts in).
        tag: What the user called it; may be empty.
        run_spec: The RunSpec.
        published: The published row for this data size, if the plan names a table that has one: `table` (file
            name), `source` (where it comes from) and `values` (column to value).
        criteria: What metrics have to be for the test to pass: `metric`, `min`, `max` and `job`, the latter
            three none where nothing is said; empty if the plan has none.
        backend: Name of the backend.
        backend_version: Version of its results, as the id has it.
        engine_version: Version of the program that made the record.
        reference: Name of the variant that the others of the plan are compared with; none without variants.
        observed: What the record holds, as its backend says: for each table that has rows `at`, where they
            were seen (`fabric`, `device` or `endpoint`), and `unmeasured`, the columns that are null.
        axes: The swept fields by their dotted paths, in the order of the plan, each with its value as the
            plan has it; empty of a plan that sweeps none.
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
        """Swept values, size and iteration: what the variants of a run have in common."""
        return to_json(self.axes), self.data_size_bytes, self.iteration


@dataclass(frozen=True)
class Trial:
    """A row of the catalog: one attempt at a trial, with its tables if it has finished.

    Attributes:
        attempt: Number of the attempt; a later one has a higher number.
        facts: What was run.
        status: `running`, `complete`, `incomplete`, `interrupted` or `failed`.
        message: Why it is not complete; empty if it is.
        started_at: Wall-clock time, ISO 8601 in UTC.
        ended_at: The same; none while running.
        summary: The deterministic part of the backend's summary; none unless finished.
        results: One flat row of metrics for each job; empty unless finished.
        engine: What the run cost (`packet_hops`, `events`, `wall_s`, `cpu_s`, `peak_rss_bytes`, `threads`);
            empty unless finished.
        machine: The machine that ran it.
        tables: Its record.
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

    @property
    def id(self) -> str:
        """The id of the trial."""
        return self.facts.id

    @property
    def is_finished(self) -> bool:
        """Whether the trial has a record: it is complete or incomplete."""
        return self.status in FINISHED

    def has(self, *tables: str) -> bool:
        """Tell whether the record holds all of some tables, as it says of itself."""
        return all(table in self.facts.observed for table in tables)

    @property
    def notes(self) -> tuple[str, ...]:
        """What every report of it has to say: why its backend was chosen, how far a model may be off."""
        return tuple((self.summary or {}).get("notes", ()))

    @property
    def is_predicted(self) -> bool:
        """Whether it is what the simulator predicts."""
        return self.facts.backend == SIMULATOR

    @property
    def is_printed(self) -> bool:
        """Whether its run spec says what a benchmark printed, in place of what was run."""
        return MEASURED in self.facts.run_spec


def row_of(facts: TrialFacts) -> dict[str, Any]:
    """Return the columns of the catalog that hold the facts."""
    row = {name: getattr(facts, name) for name in facts.__dataclass_fields__}
    row["run_spec"] = to_json(facts.run_spec)
    row["observed"] = to_json(facts.observed)
    row["overrides"] = to_json(list(facts.overrides))
    row["criteria"] = to_json(list(facts.criteria))
    row["axes"] = to_json(facts.axes)
    row["published"] = to_json(facts.published) if facts.published is not None else None
    return row


def trial_of(row: Mapping[str, Any], tables_of: Callable[[Mapping[str, Any]], TableFolder]) -> Trial:
    """Read a row of the catalog.

    Args:
        row: The row.
        tables_of: Says where the record of a sound row is.

    Raises:
        RowError: It cannot be what it says.
    """
    parsed = checked_row(row)
    facts = {name: parsed.get(name, row[name]) for name in TrialFacts.__dataclass_fields__}
    facts |= {name: tuple(parsed[name]) for name in ("overrides", "criteria")}
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
    )


def to_json(value: object) -> str:
    """Write canonical JSON: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
