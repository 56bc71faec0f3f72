"""A plan, and a workspace for it."""

from pathlib import Path

import pytest
from tests.support.samples import PLAN

from fabricbench.store import Workspace


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)
