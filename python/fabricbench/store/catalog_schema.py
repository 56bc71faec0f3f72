"""Tables of the catalog. The migrations in `migrations/` build the same; a test compares them."""

from __future__ import annotations

from sqlalchemy import DDL, BigInteger, Column, Index, Integer, MetaData, String, Table, Text, event

REVISION = "0012"
"""Revision of the catalog that this version reads and writes."""

REVISION_TABLE = "alembic_version"

QUEUED = "queued"
RUNNING = "running"
COMPLETE = "complete"
INCOMPLETE = "incomplete"
INTERRUPTED = "interrupted"
FAILED = "failed"

FINISHED = (COMPLETE, INCOMPLETE)
"""States of a trial that has a record; there is at most one such row for each id."""

TAG_LENGTH_MAX = 64
"""Characters of a tag that users give."""

metadata = MetaData()

trials = Table(
    "trials",
    metadata,
    # One row for each attempt at a trial, numbered in the order in which they started.
    Column("attempt", Integer, primary_key=True, autoincrement=True),
    Column("id", String(12), nullable=False),
    Column("status", String(16), nullable=False),
    Column("message", Text, nullable=False),
    # What was run.
    Column("plan", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("plan_source", Text, nullable=False),
    Column("overrides", Text, nullable=False),
    Column("suite", String(12), nullable=False),
    Column("position", Integer, nullable=False),
    Column("variant", Text, nullable=False),
    Column("reference", Text, nullable=True),
    Column("iteration", Integer, nullable=False),
    Column("data_size_bytes", BigInteger, nullable=False),
    Column("tag", Text, nullable=False),
    Column("run_spec", Text, nullable=False),
    Column("published", Text, nullable=True),
    Column("criteria", Text, nullable=False, server_default="[]"),
    Column("size_kind", Text, nullable=False, server_default="data"),
    Column("axes", Text, nullable=False, server_default="[]"),
    # By what and where.
    Column("backend", Text, nullable=False),
    Column("backend_version", Text, nullable=False, server_default=""),
    Column("engine_version", Text, nullable=False),
    Column("observed", Text, nullable=False, server_default="{}"),
    Column("record_version", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_start", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("tables", Text, nullable=True),
    Column("digests", Text, nullable=True),
    Column("started_at", String(32), nullable=False),
    Column("ended_at", String(32), nullable=True),
    # What came out; JSON.
    Column("summary", Text, nullable=True),
    Column("results", Text, nullable=True),
    Column("engine", Text, nullable=True),
    Column("machine", Text, nullable=False),
    Index("trials_by_id", "id"),
)

# As an `Index` this would load the dialects of both databases for whichever is used.
_ONE_RECORD_PER_ID = (
    "CREATE UNIQUE INDEX one_record_per_id ON trials (id) WHERE status IN ('complete', 'incomplete')"
)
event.listen(trials, "after_create", DDL(_ONE_RECORD_PER_ID))  # type: ignore[no-untyped-call]

runs = Table(
    "runs",
    metadata,
    # One row for each run that was asked for, numbered in the order in which they were.
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(12), nullable=False),
    Column("state", String(16), nullable=False),
    Column("plan", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("plan_source", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("trials", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("cancel_requested", Integer, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("queued_at", String(32), nullable=False),
    Column("started_at", String(32), nullable=True),
    Column("ended_at", String(32), nullable=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_start", Text, nullable=False),
    # What is to carry it out, and on which hosts: JSON, none of a backend that needs none.
    Column("backend", Text, nullable=False, server_default=""),
    Column("hosts", Text, nullable=True),
    Index("runs_by_id", "id", unique=True),
    Index("runs_by_state", "state"),
)

OF_RUN = (
    "plan",
    "title",
    "plan_source",
    "overrides",
    "suite",
    "position",
    "variant",
    "reference",
    "iteration",
    "data_size_bytes",
    "tag",
    "published",
    "criteria",
    "size_kind",
    "axes",
)
"""Columns of `trials` that depend on the run that a trial is part of, and not on the trial alone."""

memberships = Table(
    "memberships",
    metadata,
    # Runs that a trial was a part of before the one that its row in `trials` names; the last is the newest.
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("trial_id", String(12), nullable=False),
    Column("placed_at", String(32), nullable=True),
    *(Column(name, trials.c[name].type, nullable=trials.c[name].nullable) for name in OF_RUN),
    Index("one_membership_per_suite", "trial_id", "suite", unique=True),
)

tags = Table(
    "tags",
    metadata,
    # What users call a trial beside the tag of its plan; a trial that runs again keeps them.
    Column("trial_id", String(12), primary_key=True),
    Column("tag", String(TAG_LENGTH_MAX), primary_key=True),
)

trash = Table(
    "trash",
    metadata,
    # Attempts that were deleted and can be restored.
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("trial_id", String(12), nullable=False),
    Column("deleted_at", String(32), nullable=False),
)
