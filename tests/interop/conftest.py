"""The lab that these tests need: see `machine.py`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.interop.machine import VARIABLE
from tests.support.loopback import REPOSITORY

PEER = Path(__file__).with_name("peer.c")
PROGRAMS = ("ip", "ethtool", "tcpdump", "tshark", "gcc", "ib_write_bw", "ib_send_bw")


@pytest.fixture(scope="session", autouse=True)
def _lab() -> None:
    """Skip where no lab is given; a lab that is given and cannot be used is a failure."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        pytest.skip(f"{VARIABLE} is not set: the folder of a virtual machine with soft-RoCE")
    assert (Path(folder) / "vm.sh").is_file(), f"{VARIABLE}: {folder} has no vm.sh"
    assert os.geteuid() == 0, "network namespaces and tap devices need root"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    assert not missing, f"not installed: {', '.join(missing)}"


@pytest.fixture(scope="session")
def program(_lab: None) -> Path:
    """Our end, built."""
    command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "fabricbench-endpoint"]
    command += ["--example", "interop", "--message-format", "json"]
    finished = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    built = [json.loads(line).get("executable") for line in finished.stdout.splitlines()]
    (path,) = filter(None, built)
    return Path(path)


@pytest.fixture(scope="session")
def peer(_lab: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The peer of our end, built."""
    built = tmp_path_factory.mktemp("peer") / "peer"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(built), str(PEER), "-libverbs"]
    subprocess.run(command, check=True)
    return built
