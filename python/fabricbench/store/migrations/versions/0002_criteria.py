"""Acceptance criteria of each trial.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier trials had none."""
    op.add_column("trials", sa.Column("criteria", sa.Text, nullable=False, server_default="[]"))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("trials", "criteria")
