"""Captures frames of chosen queue pairs in the simulator, byte for byte; lists the queue pairs of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench import _core
from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.queue_pairs import QueuePair, Wiring
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    from fabricbench._core import ConnectionDescription


def wiring(planned: PlannedTrial) -> Wiring:
    """Return the queue pairs and hosts of a trial, without running it.

    Raises:
        RefusedError: The RunSpec cannot be run.
    """
    try:
        described = _core.describe(planned.spec_json)
    except _core.SpecError as error:
        raise RefusedError(error.field, error.found, error.allowed) from error
    hosts = [node["name"] for node in described["nodes"] if node["kind"] == "host"]
    pairs = [
        QueuePair(
            qp=pair["qp"],
            job=pair["job"],
            part=pair["part"],
            channel=pair["channel"],
            src_rank=pair["src_rank"],
            dst_rank=pair["dst_rank"],
            src_host=hosts[pair["src_host"]],
            dst_host=hosts[pair["dst_host"]],
            src_ip=pair["src_ip"],
            dst_ip=pair["dst_ip"],
            udp_source_port=pair["udp_source_port"],
        )
        for pair in described["qps"]
    ]
    pairs += [_connection(connection, hosts) for connection in described["connections"]]
    rates_bps = {link["from"]: link["rate_bps"] for link in described["links"]}
    sources = {str(pair["src_lid"]): hosts[pair["src_host"]] for pair in described["qps"]}
    lids = sources | {str(pair["dst_lid"]): hosts[pair["dst_host"]] for pair in described["qps"]}
    return Wiring(pairs, {host: rates_bps[host] for host in hosts if host in rates_bps}, lids)


def _connection(each: ConnectionDescription, hosts: Sequence[str]) -> QueuePair:
    """Return a TCP connection as a queue pair with part 0 and channel 0."""
    return QueuePair(
        qp=each["qp"],
        job=each["job"],
        part=0,
        channel=0,
        src_rank=each["src_rank"],
        dst_rank=each["dst_rank"],
        src_host=hosts[each["src_host"]],
        dst_host=hosts[each["dst_host"]],
        src_ip=each["src_ip"],
        dst_ip=each["dst_ip"],
        udp_source_port=each["source_port"],
    )


def frames(planned: PlannedTrial, qps: Sequence[int], count: int) -> list[tuple[int, bytes]]:
    """Run a trial until some queue pairs have sent `count` frames.

    Args:
        planned: The trial.
        qps: Numbers of the queue pairs.
        count: Largest number of frames to return.

    Returns:
        (time in ps, Ethernet frame without FCS or InfiniBand packet) of data, acknowledgements and negative
        acknowledgements, as they leave the sending NIC, in order of time.

    Raises:
        RefusedError: The RunSpec cannot be run.
    """
    try:
        return _core.capture(planned.spec_json, qps=list(qps), frames=count)
    except _core.SpecError as error:
        raise RefusedError(error.field, error.found, error.allowed) from error
