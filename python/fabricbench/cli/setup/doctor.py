"""The command `doctor`: checks of the requirements of fabricbench on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import WorkspaceOption
from fabricbench.cli.output import Format, has_colour, write
from fabricbench.plan import engine
from fabricbench.report.documents.table import Column, Row, Table, Tone
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import render
from fabricbench.store import StoreError, Workspace, holds_workspace, tables_location, workspace_folder
from fabricbench.words import counted, install_hint

_PYTHON_MIN = (3, 11)
_DISK_FREE_MIN_BYTES = 1 << 30
_MEMORY_MIN_BYTES = 1 << 30
_POLARS_FLAGS = {"avx", "avx2", "bmi1", "bmi2", "fma", "movbe", "pclmulqdq", "sse4_2"}
"""Processor features that the usual build of polars requires on x86-64, as Linux spells them."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Check:
    """Result of the check of one requirement.

    Attributes:
        name: Name of the requirement.
        ok: Whether it is met.
        needed: Whether fabricbench cannot work without it.
        found: Description of the actual state.
        hint: How to fix it; may be empty.
    """

    name: str
    ok: bool
    needed: bool
    found: str
    hint: str = ""


def doctor_command(
    workspace: WorkspaceOption = None,
    output: Annotated[Format, typer.Option("--format", help="How to write the checks.")] = Format.TABLE,
) -> None:
    """Check that everything is here that fabricbench needs; exit status 1 if something is missing."""
    import json

    checks = list(_checks(workspace))
    rows = [asdict(check) for check in checks]
    if output is Format.JSON:
        write(json.dumps({"checks": rows}, indent=2))
    elif output is Format.CSV:
        write(rows_csv(list(rows[0]), rows))
    else:
        write(_table(checks))
    if any(check.needed and not check.ok for check in checks):
        raise typer.Exit(1)


def _checks(workspace: Path | None) -> Iterator[Check]:
    yield _python()
    yield _engine()
    yield _workspace(workspace)
    yield from _tables()
    yield from _processor()
    yield Check("CPUs", True, False, f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} may be used")
    yield _memory()
    yield _disk(workspace)
    yield _program("tshark", ("tshark",), "only to look into captures: install the package tshark")
    yield _program(
        "browser", _BROWSERS, "only to print reports without a window: install the package chromium"
    )


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    minimum = ".".join(map(str, _PYTHON_MIN))
    return Check("Python", sys.version_info >= _PYTHON_MIN, True, version, f"use Python {minimum} or newer")


def _engine() -> Check:
    try:
        return Check("engine", True, True, f"version {engine.version()}")
    except ImportError as error:
        hint = "build it: `make build` in the source tree, or install the package again"
        return Check("engine", False, True, str(error), hint)


def _processor() -> Iterator[Check]:
    """Check that the libraries are built for this processor; the engine runs on any."""
    from importlib.util import find_spec

    flags = _processor_flags()
    if not flags:
        return
    missing = ", ".join(sorted(_POLARS_FLAGS - flags))
    if missing and find_spec("_polars_runtime_compat") is None:
        command = install_hint("old-cpu", "polars[rtcompat]")
        hint = f"`{command}` brings a build of polars for older processors"
        yield Check("processor", False, True, f"polars needs {missing}", hint)
    else:
        yield Check("processor", True, True, f"without {missing}" if missing else "has what polars needs")


def _processor_flags() -> set[str]:
    """Return the features of an x86 processor as reported by Linux; empty on others."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def _workspace(workspace: Path | None) -> Check:
    """Check that the workspace can be opened or, if there is none, created."""
    folder = workspace_folder(workspace)
    if folder.is_file() or holds_workspace(folder):
        try:
            count = len(Workspace.open(folder).trials())
        except StoreError as error:
            return Check("workspace", False, True, str(error), error.hint)
        return Check("workspace", True, True, f"{folder}, {counted(count, 'trial')}")
    hint = "name another folder with --workspace or FABRICBENCH_WORKSPACE"
    reason = _creation_error(folder)
    if reason:
        return Check("workspace", False, True, f"{folder} cannot be made: {reason}", hint)
    return Check("workspace", True, True, f"{folder} is made by the first run", hint)


def _creation_error(folder: Path) -> str:
    """Return why a folder cannot be created; empty if it can."""
    import tempfile

    # Permissions are not sufficient: those of /proc would let root make folders.
    try:
        with tempfile.TemporaryDirectory(prefix=".fabricbench-", dir=_existing_parent(folder)):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _tables() -> Iterator[Check]:
    """Check the storage of records, if it is not the workspace."""
    try:
        location = tables_location()
        if location is not None:
            count = len(location.records())
            yield Check("tables", True, True, f"{location.url}, {counted(count, 'record')}")
    except StoreError as error:
        yield Check("tables", False, True, str(error), error.hint)


def _existing_parent(folder: Path) -> Path:
    """Return the nearest folder that exists."""
    return next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())


def _memory() -> Check:
    available_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        # Unlike the free pages, this includes memory that the page cache would release.
        available_bytes = next(
            int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration):
        pass
    hint = "large runs need about 1 GiB"
    return Check(
        "memory", available_bytes >= _MEMORY_MIN_BYTES, False, f"{_gib(available_bytes)} available", hint
    )


def _disk(workspace: Path | None) -> Check:
    free_bytes = shutil.disk_usage(_existing_parent(workspace_folder(workspace))).free
    free_text = f"{_gib(free_bytes)} free for the workspace"
    return Check("disk", free_bytes >= _DISK_FREE_MIN_BYTES, False, free_text, "large runs write about 1 GiB")


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"


def _program(name: str, candidates: tuple[str, ...], hint: str) -> Check:
    program_path = next((path for candidate in candidates if (path := shutil.which(candidate))), None)
    return Check(name, program_path is not None, False, program_path or "not found", hint)


def _table(checks: list[Check]) -> str:
    columns = [Column("", is_text=True)] * 4
    rows = []
    for check in checks:
        state = "ok" if check.ok else "MISSING" if check.needed else "optional"
        tone: Tone = "bad" if check.needed and not check.ok else ""
        rows.append(Row([check.name, state, check.found, "" if check.ok else check.hint], tone))
    return render(Table(columns, rows), colour=has_colour())
