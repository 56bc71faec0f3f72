"""Kind of the size of each trial: a data size or a message size.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier trials had data sizes."""
    op.add_column("trials", sa.Column("size_kind", sa.Text, nullable=False, server_default="data"))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("trials", "size_kind")
