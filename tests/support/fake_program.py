"""The program `fabricbench` with the fake backend in place of the simulator; tests start it as a process."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.fake_backend import FakeBackend, SharedFakeBackend
from tests.support.samples import fake_simulator

from fabricbench.cli.main import run

if __name__ == "__main__":
    kind = SharedFakeBackend if "FAKE_SHARED" in os.environ else FakeBackend
    with fake_simulator(kind.from_environment()):
        sys.exit(run(sys.argv[1:]))
