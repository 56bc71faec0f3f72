"""Counters of network devices before and after a run, under neutral names with what each vendor counts.

Read are the statistics of the interface (`ip -stats link`), what its driver adds (`ethtool -S`), what the
kernel counts of UDP and TCP (`/proc/net/snmp`, as `nstat` shows it) and of its backlogs
(`/proc/net/softnet_stat`), and the counters of its RDMA devices (`ports/*/counters` and
`ports/*/hw_counters`). One neutral name says that vendors mean alike, not that they count alike: a counter of
loss counts bursts here and packets there, and its meaning says which. A counter that is not in the table
keeps its vendor's name and has no neutral one. Linux reads the counters of an adapter at most every 10 ms
(`lifespan`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricbench.hosts.agent.facts import SYS_RDMA, Interface, number, program_output, text

COUNTERS_MAX: Final = 4_000
"""Most counters of a host; adapters have hundreds."""
VALUE_MAX: Final = 2**63 - 1
"""Largest value of a record; drivers show 2**64 - 1 for what they do not count."""


@dataclass(frozen=True)
class Known:
    """What a counter of a vendor is.

    Attributes:
        name: Neutral name.
        unit: What is counted.
        meaning: What the vendor counts.
        scale: Units of one count.
    """

    name: str
    unit: str
    meaning: str
    scale: int = 1


_PACKETS: Final = "packets"
_INTERFACE: Final = {
    "rx_bytes": Known("rx_bytes", "bytes", "Bytes received by the interface."),
    "tx_bytes": Known("tx_bytes", "bytes", "Bytes sent by the interface."),
    "rx_packets": Known("rx_packets", _PACKETS, "Packets received by the interface."),
    "tx_packets": Known("tx_packets", _PACKETS, "Packets sent by the interface."),
    "rx_dropped": Known("rx_dropped", _PACKETS, "Packets received and dropped by the host, not by the wire."),
    "tx_dropped": Known("tx_dropped", _PACKETS, "Packets dropped by the host before they were sent."),
    "rx_errors": Known("rx_errors", _PACKETS, "Bad packets received, of any kind."),
    "rx_crc_errors": Known("fcs_errors", "frames", "Frames received with a wrong FCS."),
}
_KERNEL: Final = {
    "UdpRcvbufErrors": Known("udp_receive_drops", _PACKETS, "Datagrams dropped at a full receive buffer."),
    "UdpSndbufErrors": Known("udp_send_drops", _PACKETS, "Datagrams dropped at a full send buffer."),
    "UdpInErrors": Known("udp_errors", _PACKETS, "Datagrams received and not delivered, drops included."),
    "UdpNoPorts": Known("udp_no_port", _PACKETS, "Datagrams to a port at which nobody listens."),
    "IpInDiscards": Known("ip_receive_discards", _PACKETS, "IP packets received, sound, and discarded."),
    "IpOutDiscards": Known("ip_send_discards", _PACKETS, "IP packets to send, sound, and discarded."),
    "TcpOutSegs": Known("tcp_segments_sent", "segments", "TCP segments sent, by any program of the host."),
    "TcpRetransSegs": Known("tcp_segments_retransmitted", "segments", "Of those the ones sent again."),
}
"""Of the kernel's own, in the network namespace of the agent (RFC 1213, RFC 4022, RFC 4113)."""
_BACKLOGS: Final = {
    "dropped": Known(
        "backlog_dropped",
        _PACKETS,
        "Packets dropped since a processor's backlog was full (net.core.netdev_max_backlog), at any "
        "interface of the machine: its processors did not keep up.",
    ),
    "time_squeeze": Known(
        "backlog_squeezes", "events", "Times that a processor had to leave packets of its backlog for later."
    ),
}
_RDMA_MLX5: Final = {
    "out_of_sequence": Known(
        "loss_bursts", "events", "Packets that came when another was expected: one for each burst of losses."
    ),
    "packet_seq_err": Known("naks_received", "events", "NAKs for a sequence error that the requester got."),
    "implied_nak_seq_err": Known(
        "implied_naks", "events", "Acknowledgements beyond what a READ or an atomic had answered."
    ),
    "local_ack_timeout_err": Known(
        "timeouts", "events", "Expiries of the acknowledgement timer at the requester."
    ),
    "duplicate_request": Known("duplicate_requests", _PACKETS, "Requests that had been executed before."),
    "out_of_buffer": Known("receiver_not_ready", _PACKETS, "Packets dropped for want of a receive request."),
    "rnr_nak_retry_err": Known("rnr_naks", "events", "RNR NAKs received after the last retry."),
    "np_cnp_sent": Known("cnp_sent", _PACKETS, "CNPs sent by the notification point."),
    "rp_cnp_handled": Known("cnp_handled", _PACKETS, "CNPs that slowed the reaction point down."),
    "rp_cnp_ignored": Known("cnp_ignored", _PACKETS, "CNPs that the reaction point did not heed."),
    "np_ecn_marked_roce_packets": Known(
        "ecn_marked_received", _PACKETS, "RoCE packets received with congestion experienced."
    ),
    "roce_adp_retrans": Known("adaptive_retransmissions", "events", "Adaptive retransmissions."),
    "roce_slow_restart": Known("slow_restarts", "events", "Restarts after a pause at a low rate."),
    "rx_icrc_encapsulated": Known("icrc_errors", _PACKETS, "RoCE packets with a wrong ICRC."),
}
_RDMA_BNXT: Final = {
    "to_retransmits": Known("timeouts", "events", "Retransmissions after a timeout."),
    "seq_err_naks_rcvd": Known("naks_received", "events", "NAKs for a sequence error that were received."),
    "oos_drop_count": Known("out_of_sequence_dropped", _PACKETS, "Packets dropped out of sequence."),
    "dup_req": Known("duplicate_requests", _PACKETS, "Duplicate requests."),
    "rx_out_of_buffer": Known("receiver_not_ready", _PACKETS, "Packets dropped for want of a buffer."),
    "rx_roce_discards": Known("roce_discards", _PACKETS, "RoCE packets received and discarded."),
}
_RDMA_RXE: Final = {
    "sent_pkts": Known("roce_tx_packets", _PACKETS, "Packets sent."),
    "rcvd_pkts": Known("roce_rx_packets", _PACKETS, "Packets received."),
    "duplicate_request": Known("duplicate_requests", _PACKETS, "Requests that had been executed before."),
    "out_of_seq_request": Known("out_of_sequence_dropped", _PACKETS, "Requests beyond the expected one."),
    "rcvd_seq_err": Known("naks_received", "events", "NAKs for a sequence error that were received."),
    "completer_retry_err": Known("timeouts", "events", "Retries of the completer."),
    "retry_exceeded_err": Known("retries_exceeded", "events", "Queue pairs that ran out of retries."),
    "rcvd_rnr_err": Known("rnr_naks", "events", "RNR NAKs received by the requester."),
    "send_rnr_err": Known("rnr_naks_sent", "events", "RNR NAKs sent for want of a receive request."),
    "retry_rnr_exceeded_err": Known(
        "rnr_retries_exceeded", "events", "Queue pairs that ran out of retries of a receiver not ready."
    ),
    "send_err": Known("send_errors", _PACKETS, "Packets that the host could not send."),
    "ack_deferred": Known("deferred_acks", _PACKETS, "Acknowledgements that a task took in later."),
    "link_downed": Known("link_downs", "events", "Times that the link went down."),
    "rdma_sends": Known("sends_completed", "events", "SEND requests that the requester has completed."),
    "rdma_recvs": Known("receives_completed", "events", "Receive requests that the responder has completed."),
}
_RDMA_PORT: Final = {
    # InfiniBand counts in words of 32 bit (IBTA vol. 1, 16.1.3.5), and RoCE drivers follow.
    "port_xmit_data": Known("roce_tx_bytes", "bytes", "Payload and headers sent, in words of 4 bytes.", 4),
    "port_rcv_data": Known("roce_rx_bytes", "bytes", "Payload and headers received, in words of 4 bytes.", 4),
    "port_xmit_packets": Known("roce_tx_packets", _PACKETS, "Packets sent."),
    "port_rcv_packets": Known("roce_rx_packets", _PACKETS, "Packets received."),
    "port_xmit_wait": Known("tx_wait", "ticks", "Ticks in which something waited to be sent."),
    "port_xmit_discards": Known("tx_discards", _PACKETS, "Packets discarded at the port on their way out."),
    "symbol_error": Known("symbol_errors", "events", "Symbol errors of the link."),
    "link_downed": Known("link_downs", "events", "Times that the link failed to recover."),
}
_PRIORITY: Final = re.compile(
    r"(?P<way>rx|tx)_(?:prio(?P<mlx>[0-7])_pause(?P<kind>|_duration|_transition)"
    r"|pfc_ena_frames_pri(?P<bnxt>[0-7])|priority_(?P<ice>[0-7])_xoff(?:\.nic)?)"
)
"""Pause frames of a priority: mlx5_core, bnxt_en, ice."""
_ETHTOOL: Final = {
    "rx_pause_ctrl_phy": Known("pause_rx", "frames", "Pause frames received on the link."),
    "tx_pause_ctrl_phy": Known("pause_tx", "frames", "Pause frames sent on the link."),
    "rx_discards_phy": Known("rx_discards", _PACKETS, "Packets dropped for want of a buffer in the adapter."),
    "outbound_pci_stalled_wr": Known("pci_stalled_percent", "percent", "Share of time PCIe had no credits."),
    "rx_vport_rdma_unicast_bytes": Known("roce_rx_bytes", "bytes", "RoCE bytes received."),
    "tx_vport_rdma_unicast_bytes": Known("roce_tx_bytes", "bytes", "RoCE bytes sent."),
}
_BY_DRIVER: Final[Mapping[str, Mapping[str, Known]]] = {
    "mlx5": _RDMA_MLX5,
    "bnxt_re": _RDMA_BNXT,
    "rxe": _RDMA_RXE,
}

