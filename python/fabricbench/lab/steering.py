"""Frames of a lab stay in order: one processor takes in all that arrives at a node.

A port's queue is emptied by whichever processor gets to it, and each hands frames to a backlog of its own
(softnet). So frames of one flow overtake each other in the kernel as in no switch, and go-back-N sends again
what was never lost. Receive packet steering (RPS, Documentation/networking/scaling.rst) to one processor for
each node keeps their order.

Steering gives each frame a hash, by which the kernel then chooses among next hops at every switch alike
(`fib_multipath_hash`): where switches of one path choose after each other, as in a fat tree, the second would
always repeat the first. There is none in such a lab.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from fabricbench.lab.agents import entering

if TYPE_CHECKING:
    from fabricbench.lab.blueprint import Blueprint, Node

_SET = 'for file in /sys/class/net/port*/queues/rx-*/rps_cpus; do echo "$0" >"$file" || exit 1; done'


def obstacle(blueprint: Blueprint) -> str:
    """Return why the frames of a lab are not steered; empty if they can be."""
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
    """Steer what arrives at the ports of a node to one processor; nodes take turns.

    Args:
        node: A node whose ports are there.
        number: Which node of the lab it is, from 0.

    Returns:
        Why that cannot be had, as in kernels without RPS; empty if it is done.

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
    """Write a set of one processor as the kernel reads it: hexadecimal, 32 to a group, highest first."""
    groups = [f"{1 << processor % 32:x}", *["0" * 8] * (processor // 32)]
    return ",".join(groups)
