"""The folder of each lab: what it consists of, written before it is made, and what runs in it.

Folders lie under `/run/fabricbench/labs`, which a restart of the machine empties, as it removes namespaces.
`FABRICBENCH_RUN_DIR` names another place for `/run/fabricbench`.
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
    """A lab as its folder has it.

    Attributes:
        blueprint: What it consists of.
        phase: `building` until everything is there.
        made_at: When it was begun [s since 1970].
        pid: The process that made it.
        process_start: When that process began, in clock ticks since the machine did; a process number alone
            may belong to another one by now.
        marks_map: Number of the kernel's map that counts marks and losses; none without them.
        without_marks: Why there are none though the plan has them; empty if there are, or it has none.
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
        """Its folder, for logs and Unix sockets of what runs in it."""
        return labs_folder() / self.name

    @property
    def is_being_built(self) -> bool:
        """Whether another process is at work on it."""
        return self.phase == "building" and process_start(self.pid) == self.process_start

    def save(self) -> None:
        """Write it into its folder, whole or not at all."""
        path = self.folder / _FILE
        part = path.with_suffix(".part")
        part.write_text(self.model_dump_json(indent=1))
        part.replace(path)


def labs_folder() -> Path:
    """Return the folder that has the folders of all labs."""
    return Path(os.environ.get(RUN_VARIABLE) or _RUN_FOLDER) / "labs"


def claim(blueprint: Blueprint) -> Lab:
    """Make the folder of a new lab and return the lab, nothing of which is there yet.

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
    """Return the names of all labs, half-made ones included."""
    folder = labs_folder()
    return sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def read(name: str) -> Lab | None:
    """Return a lab; none if its folder has no file that can be read, as after a crash in its first moment."""
    try:
        return Lab.model_validate_json((labs_folder() / name / _FILE).read_text())
    except (OSError, ValidationError):
        return None


def labs() -> Iterator[Lab]:
    """Yield every lab whose file can be read."""
    for name in names():
        lab = read(name)
        if lab is not None:
            yield lab


def find(name: str | None) -> Lab:
    """Return the lab of a name, or the only one there is.

    Raises:
        LabError: There is none, not only one, or it is not complete.
    """
    chosen = choose(name)
    lab = read(chosen)
    if lab is None or lab.phase != "up":
        raise LabError(
            f"lab {chosen} is not complete", f"`fabricbench lab down {chosen}` removes what there is"
        )
    return lab


def choose(name: str | None) -> str:
    """Return the name of a lab: the one given if there is one of it, or that of the only one.

    Raises:
        LabError: There is none, or not only one.
    """
    known = names()
    if name is None and len(known) == 1:
        return known[0]
    if not known:
        raise LabError("no lab is up", "`fabricbench lab up PLAN` makes one")
    if name is None:
        raise LabError(f"there are {len(known)} labs: {', '.join(known)}", "say which one is meant")
    if name not in known:
        hint = close_match_hint(name, known) or "`fabricbench lab list` shows all"
        raise LabError(f'no lab "{name}" is up', hint)
    return name


def process_start(pid: int) -> int | None:
    """Return when a process began, in clock ticks since the machine did; none if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in parentheses, may hold spaces; field 22 is the 20th after it (proc(5)).
    return int(stat.rpartition(")")[2].split()[19])
