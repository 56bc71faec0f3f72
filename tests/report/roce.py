"""RoCEv2 frames built and read with scapy, an implementation of the formats that is not ours."""

from __future__ import annotations

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 0x06, 0x07, 0x08, 0x11
ICRC_BYTES = 4


def data_frame(
    opcode: int, psn: int, *, src: str = "10.0.0.1", dst: str = "10.0.0.2", payload: bytes = b"x" * 256
) -> bytes:
    """An RDMA WRITE frame; First carries a RETH."""
    reth = bytes(8) + (0x1234).to_bytes(4, "big") + len(payload).to_bytes(4, "big")
    body = (reth if opcode == WRITE_FIRST else b"") + payload
    bth = BTH(opcode=opcode, psn=psn, dqpn=0x11, ackreq=int(opcode == WRITE_LAST))
    return _built(src, dst, bth / Raw(body))


def ack_frame(psn: int, *, src: str = "10.0.0.2", dst: str = "10.0.0.1") -> bytes:
    """An acknowledgement without credits."""
    return _built(src, dst, BTH(opcode=ACKNOWLEDGE, psn=psn, dqpn=0x12) / AETH(syndrome=0x1F, msn=1))


def _built(src: str, dst: str, roce: BTH) -> bytes:
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return bytes(
        ether / IP(src=src, dst=dst, flags="DF", ttl=64) / UDP(sport=50000, dport=4791, chksum=0) / roce
    )


def opcode_of(frame: bytes) -> int:
    return int(Ether(frame)[BTH].opcode)


def has_valid_icrc(frame: bytes) -> bool:
    """Compute the ICRC of a frame anew and compare it with the one it carries."""
    packet = Ether(frame)
    del packet[BTH].icrc
    return bytes(packet)[-ICRC_BYTES:] == frame[-ICRC_BYTES:]
