"""The variant that the others of a plan are compared with.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier trials had no variants."""
    op.add_column("trials", sa.Column("reference", sa.Text, nullable=True))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("trials", "reference")
