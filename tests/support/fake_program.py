"""The program `fabricbench` with the fake backend in place of the simulator; tests start it as a process."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.fake_backend import FakeBackend
from tests.support.samples import fake_simulator

from fabricbench.cli.main import run

if __name__ == "__main__":
    with fake_simulator(FakeBackend.from_environment()):
        sys.exit(run(sys.argv[1:]))
