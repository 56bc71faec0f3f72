"""Laws about frames and bytes: conservation, ports and links, losses and their causes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import polars as pl
from tools.swarm.record import PS_BITS, Record, Row, Violation
from tools.swarm.record_laws.chunks import GAP_BYTES, PREAMBLE_BYTES, VLAN_TAG_BYTES, first_bad

_CAUSES = {
    "buffer_full": "dropped_frames",
    "headroom_overrun": "dropped_headroom_frames",
    "wred": "dropped_wred_frames",
    "pfc_watchdog": "dropped_watchdog_frames",
    "link_down": "lost_link_down_frames",
    "bit_error": "fcs_error_frames",
}
CONTROL_BYTES = {"ethernet": 66, "scheduled": 66, "infiniband": 30}
"""An acknowledgement: of RoCEv2, and of InfiniBand without its 2 symbols."""
GRANT_BYTES = 6
"""A flow control packet of InfiniBand, without its 2 symbols."""
FRAME_BYTES_MAX = 9216 + 38
"""The largest frame of TCP, with preamble and gap; those of RDMA are smaller."""


def conservation_laws(record: Record) -> Iterator[Violation]:
    """Yield runs whose frames sent are not the sum of those delivered, lost and in flight."""
    summary = record.summary
    lost, in_flight = sum(summary["frames_lost"].values()), summary["frames_in_flight"]
    counts = f"{summary['frames_sent']} sent, {summary['frames_delivered']} delivered, {lost} lost"
    counts += f", {in_flight} on the way"
    if summary["frames_sent"] != summary["frames_delivered"] + lost + in_flight:
        yield Violation("frames sent = delivered + lost + on the way", f"summary: {counts}")
    # The acknowledgement of a storage operation's completion is sent after the operation ends.
    is_acknowledged = not any(job.is_storage for job in record.jobs.values())
    if (
        record.is_complete
        and record.ends_by_itself
        and is_acknowledged
        and in_flight > _late_frames_max(record)
    ):
        yield Violation("nothing but late duplicates of a complete run is on the way", f"summary: {counts}")
    for cause, column in _CAUSES.items():
        at_ports = sum(port[column] for port in record.ports)
        if at_ports != summary["frames_lost"][cause]:
            figures = f"ports: sum of {column} {at_ports}; summary: {cause} {summary['frames_lost'][cause]}"
            yield Violation("what is lost is counted at a port", figures)


def _late_frames_max(record: Record) -> int:
    """Return the upper limit of the frames in flight when everything is acknowledged.

    These are late packets that were sent again, an acknowledgement of each, acknowledgements overtaken by
    later ones, and congestion notifications. Where packets of one connection take several paths, any
    acknowledgement may have been overtaken. No chunk waits for the acknowledgement of a message of a
    handshake or a barrier.
    """
    answers = 0 if record.takes_one_path else record.summary["frames_sent"] - record.chunks["tx_frames"].sum()
    sums = record.chunks.select(pl.col("retransmits", "cnp_tx", "cnp_rx", "out_of_order", "naks").sum()).row(
        0, named=True
    )
    late = 2 * sums["retransmits"] + sums["cnp_tx"] - sums["cnp_rx"] + sums["out_of_order"] + sums["naks"]
    late += sum(job.control_messages for job in record.jobs.values())
    return int(late + answers + sum(2 * row["retransmits"] for row in record.rows("connections")))


def message_laws(record: Record) -> Iterator[Violation]:
    """Yield jobs on unreliable connections that received more than was sent, or completed with less."""
    is_unreliable = record.spec["transport"].get("connection") == "uc"
    for outcome in record.summary["jobs"]:
        messages = outcome.get("messages")
        if is_unreliable != (messages is not None):
            yield Violation("messages are counted on unreliable connections only", f"summary: {outcome}")
        elif messages is not None:
            lost = messages["sent"] - messages["received"]
            is_whole = outcome["status"] == "complete" and record.ends_by_itself
            if lost < 0 or (lost and is_whole):
                yield Violation("a complete job received the messages that it sent", f"summary: {outcome}")


def cause_laws(record: Record) -> Iterator[Violation]:
    """Yield losses by causes that the plan does not have."""
    lost, fabric = record.summary["frames_lost"], record.spec["fabric"]
    pfc = fabric["switch"]["pfc"]
    has_slow_host = (
        fabric["nic"]["drain_rate_bps"] or fabric["nic"]["impairments"] or _has(record, "nic_throughput")
    )
    possible = {
        "buffer_full": record.link_layer != "infiniband",
        "headroom_overrun": pfc is not None,
        "host_overrun": bool(has_slow_host) and record.link_layer != "infiniband",
        "wred": _has_wred(fabric),
        "pfc_watchdog": pfc is not None and pfc["watchdog"] is not None,
        "link_down": bool(fabric["failures"]),
        "bit_error": bool(fabric["failures"]),
    }
    for cause, count in lost.items():
        if count and not possible[cause]:
            yield Violation("frames are lost only for causes that the plan has", f"summary: {cause} {count}")
    lossless = pfc["priorities"] if pfc is not None else []
    for row in record.rows("priorities"):
        if row["priority"] in lossless and row["dropped_frames"]:
            figures = f"priorities: {row['node']} port {row['port']}, priority {row['priority']}: "
            figures += f"dropped_frames {row['dropped_frames']}"
            yield Violation("a lossless priority loses nothing but headroom overruns", figures)


def _has_wred(fabric: Row) -> bool:
    switches = [fabric["switch"], *fabric.get("switch_settings", [])]
    return any(switch["ecn"] is not None and switch["ecn"].get("wred") is not None for switch in switches)


def _has(record: Record, kind: str) -> bool:
    return any(failure["kind"].replace("-", "_") == kind for failure in record.spec["fabric"]["failures"])


def port_laws(record: Record) -> Iterator[Violation]:
    """Yield links whose counts differ between both ends, or between the link and its ports."""
    ports = {(port["node"], port["port"]): port for port in record.ports}
    for link in record.links:
        sender, receiver = ports[link["from"], link["from_port"]], ports[link["to"], link["to_port"]]
        link_name = f"{link['from']} port {link['from_port']} to {link['to']}"
        for unit in ("frames", "bytes"):
            if link[unit] != sender[f"tx_{unit}"]:
                figures = f"links: {link_name}: {link[unit]} {unit}; ports: tx_{unit} {sender[f'tx_{unit}']}"
                yield Violation("a link carries what its port sends", figures)
        yield from _delivery_violations(record, link_name, sender, receiver)
        yield from _use_violations(record, link, link_name)


def _delivery_violations(record: Record, link_name: str, sender: Row, receiver: Row) -> Iterator[Violation]:
    """Compare the frames that a port sent with those that its peer received and those that were lost."""
    missing = sender["tx_frames"] - receiver["rx_frames"] - receiver["fcs_error_frames"]
    counts = f"tx_frames {sender['tx_frames']}, rx_frames {receiver['rx_frames']}"
    counts += f", fcs_error_frames {receiver['fcs_error_frames']}"
    counts += f", lost_link_down_frames {sender['lost_link_down_frames']}"
    if missing < 0:
        yield Violation("a port receives no more than the other end sends", f"ports: {link_name}: {counts}")
    control = record.spec["fabric"]["switch"]["pfc"] is not None or record.link_layer != "ethernet"
    if record.summary["frames_in_flight"] or control:
        return
    is_balanced = (
        missing <= sender["lost_link_down_frames"] if record.spec["fabric"]["failures"] else missing == 0
    )
    if not is_balanced:
        yield Violation("what a port sends is received or lost", f"ports: {link_name}: {counts}")


def _use_violations(record: Record, link: Row, link_name: str) -> Iterator[Violation]:
    """Compare the busy time of a link with the duration of the run and with the link's frames and bytes."""
    if link["busy_ps"] > record.summary["end_ps"]:
        figures = f"links: {link_name}: busy_ps {link['busy_ps']} of {record.summary['end_ps']}"
        yield Violation("use of a link <= 100 %", figures)
    if record.link_layer == "scheduled" or _has(record, "link_rate"):
        return
    gap = 2 if record.link_layer == "infiniband" else PREAMBLE_BYTES + GAP_BYTES
    if "vlan" in record.spec["fabric"].get("addresses", {}):
        gap += VLAN_TAG_BYTES
    exact = (link["bytes"] + gap * link["frames"]) * PS_BITS // link["rate_bps"]
    # A frame that is on a link when the run ends counts only until then.
    # `frames_in_flight` does not count pauses and credits.
    is_whole = record.is_complete and record.ends_by_itself and not record.summary["frames_in_flight"]
    is_whole &= record.link_layer == "ethernet" and record.spec["fabric"]["switch"]["pfc"] is None
    missing = 0 if is_whole else (FRAME_BYTES_MAX * PS_BITS) // link["rate_bps"]
    slack = link["frames"] + 1
    if not -slack - missing <= link["busy_ps"] - exact <= slack:
        figures = f"links: {link_name}: busy_ps {link['busy_ps']}, {exact} by its frames {link['frames']}, "
        figures += f"bytes {link['bytes']}"
        yield Violation("a link is busy for the bytes that it carries", figures)


