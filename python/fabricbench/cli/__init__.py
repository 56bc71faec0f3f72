"""The command line."""

import gc

gc.disable()  # what is loaded here stays: there is no garbage in it
from fabricbench.cli.main import main  # noqa: E402

gc.enable()

__all__ = ["main"]
