"""What a migrated catalog and the description of its tables differ in."""

from __future__ import annotations

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Index, MetaData, Table, text
from sqlalchemy.engine import Connection
from sqlalchemy.types import DOUBLE_PRECISION, REAL, BigInteger, Integer, String, Text, TypeEngine

from fabricbench.store import catalog_schema
from fabricbench.store.sql import table as described

PARTIAL_INDEX = "one_record_per_id"
"""Made along with its table, but unknown to alembic: the tests compare its SQL."""


def differences(connection: Connection) -> list[object]:
    """Return what alembic would change."""
    options = {
        "include_name": lambda name, _kind, _parents: name != PARTIAL_INDEX,
        "compare_server_default": True,
    }
    metadata = MetaData()
    for table in catalog_schema.TABLES:
        _table(table, metadata, connection.dialect.name)
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def _table(table: described.Table, metadata: MetaData, dialect: str) -> None:
    """Describe a table to SQLAlchemy."""
    columns = [
        Column(
            column.name,
            _type(column),
            primary_key=column.name in table.key,
            autoincrement=table.is_counted and column.name in table.key,
            nullable=column.nullable,
            server_default=None if column.default is None else text(f"'{column.default}'"),
        )
        for column in table.c
    ]
    indexes = [
        Index(index.name, *index.columns, unique=index.unique)
        for index in table.indexes
        if index.name != PARTIAL_INDEX and index.only_in in {"", dialect}
    ]
    Table(table.name, metadata, *columns, *indexes)


def _type(column: described.Column) -> TypeEngine[Any]:
    if column.length is not None:
        return String(column.length)
    kinds: dict[str, TypeEngine[Any]] = {
        described.INTEGER: Integer(),
        described.BIGINT: BigInteger(),
        described.TEXT: Text(),
        # As SQLite reads its own declaration.
        described.DOUBLE: REAL().with_variant(DOUBLE_PRECISION(), "postgresql"),
    }
    return kinds[column.type]
