"""Makes the helpers of tests/support importable, and a campaign of which every trial has its record."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.campaigns import CAMPAIGN, made, measured, written


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a campaign in a folder of its own, where the program runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABRICBENCH_WORKSPACE", raising=False)
    return written(tmp_path, CAMPAIGN)


@pytest.fixture
def full(file: Path) -> Path:
    """The campaign with a workspace in which every trial has its record."""
    measured(file, file.parent / "fabricbench-workspace", made)
    return file
