"""Forge packets of RoCEv2 on the loopback device of this network namespace, from those that pass.

    forger.py SECONDS SEED RATE

Forged packets have the addresses and queue pairs of live connections and, but for one kind, a right ICRC:
data with another payload, PSN, opcode, RETH, length, partition or queue pair, copies of old packets, and the
packet that comes next; ACKs, NAKs and CNPs; random bytes. At most RATE packets a second. Prints how many of
each kind were sent, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import sys
import time
import zlib
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import Final

ETH_P_IP, PACKET_OUTGOING, SO_RCVBUFFORCE = 0x0800, 4, 33
UDP, ROCE_PORT = 17, 4791
BTH_BYTES, ICRC_BYTES = 12, 4
# Opcodes of a reliable connection (IBTA vol. 1, table 39).
WRITE_FIRST, WRITE_LAST_WITH_IMMEDIATE = 0x06, 0x09
REQUESTS: Final = range(0x0C)
ACKNOWLEDGE, NOTIFICATION = 0x11, 0x81
# Offsets in an IPv4 packet with UDP and BTH of what switches may change (IBTA annex A17.3.3).
VARIANT = (1, 8, 10, 11, 26, 27, 32)
PSN_COUNT: Final = 1 << 24
KEPT_PACKETS: Final = 300
PAYLOAD_AT: Final = BTH_BYTES + 16
"""From here on there is only payload, in the first packet of a message as well."""
MIXED: Final = [
    "psn", "next", "reply", "payload", "opcode", "reth", "padding", "cut", "longer", "queue_pair", "replay",
    "partition", "cnp", "icrc", "noise",
]  # fmt: skip
MODES: Final = {"mixed": MIXED, "psn": ["psn"], "next": ["next"], "reply": ["reply"]}
"""Kinds that one call forges: of everything, or a flood of one kind."""


@dataclass(frozen=True)
class Packet:
    """A packet of RoCEv2: its way, and its bytes from the BTH on without the ICRC."""

    source: bytes
    destination: bytes
    source_port: int
    data: bytes

    @property
    def opcode(self) -> int:
        return self.data[0]

    @property
    def psn(self) -> int:
        return int.from_bytes(self.data[9:12], "big")

    def with_psn(self, psn: int) -> Packet:
        return self.edited(9, (psn % PSN_COUNT).to_bytes(3, "big"))

    def edited(self, at: int, value: bytes) -> Packet:
        return replace(self, data=self.data[:at] + value + self.data[at + len(value) :])

    def ip_packet(self, icrc: bytes | None = None) -> bytes:
        """Return it with its headers, and with the ICRC that is right unless one is given."""
        length = 28 + len(self.data) + ICRC_BYTES
        ip = struct.pack("!BBHHHBBH", 0x45, 0x6A, length, 0, 0x4000, 64, UDP, 0)
        udp = struct.pack("!HHHH", self.source_port, ROCE_PORT, length - 20, 0)
        packet = ip + self.source + self.destination + udp + self.data
        if icrc is None:
            covered = bytearray(packet)
            for at in (at for at in VARIANT if at < len(covered)):
                covered[at] = 0xFF
            icrc = zlib.crc32(b"\xff" * 8 + bytes(covered)).to_bytes(4, "little")
        return packet + icrc


def parsed(frame: bytes) -> Packet | None:
    """Return the packet of RoCEv2 in an IPv4 packet, if it is one."""
    if len(frame) < 28 + BTH_BYTES + ICRC_BYTES or frame[9] != UDP:
        return None
    source_port, port, length, _ = struct.unpack_from("!HHHH", frame, 20)
    if port != ROCE_PORT or 20 + length > len(frame):
        return None
    return Packet(frame[12:16], frame[16:20], source_port, frame[28 : 20 + length - ICRC_BYTES])


class Forger:
    """Makes packets of those seen last."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.data: deque[Packet] = deque(maxlen=KEPT_PACKETS)
        self.acks: deque[Packet] = deque(maxlen=KEPT_PACKETS)
        self.first: Packet | None = None
        self.mode = self.draw.choice(["mixed", *MODES])

    def see(self, packet: Packet) -> None:
        if packet.opcode in REQUESTS:
            self.data.append(packet)
            if packet.opcode == WRITE_FIRST and self.first is None:
                self.first = packet
        elif packet.opcode == ACKNOWLEDGE:
            self.acks.append(packet)

    def forge(self) -> tuple[str, bytes] | None:
        """Return the name of a kind and a packet of it."""
        if not self.data:
            return None
        kind = self.draw.choice(MODES[self.mode])
        if kind == "reply":
            return self.reply()
        packet = self.draw.choice(self.data)
        if kind == "icrc":
            return kind, packet.ip_packet(os.urandom(4))
        return kind, getattr(self, kind)(packet).ip_packet()

    def noise(self, packet: Packet) -> Packet:
        return replace(packet, data=self.draw.randbytes(self.draw.randrange(1, 300)))

    def replay(self, packet: Packet) -> Packet:
        return packet

    def payload(self, packet: Packet) -> Packet:
        """Change a byte of the payload."""
        if len(packet.data) <= PAYLOAD_AT:
            return packet
        at = self.draw.randrange(PAYLOAD_AT, len(packet.data))
        return packet.edited(at, bytes([packet.data[at] ^ self.draw.randrange(1, 256)]))

    def psn(self, packet: Packet) -> Packet:
        shifts = [1, -1, 2, 5_000, -5_000, 1 << 22, 1 << 23, self.draw.randrange(PSN_COUNT)]
        return self.payload(packet).with_psn(packet.psn + self.draw.choice(shifts))

    def next(self, packet: Packet) -> Packet:  # noqa: ARG002 -- the newest one
        newest = self.data[-1]
        return self.payload(newest).with_psn(newest.psn + self.draw.choice([1, 1, 2, 3]))

    def opcode(self, packet: Packet) -> Packet:
        return packet.edited(0, self.draw.randbytes(1))

    def reth(self, packet: Packet) -> Packet:
        """Change address, key or length of the first packet of a message."""
        first, psn = self.first or packet, packet.psn + self.draw.choice([0, 1])
        return first.edited(BTH_BYTES + self.draw.choice([0, 4, 8, 12]), self.draw.randbytes(4)).with_psn(psn)

    def padding(self, packet: Packet) -> Packet:
        return packet.edited(1, self.draw.randbytes(1))

    def cut(self, packet: Packet) -> Packet:
        return replace(packet, data=packet.data[: self.draw.randrange(1, len(packet.data))])

    def longer(self, packet: Packet) -> Packet:
        return replace(packet, data=packet.data + self.draw.randbytes(self.draw.choice([1, 4, 4_096])))

    def queue_pair(self, packet: Packet) -> Packet:
        return packet.edited(5, self.draw.choice([b"\0\0\0", b"\xff\xff\xff", self.draw.randbytes(3)]))

    def partition(self, packet: Packet) -> Packet:
        return packet.edited(2, self.draw.randbytes(2))

    def cnp(self, packet: Packet) -> Packet:
        return replace(packet, data=bytes([NOTIFICATION]) + packet.data[1:8] + bytes(4 + 16))

    def reply(self) -> tuple[str, bytes] | None:
        """Return an acknowledgement of what was not sent, or a refusal of what was not refused."""
        if not self.acks:
            return None
        draw, packet = self.draw, self.acks[-1]
        # AETH syndromes (IBTA vol. 1, table 44); a refusal for good ends the connection and is rare.
        kind, syndrome, shift = draw.choice(
            [
                ("ack-ahead", 0x1F, draw.choice([100_000, 1 << 22, 1 << 23])),
                ("ack-behind", 0x1F, -draw.choice([1, 100, 100_000])),
                ("nak-sequence", 0x60, draw.choice([0, 1, -50, 1 << 22])),
                ("rnr", 0x20 | draw.randrange(32), draw.choice([0, 1, -50, 1 << 22])),
                ("nak-other", 0x61 + draw.randrange(4), 1 << 22),
                ("syndrome", draw.randrange(256), 1 << 22),
            ]
        )
        aeth = bytes([syndrome]) + draw.randbytes(3)
        return kind, packet.with_psn(packet.psn + shift).edited(BTH_BYTES, aeth).ip_packet()