def host_laws(record: Record) -> Iterator[Violation]:
    """Yield host ports whose frames are not those of the run, or of its chunks and acknowledgements."""
    pfc = record.spec["fabric"]["switch"]["pfc"] is not None
    if pfc:
        return
    hosts = [port for port in record.ports if port["tier"] == 0]
    sent = sum(port["tx_frames"] - (port["flow_control_tx"] or 0) for port in hosts)
    if sent != record.summary["frames_sent"]:
        figures = f"ports of hosts: tx_frames {sent}; summary: frames_sent {record.summary['frames_sent']}"
        yield Violation("frames sent are those of the hosts", figures)
    if is_plain(record) and not any(job.has_clearances for job in record.jobs.values()):
        yield from _acknowledgement_violations(record, hosts)


def is_plain(record: Record) -> bool:
    """Return whether hosts send only data of complete chunks and acknowledgements."""
    jobs = record.jobs.values()
    has_other_messages = any(
        job.collective.get("barrier") or job.collective.get("rendezvous") or job.is_storage for job in jobs
    )
    controlled = record.spec["transport"]["rate_control"] != {"kind": "line-rate"}
    return (
        record.is_complete
        and record.ends_by_itself
        and not (has_other_messages or controlled or record.spec["tcp"])
    )


def _acknowledgement_violations(record: Record, hosts: list[Row]) -> Iterator[Violation]:
    """Check that all frames of a host other than its data have the size of an acknowledgement."""
    size = CONTROL_BYTES[record.link_layer]
    sums = record.chunks.group_by("src_host").agg(pl.col("tx_frames").sum(), pl.col("tx_bytes").sum())
    data_by_host = {host: (frames, bytes_) for host, frames, bytes_ in sums.iter_rows()}
    by_host: dict[str, list[Row]] = defaultdict(list)
    for port in hosts:
        by_host[port["node"]].append(port)
    for name, ports in by_host.items():
        data_frames, data_bytes = data_by_host.get(int(name.removeprefix("host")), (0, 0))
        granted = sum(port["flow_control_tx"] or 0 for port in ports)
        frames = sum(port["tx_frames"] for port in ports) - data_frames - granted
        bytes_ = sum(port["tx_bytes"] for port in ports) - data_bytes - GRANT_BYTES * granted
        if frames < 0 or bytes_ != size * frames:
            figures = (
                f"ports: {name}: {frames} frames of {bytes_} bytes besides data, not of {size} bytes each"
            )
            yield Violation("a host sends its chunks and acknowledgements", figures)


