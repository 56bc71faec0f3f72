"""Minimal interface to the kernel's BPF: assembler, maps and the system call `bpf`.

It has only the features that marking and losing frames need. Programs are assembled here, so no compiler is
needed on the target machine (the instruction set is in RFC 9669).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SYSCALL: Final = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "s390x": 351, "ppc64le": 361}
_MAP_CREATE, _MAP_LOOKUP, _PROG_LOAD, _MAP_BY_ID, _INFO = 0, 1, 5, 14, 15
_MAP_TYPE_ARRAY: Final = 2
_PROG_TYPE_SCHED_CLS: Final = 3
_PSEUDO_MAP_FD, _PSEUDO_KFUNC_CALL = 1, 2
_LICENCE: Final = b"GPL\0"
"""Licence of the loaded programs: the kernel restricts the functions that they need to GPL programs."""
_LOG_BYTES: Final = 1 << 16

R0, R1, R2, R3, R6, R7, R8, R9, FRAME = 0, 1, 2, 3, 6, 7, 8, 9, 10
"""Registers: result, arguments, preserved across calls, frame pointer."""

MAP_LOOKUP_ELEM: Final = 1
PRANDOM_U32: Final = 7
SKB_ECN_SET_CE: Final = 97
"""Numbers of the kernel's helper functions."""


@dataclass(frozen=True)
class Instruction:
    """One instruction; `to` is the label of a jump, whose distance is filled in by `Assembler.code`."""

    code: int
    destination: int = 0
    source: int = 0
    offset: int = 0
    immediate: int = 0
    to: str | None = None
    next_immediate: int | None = None

    @property
    def slots(self) -> int:
        """Number of 8-byte slots."""
        return 1 if self.next_immediate is None else 2


class Assembler:
    """Collects instructions and labels."""

    def __init__(self) -> None:
        self._instructions: list[Instruction] = []
        self._labels: dict[str, int] = {}
        self._slots = 0

    def _add(self, instruction: Instruction) -> None:
        self._instructions.append(instruction)
        self._slots += instruction.slots

    def label(self, name: str) -> None:
        """Define a label at the next instruction."""
        self._labels[name] = self._slots

    def move(self, destination: int, source: int) -> None:
        """Copy a 64-bit register."""
        self._add(Instruction(0xBF, destination, source))

    def constant(self, destination: int, value: int) -> None:
        """Load a 64-bit constant into a register."""
        low, high = value & 0xFFFF_FFFF, value >> 32
        self._add(Instruction(0x18, destination, immediate=low, next_immediate=high))

    def map_pointer(self, destination: int, descriptor: int) -> None:
        """Load a map into a register."""
        load = Instruction(0x18, destination, _PSEUDO_MAP_FD, immediate=descriptor, next_immediate=0)
        self._add(load)

    def load(self, destination: int, base: int, offset: int, size_bytes: int) -> None:
        """Read memory at the address in a register."""
        self._add(Instruction({4: 0x61, 8: 0x79}[size_bytes], destination, base, offset))

    def store(self, base: int, offset: int, source: int, size_bytes: int) -> None:
        """Write memory at the address in a register."""
        self._add(Instruction({4: 0x63, 8: 0x7B}[size_bytes], base, source, offset))

    def atomic_add(self, base: int, offset: int, source: int) -> None:
        """Add atomically to 64 bits of memory."""
        self._add(Instruction(0xDB, base, source, offset))

    def arithmetic(self, operation: str, destination: int, source: int) -> None:
        """Compute on two 64-bit registers: `+`, `-`, `*` or `/`."""
        self._add(Instruction({"+": 0x0F, "-": 0x1F, "*": 0x2F, "/": 0x3F}[operation], destination, source))

    def add_constant(self, destination: int, value: int) -> None:
        """Add a 32-bit constant."""
        self._add(Instruction(0x07, destination, immediate=value))

    def jump(self, to: str) -> None:
        """Jump to a label."""
        self._add(Instruction(0x05, to=to))

    def jump_if(self, left: int, relation: str, right: int, to: str) -> None:
        """Jump to a label if an unsigned comparison of two registers holds: `==`, `>` or `>=`."""
        self._add(Instruction({"==": 0x1D, ">": 0x2D, ">=": 0x3D}[relation], left, right, to=to))

    def jump_if_constant(self, left: int, relation: str, value: int, to: str) -> None:
        """Jump to a label if a comparison of a register with a constant holds: `==` or `!=`."""
        self._add(Instruction({"==": 0x15, "!=": 0x55}[relation], left, immediate=value, to=to))

    def call(self, helper: int) -> None:
        """Call a kernel helper function."""
        self._add(Instruction(0x85, immediate=helper))

    def call_kernel(self, function: int) -> None:
        """Call a kernel function by its BTF type number."""
        self._add(Instruction(0x85, source=_PSEUDO_KFUNC_CALL, immediate=function))

    def end(self) -> None:
        """Return from the program."""
        self._add(Instruction(0x95))

    def code(self) -> bytes:
        """Return the program with jump distances filled in."""
        encoded, slot = bytearray(), 0
        for instruction in self._instructions:
            slot += instruction.slots
            offset = instruction.offset if instruction.to is None else self._labels[instruction.to] - slot
            encoded += _slot(
                instruction.code,
                instruction.source << 4 | instruction.destination,
                offset,
                instruction.immediate,
            )
            if instruction.next_immediate is not None:
                encoded += _slot(0, 0, 0, instruction.next_immediate)
        return bytes(encoded)


