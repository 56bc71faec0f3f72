"""No test reads the file of defaults of whoever runs it."""

import os

os.environ["FABRICBENCH_CONFIG"] = os.devnull
