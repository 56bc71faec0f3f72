"""Makes the helpers of tests/support importable, and runs one small plan for all tests of the interface."""

import sys
from pathlib import Path

import pytest

import fabricbench as fb

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the trials of `run`."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def run(workspace: Path) -> fb.Trials:
    """Two trials of jct-alltoall, 16 MB and 32 MB, with the tag `example`."""
    return fb.run(
        fb.load("jct-alltoall").with_(data_size=["16MB", "32MB"], tag="example"), workspace=workspace
    )
