"""Counters by definition: one data file; names are found with their priorities and keys of paths."""

from __future__ import annotations

import pytest

from fabricbench.counters import counters, find, look_up
from fabricbench.metrics import METRICS

COUNTS = {
    *("packets", "frames", "bursts", "marked", "selected", "bytes", "events", "time", "depth", "share"),
    *("requests", "completions", "calls", "queue pairs", "chunks", "connections", "segments"),
    *("rate", "codewords"),
}


def test_every_counter_says_what_it_counts_and_who_says_so() -> None:
    names = {metric.name for metric in METRICS}
    for each in counters():
        assert each.counts in COUNTS, each
        assert each.meaning.endswith("."), each
        assert each.reference, each
        assert each.scale >= 1
        assert not each.metric or each.metric in names, each
        assert ("{p}" in each.vendor_name) == ("{p}" in each.name), each
    keys = [(each.family, each.source, each.vendor_name) for each in counters()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("vendor_name", "name", "counts", "unit"),
    [
        ("rx_prio3_pause", "pfc_rx_priority_3", "frames", "frames"),
        ("rx_prio3_pause_duration", "pfc_rx_paused_priority_3", "time", "us"),
        ("pfc_pri5_rx_duration_us", "pfc_rx_paused_priority_5", "time", "us"),
        ("tx_priority_7_xoff.nic", "pfc_tx_priority_7", "frames", "frames"),
        ("SAI_PORT_STAT_PFC_4_RX_PAUSE_DURATION", "pfc_rx_paused_priority_4", "time", ""),
        ("np_ecn_marked_roce_packets", "ecn_marked_received", "marked", "packets"),
        ("rx_prio3_marked", "adapter_marked_priority_3", "marked", "packets"),
        ("packet_seq_err", "naks_received", "bursts", "events"),
        ("oos_drop_count", "out_of_sequence_dropped", "packets", "packets"),
        (
            "/qos/interfaces/interface[interface-id=Ethernet0]/output/queues/queue[name=3]/state/ecn-selected-pkts",
            "queue_ecn_selected",
            "selected",
            "packets",
        ),
    ],
)
def test_a_name_is_found_as_a_device_tells_it(vendor_name: str, name: str, counts: str, unit: str) -> None:
    (found,) = find(vendor_name)
    assert (found.name, found.counts, found.unit) == (name, counts, unit)
    assert "{p}" not in found.meaning


def test_one_name_of_two_vendors_is_two_counters() -> None:
    families = {each.family for each in find("duplicate_request")}
    assert families == {"mlx5", "rxe"}
    mlx5, rxe = (look_up("duplicate_request", "hw_counters", family) for family in ("mlx5", "rxe"))
    assert mlx5 is not None
    assert rxe is not None
    assert (mlx5.family, rxe.family) == ("mlx5", "rxe")
    assert look_up("duplicate_request", "ethtool") is None


@pytest.mark.parametrize(
    "vendor_name", ["", "rx_prio9_pause", "rx_prio33_pause", "{p}", "of_tomorrow", "rx_prio{p}"]
)
def test_what_is_not_known_is_not_found(vendor_name: str) -> None:
    assert list(find(vendor_name)) == []
