"""Parser of the kernel's BPF type format (BTF): offsets of struct members, and numbers of functions.

The format is in the kernel's Documentation/bpf/btf.rst.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_VMLINUX: Final = Path("/sys/kernel/btf/vmlinux")
_MAGIC: Final = 0xEB9F
_STRUCT, _UNION, _FUNC = 4, 5, 12
# Bytes after each type's header, by kind: fixed, or per member.
_FIXED: Final = {1: 4, 3: 12, 14: 4, 17: 4}
_PER_ITEM: Final = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}


class TypesError(Exception):
    """The kernel does not describe its types, or lacks the requested one."""


class _Type(NamedTuple):
    number: int
    kind: int
    name: int
    items: int
    offset: int
    has_bit_fields: bool


class KernelTypes:
    """The types of the running kernel."""

    def __init__(self, blob: bytes) -> None:
        if len(blob) < 24 or struct.unpack_from("=H", blob)[0] != _MAGIC:
            raise TypesError("the kernel's description of its types cannot be read")
        header, types_at, types_bytes, names_at, names_bytes = struct.unpack_from("=IIIII", blob, 4)
        self._types = blob[header + types_at : header + types_at + types_bytes]
        self._names = blob[header + names_at : header + names_at + names_bytes]
        self._all = list(self._read())

    def member_bytes(self, struct_name: str, *members: str) -> int:
        """Return the offset of a member of a struct [bytes]; each further member is nested in the one before.

        Raises:
            TypesError: There is no such member.
        """
        holder = next(
            (kernel_type for kernel_type in self._all if self._is(kernel_type, _STRUCT, struct_name)), None
        )
        offset = 0
        for member in members:
            offset_and_type = self._member(holder, member) if holder is not None else None
            if offset_and_type is None:
                raise TypesError(f"the kernel has no {struct_name}.{'.'.join(members)}")
            offset += offset_and_type[0]
            holder = self._by_number(offset_and_type[1]) if member != members[-1] else holder
        return offset

    def function(self, name: str) -> int:
        """Return the number of a function that BPF programs may call.

        Raises:
            TypesError: There is none.
        """
        for kernel_type in self._all:
            if self._is(kernel_type, _FUNC, name):
                return kernel_type.number
        raise TypesError(f"the kernel has no function {name} (Linux 6.2 or newer)")

    def _member(self, holder: _Type, member_name: str) -> tuple[int, int] | None:
        """Return offset and type of a struct's member, including those of anonymous structs and unions."""
        for item in range(holder.items):
            name, kind, bits = struct.unpack_from("=III", self._types, holder.offset + 12 * item)
            offset = (bits & 0xFF_FFFF if holder.has_bit_fields else bits) // 8
            if self._text(name) == member_name:
                return offset, kind
            if name == 0 and (inner := self._by_number(kind)).kind in {_STRUCT, _UNION}:
                inner_member = self._member(inner, member_name)
                if inner_member is not None:
                    return offset + inner_member[0], inner_member[1]
        return None

    def _by_number(self, number: int) -> _Type:
        return self._all[number - 1]

    def _is(self, each: _Type, kind: int, name: str) -> bool:
        return each.kind == kind and self._text(each.name) == name

    def _text(self, offset: int) -> str:
        return self._names[offset : self._names.index(0, offset)].decode()

    def _read(self) -> Iterator[_Type]:
        offset, number = 0, 1
        while offset < len(self._types):
            name, info, _ = struct.unpack_from("=III", self._types, offset)
            kind, items = info >> 24 & 0x1F, info & 0xFFFF
            offset += 12
            yield _Type(number, kind, name, items, offset, bool(info >> 31))
            offset += _FIXED.get(kind, _PER_ITEM.get(kind, 0) * items)
            number += 1


def kernel_types() -> KernelTypes:
    """Return the types of the running kernel.

    Raises:
        TypesError: The kernel does not describe them.
    """
    try:
        return KernelTypes(_VMLINUX.read_bytes())
    except OSError as error:
        raise TypesError(f"the kernel does not describe its types ({_VMLINUX})") from error
