"""Digests of the tables of each record.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier records have none."""
    op.add_column("trials", sa.Column("digests", sa.Text, nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("trials", "digests")
