"""Run a program in a network namespace of its own and print what its packets looked like on the wire.

    unshare --net python wire.py PROGRAM < INPUT

The loopback device cuts nothing apart, so what the program sends in one call is cut by the kernel before it
gets there, as it would be before an adapter. Prints one JSON document: what the program said, and of each
IPv4 packet its bytes in hexadecimal.
"""

from __future__ import annotations

import array
import fcntl
import json
import socket
import struct
import subprocess
import sys
import threading
from typing import Final

# linux/sockios.h, linux/ethtool.h
SIOCETHTOOL: Final = 0x8946
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFMTU = 0x8913, 0x8914, 0x8922
GET_SET_INFO, GET_STRINGS, SET_FEATURES = 0x37, 0x1B, 0x3B
FEATURES, NAME_BYTES = 4, 32
ETH_P_ALL: Final = 3
CUTTING: Final = ("tx-udp-segmentation", "tx-generic-segmentation", "rx-gro")
DEVICE: Final = b"lo"
MTU: Final = 4500


def ethtool(control: socket.socket, request: bytes) -> bytes:
    """Send a request of ethtool about the device and return the answer."""
    buffer = array.array("B", request)
    address, _ = buffer.buffer_info()
    fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", DEVICE, address))
    return buffer.tobytes()


def cut_nothing(control: socket.socket) -> None:
    """Turn off what lets packets pass the device uncut."""
    asked = struct.pack("=IIQI", GET_SET_INFO, 0, 1 << FEATURES, 0)
    count = struct.unpack("=IIQI", ethtool(control, asked))[3]
    request = struct.pack("=III", GET_STRINGS, FEATURES, count) + bytes(NAME_BYTES * count)
    texts = ethtool(control, request)[12:]
    names = [texts[at : at + NAME_BYTES].rstrip(b"\0").decode() for at in range(0, len(texts), NAME_BYTES)]
    chosen = [names.index(name) for name in CUTTING]
    words = [sum(1 << (bit % 32) for bit in chosen if bit // 32 == word) for word in range(-(-count // 32))]
    blocks = b"".join(struct.pack("=II", valid, 0) for valid in words)
    ethtool(control, struct.pack("=II", SET_FEATURES, len(words)) + blocks)


def bring_up(control: socket.socket) -> None:
    """Give the device an MTU of RoCE and bring it up."""
    fcntl.ioctl(control, SIOCSIFMTU, struct.pack("16si20x", DEVICE, MTU))
    flags = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh22x", DEVICE, 0))
    (up,) = struct.unpack_from("=h", flags, 16)
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", DEVICE, up | 1))


def main() -> None:
    """Run the program and print what was seen."""
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    cut_nothing(control)
    bring_up(control)
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    sniffer.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
    sniffer.bind((DEVICE.decode(), 0))
    sniffer.settimeout(0.3)
    packets: list[str] = []
    is_over = threading.Event()

    def collect() -> None:
        while True:
            try:
                packet, address = sniffer.recvfrom(1 << 16)
            except TimeoutError:
                if is_over.is_set():
                    return
            else:
                if address[2] == socket.PACKET_OUTGOING:  # the loopback device shows each packet twice
                    packets.append(packet.hex())

    collector = threading.Thread(target=collect)
    collector.start()
    finished = subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE, check=True, text=True)
    is_over.set()
    collector.join()
    json.dump({"said": json.loads(finished.stdout), "packets": packets}, sys.stdout)


if __name__ == "__main__":
    main()
