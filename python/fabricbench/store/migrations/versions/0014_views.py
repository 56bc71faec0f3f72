"""Saved views: lists of trials with a name, and an index for lists.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


_LISTED = (
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


def upgrade() -> None:
    """Create the empty table and the index."""
    op.create_table(
        "views",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("saved_at", sa.String(32), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("trials_listed", "trials", list(_LISTED))


def downgrade() -> None:
    """Remove them."""
    op.drop_table("views")
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("trials_listed", "trials")
