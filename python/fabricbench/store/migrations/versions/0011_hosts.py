"""Backend and hosts of a queued run.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; earlier runs had no hosts, and their backend is only in their plans."""
    op.add_column("runs", sa.Column("backend", sa.Text, nullable=False, server_default=""))
    op.add_column("runs", sa.Column("hosts", sa.Text, nullable=True))


def downgrade() -> None:
    """Remove them."""
    op.drop_column("runs", "hosts")
    op.drop_column("runs", "backend")
