"""Forms of other libraries: rccl-tests' records, Inspector 4.3, nccom-test, RAS, refusals by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.measured.forms_read import of

from fabricbench.importing import Hardware, MeasuredError, Source, Suspect, read_facts, suspects
from fabricbench.measured.model import Reading, Row, UserFacts

SAMPLES = Path(__file__).parent / "samples"
RAS = Path(__file__).parent / "ras"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def row(reading: Reading, index: int = 0) -> Row:
    return [each for table in reading.tables for each in table.rows][index]


def refusal(text: str, given: UserFacts | None = None) -> str:
    with pytest.raises(MeasuredError) as raised:
        of(text, given)
    assert raised.value.hint
    return str(raised.value)


# rccl-tests


def test_lines_of_rccl_tests_are_results_with_their_placement() -> None:
    reading = of(sample("rccl_lines.jsonl"))
    (table,) = reading.tables
    assert (reading.format, table.benchmark, table.ranks) == ("nccl-tests", "all_reduce_perf", 4)
    assert [(each.placement, each.time_us, each.wrong) for each in table.rows] == [
        ("out-of-place", 22_000.0, 0),
        ("in-place", 22_000.0, 0),
    ]
    assert table.rows[0].values["busbw"] == 73.20966
    as_list = "[" + ",\n".join(sample("rccl_lines.jsonl").splitlines()) + "]"
    assert [each.values for each in of(as_list).tables[0].rows] == [each.values for each in table.rows]


def test_records_of_rccl_tests_as_csv() -> None:
    (table,) = of(sample("rccl_records.csv")).tables
    assert (table.benchmark, table.collective, table.ranks) == ("all_gather_perf", "all-gather", 16)
    assert [(each.size_bytes, each.placement, each.time_us, each.wrong) for each in table.rows] == [
        (134_217_728, "out-of-place", 1500.0, 0),
        (134_217_728, "in-place", 1600.0, 0),
        (268_435_456, "out-of-place", 2900.0, 2),
    ]
    crlf = sample("rccl_records.csv").replace("\n", "\r\n")
    assert [each.values for each in of(crlf).tables[0].rows] == [each.values for each in table.rows]
    twice = sample("rccl_records.csv") * 2
    assert len(of(twice).tables[0].rows) == 6
    each_has_four = sample("rccl_records.csv").replace(", 16, 8, 1,", ", 4, 2, 4,")
    assert of(each_has_four).tables[0].ranks == 16


LINE = sample("rccl_lines.jsonl").splitlines()[0]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"busBw":73.20966', '"busBw":48.80644', "48.80644 at busBw"),
        ('"gpus":4', '"gpus":8', "73.20966 at busBw"),
        ('"algBw":48.80644', '"algBw":24.4', "24.4 at algBw"),
        ('"size":1073741824', '"size":"big"', '"big" in column size'),
        ('"inPlace":0', '"inPlace":2', '"2" at inPlace'),
        ('"gpus":4,', "", "no number of GPUs"),
        ('"time":22000.0', '"time":"22,000"', '"22,000" in column time'),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(old: str, new: str, found: str) -> None:
    assert found in refusal(LINE.replace(old, new))


def test_ranks_that_a_record_does_not_say_are_given() -> None:
    assert of(LINE.replace('"gpus":4,', ""), UserFacts(4)).tables[0].ranks == 4


def test_csv_that_is_cut_off_is_refused_and_never_wrong() -> None:
    text = sample("rccl_records.csv")
    whole = [each.values for each in of(text).tables[0].rows]
    for end in range(len(text)):
        try:
            rows = [each for table in of(text[:end]).tables for each in table.rows]
        except MeasuredError:
            continue
        assert [each.values for each in rows] == whole[: len(rows)], end


def test_a_table_of_one_placement_has_the_one_that_is_named() -> None:
    text = sample("rccl_in_place.txt")
    (table,) = of(text).tables
    assert [(each.placement, each.time_us, each.values["busbw"]) for each in table.rows] == [
        ("in-place", 22_000.0, 85.41)
    ]
    out_of = text.replace("              in-place          ", "          out-of-place          ")
    assert row(of(out_of)).placement == "out-of-place"
    unnamed = text.replace("in-place", "        ")
    assert "columns of one placement" in refusal(unnamed)


# NCCL Inspector


def test_inspector_4_3_has_its_header_before_the_records() -> None:
    reading = of(sample("nccl_inspector_v4_3.jsonl"))
    (table,) = reading.tables
    assert (table.ranks, table.facts["host"], reading.warnings) == (3, "w-0", [])
    assert (table.rows[0].size_bytes, table.rows[0].time_us) == (2_360_832, 5663.0)
    head, body = sample("nccl_inspector_v4_3.jsonl").splitlines()
    other = head.replace('"rank":1', '"rank":2').replace("w-0", "w-1")
    both = of("\n".join([head, body, other, body])).tables[0]
    assert (both.facts["host"], both.rows[0].values["ranks that wrote"]) == ("w-0, w-1", 2)


def test_unknown_versions_of_inspector_are_said_and_old_ones_have_their_own_header() -> None:
    (warning,) = of(sample("nccl_inspector_v4_3.jsonl").replace("v4.3", "v5.1")).warnings
    assert '"v5.1" of the format is not known: read as v4.3' in warning
    # Before 4.3 a record without a header is damaged.
    assert "nothing at header" in refusal(sample("nccl_inspector_v4_3.jsonl").replace("v4.3", "v4.2"))
    head, body = sample("nccl_inspector_v4_3.jsonl").splitlines()
    merged = json.dumps(json.loads(head) | json.loads(body)).replace("v4.3", "v4.2")
    assert row(of(merged)).time_us == 5663.0
    assert "no result" in refusal(head)


# nccom-test


def test_nccom_test_has_data_sizes_and_the_ranks_of_its_command() -> None:
    (table,) = of(sample("nccom_test.txt")).tables
    assert (table.benchmark, table.collective, table.ranks) == ("nccom-all-reduce", "all-reduce", 64)
    assert [(each.size_bytes, each.time_us, each.values["busbw"]) for each in table.rows] == [
        (8192, 778.62, 0.02),
        (134_217_728, 3051.33, 86.6),
    ]


TABLE = "\n".join(sample("nccom_test.txt").splitlines()[1:]) + "\n"
OLD = """nccom-test -r 2 allr
     size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
    33554432        33554432    uint8         825          40.69          40.69
