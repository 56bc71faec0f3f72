"""Error counters of devices of hosts, from table `counters`, which no prediction has.

Vendors count differently, so counters are not summed over hosts: each is reported for the host with the most.
"""

from __future__ import annotations

from typing import Any, Final

from fabricbench.analysis.summary import Tables
from fabricbench.analysis.twins.causes import Cause

_ERROR_COUNTERS: Final = (
    *("failed_queue_pairs", "retries_exceeded", "unsent_calls"),
    *("socket_drops", "udp_receive_drops", "udp_send_drops"),
    *("ip_receive_discards", "ip_send_discards", "rx_dropped", "tx_dropped", "rx_discards", "tx_discards"),
    *("loss_bursts", "out_of_sequence_dropped", "receiver_not_ready", "roce_discards", "icrc_errors"),
    *("fcs_errors", "rx_errors", "symbol_errors", "link_downs", "rnr_naks", "slow_restarts"),
)
"""Neutral names, the most likely cause of the others first."""


def device_causes(measured: Tables) -> list[Cause]:
    """Return the error counters that grew while a trial ran, each with the host where it grew most.

    Raises:
        StoreError: The table cannot be read.
    """
    row_with_most: dict[str, dict[str, Any]] = {}
    for batch in measured.batches("counters"):
        for row in batch.to_pylist():
            name, grown = row["name"], row["after"] - row["before"]
            if name in _ERROR_COUNTERS and grown > 0 and grown > _grown(row_with_most.get(name)):
                row_with_most[name] = row
    return [_cause(row_with_most[name]) for name in _ERROR_COUNTERS if name in row_with_most]


def _grown(row: dict[str, Any] | None) -> int:
    return row["after"] - row["before"] if row else 0


def _cause(row: dict[str, Any]) -> Cause:
    grown = _grown(row)
    growth = f"{row['name']} grew by {grown:,} {row['unit']}"
    text = f"host {row['host']}, {row['device']}: {growth} ({row['vendor_name']}: {row['meaning']})"
    return Cause("device", f"{row['host']} {row['device']} {row['name']}", grown, None, text)
