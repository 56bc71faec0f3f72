"""BPF programs that mark frames (ECN) and lose frames at random on the ports of a lab; reads their counts.

As in the simulator, a mark depends on the length of the port's queue when a frame is enqueued: never up to
Kmin, with a probability rising to Pmax at Kmax, always above. Only ECN-capable frames (ECT) are marked.
Losses are drawn per arriving frame: there, the sender's shaper has already split batches into frames. A batch
that fits into the shaper's burst may pass whole, and is marked or lost whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabricbench.lab.blueprint import Blueprint, Marking, Port
from fabricbench.lab.kernel import bpf, btf
from fabricbench.lab.kernel.bpf import FRAME, R0, R1, R2, R3, R6, R7, R8, R9

if TYPE_CHECKING:
    from pyroute2 import IPRoute


_FIELDS: Final = 3
_MARKED, _LOST, _QUEUE_MAX = (8 * field for field in range(_FIELDS))
"""Offsets of a port's counts in its map entry [bytes]."""
_GSO_SEGMENTS: Final = 164
"""Offset in struct __sk_buff of the number of segments of a batch, 0 for a single frame."""
_PASS, _DROP = 0, 2
_PROBABILITY_ONE: Final = 1 << 32
_PPM: Final = 1_000_000
_CLSACT_INGRESS, _CLSACT_EGRESS = 0xFFFF_FFF2, 0xFFFF_FFF3


class MarkingError(Exception):
    """The kernel cannot run the programs that mark or lose frames."""


@dataclass(frozen=True)
class PortCounts:
    """Counts of a port's programs.

    Attributes:
        marked: Frames marked at departure.
        lost: Frames lost at arrival.
        queue_max_bytes: Longest queue that a departing frame has met.
    """

    marked: int
    lost: int
    queue_max_bytes: int


@dataclass(frozen=True)
class _Layout:
    """Offsets in the kernel's structs that lead a program to the length of a queue."""

    cast: int
    device: int
    queue: int
    backlog: int


