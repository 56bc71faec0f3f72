"""Keeps frames of a lab in order: a single processor handles all frames that arrive at a node.

Any processor may empty a port's queue, and each puts the frames into its own backlog (softnet). So frames of
one flow overtake each other in the kernel, as in no switch, and go-back-N retransmits frames that were not
lost. Receive packet steering (RPS, Documentation/networking/scaling.rst) to one processor per node keeps
their order.

Steering gives each frame a hash, by which the kernel then chooses among next hops, equally at every switch
(`fib_multipath_hash`): if a path has several switches with a choice, as in a fat tree, the second would
always repeat the first one's. Such a lab has no steering.
"""

from __future__ import annotations

import os
import subprocess

from fabricbench.lab.agents import entering
from fabricbench.lab.blueprint import Blueprint, Node

_SET = 'for file in /sys/class/net/port*/queues/rx-*/rps_cpus; do echo "$0" >"$file" || exit 1; done'


def obstacle(blueprint: Blueprint) -> str:
    """Return why the frames of a lab cannot be steered; empty if they can be."""
    nodes = {node.name: node for node in blueprint.nodes}
    peers = {(node.name, port.number): port.peer for node in blueprint.nodes for port in node.ports}
    choices = {
        (node.name, route.address): route.ports
        for node in nodes.values()
        for route in node.routes
        if len(route.ports) > 1
    }
    for (name, address), ports in choices.items():
        if any((peers[name, port], address) in choices for port in ports):
            return "switches of one path choose after each other, and would choose alike if it was kept"
    return ""


def keep_order(node: Node, number: int) -> str:
    """Steer all frames that arrive at the ports of a node to one processor, round-robin over nodes.

    Args:
        node: A node whose ports exist.
        number: Index of the node in the lab, from 0.

    Returns:
        Why it is not possible, as in kernels without RPS; empty on success.

    Raises:
        LabError: The program `ip` is missing.
    """
    processors = sorted(os.sched_getaffinity(0))
    mask = _mask(processors[number % len(processors)])
    done = subprocess.run(
        entering(node, ["sh", "-c", _SET, mask]), check=False, capture_output=True, text=True
    )
    return "" if done.returncode == 0 else done.stderr.strip() or "rps_cpus cannot be written"


def _mask(processor: int) -> str:
    """Format a set of one processor for the kernel: hexadecimal, 32 per group, highest group first."""
    groups = [f"{1 << processor % 32:x}", *["0" * 8] * (processor // 32)]
    return ",".join(groups)