Snapshot = dict[tuple[str, str, str], tuple[int, Known | None]]
"""By device, source and vendor's name: the value in units, and what it is."""


def snapshot(interface: Interface | None) -> Snapshot:
    """Read every counter of an interface and of its RDMA devices."""
    if interface is None:
        return {}
    found: Snapshot = {}
    for key, value, known in _counters(interface):
        if len(found) == COUNTERS_MAX:
            break
        units = value * (known.scale if known else 1)
        if units <= VALUE_MAX:
            found[key] = (units, known)
    return found


def _counters(interface: Interface) -> Iterator[tuple[tuple[str, str, str], int, Known | None]]:
    for name, value in link_statistics(interface.name):
        yield (interface.name, "link", name), value, _INTERFACE.get(name)
    for name, value in ethtool_statistics(program_output("ethtool", "-S", interface.name) or ""):
        yield (interface.name, "ethtool", name), value, known_ethtool(name)
    for name, value in kernel_statistics(text(Path("/proc/net/snmp"))):
        if name in _KERNEL:
            yield ("kernel", "nstat", name), value, _KERNEL[name]
    for name, value in backlog_statistics(text(Path("/proc/net/softnet_stat"))):
        yield ("kernel", "softnet", name), value, _BACKLOGS[name]
    for device in interface.rdma:
        yield from _rdma_counters(SYS_RDMA / device)


