"""Runs that are queued, tags that users give to trials, and trials that were deleted.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("plan_source", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("trials", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("cancel_requested", sa.Integer, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("queued_at", sa.String(32), nullable=False),
        sa.Column("started_at", sa.String(32), nullable=True),
        sa.Column("ended_at", sa.String(32), nullable=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("process_start", sa.Text, nullable=False),
    )
    op.create_index("runs_by_id", "runs", ["id"], unique=True)
    op.create_index("runs_by_state", "runs", ["state"])
    op.create_table(
        "tags",
        sa.Column("trial_id", sa.String(12), primary_key=True),
        sa.Column("tag", sa.String(64), primary_key=True),
    )
    op.create_table(
        "trash",
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("trial_id", sa.String(12), nullable=False),
        sa.Column("deleted_at", sa.String(32), nullable=False),
    )


def downgrade() -> None:
    """Remove the tables."""
    for table in ("trash", "tags", "runs"):
        op.drop_table(table)
