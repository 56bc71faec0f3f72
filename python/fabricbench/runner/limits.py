"""What a run may be asked for, by themselves: the help of the program names them, and runs nothing."""

from typing import Final

THREADS_MAX: Final = 1024
"""Most worker threads that may be asked for."""
JOBS_MAX: Final = 1024
"""Most trials at once that may be asked for."""
