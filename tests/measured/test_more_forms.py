"""Counters and reports of `forms/more`, and other inputs of the kinds that are read there."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from tests.measured.forms_read import counters_in, of, values

from fabricbench.importing import MeasuredError, switch_counters
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.model import UserFacts
from fabricbench.measured.nccl_logs import ras_report

MORE = Path(__file__).parent / "forms" / "more"


def form(name: str) -> str:
    return next(MORE.glob(f"{name}-*")).read_text()


counters = partial(counters_in, MORE)


def test_interfaces_whose_cache_was_cleared_between_have_no_growth() -> None:
    after = counters("46-portstat-after.txt")
    assert values(after, "IF_OUT_DISCARDS") == {"Ethernet0": 100_003, "Ethernet8": 41_990}
    assert values(counters("46-portstat-after.txt", "46-portstat-before.txt"), "IF_OUT_DISCARDS") == {}


def test_pauses() -> None:
    found = counters("47-pfc-after.txt", "47-pfc-before.txt")
    assert values(found, "PFC_3_RX") == {"Ethernet256": 2_010_000}
    assert values(found, "PFC_3_TX") == {"Ethernet0": 1_900_000}
    assert values(found, "PFC_0_TX") == {"Ethernet256": 9}
    assert values(found, "PFC_4") == {}


def test_queues_of_two_chips() -> None:
    found = counters("48-queue-counters-multi-asic.txt")
    assert values(found, "DROPPED_PACKETS") == {"asic0:Ethernet-BP0:3": 512, "asic1:Ethernet144:7": 1250}
    assert values(found, "ECN_MARKED_PACKETS") == {"asic0:Ethernet0:3": 4_400_000}
    assert values(found, "STAT_PACKETS")["asic1:Ethernet-BP0:3"] == 66_000_000


def test_other_tables_of_chips(tmp_path: Path) -> None:
    text = form("48")
    # The same port twice at one chip is a contradiction still.
    once_more = tmp_path / "f.txt"
    once_more.write_text(text.replace("Ethernet144    UC3", "Ethernet144    UC0"))
    with pytest.raises(MeasuredError, match="expected each counter once"):
        switch_counters([once_more], [])
    # A table by another command is of no chip that is named above the one before.
    more = tmp_path / "more.txt"
    port = "admin@chassis-1:~$ show pfc counters\n  Port Rx    PFC0\n---------  ------\nEthernet0       7\n"
    more.write_text(text + port)
    (found,) = switch_counters([more], [])
    assert values(found, "PFC_0_RX") == {"Ethernet0": 7}
    three = tmp_path / "three.txt"
    third = text[text.index("For namespace asic1") :].replace("asic1", "asic2").replace("1,250", "9")
    three.write_text(text + "\n" + third)
    (found,) = switch_counters([three], [])
    assert values(found, "DROPPED_PACKETS")["asic2:Ethernet144:7"] == 9
    assert values(found, "DROPPED_PACKETS")["asic0:Ethernet-BP0:3"] == 512


def test_watermarks_and_a_dump() -> None:
    found = counters("49-watermarks-one-session.txt")
    pools = values(found, "POOL_STAT_XOFF_ROOM_WATERMARK")
    assert pools == {"ingress_lossless_pool": 432_640, "persistent:ingress_lossless_pool": 8_863_616}
    assert values(found, "PRIORITY_GROUP_STAT_XOFF_ROOM") == {"Ethernet0:PG3": 96_256}
    assert values(found, "QUEUE_STAT_SHARED")["Ethernet8:3"] == 2_097_408
    dump = counters("50-counters-db-dump.json")
    assert values(dump, "PFC_3_TX_PKTS") == {"Ethernet0": 51_234}
    assert values(dump, "PFC_3_RX_PKTS") == {"Ethernet8": 98_765}
    assert values(dump, "QUEUE_STAT_DROPPED_PACKETS") == {"Ethernet8:3": 321}
    assert values(dump, "GROUP_STAT_XOFF_ROOM") == {"Ethernet0:PG3": 131_072}


def test_streams_and_hosts() -> None:
    grown = counters("51-gnmic-event-stream.json", "51-gnmic-event-before.json")
    for found in (grown, counters("51-gnmic-event-stream.json")):
        assert values(found, "dropped-pkts") == {"Ethernet1/1:UC3": 900}
        assert values(found, "in-discards") == {"Ethernet1/1": 3}
    reset = counters("52-ethtool-after.txt", "52-ethtool-before.txt")
    assert values(reset, "rx_discards_phy") == {}
    assert any("12 of 14 counters fell" in each for each in reset.notes)
    adapters = counters("53-hw_counters-after.txt", "53-hw_counters-before.txt")
    assert values(adapters, "out_of_sequence") == {"mlx5_0/1": 5000}
    assert values(adapters, "local_ack_timeout_err") == {"mlx5_0/1": 61}
    assert values(adapters, "rp_cnp_handled") == {"mlx5_1/1": 70_000}
    assert values(counters("53-rdma-statistic-after.txt"), "out_of_buffer") == {"mlx5_1/1": 18}


@pytest.mark.parametrize(("name", "tool"), [("57", "Arista EOS"), ("58", "NVUE")])
def test_counters_of_others_are_refused_by_name(name: str, tool: str) -> None:
    with pytest.raises(MeasuredError, match=tool):
        switch_counters([next(MORE.glob(f"{name}-*"))], [])


# RAS: the GPU of a rank


def lost(text: str) -> str:
    found = ras_report.read(Document("f", text))
    assert found is not None
    return "\n".join(each.text for each in found.lost)


def test_the_gpu_of_a_rank_is_the_one_of_the_host() -> None:
    text = form("45")
    assert "rank 3 (GPU 3, process 9003 on 198.18.3.1)" in lost(text)
    content = json.loads(text)
    missing = content["communicators"][0]["missing_ranks"][0]
    missing["nvml_dev"] = -1
    missing["cuda_dev"] = 5
    assert "rank 3 (GPU 5" in lost(json.dumps(content))
    del missing["nvml_dev"]
    assert "rank 3 (GPU 5" in lost(json.dumps(content))


# Other inputs of the kinds that were refused


def test_other_failures_of_nccom() -> None:
    text = form("20")
    for failed in ("1073741824    262144  Failed with status 1", "1073741824    Timeout after 300 s"):
        line = next(each for each in text.split("\n") if "Failure" in each)
        reading = of(text.replace(line, failed))
        assert len(reading.tables[0].rows) == 3
        assert any("1073741824 bytes failed" in each for each in reading.warnings)
    assert len(of(text.replace("1 errors found - test failed", "2 failures in 4 sizes")).tables[0].rows) == 3
    with pytest.raises(MeasuredError, match="expected a number of 0 or more"):
        of(text.replace("41.40", "x41"))


def test_other_columns_of_nccom() -> None:
    given = UserFacts(32, "all_gather")
    text = form("21")
    sizes = text.replace("total_input_size(B)    total_output_size(B)", "input_size(B)    output_size(B)")
    assert [row.time_us for row in of(sizes, given).tables[0].rows] == [9.42, 36.55, 402.8]
    least = text.replace("time:p50(us)", "time:min(us)")
    assert [row.time_us for row in of(least, given).tables[0].rows][-1] == 402.8
    with pytest.raises(MeasuredError, match="16 ranks"):
        of(text, UserFacts(16, "all_gather"))


def test_other_ends_of_osu() -> None:
    text = form("34")
    given = UserFacts(ranks=8)
    rest = text.rstrip() + "\n\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n"
    assert [row.wrong for row in of(rest, given).tables[0].rows] == [0, 0, 1]
    other = text.replace("All-to-All Personalized Exchange", "Allreduce").replace(
        "osu_alltoall", "osu_allreduce"
    )
    reading = of(other, given)
    assert any("osu_allreduce exited with status 1" in each for each in reading.warnings)
    with pytest.raises(MeasuredError, match="expected a row"):
        of(text.replace("DATA VALIDATION ERROR", "SOMETHING ELSE"), given)


def test_other_times_of_few_digits() -> None:
    text = form("10")
    (table,) = of(text).tables
    assert [round(row.size_bytes / (row.time_us or 1) / 1e3, 2) for row in table.rows] == [
        5.12,
        5.11,
        5.12,
        5.09,
    ]
    with pytest.raises(MeasuredError, match="expected"):  # 2e+07 us never make 5.12 GB/s
        of(text.replace("1.3e+07", "2.0e+07"))
    exact = of(text.replace("1.3e+07", "13421773"))
    assert not any("1.34218e+07 us has few" in each for each in exact.warnings)
    assert sum("has few digits" in each for each in exact.warnings) == 1


def test_imb_says_which_time_its_rates_are_by() -> None:
    text = (
        "# Benchmarking Sendrecv \n# #processes = 2 \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
        "      1048576           40        95.00       100.00        97.50     20971.52\n"
    )
    reading = of(text)
    (table,) = reading.tables
    assert table.rows[0].time_us == 97.5
    assert [each for each in reading.warnings if "t_avg" in each and "t_max" in each]
