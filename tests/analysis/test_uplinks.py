"""Uplinks, losses and pauses from rows whose answers are known."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.support.fake_backend import batch, link_row, port_row

from fabricbench.analysis.faults.losses import losses_by_cause, paused_ports
from fabricbench.analysis.links.uplinks import egress_distributions, switch_uplinks
from fabricbench.report.documents.counter_tables import marks_table, uplinks_table


def leaf_ports() -> list[dict[str, object]]:
    """leaf0 with two hosts and four uplinks, one spine with two ports down."""
    qps, sent = (4, 5, 3, 4), (400, 500, 300, 400)
    rows = [port_row(f"host{host}", 0, peer="leaf0") for host in range(2)]
    rows += [port_row("leaf0", 1, port=host, peer=f"host{host}", egress_qps=9) for host in range(2)]
    rows += [
        port_row("leaf0", 1, port=2 + link, peer=f"spine{link}", egress_qps=qps[link], tx_bytes=sent[link])
        for link in (3, 0, 2, 1)
    ]
    rows += [port_row(f"spine{link}", 2, port=0, peer="leaf0", egress_qps=1) for link in range(4)]
    return [row | {"port": row.get("port", 0)} for row in rows]


def batches(rows: list[dict[str, object]]) -> list[pa.RecordBatch]:
    return [batch(rows[:3]), batch(rows[3:])]


def test_uplinks_are_written_as_test_equipment_does() -> None:
    found = egress_distributions(batches(leaf_ports()))
    assert [each.switch for each in found] == ["leaf0"]
    assert found[0].qps_text == "4+5+3+4"
    assert found[0].qps_max_to_mean == 1.25
    assert found[0].bytes_max_to_mean == 1.25
    assert [uplink.port for uplink in found[0].uplinks] == [2, 3, 4, 5]


def test_traffic_without_paths_has_no_count() -> None:
    rows = [row | {"egress_qps": 0} for row in leaf_ports()]
    found = egress_distributions(batches(rows))[0]
    assert (found.qps_text, found.qps_max_to_mean) == ("-", None)
    assert found.bytes_max_to_mean == 1.25


def test_a_switch_with_one_uplink_has_no_distribution() -> None:
    rows = [row for row in leaf_ports() if row["node"] != "leaf0" or row["port"] in (0, 1, 2)]
    assert egress_distributions(batches(rows)) == []


def test_losses_have_a_cause() -> None:
    summary = {"frames_lost": {"buffer_full": 3, "headroom_overrun": 2, "host_overrun": 1}}
    found = {
        "tail drop": 3,
        "headroom overrun": 2,
        "WRED": 0,
        "host overrun": 1,
        "PFC watchdog": 0,
        "link down": 0,
        "bit errors": 0,
    }
    assert losses_by_cause(summary) == found


def test_the_longest_pause_comes_first() -> None:
    rows = [port_row("host0", 0, port=0, paused_ps=10, pfc_rx=1), port_row("host1", 0, port=0)]
    rows += [port_row("leaf0", 1, port=3, peer="spine0", paused_ps=50, pfc_rx=2)]
    found = paused_ports([batch(rows)], 200)
    assert [(port.node, port.port, port.peer) for port in found] == [
        ("leaf0", 3, "spine0"),
        ("host0", 0, "other"),
    ]
    assert found[0].share == pytest.approx(0.25)


def test_usage_is_busy_time_over_the_run_and_frames_delta_what_a_switch_lost() -> None:
    rows = [
        row | ({"dropped_frames": 5, "fcs_error_frames": 2} if row["port"] == 3 else {})
        for row in leaf_ports()
    ]
    links = [
        link_row("leaf0", f"spine{link}", 2, 250 * (link + 1)) | {"from_port": 2 + link} for link in range(4)
    ]
    (found,) = switch_uplinks(batches(rows), [batch(links)], 1_000)
    assert [uplink.usage_percent for uplink in found.uplinks] == [25, 50, 75, 100]
    assert (found.usage_percent, found.frames_delta) == (62.5, 7)
    assert uplinks_table([found], 1).rows[0].cells[5] == "25.0+50.0+75.0+100.0"


def test_rates_are_bytes_over_the_run_and_marks_are_those_of_both_ends_and_below() -> None:
    marked: dict[tuple[object, object], int] = {
        ("leaf0", 2): 3,
        ("leaf0", 4): 4,
        ("leaf0", 1): 5,
        ("spine2", 0): 7,
    }
    rows = [
        row
        | {"rx_bytes": 2 * int(str(row["tx_bytes"])), "ecn_marked": marked.get((row["node"], row["port"]), 0)}
        for row in leaf_ports()
    ]
    links = [link_row("leaf0", f"spine{link}", 2, 1) | {"from_port": 2 + link} for link in range(4)]
    (found,) = switch_uplinks(batches(rows), [batch(links)], 1_000)
    assert [uplink.tx_gbps for uplink in found.uplinks] == [3_200, 4_000, 2_400, 3_200]
    assert [uplink.rx_gbps for uplink in found.uplinks] == [6_400, 8_000, 4_800, 6_400]
    assert [uplink.ecn_marked for uplink in found.uplinks] == [3, 0, 4, 0]
    assert [uplink.peer_ecn_marked for uplink in found.uplinks] == [0, 0, 7, 0]
    assert (found.ecn_marked_below, found.has_marks) == (5, True)
    table = marks_table([found], 1)
    assert table is not None
    assert table.rows[0].cells[3:] == ["7", "7", "5"]


def test_marks_that_nobody_counted_are_no_zeros() -> None:
    rows = [row | {"ecn_marked": None} for row in leaf_ports()]
    (found,) = switch_uplinks(batches(rows), [], 1_000)
    assert (found.ecn_marked_below, found.has_marks) == (None, False)
    assert marks_table([found], 1) is None


def test_what_nobody_counted_has_no_delta() -> None:
    rows = [row | {"dropped_wred_frames": None} for row in leaf_ports()]
    (found,) = switch_uplinks([batch(rows)], [], 1_000)
    assert (found.usage_percent, found.frames_delta) == (None, None)
    assert uplinks_table([found], 1).rows[0].cells[5] == "-"