Avg bus bandwidth:      40.6901GB/s
"""


def test_nccom_test_of_other_versions() -> None:
    (table,) = of(OLD).tables
    assert (table.ranks, row(of(OLD)).time_us) == (2, 825.0)
    percentiles = (
        "nccom-test --nworkers=32 allg\n"
        "  size(B)  count(elems)  type  time:avg(us)  time:p50(us)  algbw(GB/s)  busbw(GB/s)\n"
        "  1000000        250000  fp32        100.00         99.00        10.00         9.69\n"
    )
    assert (of(percentiles).tables[0].ranks, row(of(percentiles)).values["time p50"]) == (32, 99.0)
    assert of(TABLE, UserFacts(64, "allr")).tables[0].ranks == 64


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TABLE, "no command line of nccom-test"),
        (sample("nccom_test.txt").replace("-r 64", "-r 8"), '"86.60" in column busbw'),
        (sample("nccom_test.txt").replace("allr", "allg"), '"0.02" in column busbw'),
        (sample("nccom_test.txt").replace("3051.33", "3051,33"), "3051,33"),
        (sample("nccom_test.txt").replace("-r 64 ", ""), "no number of ranks"),
        (sample("nccom_test.txt").rstrip()[:-4] + "\n", '"8" in column busbw'),
    ],
)
def test_nccom_test_that_does_not_agree_is_refused(text: str, found: str) -> None:
    assert found in refusal(text)


def test_a_row_of_nccom_test_that_the_file_cuts_off_is_left_out() -> None:
    reading = of(sample("nccom_test.txt").rstrip()[:-4])
    assert [each.size_bytes for each in reading.tables[0].rows] == [8192]
    (warning,) = reading.warnings
    assert "f:4: the file ends in this row" in warning


# RAS


def causes(text: str) -> list[Suspect]:
    found = read_facts(Source("ras", text.encode()))
    assert found.format == "nccl-ras"
    return suspects(found.rule_input(Hardware(), {}))


def ras(name: str) -> str:
    return (RAS / name).read_text()


def test_ras_says_which_ranks_are_behind() -> None:
    (behind,) = causes(ras("mismatch.txt"))
    assert (behind.cause, behind.confidence) == ("ranks-behind", 1)
    assert behind.sentence.startswith("6 of 32 ranks are 1 operation behind the others")
    assert behind.evidence == [
        "line 22: communicator 27a079b828ff1a75: 6 at operation 6649, others at 6650: "
        "rank 0 (GPU 0, process 483072 on 198.18.64.210), 5 more"
    ]


def test_the_same_counts_in_two_reports_are_a_hang() -> None:
    text = ras("mismatch.txt")
    (behind,) = causes(text + text)
    assert behind.confidence == 2
    assert "the counts are the same in an earlier report: a hang" in behind.sentence
    grown = text.replace("6650", "6950").replace("6649", "6949")
    assert causes(text + grown)[0].confidence == 1


PER_OPERATION = """
Warnings
========

#0-0 (78db921d1c117b4a) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 64
  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node node1
"""
LOST = """Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 198.18.64.213 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21
"""
DEAD = """Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 198.18.64.213 managing GPU 5
"""
NONE_LAUNCHED = """#1-0 (9e17999afaa87dbb) MISMATCH
  Communicator ranks have different collective operation counts
  30 ranks have launched up to operation 12
  2 ranks have not launched any operations
  Rank 4 -- GPU 4 managed by process 507289 on node 198.18.64.210
  Rank 20 -- GPU 4 managed by process 3500075 on node 198.18.64.213
