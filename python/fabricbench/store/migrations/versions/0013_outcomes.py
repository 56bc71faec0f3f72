"""Metrics of trials as rows, and digests to find trials with the same run spec.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

from fabricbench.store.outcomes import digests, metric_rows, read_jobs

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_AT_ONCE = 100


def upgrade() -> None:
    """Create the tables, and fill them from finished trials."""
    metrics = op.create_table(
        "trial_metrics",
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("metric", sa.String(64), primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("value", sa.DOUBLE_PRECISION, nullable=False),
    )
    outcomes = op.create_table(
        "outcomes",
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("spec", sa.String(12), nullable=False),
        sa.Column("results", sa.String(12), nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
        sa.Column("changes", sa.Integer, nullable=False),
    )
    op.create_index("outcomes_by_spec", "outcomes", ["spec"])
    columns = ["suite", "started_at", "ended_at", "status", "attempt", "id"]
    op.create_index("trials_by_suite", "trials", columns)
    _fill(metrics, outcomes)


def downgrade() -> None:
    """Remove them."""
    op.drop_index("trials_by_suite", "trials")
    for table in ("outcomes", "trial_metrics"):
        op.drop_table(table)


def _fill(metrics: sa.Table, outcomes: sa.Table) -> None:
    """Fill the tables from finished trials, in batches: run specs are long."""
    connection = op.get_bind()
    finished = "SELECT attempt FROM trials WHERE status IN ('complete', 'incomplete') ORDER BY attempt"
    attempts = list(connection.execute(sa.text(finished)).scalars())
    wanted = sa.text("SELECT attempt, run_spec, results FROM trials WHERE attempt IN :attempts")
    query = wanted.bindparams(sa.bindparam("attempts", expanding=True))
    for first in range(0, len(attempts), _AT_ONCE):
        values: list[dict[str, object]] = []
        found: list[dict[str, object]] = []
        for attempt, spec, results in connection.execute(
            query, {"attempts": attempts[first : first + _AT_ONCE]}
        ):
            if not isinstance(spec, str):
                continue  # a row with invalid values
            jobs = read_jobs(results)
            values += ({"attempt": attempt, **row} for row in metric_rows(jobs))
            found.append({"attempt": attempt, "times": 1, "changes": 0, **digests(spec, jobs)})
        if values:
            op.bulk_insert(metrics, values)
        if found:
            op.bulk_insert(outcomes, found)
