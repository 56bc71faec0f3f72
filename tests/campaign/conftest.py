"""A campaign of which every trial has its record."""

from pathlib import Path

import pytest
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
