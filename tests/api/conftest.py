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


@pytest.fixture(scope="session")
def tuned(workspace: Path) -> fb.Tuned:
    """A search over two values of the MTU."""
    return fb.tune(
        fb.load("jct-alltoall").with_(data_size="1MB"),
        {"transport.mtu": [1024, 4096]},
        minimize="completion_time_ms",
        trials=4,
        confirm=0,
        workspace=workspace,
    )


RANKS = "".join(
    f"#  Rank {rank:2} Group  0 Pid {100 + rank} on host{rank // 8} device  {rank % 8} [0x19] NVIDIA H100\n"
    for rank in range(16)
)
TWO_SERVERS = f"""\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
{RANKS}#
#                                                    out-of-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1  10596.0  101.33  190.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 190.00
"""


@pytest.fixture(scope="session")
def explained(workspace: Path) -> fb.Explained:
    """An all-reduce of two servers with half of its bandwidth."""
    file = workspace / "two.txt"
    file.write_text(TWO_SERVERS)
    return fb.explain(file, cluster="dgx-h100", servers=2, workspace=workspace)
