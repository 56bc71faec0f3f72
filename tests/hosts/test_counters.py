"""Counters of a host, from what its kernel tells."""

from __future__ import annotations

from pathlib import Path

from fabricbench.hosts.agent.counters import backlog_statistics, ethtool_statistics, known_ethtool


def test_backlogs_of_all_processors_are_summed(tmp_path: Path) -> None:
    told = tmp_path / "softnet_stat"
    told.write_text("0000c350 00000011 00000002 00000000\n00000010 00000100 00000000 00000000\n")
    assert dict(backlog_statistics(told)) == {"dropped": 0x111, "time_squeeze": 2}
    assert list(backlog_statistics(tmp_path / "missing")) == []


def test_the_backlogs_of_this_machine_are_read() -> None:
    assert dict(backlog_statistics(Path("/proc/net/softnet_stat"))).keys() == {"dropped", "time_squeeze"}


def test_counters_of_priorities_have_neutral_names() -> None:
    printed = "NIC statistics:\n     rx_prio3_pause: 12\n     rx_packets: 5\n     temperature: n/a\n"
    assert dict(ethtool_statistics(printed)) == {"rx_prio3_pause": 12, "rx_packets": 5}
    known = known_ethtool("rx_prio3_pause")
    assert known is not None
    assert (known.name, known.unit) == ("pfc_rx_priority_3", "frames")
