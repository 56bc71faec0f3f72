"""Lists of trials that users keep under a name.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; there are none so far."""
    op.create_table(
        "views",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("saved_at", sa.String(32), nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("views")
