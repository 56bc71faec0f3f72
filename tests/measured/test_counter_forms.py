"""Counters of hosts and other forms: whose names they are, what is refused by name, what they explain."""

from __future__ import annotations

import json

import pytest
from tests.measured.test_switches import FILES, changes, values

from fabricbench.importing import Hardware, MeasuredError, Source, Suspect, UserFacts, read_facts, suspects
from fabricbench.measured.switches.model import SwitchCounters
from fabricbench.measured.switches.reading import read

NCCL = FILES.parent / "samples" / "nccl_alltoall.txt"


def named(told: SwitchCounters) -> dict[tuple[str, str], tuple[str | None, object]]:
    return {
        (each.place, each.vendor_name): (each.counter.name if each.counter else None, each.value)
        for each in told.changes
    }


def sample(name: str) -> str:
    return (FILES / name).read_text()


def test_names_are_those_of_the_driver_of_their_section_and_unknown_ones_are_only_listed() -> None:
    told = named(changes(sample("ethtool_two.txt")))
    assert told["ens1f0np0", "rx_fcs_err_frames"] == ("fcs_errors", 3)
    assert told["ens2", "rx_fcs_err_frames"] == (None, 1)  # no name of ice
    assert told["ens2", "rx_priority_3_xoff.nic"] == ("pfc_rx_priority_3", 5)
    assert named(changes(sample("ethtool_mlx5.txt")))["adapter", "rx_packets"] == (None, 8_123_456)
    unknown = changes("NIC statistics:\n     rx_frames_of_tomorrow: 7\n")
    assert named(unknown) == {("adapter", "rx_frames_of_tomorrow"): (None, 7)}
    assert "no driver is known that has these 1 names" in unknown.notes[0]


def test_counters_of_a_port_are_in_bytes_and_hosts_are_no_switches() -> None:
    told = changes(sample("hw_counters.txt"))
    assert named(told)["mlx5_1/1", "port_xmit_data"] == ("roce_tx_bytes", 4000)
    assert (told.kind, told.forms) == ("host", ["hw_counters"])
    assert changes(sample("queues.txt")).kind == "switch"


@pytest.mark.parametrize(
    "text",
    [
        "out_of_sequence: 7\nnp_cnp_sent: 9\n",
        "out_of_sequence 7\nnp_cnp_sent 9\n",
        "==> out_of_sequence <==\n7\n\n==> np_cnp_sent <==\n9\n",
        "hw_counters/out_of_sequence:7\nhw_counters/np_cnp_sent:9\n",
        "\x1b[32mout_of_sequence\x1b[0m: 7\r\nnp_cnp_sent: 9\r\n",
    ],
)
def test_names_and_values_without_a_device_are_of_an_adapter(text: str) -> None:
    assert values(text) == {("adapter", "out_of_sequence"): 7, ("adapter", "np_cnp_sent"): 9}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("$ ethtool -S eth3\nNIC statistics:\n     rx_discards_phy: 5\n", "eth3"),
        ("=== eth3 ===\nNIC statistics:\n     rx_discards_phy: 5\n", "eth3"),
        ("Interface: eth3\nNIC statistics:\n     rx_discards_phy: 5\n", "eth3"),
        ("Standard stats for eth3:\nrx_discards_phy: 5\n", "eth3"),
        ("NIC statistics:\r\n     rx_discards_phy: 5\r\n", "adapter"),
    ],
)
def test_an_interface_has_the_name_that_stands_above_it(text: str, place: str) -> None:
    assert values(text) == {(place, "rx_discards_phy"): 5}


def test_ports_and_bound_counters_are_told_apart() -> None:
    line = "link mlx5_0/1 cntn 4 type QP out_of_sequence 7"
    assert values(f"{line}\n{line.replace('4', '5').replace('7', '8')}\n") == {
        ("mlx5_0/1 cntn 4", "out_of_sequence"): 7,
        ("mlx5_0/1 cntn 5", "out_of_sequence"): 8,
    }
    assert values("1/1: link mlx5_0/1 state ACTIVE\nlink mlx5_0/1 out_of_sequence 7 np_cnp_sent 1\n") == {
        ("mlx5_0/1", "out_of_sequence"): 7,
        ("mlx5_0/1", "np_cnp_sent"): 1,
    }