def priority_laws(record: Record) -> Iterator[Violation]:
    """Yield ports whose counts are not the sums over priorities, and pauses longer than the run."""
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    columns = (
        "pfc_tx",
        "pfc_rx",
        "pfc_xon_tx",
        "pfc_xon_rx",
        "credit_wait_ps",
        "dropped_frames",
        "dropped_headroom_frames",
        "dropped_wred_frames",
        "dropped_watchdog_frames",
    )
    for row in record.rows("priorities"):
        for name in columns:
            sums[row["node"], row["port"]][name] += row[name] or 0
        if (row["paused_ps"] or 0) > record.summary["end_ps"]:
            figures = f"priorities: {row['node']} port {row['port']}: paused_ps {row['paused_ps']} "
            figures += f"of {record.summary['end_ps']}"
            yield Violation("no pause is longer than the run", figures)
    for port in record.ports:
        for name in columns:
            total = sums[port["node"], port["port"]][name]
            if (port[name] or 0) != total:
                figures = (
                    f"ports: {port['node']} port {port['port']}: {name} {port[name]}; priorities: {total}"
                )
                yield Violation("a port has the sums over its priorities", figures)


def queue_laws(record: Record) -> Iterator[Violation]:
    """Yield queues larger than the buffer, and marks and pauses without a setting that causes them."""
    switch = record.spec["fabric"]["switch"]
    size = switch["buffer"]["size_bytes"]
    # Packets that a scheduled leaf has granted credits for wait in memory of their port.
    has_buffer = record.link_layer == "ethernet" and record.spec["fabric"]["topology"]["kind"] != "full-mesh"
    for port in record.ports:
        port_name = f"ports: {port['node']} port {port['port']}"
        is_crossbar = port["node"].startswith("scaleup")  # an ideal one, as the mesh
        if port["tier"] > 0 and has_buffer and not is_crossbar and port["queue_max_bytes"] > size:
            yield Violation(
                "no queue exceeds the buffer",
                f"{port_name}: queue_max_bytes {port['queue_max_bytes']} of {size}",
            )
        if port["ecn_marked"] and switch["ecn"] is None:
            yield Violation("only ECN marks", f"{port_name}: ecn_marked {port['ecn_marked']}")
        if port["pfc_rx"] and switch["pfc"] is None:
            yield Violation("only PFC pauses", f"{port_name}: pfc_rx {port['pfc_rx']}")
        # A switch ends only pauses that it started.
        if (port["pfc_xon_tx"] or 0) > (port["pfc_tx"] or 0):
            figures = f"{port_name}: pfc_xon_tx {port['pfc_xon_tx']}, pfc_tx {port['pfc_tx']}"
            yield Violation("no more XON than XOFF", figures)
        if port["pfc_storms"] and (switch["pfc"] is None or switch["pfc"]["watchdog"] is None):
            yield Violation("only a watchdog finds storms", f"{port_name}: pfc_storms {port['pfc_storms']}")
    marked = sum(port["ecn_marked"] for port in record.ports)
    received = int(record.chunks["ecn_ce_rx"].sum())
    received += sum(row["ecn_ce_rx"] for row in record.rows("connections"))
    received += sum(job.late["ecn_ce_rx"] for job in record.jobs.values())
    if received > marked:
        yield Violation("CE received <= marked", f"chunks: ecn_ce_rx {received}; ports: ecn_marked {marked}")


