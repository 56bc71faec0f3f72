"""Tables of the catalog. The migrations in `migrations/` build the same; a test compares them."""

from __future__ import annotations

from fabricbench.store.sql.table import BIGINT, DOUBLE, INTEGER, TEXT, Column, Index, Table, varchar

REVISION = "0014"
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

VIEW_LENGTH_MAX = 64
"""Characters of the name of a view."""

LISTED = (
    "started_at",
    "ended_at",
    "suite",
    "status",
    "attempt",
    "id",
    "plan",
    "variant",
    "backend",
    "data_size_bytes",
    "tag",
)
"""Columns of `trials` by which lists find, count and order."""

trials = Table(
    "trials",
    # One row for each attempt at a trial, numbered in the order in which they started.
    Column("attempt", INTEGER),
    Column("id", varchar(12)),
    Column("status", varchar(16)),
    Column("message", TEXT),
    # What was run.
    Column("plan", TEXT),
    Column("title", TEXT),
    Column("plan_source", TEXT),
    Column("overrides", TEXT),
    Column("suite", varchar(12)),
    Column("position", INTEGER),
    Column("variant", TEXT),
    Column("reference", TEXT, nullable=True),
    Column("iteration", INTEGER),
    Column("data_size_bytes", BIGINT),
    Column("tag", TEXT),
    Column("run_spec", TEXT),
    Column("published", TEXT, nullable=True),
    Column("criteria", TEXT, default="[]"),
    Column("size_kind", TEXT, default="data"),
    Column("axes", TEXT, default="[]"),
    # By what and where.
    Column("backend", TEXT),
    Column("backend_version", TEXT, default=""),
    Column("engine_version", TEXT),
    Column("observed", TEXT, default="{}"),
    Column("record_version", INTEGER),
    Column("host", TEXT),
    Column("pid", INTEGER),
    Column("process_start", TEXT),
    Column("folder", TEXT),
    Column("tables", TEXT, nullable=True),
    Column("digests", TEXT, nullable=True),
    Column("started_at", varchar(32)),
    Column("ended_at", varchar(32), nullable=True),
    # What came out; JSON.
    Column("summary", TEXT, nullable=True),
    Column("results", TEXT, nullable=True),
    Column("engine", TEXT, nullable=True),
    Column("machine", TEXT),
    key=("attempt",),
    is_counted=True,
    indexes=(
        Index("trials_by_id", "id"),
        Index("trials_by_suite", "suite", "started_at", "ended_at", "status", "attempt", "id"),
        # Lists read only this, and not the long texts of each row, which PostgreSQL keeps apart anyway.
        Index("trials_listed", *LISTED, only_in="sqlite"),
        Index("one_record_per_id", "id", unique=True, where="status IN ('complete', 'incomplete')"),
    ),
)

runs = Table(
    "runs",
    # One row for each run that was asked for, numbered in the order in which they were.
    Column("number", INTEGER),
    Column("id", varchar(12)),
    Column("state", varchar(16)),
    Column("plan", TEXT),
    Column("title", TEXT),
    Column("plan_source", TEXT),
    Column("options", TEXT),
    Column("trials", TEXT),
    Column("owner", TEXT),
    Column("message", TEXT),
    Column("cancel_requested", INTEGER),
    Column("created_at", varchar(32)),
    Column("queued_at", varchar(32)),
    Column("started_at", varchar(32), nullable=True),
    Column("ended_at", varchar(32), nullable=True),
    Column("host", TEXT),
    Column("pid", INTEGER),
    Column("process_start", TEXT),
    # What is to carry it out, and on which hosts: JSON, none of a backend that needs none.
    Column("backend", TEXT, default=""),
    Column("hosts", TEXT, nullable=True),
    key=("number",),
    is_counted=True,
    indexes=(Index("runs_by_id", "id", unique=True), Index("runs_by_state", "state")),
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
    # Runs that a trial was a part of before the one that its row in `trials` names; the last is the newest.
    Column("number", INTEGER),
    Column("trial_id", varchar(12)),
    Column("placed_at", varchar(32), nullable=True),
    *(
        Column(
            name,
            trials.c[name].type,
            nullable=trials.c[name].nullable,
            # It was added to rows that there were; the others are as old as the table.
            default=trials.c[name].default if name == "axes" else None,
        )
        for name in OF_RUN
    ),
    key=("number",),
    is_counted=True,
    indexes=(Index("one_membership_per_suite", "trial_id", "suite", unique=True),),
)

tags = Table(
    "tags",
    # What users call a trial beside the tag of its plan; a trial that runs again keeps them.
    Column("trial_id", varchar(12)),
    Column("tag", varchar(TAG_LENGTH_MAX)),
    key=("trial_id", "tag"),
)

trash = Table(
    "trash",
    # Attempts that were deleted and can be restored.
    Column("attempt", INTEGER),
    Column("trial_id", varchar(12)),
    Column("deleted_at", varchar(32)),
    key=("attempt",),
)

trial_metrics = Table(
    "trial_metrics",
    # The metrics of each job of a finished trial, as its results have them: what lists are ordered by.
    Column("attempt", INTEGER),
    Column("metric", varchar(64)),
    Column("job", TEXT),
    Column("value", DOUBLE),
    key=("attempt", "metric", "job"),
)

outcomes = Table(
    "outcomes",
    # What tells whether two finished trials ran the same and gave the same.
    Column("attempt", INTEGER),
    Column("spec", varchar(12)),
    Column("results", varchar(12)),
    # How often it has run, and how often it then gave other results than the time before.
    Column("times", INTEGER),
    Column("changes", INTEGER),
    key=("attempt",),
    indexes=(Index("outcomes_by_spec", "spec"),),
)

views = Table(
    "views",
    # Lists of trials that users keep: what each is asked for, as the server's lists have it, in JSON.
    Column("name", varchar(VIEW_LENGTH_MAX)),
    Column("asked", TEXT),
    Column("saved_at", varchar(32)),
    key=("name",),
)

TABLES = (trials, runs, memberships, tags, trash, trial_metrics, outcomes, views)
