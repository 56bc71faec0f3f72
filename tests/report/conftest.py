import sys
from pathlib import Path

# The builders beside these tests are plain modules (tests.report.synthetic, tests.report.roce).
sys.path.insert(0, str(Path(__file__).parents[2]))
