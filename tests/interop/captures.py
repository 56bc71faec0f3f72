"""What independent programs find in a capture: tshark and scapy."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Final

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader

# Random payload is not to be taken for a protocol over InfiniBand that tshark recognises by chance.
PAYLOADS: Final = (
    "drbd",
    "fcoib",
    "infiniband.eoib",
    "infiniband_sdp",
    "iser",
    "lnet",
    "nvme-rdma",
    "rpcordma",
)
GUESSES: Final = (
    "--disable-heuristic=eth_over_ib",
    *(f"--disable-protocol={name}" for name in (*PAYLOADS, "smb_direct", "smc")),
)
PROCESSES, AT_ONCE = 2, 2_000


def tshark(file: Path, *options: str) -> list[str]:
    command = ["tshark", "-r", str(file), *GUESSES, *options]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return finished.stdout.splitlines()


def opcodes(file: Path) -> Counter[tuple[str, int]]:
    """Return how many packets of each opcode each address has sent, as tshark sees them."""
    fields = ("-T", "fields", "-e", "ip.src", "-e", "infiniband.bth.opcode")
    pairs = (line.split("\t") for line in tshark(file, *fields))
    return Counter((address, int(opcode)) for address, opcode in pairs)


def complaints(file: Path) -> list[str]:
    """Return what tshark has against packets: malformed ones, and its warnings and errors."""
    severe = "_ws.malformed || _ws.expert.severity >= 6291456"  # PI_WARN of epan/proto.h
    return tshark(file, "-Y", severe)


def wrong(frames: list[bytes]) -> list[str]:
    """Return what is wrong with frames whose ICRC scapy finds wrong."""
    found = []
    for frame in frames:
        packet = Ether(frame)[IP]
        if packet[BTH].compute_icrc(b"") != bytes(packet)[packet.len - 4 : packet.len]:
            found.append(packet.summary())
    return found


def pieces(frames: Iterable[bytes]) -> Iterator[list[bytes]]:
    left = iter(frames)
    while piece := list(islice(left, AT_ONCE)):
        yield piece


def wrong_icrcs(file: Path) -> list[str]:
    """Return packets whose ICRC scapy finds wrong."""
    with RawPcapReader(str(file)) as reader, ProcessPoolExecutor(PROCESSES) as pool:
        each = pool.map(wrong, pieces(frame for frame, _ in reader))
        return [packet for found in each for packet in found]


def check(file: Path) -> None:
    """Fail unless a capture has everything, and neither program has anything against it."""
    assert "\n0 packets dropped by kernel" in file.with_name("tcpdump.log").read_text()
    assert complaints(file) == []
    assert wrong_icrcs(file) == []
