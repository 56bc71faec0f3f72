"""Limits of the options of a run, in a module without heavy imports for the help of the command line."""

from typing import Final

THREADS_MAX: Final = 1024
"""Largest number of worker threads."""
JOBS_MAX: Final = 1024
"""Largest number of concurrent trials."""
