"""Runs a fabricbench agent on each host of a lab, and writes the hosts file for the controller.

Agents, which send and receive the traffic, listen at Unix sockets in the lab's folder, accessible only to
root, without TLS: calls of the controller need no network, so none is added to the measured one.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fabricbench.lab import agents, build, removal
from fabricbench.lab.blueprint import Blueprint, Node
from fabricbench.lab.errors import LabError
from fabricbench.lab.state import Lab

_FILE: Final = "hosts.yaml"
_READY_S: Final = 60.0
"""Time limit for all agents to start; on a busy machine, a Python program takes seconds."""
_PEERS_PREFIX: Final = 16
"""Prefix length of the networks of host addresses, which are the peers that an agent may send to."""
_ROCE_PORT: Final = 4791
"""UDP port of RoCEv2 (IBTA annex A17.3.1): free, because each host of a lab has its own namespace."""
_PROGRAM: Final = (sys.executable, "-m", "fabricbench")


@contextmanager
def measuring(
    blueprint: Blueprint,
    defaults: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
    program: Sequence[str] = _PROGRAM,
) -> Iterator[Lab]:
    """Run a block with a new lab, an agent on each host and the hosts file; remove the lab afterwards.

    Args:
        blueprint: The lab.
        defaults: See `write_hosts_file`.
        check: Called during the build; an exception from it ends the build.
        program: The command that starts fabricbench.

    Raises:
        LabError: The lab cannot be created or already exists, or an agent does not start. Nothing is left.
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
    """Start agents in a permanent lab, unless they already run, and write its hosts file.

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
        LabError: An agent ends or does not listen in time. None is left running.
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
    """Return the Unix socket of a host's agent."""
    return lab.folder / f"{node.name}.sock"


def hosts_file(lab: Lab) -> Path:
    """Return the path of the lab's hosts file."""
    return lab.folder / _FILE


def write_hosts_file(lab: Lab, defaults: Mapping[str, Any]) -> Path:
    """Write the hosts file of a lab: `host0` plays host 0 of the plan, and so on.

    Args:
        lab: The lab.
        defaults: Defaults for every host, such as `driver` and its `settings`.

    Returns:
        The path of the file.
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
