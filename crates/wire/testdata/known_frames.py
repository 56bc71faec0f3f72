"""Makes known_frames.hex: RoCEv2 and PFC frames built by scapy, an implementation independent of this crate.

Run with scapy installed (2.8.0 made the committed file): python known_frames.py > known_frames.hex
Each line is a name, the ICRC (or "-") and the frame with its FCS, in hex.

The ICRC is scapy's and is checked here against a second one made from the bytes alone, by the masks of
IBTA vol. 1, 7.8.1 and annex A17. The FCS is zlib's CRC-32.
"""

import sys
from typing import Any
from zlib import crc32

from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

SOURCE, DESTINATION = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETHERNET = Ether(src=SOURCE, dst=DESTINATION)
MASKED = (1, 8, 10, 11, 26, 27, 32)
DSCP_26_ECT0, DSCP_26_CE, DSCP_48_NOT_ECT = 26 << 2 | 2, 26 << 2 | 3, 48 << 2
IMMEDIATE = bytes.fromhex("01020304")


def pattern(length: int) -> bytes:
    """The payload: 0, 7, 14, ... modulo 256."""
    return bytes(7 * at % 256 for at in range(length))


def reth(length: int) -> bytes:
    """An RDMA extended transport header: virtual address, remote key, length."""
    return (0x00007F1234560000).to_bytes(8) + (0x00ABCDEF).to_bytes(4) + length.to_bytes(4)


def roce(transport: Packet, tos: int = DSCP_26_ECT0, ttl: int = 64, identification: int = 0) -> Packet:
    """A frame around a transport packet."""
    ip = IP(src="10.0.0.1", dst="10.0.1.2", tos=tos, ttl=ttl, id=identification, flags="DF")
    return ETHERNET / ip / UDP(sport=49152, dport=4791, chksum=0) / transport


def bth(opcode: str, psn: int, payload: bytes, **fields: Any) -> Packet:
    """A base transport header and what follows it, padded to four bytes."""
    pad = -len(payload) % 4
    return BTH(opcode=opcode, dqpn=0x000123, psn=psn, padcount=pad, **fields) / Raw(payload + bytes(pad))


def aeth(syndrome: int, msn: int, **fields: Any) -> Packet:
    """An acknowledge packet."""
    header = BTH(opcode="RC_ACKNOWLEDGE", dqpn=0x000456, **fields)
    return header / AETH(syndrome=syndrome, msn=msn)


ROCE = {
    "write_first": roce(bth("RC_RDMA_WRITE_FIRST", 0xFFFFFF, reth(517) + pattern(256))),
    "write_middle": roce(bth("RC_RDMA_WRITE_MIDDLE", 0, pattern(256)), tos=DSCP_26_CE, ttl=63),
    "write_last_padded": roce(bth("RC_RDMA_WRITE_LAST", 1, pattern(5), ackreq=1), identification=0xBEEF),
    "write_only": roce(bth("RC_RDMA_WRITE_ONLY", 2, reth(10) + pattern(10), ackreq=1, pkey=0x8001)),
    "write_only_with_immediate": roce(
        bth("RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 3, reth(4) + IMMEDIATE + pattern(4), solicited=1)
    ),
    "send_last_with_immediate": roce(bth("RC_SEND_LAST_WITH_IMMEDIATE", 4, IMMEDIATE + pattern(3), migreq=1)),
    "send_only_empty": roce(bth("RC_SEND_ONLY", 5, b"", ackreq=1)),
    "read_request": roce(bth("RC_RDMA_READ_REQUEST", 6, reth(4096))),
    "ack": roce(aeth(0x1F, 1, psn=1), tos=DSCP_48_NOT_ECT),
    "nak_sequence_error": roce(aeth(0x60, 0xABCDEF, psn=0x123456), tos=DSCP_48_NOT_ECT),
    "rnr_nak": roce(aeth(0x2C, 2, psn=7, becn=1), tos=DSCP_48_NOT_ECT),
    "cnp": roce(cnp(dqpn=0x0000D2), tos=DSCP_48_NOT_ECT),
}

PFC: dict[str, dict[str, Any]] = {
    "pfc_pause_3_resume_5": {"c3_enabled": 1, "c5_enabled": 1, "c3_pause_time": 0xFFFF},
    "pfc_pause_all": {f"c{n}_enabled": 1 for n in range(8)}
    | {f"c{n}_pause_time": 0x0100 + n for n in range(8)},
}


def icrc(frame: bytes) -> str:
    """The ICRC that ends the IP datagram, after a second opinion on it."""
    datagram = bytearray(frame[14 : 14 + int.from_bytes(frame[16:18])])
    packet, stored = datagram[:-4], bytes(datagram[-4:])
    for at in MASKED:
        packet[at] = 0xFF
    if crc32(bytes(8 * [0xFF]) + packet).to_bytes(4, "little") != stored:
        raise ValueError("two implementations disagree about an ICRC")
    return stored.hex()


def line(name: str, frame: bytes, check: str) -> str:
    """One line of the file; the frame gets its pad and FCS."""
    padded = frame.ljust(60, b"\0")
    return f"{name} {check} {(padded + crc32(padded).to_bytes(4, 'little')).hex()}\n"


def main() -> None:
    """Writes every frame to standard output."""
    for name, packet in ROCE.items():
        frame = packet.build()
        sys.stdout.write(line(name, frame, icrc(frame)))
    for name, fields in PFC.items():
        control = Ether(src=SOURCE, dst="01:80:c2:00:00:01", type=0x8808)
        frame = (control / MACControlClassBasedFlowControl(**fields)).build()
        sys.stdout.write(line(name, frame, "-"))


main()
