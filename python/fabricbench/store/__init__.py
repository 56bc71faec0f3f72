"""The workspace: a catalog of trials and their tables.

Heavy modules are imported on first use: the command line imports this package for its errors only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricbench.store.errors import DiskFullError, StoreError, UnknownTrialError

if TYPE_CHECKING:
    from fabricbench.store.names import workspace_folder
    from fabricbench.store.trial import Trial, TrialFacts
    from fabricbench.store.workspace import Workspace, holds_workspace, tables_location

_LATER = {
    "Trial": "fabricbench.store.trial",
    "TrialFacts": "fabricbench.store.trial",
    "Workspace": "fabricbench.store.workspace",
    "holds_workspace": "fabricbench.store.workspace",
    "tables_location": "fabricbench.store.workspace",
    "workspace_folder": "fabricbench.store.names",
}

__all__ = [
    "DiskFullError",
    "StoreError",
    "Trial",
    "TrialFacts",
    "UnknownTrialError",
    "Workspace",
    "holds_workspace",
    "tables_location",
    "workspace_folder",
]


def __getattr__(name: str) -> object:
    """Import names that need a database on first use."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(module), name)
