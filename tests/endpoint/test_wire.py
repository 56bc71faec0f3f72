"""What the endpoint sends, seen on the wire by a program that knows nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from tests.support import wire
from tests.support.loopback import REPOSITORY, build

DESCRIPTION = REPOSITORY / "crates/endpoint/testdata/gigabyte.json"
# Offsets in an IPv4 packet with UDP and BTH of what switches may change (IBTA annex A17.3.3).
VARIANT = (1, 8, 10, 11, 26, 27, 32)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace, which root may")


def icrc(packet: bytes) -> bytes:
    covered = bytearray(packet[:-4])
    for at in VARIANT:
        covered[at] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(covered)).to_bytes(4, "little")


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    description = json.loads(DESCRIPTION.read_text()) | {"loss_one_in": 50}
    description["transfers"] = [{"verb": "write", "bytes": size} for size in (3_000_000, 70_001)]
    command = ["unshare", "--net", sys.executable, str(Path(wire.__file__)), str(build())]
    finished = subprocess.run(
        command, input=json.dumps(description), stdout=subprocess.PIPE, check=True, text=True, timeout=100
    )
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def test_every_packet_on_the_wire_has_its_icrc_and_says_that_it_can_be_marked(seen: dict[str, Any]) -> None:
    packets = [bytes.fromhex(packet) for packet in seen["packets"]]
    assert len(packets) > 3_000_000 // 4096
    for packet in packets:
        assert icrc(packet) == packet[-4:]
        header = IP(packet)
        assert (header.tos, header.flags.DF, header.len) == (26 << 2 | 2, True, len(packet))
        assert header[UDP].len == len(packet) - 20


def test_the_kernel_cuts_calls_apart_and_the_receiver_finds_the_numbers(seen: dict[str, Any]) -> None:
    identifications = {IP(bytes.fromhex(packet)).id for packet in seen["packets"]}
    assert identifications >= set(range(4))
    assert seen["said"]["refused_datagrams"] == 0
    assert all(transfer["is_equal"] for transfer in seen["said"]["transfers"])
