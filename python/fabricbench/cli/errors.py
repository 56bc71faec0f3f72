"""Exit statuses, and the translation of errors into messages for the user and exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Final

import typer

from fabricbench.cli.output import note
from fabricbench.errors import UserError
from fabricbench.words import install_hint, one_line

OUR_BUG = 1
USER_ERROR = 2
NOT_MET = 3
"""Exit status: a criterion of the plan is not met, without any error."""
SIGNALLED = 128
"""Offset from a signal's number to the exit status, as in shells."""

OLD_PROCESSOR = "Missing required CPU features"
"""Beginning of the warning of polars about processor features that are missing here."""

OUT_OF_MEMORY = (
    "error: out of memory: the run needs more than this process can get\n"
    "hint: finished trials are intact, and --resume runs only the rest; `fabricbench plan check PLAN` "
    "estimates what a trial needs"
)
"""Message when Python has no memory left; the core has the same one (crates/python/src/allocator.rs)."""

_PYDANTIC = "Value error, "
"""Prefix of pydantic's errors, which typer leaves in its messages."""

_NAMELESS = "Invalid value: "
"""Prefix of typer that is redundant before our messages."""

DEBUG_VARIABLE = "FABRICBENCH_DEBUG"

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Error numbers of a file or a standard output to which no more can be written."""
_PROGRAM: Final = Path(__file__).parents[1]
_PATH_LENGTH_MAX: Final = 500


# Message of pyarrow when there is no memory for the stack of a thread of its pool.
THREAD_WITHOUT_MEMORY = "Failed to launch worker thread"


def exit_status(error: BaseException, *, debug: bool) -> int:
    """Write the message of an error for the user and return the exit status.

    Args:
        error: The error that ended the command.
        debug: Show the traceback of an unexpected error.
    """
    if isinstance(error, typer.Exit):
        return error.exit_code
    # typer ends the process itself for a broken pipe, with the status of an error.
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _silence_stdout()
        return SIGNALLED + signal.SIGPIPE
    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        _silence_stdout()
        note(f"error: what the command writes: {error.strerror}\nhint: write to where there is room")
        return USER_ERROR
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        note("interrupted")
        return SIGNALLED + signal.SIGINT
    if isinstance(error, MemoryError) or THREAD_WITHOUT_MEMORY in str(error):
        note(OUT_OF_MEMORY)
        return USER_ERROR
    text = user_text(error) if isinstance(error, Exception) else None
    if text is not None:
        note(text)
        return USER_ERROR
    if isinstance(error, Exception):
        _note_bug(error, debug=debug)
        return OUR_BUG
    raise error


def bad_value(option: str, value: object, allowed: str) -> typer.BadParameter:
    """Return the error for a value that an option cannot have."""
    return typer.BadParameter(f"{option}: found {value}; allowed: {allowed}")


def user_text(error: Exception) -> str | None:
    """Return the message for an error that the user can mend; none for any other."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "fabricbench"
        message = error.format_message().removeprefix(_NAMELESS).replace(_PYDANTIC, "")
        return f"error: {message}\nhint: `{command} --help` shows what it takes"
    if isinstance(error, UserError):
        return error.text()
    return _about_processor(error) or _about_file(error)


def _about_processor(error: Exception) -> str | None:
    if not isinstance(error, RuntimeWarning) or not str(error).startswith(OLD_PROCESSOR):
        return None
    missing = str(error).partition("not detected:")[2].strip().partition("\n")[0]
    return (
        f"error: polars is built for processors with more than this one has: {missing}\n"
        f"hint: `{install_hint('old-cpu', 'polars[rtcompat]')}` brings a build for older ones"
    )


def _about_file(error: Exception) -> str | None:
    """Return the text of a system error about a file or a folder, except for the program's own files."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str | bytes | Path):
        return None
    path = Path(os.fsdecode(error.filename))
    if path.is_relative_to(_PROGRAM):
        return None
    path_text = one_line(str(path), _PATH_LENGTH_MAX)
    return f"error: {path_text}: {error.strerror}\nhint: name another file or folder, or mend this one"


def _note_bug(error: Exception, *, debug: bool) -> None:
    note(f"error: this is a bug in fabricbench: {type(error).__name__}: {error}")
    if debug or os.environ.get(DEBUG_VARIABLE):
        note("".join(traceback.format_exception(error)).rstrip())
    else:
        note("hint: run `fabricbench --debug ...` again and report what it prints")


def _silence_stdout() -> None:
    """Prevent an error of the interpreter when it flushes a standard output that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
