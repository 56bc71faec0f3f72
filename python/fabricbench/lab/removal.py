"""Removes a lab, complete or partial: its processes, namespaces and folder."""

from __future__ import annotations

from dataclasses import dataclass

from fabricbench.lab import agents, state
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel import namespaces


@dataclass(frozen=True)
class Removed:
    """Result of a removal.

    Attributes:
        namespaces: Number of namespaces, including their links.
        processes: Number of processes that still ran in them.
    """

    namespaces: int
    processes: int


def down(name: str) -> Removed:
    """Remove a lab.

    Raises:
        LabError: Another process is building it.
    """
    lab = state.read(name)
    if lab is not None and lab.is_being_built:
        raise LabError(f"lab {name} is being made by process {lab.pid}", f"stop that first: kill {lab.pid}")
    return remove(name)


def remove(name: str) -> Removed:
    """Remove everything that exists of a lab: processes, namespaces, its folder last."""
    lab = state.read(name)
    if lab is None:
        spaces, ended_processes = _by_name(name), 0
    else:
        planned_spaces = (node.namespace for node in lab.blueprint.nodes)
        spaces = [space for space in planned_spaces if namespaces.path_of(space).exists()]
        ended_processes = agents.stop(lab)
    ended_processes += namespaces.end_processes(spaces)
    for space in spaces:
        namespaces.remove(space)
    state.forget(name)
    return Removed(len(spaces), ended_processes)


def _by_name(name: str) -> list[str]:
    """Return the namespaces of a lab with an unreadable file, such as one of another version.

    Namespaces of labs whose longer name has the same prefix are excluded.
    """
    longer = [other for other in state.names() if other.startswith(f"{name}-")]
    spaces = namespaces.existing(f"fb-{name}-")
    return [space for space in spaces if not any(space.startswith(f"fb-{other}-") for other in longer)]
