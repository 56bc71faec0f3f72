"""Writes captured frames as pcapng, the format of Wireshark and tshark.

A capture needs only three block types of the pcapng format (IETF draft-ietf-opsawg-pcapng), so they are
written here: the only library that writes them has had no release since 2022, and scapy is licensed under the
GPL. In the tests, tshark and scapy read the result back.

A file has one section (with a comment), one interface for each sending host, named after it, with timestamps
in nanoseconds (`if_tsresol` 9), and one Enhanced Packet Block for each frame, marked as outbound. Ethernet
frames have no FCS (`if_fcslen` 0), InfiniBand packets end with their VCRC. There are no blocks for name
resolution, statistics and decryption. Picoseconds are truncated to nanoseconds; frames are in the order of
the input.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import IO

from fabricbench.report.output.atomic_files import atomic_file

_SECTION_HEADER = 0x0A0D0D0A
_INTERFACE_DESCRIPTION = 1
_ENHANCED_PACKET = 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_SECTION_LENGTH_UNKNOWN = -1
LINKTYPE_ETHERNET = 1
"""Link type of Ethernet frames."""
LINKTYPE_INFINIBAND = 247
"""Link type of InfiniBand packets, from the local route header to the VCRC (tcpdump.org/linktypes.html)."""
_NO_SNAP_LENGTH = 0

_OPTION_END = 0
_OPTION_COMMENT = 1
_SHB_USERAPPL = 4
_IF_NAME = 2
_IF_SPEED = 8
_IF_TSRESOL = 9
_IF_FCSLEN = 13
_EPB_FLAGS = 2

_OUTBOUND = 2
_NANOSECONDS = 9
_PS_PER_NS = 1000
_ETHERTYPE = slice(12, 14)
"""Offset of the EtherType of a frame, or of the TPID of its VLAN tag."""
_VLAN = b"\x81\x00"
"""TPID of a VLAN tag of 4 bytes (IEEE 802.1Q-2022, table 9-1)."""
_IPV4_SOURCE = slice(26, 30)
"""Source address in an untagged frame: after 14 bytes of Ethernet, at offset 12 of the IPv4 header (RFC
791)."""
_SOURCE_LID = slice(6, 8)
"""Source address in an InfiniBand packet: at the end of the local route header (IBTA 1.7, 7.7)."""


@dataclass(frozen=True)
class Interface:
    """A port at which frames were captured.

    Attributes:
        name: Name shown by Wireshark, such as `host3`.
        speed_bps: Line rate [bit/s], or None if unknown.
        link_type: Type of its frames: `LINKTYPE_ETHERNET` or `LINKTYPE_INFINIBAND`.
    """

    name: str
    speed_bps: int | None = None
    link_type: int = LINKTYPE_ETHERNET


@dataclass(frozen=True)
class CapturedFrame:
    """A captured frame.

    Attributes:
        time_ps: Time of its first bit since the start of the run [ps].
        interface: Index of its interface.
        data: Ethernet frame without preamble and FCS.
    """

    time_ps: int
    interface: int
    data: bytes


def write_pcapng(
    path: Path,
    interfaces: Sequence[Interface],
    frames: Iterable[CapturedFrame],
    *,
    comment: str = "",
    application: str = "fabricbench",
) -> int:
    """Write a capture file atomically.

    Args:
        path: The file; an existing one is replaced.
        interfaces: All interfaces of the frames.
        frames: The frames, in file order.
        comment: Comment of the section (plan, seed).
        application: Program named as the file's author.

    Returns:
        Number of frames written.

    Raises:
        OutputFileError: The file cannot be written.
        IndexError: A frame refers to an interface that does not exist.
        ValueError: A frame has a negative time.
    """
    with atomic_file(path) as stream:
        return write_blocks(stream, interfaces, frames, comment=comment, application=application)


def by_sender(
    frames: Iterable[tuple[int, bytes]],
    host_of_address: Mapping[str, str],
    rates_bps: Mapping[str, int],
    link_type: int = LINKTYPE_ETHERNET,
) -> tuple[list[Interface], list[CapturedFrame]]:
    """Assign each frame to the interface of its sending host.

    Args:
        frames: (time in ps, Ethernet frame with an IPv4 packet or InfiniBand packet), in order of time.
        host_of_address: IPv4 address, or local identifier as a decimal number -> name of the host.
        rates_bps: Name of the host -> line rate of its port [bit/s].
        link_type: Link type of the frames.

    Returns:
        One interface for each host that sent a frame, in order of its first one; the frames.

    Raises:
        KeyError: No host has the source address of a frame.
    """
    interfaces: dict[str, int] = {}
    captured = []
    for time_ps, data in frames:
        host = host_of_address[_source_address(data, link_type)]
        captured.append(CapturedFrame(time_ps, interfaces.setdefault(host, len(interfaces)), data))
    return [Interface(host, rates_bps.get(host), link_type) for host in interfaces], captured


def _source_address(data: bytes, link_type: int) -> str:
    """Return the source address of a frame."""
    if link_type == LINKTYPE_INFINIBAND:
        return str(int.from_bytes(data[_SOURCE_LID]))
    untagged = data[4:] if data[_ETHERTYPE] == _VLAN else data
    return str(IPv4Address(untagged[_IPV4_SOURCE]))


def write_blocks(
    stream: IO[bytes],
    interfaces: Sequence[Interface],
    frames: Iterable[CapturedFrame],
    *,
    comment: str,
    application: str,
) -> int:
    """Write one pcapng section to an open stream; see `write_pcapng`."""
    stream.write(_section_header(comment, application))
    for interface in interfaces:
        stream.write(_interface_description(interface))
    count = 0
    for frame in frames:
        if not 0 <= frame.interface < len(interfaces):
            raise IndexError(f"frame {count} names interface {frame.interface} of {len(interfaces)}")
        stream.write(_enhanced_packet(frame))
        count += 1
    return count


def _section_header(comment: str, application: str) -> bytes:
    body = struct.pack("<IHHq", _BYTE_ORDER_MAGIC, 1, 0, _SECTION_LENGTH_UNKNOWN)
    options = [(_SHB_USERAPPL, application.encode())]
    if comment:
        options.insert(0, (_OPTION_COMMENT, comment.encode()))
    return _block(_SECTION_HEADER, body + _options(options))


def _interface_description(interface: Interface) -> bytes:
    body = struct.pack("<HHI", interface.link_type, 0, _NO_SNAP_LENGTH)
    options = [(_IF_NAME, interface.name.encode()), (_IF_TSRESOL, bytes([_NANOSECONDS])), (_IF_FCSLEN, b"\0")]
    if interface.speed_bps is not None:
        options.insert(1, (_IF_SPEED, struct.pack("<Q", interface.speed_bps)))
    return _block(_INTERFACE_DESCRIPTION, body + _options(options))


def _enhanced_packet(frame: CapturedFrame) -> bytes:
    if frame.time_ps < 0:
        raise ValueError(f"time of a frame is negative: {frame.time_ps} ps")
    time_ns = frame.time_ps // _PS_PER_NS
    length = len(frame.data)
    header = struct.pack("<IIIII", frame.interface, time_ns >> 32, time_ns & 0xFFFF_FFFF, length, length)
    flags = _options([(_EPB_FLAGS, struct.pack("<I", _OUTBOUND))])
    return _block(_ENHANCED_PACKET, header + _padded(frame.data) + flags)


def _block(kind: int, body: bytes) -> bytes:
    """Build a block: type, total length, body, total length again."""
    total = len(body) + 12
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)


def _options(options: Sequence[tuple[int, bytes]]) -> bytes:
    parts = [struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options]
    return b"".join(parts) + struct.pack("<HH", _OPTION_END, 0)


def _padded(value: bytes) -> bytes:
    """Pad to a multiple of 32 bits, as required for blocks and options."""
    return value + bytes(-len(value) % 4)
