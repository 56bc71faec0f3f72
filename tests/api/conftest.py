"""Runs one small plan for all tests of the interface."""

from pathlib import Path

import pytest

import fabricbench as fb


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


@pytest.fixture(scope="session")
def campaign(run: fb.Trials, workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> fb.Campaign:
    """A campaign of which the trials of `run` are two, and 64 MB is missing."""
    file = tmp_path_factory.mktemp("campaign") / "sizes.yaml"
    plan = "{plan: jct-alltoall, seeds: 1, sweep: {data_size: [16MB, 32MB, 64MB]}}"
    file.write_text(f"{{campaign: 1, name: sizes, plans: [{plan}]}}")
    assert len(run) == 2
    return fb.workspace(workspace).campaign(file)


@pytest.fixture(scope="session")
def expected(workspace: Path) -> fb.Expected:
    """What three seeds of jct-alltoall give by the flow model, at 1 MB."""
    plan = fb.load("jct-alltoall").with_({"backend": "flow", "sweep.data_size": "1MB"})
    return fb.expect(plan, seeds=3, false_alarm=0.25, workspace=workspace)


@pytest.fixture(scope="session")
def degraded() -> fb.Degraded:
    """What jct-alltoall loses by degraded elements at half rate and down, at 1 MB."""
    return fb.degrade(fb.load("jct-alltoall").with_({"sweep.data_size": "1MB"}), states=["half rate", "down"])
