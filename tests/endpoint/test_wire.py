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
SOURCE_PORT = 50_000
WRITE_LAST_WITH_IMMEDIATE = 0x09
# With immediate: SEND Last and Only, WRITE Last and Only.
TELLING = (0x03, 0x05, 0x09, 0x0B)
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
    description["transfers"].append({"verb": "write_with_immediate", "bytes": 9_999})
    description["first_source_port"] = SOURCE_PORT
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


def test_each_transfer_leaves_from_a_source_port_of_its_own(seen: dict[str, Any]) -> None:
    sending, receiving = seen["said"]["udp_ports"]
    headers = [IP(bytes.fromhex(packet)) for packet in seen["packets"]]
    assert {header[UDP].sport for header in headers if header[UDP].dport == receiving} == {
        SOURCE_PORT + transfer for transfer in range(3)
    }
    # Replies go to the port that packets come to.
    assert {header[UDP].dport for header in headers if header[UDP].sport == receiving} == {sending}


def test_immediate_data_stands_in_the_last_packet_of_its_transfer(seen: dict[str, Any]) -> None:
    datagrams = [bytes(IP(bytes.fromhex(packet))[UDP].payload) for packet in seen["packets"]]
    telling = [datagram for datagram in datagrams if datagram[0] in TELLING]
    assert telling
    for datagram in telling:
        assert (datagram[0], int.from_bytes(datagram[12:16], "big")) == (WRITE_LAST_WITH_IMMEDIATE, 2)


def test_the_kernel_cuts_calls_apart_and_the_receiver_finds_the_numbers(seen: dict[str, Any]) -> None:
    identifications = {IP(bytes.fromhex(packet)).id for packet in seen["packets"]}
    assert identifications >= set(range(4))
    assert seen["said"]["refused_datagrams"] == 0
    assert all(transfer["is_equal"] for transfer in seen["said"]["transfers"])
