"""Builds the port map of a trial: for each rank its port, switch port, addresses and queue pairs.

Computed from the RunSpec (the trial's parameters for the backends), before or after a run, as is a table of
all queue pairs and TCP connections. On real hosts, chassis and address are those of the host that ran the
rank; switch, subnet and MAC address are shown only if the host has the planned address, as in a lab.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from fabricbench.plan import engine
from fabricbench.plan.expand import canonical_json
from fabricbench.plan.fabric.server import RAILS

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.plan.engine import PortDescription


@dataclass(frozen=True)
class PortRow:
    """A rank at a host port.

    Attributes:
        job: Job, or TCP traffic.
        protocol: `roce` or `tcp`.
        rank: Number of the rank in the job.
        chassis: Server or host.
        port: Its port; for servers with rails, the number of the adapter.
        switch: Switch it is cabled to; none if unknown.
        switch_port: Port of that switch.
        rate_bps: Line rate [bit/s].
        ip: IPv4 address; none on InfiniBand.
        prefix: Prefix length of its subnet.
        gateway: Gateway of its subnet; none without one.
        mac: MAC address.
        vlan: VLAN; none without one.
        lid: InfiniBand local identifier; none on Ethernet.
        queue_pairs: Queue pairs, or TCP connections, on which it sends.
        source_port_least: Smallest UDP source port of its data, or TCP source port; none if it sends nothing.
        source_port_largest: Largest one.
        source_ports: First source ports, at most 4, in the order of queue pairs.
        destination_qp_least: Smallest destination queue pair number of its data.
        destination_qp_largest: Largest one.
        destination_qps: First destination queue pair numbers, at most 4.
        priority: Priority of its data.
        dscp_data: DSCP of its data; none on InfiniBand.
        dscp_ack: DSCP of its ACK and NAK.
        dscp_cnp: DSCP of its CNPs.
    """

    job: str
    protocol: str
    rank: int
    chassis: str
    port: str
    switch: str | None
    switch_port: int | None
    rate_bps: int
    ip: str | None
    prefix: int | None
    gateway: str | None
    mac: str | None
    vlan: int | None
    lid: int | None
    queue_pairs: int
    source_port_least: int | None
    source_port_largest: int | None
    source_ports: Sequence[int]
    destination_qp_least: int | None
    destination_qp_largest: int | None
    destination_qps: Sequence[int]
    priority: int
    dscp_data: int | None
    dscp_ack: int | None
    dscp_cnp: int | None


def port_map(
    run_spec: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]] = ()
) -> Sequence[PortRow] | None:
    """Return the port map of a run spec, by job, rank and port; none if the engine refuses the spec.

    Args:
        run_spec: The run spec.
        hosts: The real hosts that ran it, as in the facts of the engine.
    """
    described = engine.port_map(canonical_json(run_spec))
    if described is None:
        return None
    fabric = run_spec["fabric"]
    is_infiniband = fabric["link_layer"]["kind"] == "infiniband"
    topology = fabric["topology"]
    rails = topology["rails"] if topology["kind"] in RAILS else None
    rows = (
        _row(description, rails, fabric.get("server"), is_infiniband=is_infiniband)
        for description in described
    )
    players = {number: host for host in hosts for number in host["plays"]}
    return [
        _played(row, players[description["host_number"]]) if description["host_number"] in players else row
        for row, description in zip(rows, described, strict=True)
    ]


def rows_at(run_spec: Mapping[str, Any], node: str, port: int) -> list[int]:
    """Return the indices of the rows of a port map at a port of a host or a switch."""
    return [
        index
        for index, description in enumerate(engine.port_map(canonical_json(run_spec)) or ())
        if (node, port)
        in (
            (description["host"], description["host_port"]),
            (description["switch"], description["switch_port"]),
        )
    ]


def _row(
    description: PortDescription,
    rails: int | None,
    server: Mapping[str, Any] | None,
    *,
    is_infiniband: bool,
) -> PortRow:
    chassis, port = _place(description, rails, server)
    sources, destinations = description["source_ports"], description["destination_qps"]
    has_sources, has_destinations = sources["count"] > 0 and not is_infiniband, destinations["count"] > 0
    row = PortRow(
        job=description["job"],
        protocol=description["protocol"],
        rank=description["rank"],
        chassis=chassis,
        port=port,
        switch=description["switch"],
        switch_port=description["switch_port"],
        rate_bps=description["rate_bps"],
        ip=description["ip"],
        prefix=description["prefix"],
        gateway=description["gateway"],
        mac=description["mac"],
        vlan=description["vlan"],
        lid=None,
        queue_pairs=sources["count"],
        source_port_least=sources["least"] if has_sources else None,
        source_port_largest=sources["largest"] if has_sources else None,
        source_ports=tuple(sources["first"]) if has_sources else (),
        destination_qp_least=destinations["least"] if has_destinations else None,
        destination_qp_largest=destinations["largest"] if has_destinations else None,
        destination_qps=tuple(destinations["first"]),
        priority=description["priority"],
        dscp_data=description["dscp"]["data"],
        dscp_ack=description["dscp"]["ack"],
        dscp_cnp=description["dscp"]["cnp"],
    )
    if not is_infiniband:
        return row
    no_ip: dict[str, Any] = dict.fromkeys(("ip", "prefix", "mac", "dscp_data", "dscp_ack", "dscp_cnp"))
    return replace(row, lid=description["lid"], **no_ip)


def _place(
    description: PortDescription, rails: int | None, server: Mapping[str, Any] | None
) -> tuple[str, str]:
    """Return chassis and port; for servers, and for hosts on rails, the server and its adapter.

    Of an NVLink domain it is the server of the domain that has the adapter.
    """
    if server:
        first = description["host_number"] * server["adapters"]
        of_machine = server["adapters"] // server.get("machines", 1)
        number, adapter = divmod(first + description["host_port"], of_machine)
        return f"server{number}", f"nic{adapter}"
    if rails is None:
        return description["host"], f"port{description['host_port']}"
    number, adapter = divmod(description["host_number"], rails)
    return f"server{number}", f"nic{adapter}" if description["host_port"] == 0 else f"gpu{adapter}"


def _played(row: PortRow, host: Mapping[str, Any]) -> PortRow:
    """Return a row with the addresses and settings of the real host that ran its rank."""
    settings = host.get("settings") or {}
    address = settings.get("address") or host["address"]
    dscp = settings.get("dscp")
    if dscp is not None:
        row = replace(row, dscp_data=dscp, dscp_ack=dscp)
    if address == row.ip:
        return replace(row, chassis=host["host"], vlan=None)
    return replace(
        row,
        chassis=host["host"],
        port=(host.get("facts") or {}).get("interface") or "unknown",
        ip=address,
        switch=None,
        switch_port=None,
        prefix=None,
        gateway=None,
        mac=None,
        vlan=None,
    )


def port_map_table(rows: Sequence[PortRow]) -> pa.Table:
    """Return a port map as an Arrow table; lists of numbers have their first items, as text."""
    import pyarrow as pa

    texts = ("job", "protocol", "chassis", "port", "switch", "ip", "gateway", "mac")
    lists = ("source_ports", "destination_qps")
    names = list(PortRow.__dataclass_fields__)
    schema = pa.schema(
        [(name, pa.string() if name in (*texts, *lists) else pa.int64()) for name in names],
        metadata={"about": "the port map of a run spec"},
    )
    flat = [asdict(row) | {name: " ".join(map(str, getattr(row, name))) for name in lists} for row in rows]
    return pa.Table.from_pylist(flat, schema=schema)


def queue_pair_table(run_spec: Mapping[str, Any]) -> pa.Table:
    """Return every queue pair and TCP connection of a run spec as an Arrow table, by number.

    Columns: `qp`, `job`, `protocol`, `part`, `channel`, `src_rank`, `dst_rank`, `src_host`, `dst_host`,
    `src_ip`, `dst_ip`, `source_port`, `destination_qp` and `dscp`.
    """
    import pyarrow as pa

    texts = ("job", "protocol", "src_host", "dst_host", "src_ip", "dst_ip")
    columns: dict[str, list[Any]] = {name: [] for name in _QUEUE_PAIR_COLUMNS}
    for row in _queue_pairs(run_spec):
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    types = {name: pa.string() if name in texts else pa.int64() for name in columns}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


_QUEUE_PAIR_COLUMNS = (
    *("qp", "job", "protocol", "part", "channel", "src_rank", "dst_rank", "src_host", "dst_host"),
    *("src_ip", "dst_ip", "source_port", "destination_qp", "dscp"),
)


def _queue_pairs(run_spec: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    described = engine.describe(canonical_json(run_spec))
    is_infiniband = run_spec["fabric"]["link_layer"]["kind"] == "infiniband"
    hosts = [node["name"] for node in described["nodes"] if node["kind"] == "host"]
    for pair in described["qps"]:
        ends = (hosts[pair["src_host"]], hosts[pair["dst_host"]])
        network: tuple[Any, ...] = (pair["src_ip"], pair["dst_ip"], pair["udp_source_port"])
        yield (
            *(pair["qp"], pair["job"], "roce", pair["part"], pair["channel"]),
            *(pair["src_rank"], pair["dst_rank"], *ends),
            *((None,) * 3 if is_infiniband else network),
            *(pair["dst_qpn"], None if is_infiniband else pair["dscp"]),
        )
    for tcp in described["connections"]:
        yield (
            *(tcp["qp"], tcp["job"], "tcp", 0, 0, tcp["src_rank"], tcp["dst_rank"]),
            *(hosts[tcp["src_host"]], hosts[tcp["dst_host"]], tcp["src_ip"], tcp["dst_ip"]),
            *(tcp["source_port"], None, tcp["dscp"]),
        )