class Marks:
    """The programs of a lab and the map of their counts: one entry per port, in order of nodes."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Read the kernel's types and create the map.

        Raises:
            MarkingError: The kernel cannot run such programs.
        """
        ports = [(node.name, port) for node in blueprint.nodes for port in node.ports]
        self._entries = {(name, port.number): entry for entry, (name, port) in enumerate(ports)}
        try:
            self._layout = _layout() if any(port.marking for _, port in ports) else None
            self._map = bpf.create_array(8 * _FIELDS, len(ports))
        except btf.TypesError as error:
            raise MarkingError(str(error)) from error
        except OSError as error:
            raise MarkingError(f"the kernel runs no such programs: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the map; it exists for as long as the programs that use it."""
        os.close(self._map)

    @property
    def number(self) -> int:
        """ID of the map."""
        return bpf.map_number(self._map)

    def attach(self, netlink: IPRoute, index: int, node: str, port: Port) -> None:
        """Attach the programs of a port.

        Raises:
            MarkingError: The kernel refuses one of them.
        """
        if port.marking is None and not port.lost_ppm:
            return
        netlink.tc("add", "clsact", index)
        entry = self._entries[node, port.number]
        if port.marking is not None and self._layout is not None:
            code = marking_code(port.marking, self._layout, self._map, entry)
            self._attach_code(netlink, index, _CLSACT_EGRESS, code)
        if port.lost_ppm:
            self._attach_code(netlink, index, _CLSACT_INGRESS, losing_code(port.lost_ppm, self._map, entry))

    def _attach_code(self, netlink: IPRoute, index: int, parent: int, code: bytes) -> None:
        try:
            program = bpf.load_classifier(code)
        except OSError as error:
            raise MarkingError(f"the kernel refuses the program: {error.strerror or error}") from error
        try:
            netlink.tc(
                "add-filter",
                "bpf",
                index,
                0,
                fd=program,
                name="fabricbench",
                parent=parent,
                direct_action=True,
            )
        finally:
            os.close(program)


def marks_or_loses(blueprint: Blueprint) -> bool:
    """Return whether any port of a lab marks or loses frames."""
    return any(port.marking or port.lost_ppm for node in blueprint.nodes for port in node.ports)


def counts(blueprint: Blueprint, number: int) -> dict[tuple[str, int], PortCounts]:
    """Return the counts of a lab's programs, by node and port.

    Args:
        blueprint: The lab.
        number: ID of its map.

    Raises:
        OSError: The map no longer exists.
    """
    descriptor = bpf.open_map(number)
    try:
        ports = [(node.name, port.number) for node in blueprint.nodes for port in node.ports]
        return {
            key: PortCounts(*bpf.read_entry(descriptor, entry, _FIELDS)) for entry, key in enumerate(ports)
        }
    finally:
        os.close(descriptor)


def _layout() -> _Layout:
    types = btf.kernel_types()
    return _Layout(
        cast=types.function("bpf_cast_to_kern_ctx"),
        device=types.member_bytes("sk_buff", "dev"),
        queue=types.member_bytes("net_device", "qdisc"),
        backlog=types.member_bytes("Qdisc", "qstats", "backlog"),
    )


def marking_code(marking: Marking, layout: _Layout, descriptor: int, entry: int) -> bytes:
    """Return the program that marks departing frames of a port and counts in a map entry."""
    code = bpf.Assembler()
    code.move(R6, R1)
    code.call_kernel(layout.cast)
    code.load(R7, R0, layout.device, 8)
    code.load(R7, R7, layout.queue, 8)
    code.load(R7, R7, layout.backlog, 4)
    _find_entry(code, descriptor, entry)
    code.load(R2, R9, _QUEUE_MAX, 8)
    code.jump_if(R2, ">=", R7, "known")
    code.store(R9, _QUEUE_MAX, R7, 8)  # a race with another core may lose a maximum: short by one frame
    code.label("known")
    _draw(code, marking)
    code.label("mark")
    code.move(R1, R6)
    code.call(bpf.SKB_ECN_SET_CE)
    code.jump_if_constant(R0, "!=", 1, "pass")
    _count(code, _MARKED)
    code.label("pass")
    _return(code, _PASS)
    return code.code()


def _draw(code: bpf.Assembler, marking: Marking) -> None:
    """Jump to `pass` or continue, by the length of the queue in R7 and a random number."""
    code.constant(R2, marking.kmin_bytes)
    code.jump_if(R2, ">=", R7, "pass")
    code.constant(R3, marking.kmax_bytes)
    code.jump_if(R7, ">=", R3, "mark")
    # Below Kmax: (queue - Kmin) / (Kmax - Kmin) * Pmax, in parts of 2^32.
    code.move(R8, R7)
    code.arithmetic("-", R8, R2)
    step = marking.pmax_ppm * _PROBABILITY_ONE // (_PPM * max(1, marking.kmax_bytes - marking.kmin_bytes))
    code.constant(R2, step)
    code.arithmetic("*", R8, R2)
    code.call(bpf.PRANDOM_U32)
    code.jump_if(R0, ">=", R8, "pass")


def losing_code(lost_ppm: int, descriptor: int, entry: int) -> bytes:
    """Return the program that loses arriving frames of a port and counts in a map entry."""
    code = bpf.Assembler()
    code.move(R6, R1)
    code.call(bpf.PRANDOM_U32)
    code.constant(R2, lost_ppm * _PROBABILITY_ONE // _PPM)
    code.jump_if(R0, ">=", R2, "pass")
    _find_entry(code, descriptor, entry)
    _count(code, _LOST)
    _return(code, _DROP)
    code.label("pass")
    _return(code, _PASS)
    return code.code()


def _find_entry(code: bpf.Assembler, descriptor: int, entry: int) -> None:
    """Load the address of the port's map entry into R9, or jump to `pass` if there is none."""
    code.constant(R2, entry)
    code.store(FRAME, -4, R2, 4)
    code.move(R2, FRAME)
    code.add_constant(R2, -4)
    code.map_pointer(R1, descriptor)
    code.call(bpf.MAP_LOOKUP_ELEM)
    code.jump_if_constant(R0, "==", 0, "pass")
    code.move(R9, R0)


def _count(code: bpf.Assembler, field: int) -> None:
    """Add the number of frames of R6, the segments of a batch, to a field of the entry in R9."""
    code.load(R2, R6, _GSO_SEGMENTS, 4)
    code.jump_if_constant(R2, "!=", 0, "counted")
    code.constant(R2, 1)
    code.label("counted")
    code.atomic_add(R9, field, R2)


def _return(code: bpf.Assembler, verdict: int) -> None:
    code.constant(R0, verdict)
    code.end()
