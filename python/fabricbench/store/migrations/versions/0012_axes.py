"""The values of swept fields.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; earlier plans swept sizes only."""
    for table in ("trials", "memberships"):
        op.add_column(table, sa.Column("axes", sa.Text, nullable=False, server_default="[]"))


def downgrade() -> None:
    """Remove them."""
    for table in ("trials", "memberships"):
        op.drop_column(table, "axes")