def qp_laws(record: Record) -> Iterator[Violation]:
    """Yield queue pairs and jobs whose chunks have inconsistent ends, notifications or retransmissions."""
    sums = (
        record.chunks.group_by("qp")
        .agg(ends=pl.struct("src_host", "dst_host", "udp_source_port").n_unique())
        .sort("qp")
    )
    for job in record.jobs.values():
        sent, received = int(job.chunks["cnp_tx"].sum()) + job.late["cnp_tx"], int(job.chunks["cnp_rx"].sum())
        # Those of storage answer commands and completions as well, which are in no row.
        if received > sent and not job.is_storage:
            figures = f"chunks of {job.name}: cnp_tx {sent}, late ones included, cnp_rx {received}"
            yield Violation("CNP received <= sent", figures)
    if not any(job.is_storage for job in record.jobs.values()):
        yield from first_bad("a queue pair has two ends", "chunks", sums, pl.col("ends") > 1, ("qp", "ends"))
    if not _may_resend(record):
        bad = (pl.col("retransmits") > 0) | (pl.col("naks") > 0)
        columns = ("retransmits", "naks", "timeouts")
        yield from first_bad(
            "nothing is resent without loss, reordering or timeout", "chunks", record.chunks, bad, columns
        )


def _may_resend(record: Record) -> bool:
    keeps_order = record.takes_one_path and not record.spec["fabric"]["failures"]
    # A target may still wait for the acknowledgement of an operation whose row was written.
    has_targets = any(job.is_storage for job in record.jobs.values())
    timeouts = int(record.chunks["timeouts"].sum())
    return has_targets or not (record.is_lossless and keeps_order and not timeouts)


def path_laws(record: Record) -> Iterator[Violation]:
    """Yield paths that are not a chain of links of the fabric."""
    rows = record.rows("paths")
    peers = {(link["from"], link["from_port"]): link["to"] for link in record.links}
    for row in rows:
        if peers.get((row["node"], row["port"])) != row["peer"]:
            yield Violation("a path takes links of the fabric", f"paths: {row}")
    for link, next_link in pairwise(rows):
        if link["qp"] == next_link["qp"] and (
            next_link["hop"] != link["hop"] + 1 or next_link["node"] != link["peer"]
        ):
            yield Violation(
                "each link of a path begins where the one before ends", f"paths: {link}, then {next_link}"
            )


LAWS = (
    conservation_laws,
    message_laws,
    cause_laws,
    port_laws,
    host_laws,
    priority_laws,
    queue_laws,
    qp_laws,
    path_laws,
)
