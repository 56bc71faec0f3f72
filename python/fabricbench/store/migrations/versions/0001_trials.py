"""The table of trials.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and its indices."""
    op.create_table(
        "trials",
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("plan_source", sa.Text, nullable=False),
        sa.Column("overrides", sa.Text, nullable=False),
        sa.Column("suite", sa.String(12), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("variant", sa.Text, nullable=False),
        sa.Column("iteration", sa.Integer, nullable=False),
        sa.Column("data_size_bytes", sa.BigInteger, nullable=False),
        sa.Column("tag", sa.Text, nullable=False),
        sa.Column("run_spec", sa.Text, nullable=False),
        sa.Column("published", sa.Text, nullable=True),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("engine_version", sa.Text, nullable=False),
        sa.Column("record_version", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("process_start", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("ended_at", sa.String(32), nullable=True),
        sa.Column("summary", sa.Text, nullable=True),
        sa.Column("results", sa.Text, nullable=True),
        sa.Column("engine", sa.Text, nullable=True),
        sa.Column("machine", sa.Text, nullable=False),
    )
    op.create_index("trials_by_id", "trials", ["id"])
    op.create_index(
        "one_record_per_id",
        "trials",
        ["id"],
        unique=True,
        sqlite_where=sa.text("status IN ('complete', 'incomplete')"),
        postgresql_where=sa.text("status IN ('complete', 'incomplete')"),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("trials")
