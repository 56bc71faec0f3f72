"""Makes `tools.swarm` and the helpers of tests/support importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
