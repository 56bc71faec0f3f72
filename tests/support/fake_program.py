"""The program `fabricbench` with the fake backend in place of the simulator; tests start it as a process."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.fake_backend import FakeBackend

from fabricbench import runner
from fabricbench.cli.main import run

if __name__ == "__main__":
    backend = FakeBackend.from_environment()
    runner.simulator = lambda *_, **__: backend
    sys.exit(run(sys.argv[1:]))
