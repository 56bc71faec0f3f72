"""Makes the helpers of tests/support importable as `tests.support`; a plan, and a workspace for it."""

import sys
from pathlib import Path

import pytest

from fabricbench.store import Workspace

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.samples import PLAN


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)
