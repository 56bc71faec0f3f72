"""Content of each record: its tables, where they were observed, and the columns that were not measured.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

from fabricbench.store.observed import OF_THE_SIMULATOR
from fabricbench.store.trial import IMPORTED, to_json

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier records were imported, without rows, or are those of the simulator."""
    op.add_column("trials", sa.Column("observed", sa.Text, nullable=False, server_default="{}"))
    trials = sa.table("trials", sa.column("backend"), sa.column("observed"))
    simulated = trials.update().where(trials.c.backend != IMPORTED)
    op.execute(simulated.values(observed=to_json(OF_THE_SIMULATOR)))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("trials", "observed")
