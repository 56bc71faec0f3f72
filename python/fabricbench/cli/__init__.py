"""The command line."""

from fabricbench.cli.main import main

__all__ = ["main"]
