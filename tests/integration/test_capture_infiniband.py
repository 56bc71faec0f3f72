"""Captures of InfiniBand: read back with tshark, and their CRCs computed anew by other means than ours."""

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from fabricbench.cli.main import run

PLAN = """\
fabricbench: 1
name: infiniband-capture
fabric:
  link_layer: infiniband
  topology: {kind: single-switch, hosts: 4, host_link: 100Gbps}
transport: {message_size: 16KB, priorities: {data: 2, ack: 2}}
jobs: [{collective: all-to-all}]
sweep: {data_size: 128KB}
"""
LINKTYPE_INFINIBAND = 247
LINKTYPE_USER = 147
FRAMES = 8 + 4
"""Of a chunk of two messages of 16 KB, acknowledged every two packets."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packets of queue pair 0: one chunk from host 0 to host 1."""
    folder = tmp_path_factory.mktemp("infiniband")
    plan = folder / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    path = folder / "chunk.pcapng"
    assert run(["capture", str(plan), "--qps", "0", "--frames", "100", "-o", str(path)]) == 0
    return path


def blocks(path: Path) -> list[tuple[int, bytes]]:
    """Return type and body of each block of a pcapng file (draft-ietf-opsawg-pcapng, 3.1)."""
    found, rest = [], path.read_bytes()
    while rest:
        kind, length = struct.unpack_from("<II", rest)
        found.append((kind, rest[8 : length - 4]))
        rest = rest[length:]
    return found


@pytest.fixture(scope="module")
def packets(capture: Path) -> list[bytes]:
    bodies = [body for kind, body in blocks(capture) if kind == 6]
    return [body[20 : 20 + struct.unpack_from("<I", body, 12)[0]] for body in bodies]


def crc16(data: bytes) -> int:
    """Divide by x^16 + x^12 + x^3 + x + 1, the lowest bit of a byte first; begins with ones, inverted."""
    register = 0xFFFF
    for byte in data:
        for place in range(8):
            feedback = register >> 15 ^ byte >> place & 1
            register = register << 1 & 0xFFFF ^ feedback * 0x100B
    return int(f"{register ^ 0xFFFF:016b}"[::-1], 2)


def test_the_link_type_is_that_of_infiniband(capture: Path) -> None:
    interfaces = [body for kind, body in blocks(capture) if kind == 1]
    assert [struct.unpack_from("<H", body)[0] for body in interfaces] == [LINKTYPE_INFINIBAND] * 2


def test_packets_have_the_sizes_of_the_counters(packets: list[bytes]) -> None:
    sizes = [len(packet) for packet in packets]
    assert len(packets) == FRAMES
    assert sorted(sizes) == [30] * 4 + [4096 + 26] * 6 + [4096 + 42] * 2
    for packet in packets:
        words = struct.unpack_from(">H", packet, 4)[0]
        assert words * 4 + 2 == len(packet)


def test_every_icrc_and_vcrc_is_valid(packets: list[bytes]) -> None:
    for packet in packets:
        assert crc16(packet[:-2]) == int.from_bytes(packet[-2:], "little")
        # IBTA 1.7, 7.8.1: virtual lane and BTH resv8a count as ones.
        masked = bytes([packet[0] | 0xF0]) + packet[1:12] + b"\xff" + packet[13:-6]
        assert zlib.crc32(masked) == int.from_bytes(packet[-6:-2], "little")


@pytest.mark.tshark
def test_tshark_reads_every_header(capture: Path, tmp_path: Path) -> None:
    """Its reader of files maps no link type to InfiniBand, so it is told to take that of users for it."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    copy = tmp_path / "user.pcapng"
    before, after = (struct.pack("<HH", kind, 0) for kind in (LINKTYPE_INFINIBAND, LINKTYPE_USER))
    copy.write_bytes(capture.read_bytes().replace(before, after, 2))
    names = ["lrh.vl", "lrh.sl", "lrh.slid", "lrh.dlid", "bth.opcode"]
    command = ["tshark", "-r", str(copy), "-T", "fields", "-E", "separator=,"]
    command += ["-o", 'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""']
    command += [argument for name in names for argument in ("-e", f"infiniband.{name}")]
    rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    fields = [[int(value, 0) for value in row.split(",")] for row in rows]
    assert {tuple(row[:4]) for row in fields} == {(2, 2, 1, 2), (2, 2, 2, 1)}
    assert sorted(row[4] for row in fields) == [6, 6, 7, 7, 7, 7, 8, 8, *[17] * 4]
    malformed = subprocess.run(
        [*command[:3], *command[7:9], "-Y", "_ws.malformed"], check=True, capture_output=True, text=True
    )
    assert malformed.stdout == ""
