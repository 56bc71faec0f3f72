"""Makes the helpers of tests/support importable as `tests.support`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