def main(seconds: float, seed: int, rate: int) -> None:
    """Forge packets for so long, at most so many a second."""
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    sniffer.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
    sniffer.bind(("lo", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    # A time-out of the socket, so that the end comes also where nothing passes.
    sniffer.settimeout(0.05)
    forger, counts = Forger(seed), Counter[str]()
    own: set[bytes] = set()
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < seconds:
        try:
            for _ in range(64):
                frame, address = sniffer.recvfrom(1 << 16)
                if address[2] == PACKET_OUTGOING or frame[-4:] in own:
                    continue
                if packet := parsed(frame):
                    forger.see(packet)
                sniffer.settimeout(0.0)
        except (TimeoutError, BlockingIOError):
            pass
        sniffer.settimeout(0.0 if counts.total() < elapsed * rate else 0.002)
        for _ in range(16):
            if counts.total() >= elapsed * rate or not (forged := forger.forge()):
                break
            kind, packet_bytes = forged
            if len(own) < 4_096:
                own.add(packet_bytes[-4:])
            else:
                own = {packet_bytes[-4:]}
            try:
                sender.sendto(packet_bytes, (socket.inet_ntoa(packet_bytes[16:20]), 0))
            except OSError:
                continue
            counts[kind] += 1
    print(json.dumps({"mode": forger.mode, **counts}))  # noqa: T201


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
