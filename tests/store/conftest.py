import sys
from pathlib import Path

# The fake backend and the samples are plain modules that several folders of tests share.
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
