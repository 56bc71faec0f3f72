"""Counters and reports in many forms, by the files of `forms`: growth, places, refusals by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricbench.importing import (
    Change,
    Hardware,
    MeasuredError,
    Source,
    SwitchCounters,
    read_facts,
    suspects,
    switch_counters,
)

FORMS = Path(__file__).parent / "forms"


def read(name: str, before: str = "") -> SwitchCounters:
    (found,) = switch_counters([FORMS / name], [FORMS / before] if before else [])
    return found


def values(found: SwitchCounters) -> dict[tuple[str, str], Any]:
    """Return every value that is known and not 0."""
    return {(each.place, each.vendor_name): each.value for each in found.changes if each.value}


def change(found: SwitchCounters, place: str, name: str) -> Change:
    return next(each for each in found.changes if (each.place, each.vendor_name) == (place, name))


DROPS = "SAI_PORT_STAT_IF_OUT_DISCARDS"


def test_counters_that_were_cleared_in_between_have_no_growth_but_a_least() -> None:
    found = read("47-sonic-ifcounters-after.txt", "47-sonic-ifcounters-before.txt")
    drops = change(found, "Ethernet8", DROPS)
    assert (drops.value, drops.least) == (None, 88_120)
    assert drops.note.startswith("cleared in between")
    assert change(found, "Ethernet8", "SAI_PORT_STAT_IF_IN_DISCARDS").least == 310
    alone = read("47-sonic-ifcounters-after.txt")
    assert values(alone)["Ethernet8", DROPS] == 88_120
    assert ("Ethernet0", DROPS) not in values(alone)


def test_pauses_received_and_sent_are_kept_apart() -> None:
    found = read("48-sonic-pfc-after.txt", "48-sonic-pfc-before.txt")
    assert values(found) == {
        ("Ethernet0", "SAI_PORT_STAT_PFC_3_RX_PKTS"): 450_000,
        ("Ethernet8", "SAI_PORT_STAT_PFC_3_TX_PKTS"): 98_400,
    }
    assert change(found, "Ethernet-BP0", "SAI_PORT_STAT_PFC_3_RX_PKTS").value is None


def test_queues_of_two_chips_are_kept_apart() -> None:
    found = values(read("49-sonic-voq-2asic-after.txt", "49-sonic-voq-2asic-before.txt"))
    drops = {place: value for (place, name), value in found.items() if name.endswith("DROPPED_PACKETS")}
    assert drops == {"asic1:lc-2|asic1|Ethernet256:VOQ3": 70_000}
    assert found["asic1:lc-2|asic1|Ethernet256:VOQ3", "SAI_QUEUE_STAT_DROPPED_BYTES"] == 286_720_000
    packets = {place: value for (place, name), value in found.items() if name == "SAI_QUEUE_STAT_PACKETS"}
    assert packets["asic0:lc-2|asic1|Ethernet256:VOQ3"] == 8_000_000
    assert packets["asic1:lc-2|asic1|Ethernet256:VOQ3"] == 8_000_000


HEADROOM = "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"


def test_persistent_watermarks_and_those_of_a_user_are_kept_apart() -> None:
    found = read("50-sonic-watermarks-2asic.txt")
    pools = {each.place: each.value for each in found.changes if each.vendor_name == HEADROOM}
    assert pools == {
        "asic0:ingress_lossless_pool": 432_640,
        "asic1:ingress_lossless_pool": 0,
        "persistent:asic0:ingress_lossless_pool": 863_616,
        "persistent:asic1:ingress_lossless_pool": 1_730_816,
    }
    shared = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"
    assert change(found, "asic1:ingress_lossless_pool", shared).value is None
    assert change(found, "asic0:egress_lossless_pool", shared).value == 29_109_248
    group = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"
    assert {key: value for key, value in values(found).items() if key[1] == group} == {
        ("asic0:Ethernet0:PG3", group): 65_536
    }


def test_a_dump_of_counters_db_has_names_and_no_negative_growth() -> None:
    found = read("51-countersdb-after.json", "51-countersdb-before.json")
    assert values(found) == {
        ("Ethernet4", "SAI_PORT_STAT_IF_IN_DISCARDS"): 19,
        ("Ethernet0", "SAI_PORT_STAT_PFC_3_TX_PKTS"): 4_200,
        ("Ethernet0:3", "SAI_QUEUE_STAT_PACKETS"): 4_000_000,
        ("Ethernet0:3", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"): 40_000,
        ("Ethernet0:3", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"): 2_500_000,
    }
    assert "wrapped" in change(found, "Ethernet0", "SAI_PORT_STAT_IF_IN_OCTETS").note


COUNTER = "/interfaces/interface/state/counters/"


def test_events_of_two_switches_at_two_moments_grow_each_by_itself() -> None:
    found = read("52-gnmic-event-two-targets.json")
    assert values(found) == {
        ("198.18.9.11:Ethernet0", f"{COUNTER}in-octets"): 480_000_000_000,
        ("198.18.9.12:Ethernet0", f"{COUNTER}in-octets"): 120_000_000_000,
        ("198.18.9.11:Ethernet0", f"{COUNTER}in-discards"): 900_000,
    }
    assert found.notes == [
        "the file has several moments: growth from the first to the last of each counter, 10 s"
    ]
    assert change(found, "198.18.9.12:Ethernet0", f"{COUNTER}out-discards").value == 0


def test_an_adapter_that_sends_pauses_is_told_from_one_that_receives_them() -> None:
    found = read("53-ethtool-after.txt", "53-ethtool-before.txt")
    grown = {name: value for (_, name), value in values(found).items()}
    assert (grown["tx_prio3_pause"], grown["tx_prio3_pause_duration"]) == (990_000, 7_400_000)
    assert grown["rx_bytes_phy"] == 819_200_000_000
    assert not {"rx_discards_phy", "rx_prio3_pause"} & grown.keys()
    alone = {name: value for (_, name), value in values(read("53-ethtool-after.txt")).items()}
    assert alone["rx_discards_phy"] == 1_502


def test_words_of_four_bytes_are_bytes_and_devices_are_kept_apart() -> None:
    found = values(read("54-hwcounters-after.txt", "54-hwcounters-before.txt"))
    assert found == {
        ("mlx5_0/1", "np_ecn_marked_roce_packets"): 480_000,
        ("mlx5_0/1", "np_cnp_sent"): 120_000,
        ("mlx5_0/1", "port_rcv_data"): 500_000_000_000,
        ("mlx5_0/1", "port_xmit_data"): 2_000,
        ("mlx5_1/1", "rp_cnp_handled"): 120_000,
        ("mlx5_1/1", "packet_seq_err"): 9_300,
        ("mlx5_1/1", "local_ack_timeout_err"): 31,
        ("mlx5_1/1", "port_rcv_data"): 2_000,
        ("mlx5_1/1", "port_xmit_data"): 500_000_000_000,
    }


def test_ports_of_a_device_are_kept_apart_and_a_counter_that_wrapped_has_no_growth() -> None:
    found = read("55-rdma-statistic-after.txt", "55-rdma-statistic-before.txt")
    assert values(found) == {
        ("mlx5_0/2", "rx_write_requests"): 5_000,
        ("mlx5_10/1", "out_of_buffer"): 44,
        ("mlx5_0/2", "out_of_sequence"): 8_800,
        ("mlx5_0/2", "req_transport_retries_exceeded"): 1,
        ("mlx5_0/1", "roce_adp_retrans"): 6,
    }
    wrapped = change(found, "mlx5_0/1", "rx_write_requests")
    assert (wrapped.value, "wrapped" in wrapped.note) == (None, True)


@pytest.mark.parametrize(
    ("name", "tool"), [("62-nxos-pfc-queuing.txt", "Cisco NX-OS"), ("62-eos-pfc.txt", "Arista EOS")]
)
def test_counters_of_other_switches_are_refused_by_name(name: str, tool: str) -> None:
    with pytest.raises(MeasuredError, match=f"found counters of {tool}") as raised:
        read(name)
    assert "gnmic get" in raised.value.hint


def causes(name: str) -> list[tuple[str, int, str]]:
    found = read_facts(Source(name, (FORMS / name).read_bytes()))
    return [
        (each.cause, each.confidence, " ".join(each.evidence))
        for each in suspects(found.rule_input(Hardware(), {}))
    ]


def test_a_process_that_does_not_answer_comes_before_ranks_that_are_behind() -> None:
    (lost, confidence, evidence), (behind, _, other) = causes("45-ras-text-incomplete-mismatch.txt")
    assert (lost, behind) == ("process-lost", "ranks-behind")
    assert confidence < 3  # it is missing, not yet dead
    assert "Process 88121 on node 198.18.7.3 managing GPU 6" in evidence
    assert "rank 9 (GPU 1, process 90455 on 198.18.7.2)" in other


def test_a_dead_rank_is_the_first_cause_and_a_communicator_that_is_set_up_is_no_error() -> None:
    (cause, _, evidence), (differ, confidence, states) = causes("46-ras-json-dead-rank.json")
    assert cause == "process-lost"
    assert "rank 3 (GPU 1, process 70003 on 198.18.8.2)" in evidence
    assert (differ, confidence) == ("ranks-differ", 1)
    assert "communicator 90aa11c2de00b5f4: " in states
    assert "1 RUNNING" in states
    assert "1 INIT: rank 0 (GPU " in states


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ('"init_state": 7', '"init_state": 0', ""),
        ('"finalize_called": false', '"finalize_called": true', "FINALIZE"),
        ('"abort_flag": false', '"abort_flag": true', "ABORT"),
    ],
)
def test_other_states_of_ranks(old: str, new: str, state: str) -> None:
    text = (FORMS / "46-ras-json-dead-rank.json").read_text()
    found = read_facts(
        Source("f", text.replace('"init_state": 7', '"init_state": 0').replace(old, new, 1).encode())
    )
    told = [each for each in suspects(found.rule_input(Hardware(), {})) if each.cause == "ranks-differ"]
    assert bool(told) == bool(state)
    assert all(f"1 {state}: rank" in each.evidence[0] for each in told)