TWO_VALUES = "NIC statistics:\n     rx_discards_phy: {}\n"
REFUSED = [
    (TWO_VALUES.format(1) + TWO_VALUES.format(2), "several NIC statistics"),
    (TWO_VALUES.format(1) + "     rx_prio3_pause:\n", "without a value"),
    ("link mlx5_0/1 out_of_sequence 7 np_cnp_sent", "without a value"),
    ("link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n", "no counters"),
    ("$ ethtool -S e\n" + TWO_VALUES.format(1) + "$ ethtool -S e\n" + TWO_VALUES.format(2), "which is 1"),
    ("root@a:~# ethtool -S e\n" + TWO_VALUES.format(1) + "root@b:~# ls\n", '"b" after "a"'),
    ('{"COUNTERS:oid:0x1": {"A": "1"}}\n{"COUNTERS:oid:0x1": {"A": "2"}}', "a second time"),
    (
        "Port             InOctets         InUcastPkts    InMcastPkts    InBcastPkts\nEt1  1  2  3  4\n",
        "Arista EOS",
    ),
    (
        "Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
        "------  -----  --------------  ---------------  -----------  ------------\n"
        "Et1/1   UC3               100            40000            5          2000\n",
        "Arista EOS",
    ),
    ("Port   RxPfc   TxPfc\nEt1/1  12      0\n", "Arista EOS"),
    ('{"interfaces": {"Ethernet1": {"inOctets": 5, "outOctets": 7}}}', "Arista EOS"),
    ("Egress Queuing for Ethernet1/1 [System]\n------\n|  QOS GROUP 3  |\n", "NX-OS"),
    ("Port               Mode Oper(VL bmap)  RxPPP      TxPPP\nEthernet1/1 Auto On (8) 12 5\n", "NX-OS"),
    ('{"TABLE_interface": {"ROW_interface": [{"interface": "Ethernet1/1", "eth_inpkts": 4}]}}', "NX-OS"),
    ("cumulus@leaf1:~$ nv show interface swp1 counters\n", "NVUE"),
    ("Interface  Rx-Pkts  Tx-Pkts\n---------  -------  -------\nswp1       12       13\n", "NVUE"),
    ('{"egress-queue-stats": {"0": {"tx-frames": 4}}, "pfc-stats": {"3": {"rx-pause-frames": 1}}}', "NVUE"),
    ('{"swp1": {"counters": {"in-octets": 5}}}', "NVUE"),
    (
        "Physical interface: et-0/0/1, Enabled\n  Queue counters:  Queued packets  Transmitted packets\n",
        "Junos",
    ),
]


@pytest.mark.parametrize(("text", "found"), REFUSED)
def test_what_is_not_read_is_refused_by_its_name(text: str, found: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        read("f", text.encode())
    assert found in str(raised.value)
    assert raised.value.hint


def test_a_cell_that_is_a_dash_is_not_counted_and_a_name_twice_is_refused() -> None:
    assert (
        values(queues(5).replace("  2000", "     -"))["Ethernet0:3", "SAI_QUEUE_STAT_DROPPED_BYTES"] is None
    )
    twice = '{"Ethernet0": {"RX_OK": "1"}, "Ethernet0": {"RX_OK": "2"}}'
    with pytest.raises(MeasuredError, match="twice in one object"):
        values(twice)
    assert values(twice.replace("2", "1")) == {("Ethernet0", "RX_OK"): 1}


def test_tables_below_the_line_of_a_namespace_have_its_name() -> None:
    text = (
        f"For namespace asic0:\n{queues(5)}\nFor namespace asic1:\n{queues(6)}\nFor namespace :\n{queues(7)}"
    )
    drops = {place: value for (place, name), value in values(text).items() if "DROPPED_PACKETS" in name}
    assert drops == {"asic0:Ethernet0:3": 5, "asic1:Ethernet0:3": 6, "Ethernet0:3": 7}


def test_queues_of_a_dump_have_their_kind() -> None:
    dump = {
        "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": "oid:0x1", "Ethernet0:13": "oid:0x2"},
        "COUNTERS_QUEUE_TYPE_MAP": {
            "oid:0x1": "SAI_QUEUE_TYPE_UNICAST",
            "oid:0x2": "SAI_QUEUE_TYPE_MULTICAST",
        },
        "COUNTERS:oid:0x1": {"SAI_QUEUE_STAT_PACKETS": "5"},
        "COUNTERS:oid:0x2": {"SAI_QUEUE_STAT_PACKETS": "6"},
    }
    assert values(json.dumps(dump)) == {
        ("Ethernet0:3", "SAI_QUEUE_STAT_PACKETS"): 5,
        ("Ethernet0:MC13", "SAI_QUEUE_STAT_PACKETS"): 6,
    }


