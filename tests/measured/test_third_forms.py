"""Counters and reports of `forms/third`, and other inputs of the kinds that are read there."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.measured.forms_read import counters_in, values

from fabricbench.importing import MeasuredError, switch_counters
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.nccl_logs import ras_report
from fabricbench.measured.reading import read

THIRD = Path(__file__).parent / "forms" / "third"


counters = partial(counters_in, THIRD)


def report(text: str) -> ras_report.RasReport:
    found = ras_report.read(Document("f", text))
    assert found is not None
    return found


def test_counters_of_switches() -> None:
    pfc = counters("49-sonic-pfc.txt")
    assert values(pfc, "PFC_3_RX") == {"Ethernet16": 1_204_417, "Ethernet0": 1048}
    assert values(pfc, "PFC_0_RX") == {"Ethernet16": 3}
    assert values(pfc, "PFC_3_TX") == {"Ethernet8": 8_345_113, "Ethernet0": 77}
    assert values(pfc, "PFC_4_TX") == {"Ethernet8": 9}
    ports = counters("50-sonic-ifcounters.txt", "50-sonic-ifcounters-before.txt")
    assert values(ports, "RX_OK") == {"Ethernet0": 10_000_000, "Ethernet8": 1_000_000}
    assert values(ports, "IF_OUT_DISCARDS") == {"Ethernet8": 20_000}
    assert values(ports, "IF_IN_DISCARDS") == {"Ethernet0": 1000}
    dump = counters("51-counters-db.json")
    assert values(dump, "IF_IN_OCTETS")["Ethernet0"] == 9_007_199_254_740_993
    assert values(dump, "IF_OUT_DISCARDS") == {"Ethernet0": 7}
    assert values(dump, "QUEUE_STAT_DROPPED_PACKETS") == {"Ethernet0:3": 19}
    assert values(dump, "PFC_3_TX") == {"Ethernet8": 443_210}
    events = counters("52-gnmic-event.json")
    assert values(events, "out-discards") == {"Ethernet0": 7}
    assert values(events, "in-octets") == {"Ethernet0": 50_000_000_001}


def test_counters_of_hosts() -> None:
    grown = counters("53-ethtool-after.txt", "53-ethtool-before.txt")
    assert values(grown, "tx_prio3_pause_duration") == {"adapter": 2_500_000}
    assert values(grown, "rx_discards_phy") == {}
    assert any("1 of 17 counters fell" in each for each in grown.notes)
    for name in ("54-rdma-statistic.txt", "54-hw-counters-grep.txt"):
        found = counters(name)
        assert values(found, "out_of_sequence") == {"mlx5_0/1": 412, "mlx5_1/1": 1}
        assert values(found, "rp_cnp_handled") == {"mlx5_0/1": 61, "mlx5_1/1": 990_017}


def test_the_lifespan_of_values_is_no_counter(tmp_path: Path) -> None:
    paths = (THIRD / "54-hw-counters-grep.txt").read_text()
    heads = "".join(f"==> {name} <==\n{value}\n\n" for name, value in (("lifespan", 10), ("np_cnp_sent", 7)))
    pairs = "lifespan: 12\nnp_cnp_sent: 7\nout_of_sequence: 4\n"
    for text in (paths, heads, pairs):
        path = tmp_path / "f.txt"
        path.write_text(text)
        (found,) = switch_counters([path], [])
        assert not any(each.vendor_name == "lifespan" for each in found.changes)
        assert any("lifespan" in each for each in found.notes)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ((THIRD / "58-nxos-pfc.txt").read_text(), "Cisco NX-OS"),
        ("RxPause: No. of pause frames received\nEthernet1/1  On  (8)  3  12  0\n", "Cisco NX-OS"),
        ("Interface  Admin Oper (VL bmap) VL RxPause TxPause\nEthernet1/1 On On (8) 3 12 0\n", "Cisco NX-OS"),
        ("Cisco Nexus Operating System (NX-OS) Software\nEthernet1/1  7  9\n", "Cisco NX-OS"),
        (
            "Port       Send FlowControl  Receive FlowControl  RxPause TxPause\n"
            "           admin    oper     admin    oper\nEthernet1/1  on on  on on  12  0\n",
            "show flowcontrol",
        ),
    ],
)
def test_pauses_of_others_are_refused_by_name(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text(text)
    with pytest.raises(MeasuredError, match=name):
        switch_counters([path], [])


def test_a_report_of_ras_says_the_job_and_whose_ranks_are_missing() -> None:
    text = (THIRD / "47-ras-incomplete.txt").read_text()
    found = report(text)
    assert found.summary == ["4 nodes, 32 processes, 32 GPUs", "9 communicators (2 INCOMPLETE, 7 OK)"]
    assert found.timeouts.startswith("Encountered 2 communication timeouts")
    missing = [each.text for each in found.lost if "missing rank" in each.text]
    assert missing == [
        "The missing rank: 21 (communicator cf264af53edbe986)",
        "The missing rank: 2 (communicator 1b77e0a4c3d29f05)",
    ]
    # One of each, and processes that differ from node to node.
    single = text.replace("      4          8            1         32       32", "1  7-8  1  1  1")
    assert report(single).summary[0] == "1 node, 1 process, 1 GPU"
    # What is cut out of a report says nothing of the job.
    assert report(text[text.index("DEAD") :]).summary == []
    whole = report((THIRD / "48-ras-json.json").read_text())
    assert whole.summary == ["2 communicators"]
    assert [(each.is_dead, each.text[:6]) for each in whole.lost] == [(False, "rank 6")]


def test_rates_over_times_of_the_processor_are_said() -> None:
    said = "its rates are size over the times of the processor"

    def warns(name: str, old: str = "", new: str = "") -> list[str]:
        text = (THIRD / name).read_text()
        return [each for each in read("f", text.replace(old, new).encode()).warnings if said in each]

    assert len(warns("14-cputime.txt")) == len(warns("18-json-cputime-reduce.json")) == 1
    assert warns("17-json-one-process.json") == []
    assert len(warns("17-json-one-process.json", '"time"', '"cpu_time"')) == 1
    assert len(warns("15-v218-per-iteration.txt", "    time ", " cputime ")) == 1
    # Rates of the operation, as nccl-tests prints them.
    more = THIRD.parent / "11-nccl-cputime.txt"
    assert not any(said in each for each in read("f", more.read_bytes()).warnings)
