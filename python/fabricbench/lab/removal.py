"""Removes a lab, whole or half-made."""

from __future__ import annotations

from dataclasses import dataclass

from fabricbench.lab import agents, namespaces, state
from fabricbench.lab.errors import LabError


@dataclass(frozen=True)
class Removed:
    """What was removed.

    Attributes:
        namespaces: How many namespaces, their links included.
        processes: How many processes that still ran in them.
    """

    namespaces: int
    processes: int


def down(name: str) -> Removed:
    """Remove a lab.

    Raises:
        LabError: Another process is making it.
    """
    lab = state.read(name)
    if lab is not None and lab.is_being_built:
        raise LabError(f"lab {name} is being made by process {lab.pid}", f"stop that first: kill {lab.pid}")
    return remove(name)


def remove(name: str) -> Removed:
    """Remove what there is of a lab: processes, namespaces, its folder last."""
    lab = state.read(name)
    if lab is None:
        spaces, ended = _by_name(name), 0
    else:
        wanted = (node.namespace for node in lab.blueprint.nodes)
        spaces = [space for space in wanted if namespaces.path_of(space).exists()]
        ended = agents.stop(lab)
    ended += namespaces.end_processes(spaces)
    for space in spaces:
        namespaces.remove(space)
    state.forget(name)
    return Removed(len(spaces), ended)


def _by_name(name: str) -> list[str]:
    """Return the namespaces of a lab whose file cannot be read, such as one of another version.

    Those of a lab whose longer name begins the same are not among them.
    """
    longer = [other for other in state.names() if other.startswith(f"{name}-")]
    found = namespaces.existing(f"fb-{name}-")
    return [space for space in found if not any(space.startswith(f"fb-{other}-") for other in longer)]
