"""What a migrated catalog and the description of its tables differ in."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection

from fabricbench.store.catalog_schema import metadata

PARTIAL_INDEX = "one_record_per_id"
"""Made along with its table, but unknown to the description: the tests compare its SQL."""


def differences(connection: Connection) -> list[object]:
    """Return what alembic would change."""
    options = {"include_name": lambda name, _kind, _parents: name != PARTIAL_INDEX}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))