def link_statistics(interface: str) -> Iterator[tuple[str, int]]:
    """Yield the statistics of an interface; `/sys` may show those of another network namespace."""
    told = program_output("ip", "-json", "-stats", "link", "show", "dev", interface)
    for link in json.loads(told) if told else ():
        for way, counters in sorted(link.get("stats64", {}).items()):
            yield from ((f"{way}_{name}", value) for name, value in sorted(counters.items()))


def kernel_statistics(told: str) -> Iterator[tuple[str, int]]:
    """Yield the counters of the protocols in `/proc/net/snmp`, by the names that `nstat` gives them."""
    lines = told.splitlines()
    for heads, values in zip(lines[::2], lines[1::2], strict=False):
        protocol, *names = heads.split()
        for name, value in zip(names, values.split()[1:], strict=False):
            yield f"{protocol.rstrip(':')}{name}", int(value)


def backlog_statistics(told: str) -> Iterator[tuple[str, int]]:
    """Yield what became of packets in the backlogs of all processors, a line of hexadecimal numbers each."""
    lines = [line.split() for line in told.splitlines()]
    if lines:
        yield "dropped", sum(int(line[1], 16) for line in lines)
        yield "time_squeeze", sum(int(line[2], 16) for line in lines)


def _rdma_counters(device: Path) -> Iterator[tuple[tuple[str, str, str], int, Known | None]]:
    known = _BY_DRIVER.get(_rdma_driver(device), {})
    for port in sorted(device.glob("ports/*")):
        name = f"{device.name}/{port.name}"
        for file in sorted(port.glob("counters/*")):
            if (value := number(file)) is not None:
                yield (name, "rdma", file.name), value, _RDMA_PORT.get(file.name)
        for file in sorted(port.glob("hw_counters/*")):
            if file.name != "lifespan" and (value := number(file)) is not None:
                yield (name, "hw_counters", file.name), value, known.get(file.name)


def _rdma_driver(device: Path) -> str:
    """Return which driver an RDMA device has, as far as its counters go."""
    try:
        driver = (device / "device/driver").readlink().name
    except OSError:
        # Soft-RoCE has no device of a bus.
        return "rxe" if text(device / "node_desc") == "rxe" or device.name.startswith("rxe") else ""
    return next((name for name in _BY_DRIVER if driver.startswith(name.partition("_")[0])), "")


def ethtool_statistics(output: str) -> Iterator[tuple[str, int]]:
    """Yield the counters in what `ethtool -S` prints."""
    for line in output.splitlines():
        name, colon, value = line.strip().rpartition(":")
        if colon and value.strip().isdecimal():
            yield name.strip(), int(value)


def known_ethtool(name: str) -> Known | None:
    """Return what a counter of `ethtool -S` is, if it is one that is known."""
    match = _PRIORITY.fullmatch(name)
    if match is None:
        return _ETHTOOL.get(name)
    way, kind = match["way"], match["kind"] or ""
    priority = match["mlx"] or match["bnxt"] or match["ice"]
    verb = "received" if way == "rx" else "sent"
    if kind == "_duration":
        meaning = f"Time paused by frames {verb} for priority {priority}."
        return Known(f"pfc_{way}_paused_priority_{priority}", "us", meaning)
    if kind == "_transition":
        meaning = f"Changes from running to paused by frames {verb} for priority {priority}."
        return Known(f"pfc_{way}_transitions_priority_{priority}", "events", meaning)
    meaning = f"PFC frames {verb} that pause priority {priority}."
    return Known(f"pfc_{way}_priority_{priority}", "frames", meaning)
