"""Carry frames between two devices, and lose, duplicate and reorder packets of RoCEv2 among them.

    impair.py DEVICE DEVICE loss=0.01 duplicate=0.01 reorder=0.01 seed=1

Each is a chance for each packet, in each direction. A packet that is reordered waits until others have
passed it.
On SIGINT it ends and prints what it has done in each direction, as JSON.
"""

from __future__ import annotations

import json
import random
import select
import socket
import sys
import time
from typing import Final

ETH_P_ALL, SOL_PACKET, PACKET_VNET_HDR, SO_RCVBUFFORCE = 3, 263, 15, 33
# linux/virtio_net.h: ten bytes before each frame, with what is left to do for checksums.
VNET_HEADER_BYTES: Final = 10
UDP, ROCE_PORT = 17, 4791
# A packet that is reordered waits for so many others at the most, or for so long.
PASSED_MAX, WAIT_SECONDS = 4, 0.005


def is_roce(frame: bytes) -> bool:
    packet = frame[VNET_HEADER_BYTES + 14 :]
    return len(packet) > 28 and packet[9] == UDP and int.from_bytes(packet[22:24], "big") == ROCE_PORT


class Direction:
    """What comes from one device and goes to another."""

    def __init__(self, source: socket.socket, target: socket.socket, chances: dict[str, float]) -> None:
        self.source, self.target = source, target
        self.chances = chances
        self.random = random.Random(f"{chances['seed']} {source.getsockname()[0]}")
        self.counts = dict.fromkeys(("packets", "lost", "duplicated", "reordered"), 0)
        self.held: bytes | None = None
        self.left = 0
        self.until = 0.0

    def carry(self, frame: bytes) -> None:
        """Send a frame on, twice, later or not at all."""
        if not is_roce(frame):
            self.target.send(frame)
            return
        self.counts["packets"] += 1
        if self.happens("loss"):
            self.counts["lost"] += 1
            return
        if self.held is None and self.happens("reorder"):
            self.held, self.left = frame, self.random.randint(1, PASSED_MAX)
            self.until = time.monotonic() + WAIT_SECONDS
            return
        self.target.send(frame)
        if self.happens("duplicate"):
            self.counts["duplicated"] += 1
            self.target.send(frame)
        if self.held is not None:
            self.left -= 1
            if self.left == 0:
                self.counts["reordered"] += 1
                self.release()

    def happens(self, name: str) -> bool:
        return self.random.random() < self.chances[name]

    def release(self) -> None:
        """Send what was held back; not counted as reordered where nothing has passed it in time."""
        if self.held is not None:
            self.target.send(self.held)
        self.held = None


def opened(device: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    made.bind((device, ETH_P_ALL))
    return made


def main() -> None:
    """Carry frames until told to end."""
    one, other = opened(sys.argv[1]), opened(sys.argv[2])
    chances = {name: float(chance) for name, chance in (word.split("=") for word in sys.argv[3:])}
    directions = {one: Direction(one, other, chances), other: Direction(other, one, chances)}
    try:
        while True:
            is_holding = any(direction.held is not None for direction in directions.values())
            ready, _, _ = select.select(list(directions), [], [], WAIT_SECONDS if is_holding else None)
            for source in ready:
                frame, address = source.recvfrom(1 << 17)
                if address[2] != socket.PACKET_OUTGOING:
                    directions[source].carry(frame)
            now = time.monotonic()
            for direction in directions.values():
                if direction.held is not None and now >= direction.until:
                    direction.release()
    except KeyboardInterrupt:
        told = {direction.source.getsockname()[0]: direction.counts for direction in directions.values()}
        json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
