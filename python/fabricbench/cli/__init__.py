"""The command line: imports `main` with the garbage collector off, which is faster."""

import gc

gc.disable()  # modules loaded here are never freed, so the collector need not check them
from fabricbench.cli.main import main  # noqa: E402

gc.enable()

__all__ = ["main"]
