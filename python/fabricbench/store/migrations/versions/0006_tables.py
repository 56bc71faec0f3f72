"""Records may be stored at a URL.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier trials have their records in the folder of the workspace."""
    op.add_column("trials", sa.Column("tables", sa.Text, nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("trials", "tables")
