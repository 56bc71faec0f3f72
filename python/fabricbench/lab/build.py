"""Creates a lab (namespaces, links, routes, queues) completely or not at all; checks rights and software."""

from __future__ import annotations

import errno
import importlib.util
import os
from collections.abc import Callable

from fabricbench.lab import removal, state
from fabricbench.lab.blueprint import ETHERNET_HEADER_BYTES, Blueprint, Node
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel import marking, namespaces, ports, priorities, steering
from fabricbench.lab.kernel.marking import Marks
from fabricbench.words import install_hint


def check_rights() -> None:
    """Check that this process may create namespaces.

    Raises:
        LabError: It may not, or required software is not installed.
    """
    if os.geteuid() != 0:
        raise LabError("a lab needs the rights of root: it makes network namespaces", "use sudo")
    if importlib.util.find_spec("pyroute2") is None:
        raise LabError("pyroute2 is not installed", install_hint("lab", "pyroute2"))


def up(blueprint: Blueprint, check: Callable[[], None] = lambda: None) -> state.Lab:
    """Create a lab.

    An existing, complete lab with the same blueprint is reused; the remains of a crashed build are removed
    first.

    Args:
        blueprint: The lab to create.
        check: Called before each node; an exception from it ends the build.

    Returns:
        The lab. It has the reason if the kernel cannot mark or lose frames.

    Raises:
        LabError: This machine cannot create it, or there is another lab of that name. Nothing is left of the
            lab.
    """
    check_rights()
    existing_lab = state.read(blueprint.name)
    if existing_lab is not None and existing_lab.phase == "up" and _is_same(existing_lab, blueprint):
        return existing_lab
    if blueprint.name in state.names() and (existing_lab is None or existing_lab.phase == "building"):
        if existing_lab is not None and existing_lab.is_being_built:
            raise LabError(f"lab {blueprint.name} is being made by process {existing_lab.pid}", "wait for it")
        removal.remove(blueprint.name)
    return up_new(blueprint, check)


def up_new(blueprint: Blueprint, check: Callable[[], None] = lambda: None) -> state.Lab:
    """Create a lab that does not exist yet; see `up`.

    Raises:
        LabError: This machine cannot create it, or there is a lab of that name. Nothing is left of the lab.
    """
    lab = state.claim(blueprint)
    try:
        _make(lab, check)
    except BaseException as error:
        removal.remove(blueprint.name)
        if isinstance(error, OSError) or type(error).__name__ == "NetlinkError":
            raise _refused(error) from error
        raise
    return lab


def _is_same(lab: state.Lab, blueprint: Blueprint) -> bool:
    """Return whether a lab has a blueprint and all of its namespaces exist."""
    has_namespaces = all(namespaces.path_of(node.namespace).exists() for node in lab.blueprint.nodes)
    return has_namespaces and lab.blueprint == blueprint


def _refused(error: BaseException) -> LabError:
    """Return the error for a request that the kernel has refused."""
    code = error.args[0] if error.args else None
    if code in {errno.EPERM, errno.EACCES}:
        hint = "run it as root of the machine, not of a container without CAP_SYS_ADMIN and CAP_NET_ADMIN"
    elif code in {errno.ENOENT, errno.EOPNOTSUPP}:
        hint = (
            "the kernel needs network namespaces, veth and the token bucket (CONFIG_VETH, CONFIG_NET_SCH_TBF)"
        )
    else:
        hint = "`fabricbench doctor` looks at what is installed; nothing is left of the lab"
    return LabError(f"the kernel refuses to make the lab: {error}", hint)


def _make(lab: state.Lab, check: Callable[[], None]) -> None:
    blueprint = lab.blueprint
    namespace_by_node: dict[str, str] = {}
    for node in blueprint.nodes:
        check()
        namespaces.create(node.namespace)
        namespaces.inside(node.namespace, lambda node=node: _plug_in(node, blueprint, namespace_by_node))  # type: ignore[misc]
        namespace_by_node[node.name] = node.namespace
    marks = _marks(lab)
    lab.without_order = steering.obstacle(blueprint)
    try:
        for number, node in enumerate(blueprint.nodes):
            check()
            lab.without_order = lab.without_order or steering.keep_order(node, number)
            lab.without_marks = (
                namespaces.inside(node.namespace, lambda node=node: _configure(node, marks))  # type: ignore[misc]
                or lab.without_marks
            )
            if blueprint.acknowledgements_first and not lab.without_priority:
                frame = blueprint.mtu_bytes + ETHERNET_HEADER_BYTES
                lab.without_priority = priorities.acknowledgements_first(node, frame)
        if marks is not None and not lab.without_marks:
            lab.marks_map = marks.number
    finally:
        if marks is not None:
            marks.close()
    lab.phase = "up"
    lab.save()


def _plug_in(node: Node, blueprint: Blueprint, made: dict[str, str]) -> None:
    from pyroute2 import IPRoute

    ports.prepare(node)
    with IPRoute() as netlink:
        ports.plug_in(netlink, node, blueprint, made)


def _configure(node: Node, marks: Marks | None) -> str:
    """Configure a node and return why its ports do not mark correctly; empty if they do."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        indices = ports.configure(netlink, node)
        if marks is None:
            return ""
        try:
            for port in node.ports:
                marks.attach(netlink, indices[port.interface], node.name, port)
        except marking.MarkingError as error:
            return str(error)
    return ""


def _marks(lab: state.Lab) -> Marks | None:
    """Return the BPF programs of a lab, if it needs any and the kernel can run them."""
    if not marking.marks_or_loses(lab.blueprint):
        return None
    try:
        return marking.Marks(lab.blueprint)
    except marking.MarkingError as error:
        lab.without_marks = str(error)
        return None
