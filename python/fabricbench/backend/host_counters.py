"""Rows of table `counters`: what the devices and the endpoint of each host counted.

Devices name their counters themselves, and the agent knows what their vendors mean. Of the numbers that an
endpoint tells, those with a meaning here are counters; the others are facts, such as the timeout it used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.hosts.control.run import HostResult

_TEXTS: Final = ("host", "device", "source", "vendor_name", "name", "unit", "meaning")
_OF_ENDPOINT: Final = {
    "refused_datagrams": ("packets", "Datagrams that were no packet of a peer of the run, or damaged."),
    "dropped_on_purpose": ("packets", "Packets that the endpoint lost since it was told to (`loss_one_in`)."),
    "socket_drops": ("packets", "Datagrams that the kernel dropped since the endpoint read too slowly."),
    "wrong_bytes": ("bytes", "Payload that arrived and was not what had been sent, where it is compared."),
    "unsent_calls": ("calls", "Calls that could not send for want of a way."),
    "post_calls": ("calls", "Calls that handed requests to the adapter."),
    "writes": ("requests", "WRITE requests handed to the adapter."),
    "completions": ("completions", "Completions that the adapter reported."),
    "completion_stamps": ("completions", "Completions of chunks with the time that the adapter says."),
    "completion_stamps_refused": (
        "completions",
        "Completions of chunks whose time by the adapter could not be right: they have that of software.",
    ),
    "failed_queue_pairs": ("queue pairs", "Queue pairs that failed."),
    "failed_chunks": ("chunks", "Chunks whose queue pair or connection failed."),
    "unknown_chunks": ("chunks", "Chunks that arrived and are not of the run."),
    "connections": ("connections", "Connections that came to be, either way."),
    "refused_connections": ("connections", "Connections from elsewhere, with another token, or twice."),
    "failed_connections": ("connections", "Connections that failed."),
    "closed_connections": ("connections", "Connections from peers that ended, by either end."),
    "refused_streams": ("connections", "Connections that carried something else than the plan's chunks."),
    "tcp_segments_sent": ("segments", "Segments with data sent, also again (`tcpi_data_segs_out`)."),
    "tcp_segments_retransmitted": ("segments", "Segments sent again (`tcpi_total_retrans`)."),
    "tcp_timeouts": ("events", "Retransmission timeouts (`tcpi_total_rto`)."),
    "tcp_segments_delivered": ("segments", "Segments acknowledged as delivered (`tcpi_delivered`)."),
    "tcp_segments_delivered_ce": ("segments", "Of those the ones with a mark (`tcpi_delivered_ce`)."),
}
"""Of what an endpoint tells: unit and meaning of the counters. Their names are ours, hence neutral."""


def counter_rows(results: Iterable[HostResult]) -> pa.RecordBatch:
    """Return the rows of table `counters`, host by host."""
    return batch_of([row for result in results for row in _rows(result)])


def batch_of(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows with the columns of table `counters`."""
    import pyarrow as pa

    schema = pa.schema(
        [(name, pa.string()) for name in _TEXTS] + [(name, pa.int64()) for name in ("before", "after")]
    )
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def _rows(result: HostResult) -> Iterator[dict[str, Any]]:
    host, counters = result.host, result.collected.counters
    for each in counters.devices:
        yield {
            "host": host.name,
            "device": each.device,
            "source": each.source,
            "vendor_name": each.vendor_name,
            "name": each.name or None,
            "unit": each.unit or None,
            "meaning": each.meaning or None,
            "before": each.before,
            "after": each.after,
        }
    for name, value in sorted(counters.endpoint.items()):
        if name in _OF_ENDPOINT:
            unit, meaning = _OF_ENDPOINT[name]
            row = {"host": host.name, "device": host.driver, "source": "endpoint", "vendor_name": name}
            yield row | {"name": name, "unit": unit, "meaning": meaning, "before": 0, "after": int(value)}