"""


def test_ras_of_one_operation_and_ranks_that_launched_nothing() -> None:
    (one,) = causes(PER_OPERATION)
    assert one.sentence.startswith("1 of 8 rank is 4 operations behind")
    assert (
        "1 at operation 60 of AllReduce, others at 64: rank 7 (GPU 3, process 1650386 on node1)"
        in one.evidence[0]
    )
    (none,) = causes(NONE_LAUNCHED)
    assert none.sentence.startswith("2 of 32 ranks are 12 operations behind")
    assert none.evidence[0].endswith(
        "rank 4 (GPU 4, process 507289 on 198.18.64.210), rank 20 (GPU 4, process 3500075 on 198.18.64.213)"
    )


def test_processes_that_do_not_answer_are_likely_and_dead_ones_certain() -> None:
    (lost,) = causes(LOST)
    assert (lost.cause, lost.confidence) == ("process-lost", 2)
    assert any("The missing rank: 21" in each for each in lost.evidence)
    (dead,) = causes(DEAD)
    assert (dead.cause, dead.confidence) == ("process-lost", 3)


def test_errors_states_and_events_of_ras_are_said() -> None:
    (error,) = causes("#0-0 (cf264af53edbe986) ERROR\n  Asynchronous error on 1 rank\n")
    assert (error.cause, error.evidence) == ("communicator-error", ["line 1: #0-0 (cf264af53edbe986) ERROR"])
    failed = ras("status.json").replace('"async_error": 0', '"async_error": 6', 1)
    assert [each.cause for each in causes(failed)] == ["process-lost", "communicator-error", "ranks-behind"]
    (differ,) = causes(
        "#0-0 (9e17999afaa87dbb) MISMATCH\n  Communicator ranks have different status\n"
        "  30 ranks have status RUNNING\n  2 ranks have status INIT\n"
        "  Rank 4 -- GPU 4 managed by process 507289 on node n1\n"
    )
    assert (differ.cause, differ.confidence) == ("ranks-differ", 1)
    assert "30 RUNNING, 2 INIT: rank 4 (GPU 4, process 507289 on n1), 1 more" in differ.evidence[0]
    (dead,) = causes("[2026-11-19 13:07:07] PEER_DEAD: Process 1524345 on node n1 managing GPU 1\n")
    assert dead.confidence == 3
    event = {"timestamp": "t", "group": "LIFECYCLE", "event": "PEER_DEAD", "peer": {"host": "n1", "pid": 7}}
    assert "process 7 on n1" in causes(json.dumps(event))[0].evidence[0]


def test_ras_as_json() -> None:
    lost, behind = causes(ras("status.json"))
    assert (lost.cause, lost.confidence) == ("process-lost", 2)
    assert "rank 3 (GPU 1, process 103 on 198.18.0.2)" in lost.evidence[0]
    assert behind.sentence.startswith("1 of 3 rank is 4 operations behind")
    assert "rank 2 (GPU 0, process 102 on 198.18.0.2)" in behind.evidence[0]
    # NCCL 2.28.9 leaves out a comma.
    broken = ras("status.json").replace('"missing_ranks_count": 1,', '"missing_ranks_count": 1')
    assert [each.cause for each in causes(broken)] == ["process-lost", "ranks-behind"]
    dead = ras("status.json").replace('"considered_dead": false', '"considered_dead": true')
    assert causes(dead)[0].confidence == 3


def test_a_report_in_which_all_is_well_has_no_cause() -> None:
    well = ras("mismatch.txt").partition("Warnings")[0].replace("MISMATCH", "OK")
    assert causes(well) == []
    even = ras("status.json").replace('"AllReduce": 60', '"AllReduce": 64')
    assert [each.cause for each in causes(even)] == ["process-lost"]


# Refusals


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ras("mismatch.txt"), "NCCL's RAS report"),
        (ras("status.json"), "NCCL's RAS report"),
        (
            '{"start": {"version": "iperf 3.16", "test_start": {"protocol": "TCP"}}, "end": {}}',
            "the JSON of iperf3",
        ),
        (
            "Connecting to host 198.18.0.2, port 5201\n[  5] local 198.18.0.1 port 40000 connected to "
            "198.18.0.2 port 5201\n[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n",
            "the output of iperf3",
        ),
        ("Client connecting to 198.18.0.2, TCP port 5001\n", "the output of iperf 2"),
        ("MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 198.18.0.2 () port 0\n", "netperf"),
        ("rc_rdma_write_bw:\n    bw  =  11.9 GB/sec\n", "the output of qperf"),
        ('{"fio version": "fio-3.36", "jobs": []}', "the JSON of fio"),
    ],
)
def test_tools_that_are_not_imported_are_refused_by_name(text: str, found: str) -> None:
    assert found in refusal(text)