def _slot(code: int, registers: int, offset: int, immediate: int) -> bytes:
    return struct.pack("=BBhI", code, registers, offset, immediate & 0xFFFF_FFFF)


def create_array(value_bytes: int, entries: int) -> int:
    """Create an array map of zeros and return its descriptor.

    Raises:
        OSError: The kernel refuses it.
    """
    return _bpf(_MAP_CREATE, struct.pack("=IIII", _MAP_TYPE_ARRAY, 4, value_bytes, entries))


def load_classifier(code: bytes) -> int:
    """Load a classifier of a port's frames and return its descriptor.

    Raises:
        OSError: The kernel refuses it; the message has the last lines of the verifier's log.
    """
    program = ctypes.create_string_buffer(code)
    licence = ctypes.create_string_buffer(_LICENCE)
    plain = struct.pack(
        "=IIQQIIQ",
        _PROG_TYPE_SCHED_CLS,
        len(code) // 8,
        ctypes.addressof(program),
        ctypes.addressof(licence),
        0,
        0,
        0,
    )
    try:
        return _bpf(_PROG_LOAD, plain)
    except OSError as error:
        log = ctypes.create_string_buffer(_LOG_BYTES)
        logged_attributes = plain[:24] + struct.pack("=IIQ", 1, _LOG_BYTES, ctypes.addressof(log))
        try:
            return _bpf(_PROG_LOAD, logged_attributes)
        except OSError:
            reason = " / ".join(log.value.decode(errors="replace").strip().splitlines()[-4:-1])
            raise OSError(error.errno, f"{error.strerror}: {reason}" if reason else error.strerror) from error


def map_number(descriptor: int) -> int:
    """Return the ID of a map, by which other processes can open it."""
    info = ctypes.create_string_buffer(80)
    _bpf(_INFO, struct.pack("=IIQ", descriptor, len(info), ctypes.addressof(info)))
    return int(struct.unpack_from("=II", info)[1])


def open_map(number: int) -> int:
    """Open a map by its ID and return a descriptor.

    Raises:
        OSError: The map no longer exists.
    """
    return _bpf(_MAP_BY_ID, struct.pack("=III", number, 0, 0))


def read_entry(descriptor: int, key: int, fields: int) -> Sequence[int]:
    """Return the 64-bit fields of a map entry."""
    index = ctypes.c_uint32(key)
    value = (ctypes.c_uint64 * fields)()
    addresses = (ctypes.addressof(index), ctypes.addressof(value))
    _bpf(_MAP_LOOKUP, struct.pack("=IIQQQ", descriptor, 0, *addresses, 0))
    return list(value)


def _bpf(command: int, attributes: bytes) -> int:
    """Call the kernel (bpf(2)).

    Raises:
        OSError: The kernel refuses the call.
    """
    number = _SYSCALL.get(os.uname().machine)
    if number is None:
        raise OSError(f"no number of the system call is known on {os.uname().machine}")
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = library.syscall(number, command, buffer, len(buffer))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(result)
