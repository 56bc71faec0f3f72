"""Tables of the catalog. The migrations in `migrations/` create the same; a test compares them."""

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
"""States of a trial with a record; there is at most one such row per id."""

TAG_LENGTH_MAX = 64
"""Largest length of a user's tag, in characters."""

VIEW_LENGTH_MAX = 64
"""Largest length of a view's name, in characters."""

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
"""Columns of `trials` by which lists filter, count and sort."""

trials = Table(
    "trials",
    # One row for each attempt at a trial, numbered in the order in which they started.
    Column("attempt", INTEGER),
    Column("id", varchar(12)),
    Column("status", varchar(16)),
    Column("message", TEXT),
    # The plan and the run.
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
    # Backend, process and storage.
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
    # Results, as JSON.
    Column("summary", TEXT, nullable=True),
    Column("results", TEXT, nullable=True),
    Column("engine", TEXT, nullable=True),
    Column("machine", TEXT),
    key=("attempt",),
    is_counted=True,
    indexes=(
        Index("trials_by_id", "id"),
        Index("trials_by_suite", "suite", "started_at", "ended_at", "status", "attempt", "id"),
        # Lists read only this, and not the long texts of each row, which PostgreSQL stores separately anyway.
        Index("trials_listed", *LISTED, only_in="sqlite"),
        Index("one_record_per_id", "id", unique=True, where="status IN ('complete', 'incomplete')"),
    ),
)

runs = Table(
    "runs",
    # One row for each requested run, numbered in order of the requests.
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
    # The backend that runs it, and its hosts as JSON, null for a backend that needs none.
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
"""Columns of `trials` that depend on the run that a trial is part of, not on the trial alone."""

memberships = Table(
    "memberships",
    # Earlier runs of a trial, before the one in its row in `trials`; the last is the newest.
    Column("number", INTEGER),
    Column("trial_id", varchar(12)),
    Column("placed_at", varchar(32), nullable=True),
    *(
        Column(
            name,
            trials.c[name].type,
            nullable=trials.c[name].nullable,
            # This column was added to existing rows; the others are as old as the table.
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
    # Tags from users, in addition to the tag of the plan; a trial that runs again keeps them.
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
    # The metrics of each job of a finished trial, copied from its results to sort lists.
    Column("attempt", INTEGER),
    Column("metric", varchar(64)),
    Column("job", TEXT),
    Column("value", DOUBLE),
    key=("attempt", "metric", "job"),
)

outcomes = Table(
    "outcomes",
    # Digests that show whether two finished trials have the same run spec and the same results.
    Column("attempt", INTEGER),
    Column("spec", varchar(12)),
    Column("results", varchar(12)),
    # Number of runs, and number of runs with other results than the one before.
    Column("times", INTEGER),
    Column("changes", INTEGER),
    key=("attempt",),
    indexes=(Index("outcomes_by_spec", "spec"),),
)

views = Table(
    "views",
    # Saved lists of trials: the parameters of each, as in the server's API, in JSON.
    Column("name", varchar(VIEW_LENGTH_MAX)),
    Column("asked", TEXT),
    Column("saved_at", varchar(32)),
    key=("name",),
)

TABLES = (trials, runs, memberships, tags, trash, trial_metrics, outcomes, views)
