"""Agents in the hosts of a lab, and the file of hosts by which a controller finds them.

Agents listen at Unix sockets in the lab's folder, which only root can enter, without TLS: the calls of the
controller need no network, and none is beside the one that is measured.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.lab import agents, build, removal
from fabricbench.lab.errors import LabError

if TYPE_CHECKING:
    from fabricbench.lab.blueprint import Blueprint, Node
    from fabricbench.lab.state import Lab

_FILE: Final = "hosts.yaml"
_READY_S: Final = 60.0
"""How long all agents together may take to start; on a busy machine a Python program takes seconds."""
_PEERS_PREFIX: Final = 16
"""Prefix length of the networks of host addresses, the peers that an agent may send to."""
_ROCE_PORT: Final = 4791
"""UDP port of RoCEv2 (IBTA annex A17.3.1): hosts of a lab are alone in their namespaces, so it is free."""
_PROGRAM: Final = (sys.executable, "-m", "fabricbench")


@contextmanager
def measuring(
    blueprint: Blueprint,
    defaults: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
    program: Sequence[str] = _PROGRAM,
) -> Iterator[Lab]:
    """Have a lab with an agent on each host for as long as the block takes; its file of hosts is there.

    Args:
        blueprint: The lab.
        defaults: See `write_hosts_file`.
        check: Called while the lab is made; what it raises ends the work.
        program: The command that starts fabricbench.

    Raises:
        LabError: The lab cannot be made, stands already, or an agent does not start. Nothing is left.
    """
    build.check_rights()
    lab = build.up_new(blueprint, check)
    try:
        write_hosts_file(lab, defaults)
        start(lab, check, program)
        yield lab
    finally:
        removal.remove(lab.name)


def start_or_remove(lab: Lab, check: Callable[[], None] = lambda: None) -> None:
    """Start agents in a lab that stays, and write its file of hosts; agents that run already stay.

    Raises:
        LabError: An agent does not start. Nothing is left of the lab.
    """
    running = agents.running(lab)
    if running and all(agent.is_running for agent in running):
        return
    try:
        agents.stop(lab)
        write_hosts_file(lab, {})
        start(lab, check)
    except BaseException:
        removal.remove(lab.name)
        raise


def start(lab: Lab, check: Callable[[], None] = lambda: None, program: Sequence[str] = _PROGRAM) -> None:
    """Start an agent on each host and wait until all listen.

    Raises:
        LabError: One of them ends or does not listen in time. None is left running.
    """
    agents.start(lab, lambda node: _command(lab, node, program))
    try:
        _await_sockets(lab, check)
    except BaseException:
        agents.stop(lab)
        raise


def _command(lab: Lab, node: Node, program: Sequence[str]) -> list[str]:
    listen = ("--listen", f"unix:{socket_of(lab, node)}", "--no-tls")
    allowed = [argument for network in _networks(lab.blueprint) for argument in ("--allow", network)]
    return [*program, "agent", *listen, *allowed, "--folder", str(lab.folder / node.name)]


def _networks(blueprint: Blueprint) -> list[str]:
    """Return the networks of the host addresses of a lab."""
    from ipaddress import IPv4Network

    addresses = {address for host in blueprint.hosts for address in host.addresses}
    networks = {IPv4Network((address, _PEERS_PREFIX), strict=False) for address in addresses}
    return [str(network) for network in sorted(networks)]


def socket_of(lab: Lab, node: Node) -> Path:
    """Return the Unix socket at which the agent of a host listens."""
    return lab.folder / f"{node.name}.sock"


def hosts_file(lab: Lab) -> Path:
    """Return the path of the lab's file of hosts."""
    return lab.folder / _FILE


def write_hosts_file(lab: Lab, defaults: Mapping[str, Any]) -> Path:
    """Write the file of hosts of a lab: host 0 of the plan is played by `host0`, and so on.

    Args:
        lab: The lab.
        defaults: What holds for every host, such as `driver` and its `settings`.

    Returns:
        Its path.
    """
    from ruamel.yaml import YAML

    hosts: list[dict[str, Any]] = [
        {"name": node.name, "agent": f"unix:{socket_of(lab, node)}", "address": node.addresses[0]}
        for node in lab.blueprint.hosts
    ]
    of_all = {"tls": False, "driver": "roce", **defaults}
    if of_all["driver"] == "roce":
        for host, node in zip(hosts, lab.blueprint.hosts, strict=True):
            host["settings"] = {"port_rate_bps": node.ports[0].rate_bps}
        of_all["settings"] = {
            "port": _ROCE_PORT,
            "batch_packets_max": lab.blueprint.batch_packets,
            "in_flight_packets_max": lab.blueprint.in_flight_packets,
            **defaults.get("settings", {}),
        }
    text = io.StringIO()
    YAML().dump({"version": 1, "defaults": of_all, "hosts": hosts}, text)
    path = hosts_file(lab)
    path.write_text(text.getvalue())
    return path


def _await_sockets(lab: Lab, check: Callable[[], None]) -> None:
    deadline = time.monotonic() + _READY_S
    waiting = list(lab.blueprint.hosts)
    while waiting:
        check()
        for agent, words in agents.ended(lab):
            raise LabError(
                f"the agent of {agent.host} has ended: {words or 'it said nothing'}",
                f"`fabricbench lab exec {agent.host} -- fabricbench agent --no-tls` starts one in sight",
            )
        waiting = [node for node in waiting if not socket_of(lab, node).exists()]
        if waiting and time.monotonic() > deadline:
            names = ", ".join(node.name for node in waiting[:5])
            raise LabError(
                f"agents do not listen after {_READY_S:g} s: {names}", f"their logs are in {lab.folder}"
            )
        time.sleep(0.05 if waiting else 0)
