"""Trials may belong to several runs.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; which trials earlier runs shared with later ones is unknown."""
    op.create_table(
        "memberships",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("trial_id", sa.String(12), nullable=False),
        sa.Column("placed_at", sa.String(32), nullable=True),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("plan_source", sa.Text, nullable=False),
        sa.Column("overrides", sa.Text, nullable=False),
        sa.Column("suite", sa.String(12), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("variant", sa.Text, nullable=False),
        sa.Column("reference", sa.Text, nullable=True),
        sa.Column("iteration", sa.Integer, nullable=False),
        sa.Column("data_size_bytes", sa.BigInteger, nullable=False),
        sa.Column("tag", sa.Text, nullable=False),
        sa.Column("published", sa.Text, nullable=True),
        sa.Column("criteria", sa.Text, nullable=False),
        sa.Column("size_kind", sa.Text, nullable=False),
    )
    op.create_index("one_membership_per_suite", "memberships", ["trial_id", "suite"], unique=True)


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("memberships")
