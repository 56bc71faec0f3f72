"""No test reads the file of defaults of whoever runs it, and no file of a test has to outlive a power cut.

Processes that tests start still flush their files to the disk.
"""

import os
from unittest import mock

os.environ["FABRICBENCH_CONFIG"] = os.devnull
mock.patch("os.fsync").start()
