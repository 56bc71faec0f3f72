"""The version of a backend's results, part of the identity of a trial.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier ids contain the version of the engine instead, and are not changed."""
    op.add_column("trials", sa.Column("backend_version", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE trials SET backend_version = engine_version")


def downgrade() -> None:
    """Remove it."""
    op.drop_column("trials", "backend_version")
