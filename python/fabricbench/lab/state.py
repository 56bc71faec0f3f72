"""Folder of each lab: its description, written before the lab is created, and files of its processes.

Folders are in `/run/fabricbench/labs`, which a reboot empties, as it removes namespaces. The variable
`FABRICBENCH_RUN_DIR` replaces `/run/fabricbench`.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.lab.blueprint import Blueprint
from fabricbench.lab.errors import LabError
from fabricbench.words import close_match_hint

RUN_VARIABLE: Final = "FABRICBENCH_RUN_DIR"
_RUN_FOLDER: Final = "/run/fabricbench"
_FILE: Final = "lab.json"


class Lab(BaseModel):
    """A lab, as stored in its folder.

    Attributes:
        blueprint: Its description.
        phase: `building` until it is complete.
        made_at: Start of the build [s since 1970].
        pid: The process that built it.
        process_start: Start time of that process, in clock ticks since boot; process IDs are reused.
        marks_map: ID of the kernel's map that counts marks and losses; `None` without them.
        without_marks: Why it lacks the marks or losses of the plan; empty if it does not.
        without_order: Why frames of a flow may overtake each other; empty if they do not.
        without_priority: Why acknowledgements do not overtake data as in the plan; empty if they do.
    """

    model_config = ConfigDict(extra="forbid")

    blueprint: Blueprint
    phase: Literal["building", "up"] = "building"
    made_at: float
    pid: int
    process_start: int
    marks_map: int | None = None
    without_marks: str = ""
    without_order: str = ""
    without_priority: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.blueprint.name

    @property
    def folder(self) -> Path:
        """Its folder, with logs and Unix sockets of its processes."""
        return labs_folder() / self.name

    @property
    def is_being_built(self) -> bool:
        """Whether its build is in progress."""
        return self.phase == "building" and process_start(self.pid) == self.process_start

    def save(self) -> None:
        """Write it to its folder atomically."""
        path = self.folder / _FILE
        part = path.with_suffix(".part")
        part.write_text(self.model_dump_json(indent=1))
        part.replace(path)


def labs_folder() -> Path:
    """Return the parent folder of all labs."""
    return Path(os.environ.get(RUN_VARIABLE) or _RUN_FOLDER) / "labs"


def claim(blueprint: Blueprint) -> Lab:
    """Create the folder of a new lab and return the lab, which is not built yet.

    Raises:
        LabError: There is one of that name.
    """
    lab = Lab(
        blueprint=blueprint,
        made_at=time.time(),
        pid=os.getpid(),
        process_start=process_start(os.getpid()) or 0,
    )
    try:
        lab.folder.parent.mkdir(parents=True, exist_ok=True)
        lab.folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise LabError(
            f"there is a lab {lab.name} already",
            f"`fabricbench lab down {lab.name}` removes it; --name NAME makes another one beside it",
        ) from error
    lab.save()
    return lab


def forget(name: str) -> None:
    """Remove the folder of a lab, if there is one."""
    shutil.rmtree(labs_folder() / name, ignore_errors=True)


def names() -> list[str]:
    """Return the names of all labs, including partial ones."""
    folder = labs_folder()
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def read(name: str) -> Lab | None:
    """Return a lab, or `None` if its folder has no readable file, as after a crash early in the build."""
    try:
        return Lab.model_validate_json((labs_folder() / name / _FILE).read_text())
    except (OSError, ValidationError):
        return None


def labs() -> Iterator[Lab]:
    """Yield every lab with a readable file."""
    for name in names():
        lab = read(name)
        if lab is not None:
            yield lab


def find(name: str | None) -> Lab:
    """Return the lab with a name, or the only lab.

    Raises:
        LabError: There is none, more than one, or it is not complete.
    """
    lab_name = choose(name)
    lab = read(lab_name)
    if lab is None or lab.phase != "up":
        raise LabError(
            f"lab {lab_name} is not complete", f"`fabricbench lab down {lab_name}` removes what there is"
        )
    return lab


def choose(name: str | None) -> str:
    """Return the name of a lab: the argument if such a lab exists, or that of the only lab.

    Raises:
        LabError: There is none, or more than one.
    """
    lab_names = names()
    if name is None and len(lab_names) == 1:
        return lab_names[0]
    if not lab_names:
        raise LabError("no lab is up", "`fabricbench lab up PLAN` makes one")
    if name is None:
        raise LabError(f"there are {len(lab_names)} labs: {', '.join(lab_names)}", "say which one is meant")
    if name not in lab_names:
        hint = close_match_hint(name, lab_names) or "`fabricbench lab list` shows all"
        raise LabError(f'no lab "{name}" is up', hint)
    return name


def process_start(pid: int) -> int | None:
    """Return the start of a process, in clock ticks since boot, or `None` if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in parentheses, may contain spaces; field 22 is the 20th after it (proc(5)).
    return int(stat.rpartition(")")[2].split()[19])
