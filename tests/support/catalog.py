"""Tables of a catalog as its database describes them, in one form for SQLite and PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg


@dataclass
class Schema:
    """Columns of each table with type, null and default; columns of its key; and the indexes."""

    columns: dict[str, dict[str, str]]
    keys: dict[str, list[str]]
    indexes: dict[str, str]


def sqlite_schema(path: Path) -> Schema:
    """Describe the tables of a catalog in SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        schema = Schema({}, {}, {})
        for table in tables:
            rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
            schema.columns[table] = {
                name: _column(kind, default, is_nullable=not is_required)
                for _, name, kind, is_required, default, _ in rows
            }
            schema.keys[table] = [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        schema.indexes = {name: _index(sql) for name, sql in connection.execute(query)}
    return schema


def postgresql_schema(url: str) -> Schema:
    """Describe the tables of a catalog in PostgreSQL."""
    columns: dict[str, dict[str, str]] = defaultdict(dict)
    keys: dict[str, list[str]] = defaultdict(list)
    with psycopg.connect(url) as connection:
        for table, name, kind, length, nullable, default in connection.execute(
            "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, "
            "column_default FROM information_schema.columns WHERE table_schema = 'public'"
        ):
            full = kind if length is None else f"varchar({length})"
            known = None if (default or "").startswith("nextval") else default
            columns[table][name] = _column(full, known, is_nullable=nullable == "YES")
        for table, name in connection.execute(
            "SELECT table_name, column_name FROM information_schema.key_column_usage "
            "WHERE table_schema = 'public' ORDER BY ordinal_position"
        ):
            keys[table].append(name)
        indexes = connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
            "AND indexname NOT LIKE '%_pkey' AND indexname NOT LIKE '%_pkc'"
        ).fetchall()
    return Schema(dict(columns), dict(keys), {name: _index(sql) for name, sql in indexes})


def _column(kind: str, default: str | None, *, is_nullable: bool) -> str:
    text = kind.upper() + ("" if is_nullable else " NOT NULL")
    return text if default is None else f"{text} DEFAULT {default.partition('::')[0]}"


def _index(sql: str) -> str:
    """Return uniqueness, table and columns of an index, and the values in its condition."""
    match = re.search(r"(UNIQUE )?INDEX \w+ ON (?:public\.)?(\w+).*?\((.*?)\)", " ".join(sql.split()))
    assert match
    values = re.findall(r"'(\w+)'", sql)
    return f"{match[1] or ''}{match[2]} ({match[3]}) {values}"
