"""The workspace: a catalog of trials, and the record of each (its result tables, in Parquet)."""

from fabricbench.store.catalog.trial import Trial, TrialFacts
from fabricbench.store.errors import DiskFullError, StoreError, UnknownTrialError
from fabricbench.store.names import workspace_folder
from fabricbench.store.workspace import Workspace, holds_workspace, tables_location

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
