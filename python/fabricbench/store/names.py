"""Finds the workspace folder and names of its trials and views, without the libraries that open it.

Used for shell completion while a user types: it reads the SQLite catalog directly, and only if it exists.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Final

DEFAULT_FOLDER: Final = "fabricbench-workspace"
CATALOG_FILE: Final = "catalog.sqlite"
WORKSPACE_VARIABLE: Final = "FABRICBENCH_WORKSPACE"
CATALOG_URL_VARIABLE: Final = "FABRICBENCH_CATALOG_URL"
TABLES_URL_VARIABLE: Final = "FABRICBENCH_TABLES_URL"
_NAMES_MAX: Final = 500
_LAST: Final = (
    "select id, plan from trials where status in ('complete', 'incomplete') "
    "and attempt not in (select attempt from trash) order by ended_at desc, attempt desc limit ?"
)
_VIEWS: Final = "select name from views order by name limit ?"


def workspace_folder(root: Path | None = None) -> Path:
    """Return the folder of the workspace that `Workspace.open` would use."""
    return root or Path(os.environ.get(WORKSPACE_VARIABLE) or DEFAULT_FOLDER)


def last_trials(root: Path | None = None) -> list[tuple[str, str]]:
    """Return id and plan of the trials that finished last, newest first; empty if they cannot be read."""
    return [(str(trial), str(plan)) for trial, plan in _catalog_rows(root, _LAST)]


def view_names(root: Path | None = None) -> list[str]:
    """Return the names of the saved views; empty if they cannot be read."""
    return [str(name) for (name,) in _catalog_rows(root, _VIEWS)]


def _catalog_rows(root: Path | None, query: str) -> list[tuple[object, ...]]:
    file = workspace_folder(root) / CATALOG_FILE
    if os.environ.get(CATALOG_URL_VARIABLE) or not file.is_file():
        return []
    import sqlite3

    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)
        ) as catalog:
            return catalog.execute(query, (_NAMES_MAX,)).fetchall()
    except sqlite3.Error:
        return []