def explained(*files: tuple[str, str | None]) -> list[Suspect]:
    found = read_facts(Source.of(NCCL), user_facts=UserFacts())
    switches = [changes(after, before) for after, before in files]
    return suspects(found.rule_input(Hardware(2, 800.0, "test"), {}, switches))


def causes(*files: tuple[str, str | None]) -> dict[str, int]:
    return {each.cause: each.confidence for each in explained(*files)}


PFC = """  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,210       0       0       0       0
"""


def queues(drops: int, queue: str = "UC3") -> str:
    return (
        "     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
        "---------  -----  --------------  ---------------  -----------  ------------\n"
        f"Ethernet0    {queue}  {100:14}  {40_000:15}  {drops:11}  {2000:12}\n"
    )


def test_a_lossless_queue_that_drops_is_before_all_that_is_not_certain() -> None:
    first = explained((queues(5) + PFC, queues(0) + PFC))[0]
    assert (first.cause, first.confidence) == ("lossless-drops", 2)
    assert "grew by 5 packets at Ethernet0:3" in first.evidence[0]
    assert explained((queues(5) + PFC, None))[0].cause == "lossless-drops"


def test_drops_elsewhere_are_no_drops_of_a_lossless_queue() -> None:
    for text in (queues(5, "UC0"), queues(5, "MC3"), queues(0)):
        assert "lossless-drops" not in causes((text + PFC, None))
    # Without counters of PFC it is possible of those that are lossless by default.
    assert causes((queues(5), None))["lossless-drops"] == 1
    assert "lossless-drops" not in causes((queues(5, "UC1"), None))


def test_counters_of_hosts_are_evidence_by_their_definitions() -> None:
    mlx5 = sample("ethtool_mlx5.txt")
    found = explained((mlx5, None))
    (slow,) = [each for each in found if each.cause == "slow-receiver"]
    assert slow.confidence == 1
    assert "rx_discards_phy stands at 1,520 packets" in slow.evidence[0]
    assert "tx_prio3_pause stands at 91,234 frames" in slow.evidence[1]
    # What a host sends of pauses does not speak for the network.
    assert "congestion" not in {each.cause for each in found if "prio3" in str(each.evidence)}
    grown = mlx5.replace("1520", "9520")
    assert causes((grown, mlx5))["slow-receiver"] == 2
    assert "slow-receiver" not in causes((mlx5, mlx5))
    paused = mlx5.replace("rx_prio3_pause: 0", "rx_prio3_pause: 77")
    assert "rx_prio3_pause" in str([e.evidence for e in explained((paused, None)) if e.cause == "congestion"])
    lost = causes((sample("rdma_statistic.txt"), None))
    assert lost["packet-loss"] == 1
    assert "receiver-not-ready" not in lost
    late = sample("rdma_statistic.txt").replace("rnr_nak_retry_err 0", "rnr_nak_retry_err 6")
    assert causes((late, None))["receiver-not-ready"] == 1
    assert causes((sample("ethtool_two.txt"), None)).keys() >= {"slow-receiver", "link-errors"}


def test_what_no_vendor_defines_is_no_evidence() -> None:
    unknown = "NIC statistics:\n     rx_discards: 999999\n     tx_pause: 999999\n"
    assert causes((unknown, None)) == causes()
