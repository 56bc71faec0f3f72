"""Outputs of benchmarks are read as their documentation says: columns, units, sizes, ranks, facts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import MAX_FILE_BYTES, launched_ranks
from fabricbench.measured.model import Reading, Table, UserFacts
from fabricbench.measured.reading import read

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str, given: UserFacts | None = None) -> Reading:
    return read(name, (SAMPLES / name).read_bytes(), user_facts=given)


def only(name: str) -> Table:
    (table,) = sample(name).tables
    return table


def test_nccl_tests_has_a_row_for_each_size_and_placement() -> None:
    table = only("nccl_alltoall.txt")
    assert (table.benchmark, table.collective, table.ranks) == ("alltoall_perf", "all-to-all", 8)
    assert (table.version, table.size_kind) == ("2.17.1", "data")
    assert len(table.rows) == 18
    last = [row for row in table.rows if row.size_bytes == 67108864]
    assert [row.placement for row in last] == ["out-of-place", "in-place"]
    assert [row.time_us for row in last] == [1320.4, 1318.2]
    assert [row.wrong for row in last] == [0, None]
    assert last[0].iterations == 20
    assert last[0].values["busbw"] == 44.47
    assert last[0].line == 31


def test_nccl_tests_says_hosts_gpus_library_and_command() -> None:
    table = only("nccl_alltoall.txt")
    assert table.facts == {
        "host": "gpu-a, gpu-b",
        "hosts": 2,
        "gpus": "8 x NVIDIA H100 80GB HBM3",
        "nccl": "2.27.3+cuda12.9",
    }
    assert table.command.startswith("mpirun -np 8 -N 4")


def test_nccl_tests_of_old_has_other_columns() -> None:
    table = only("nccl_old.txt")
    assert (table.benchmark, table.ranks) == ("all_gather_perf", 2)
    assert [row.time_us for row in table.rows] == [98.11, 97.42, 183.2, 182.5]
    assert {row.wrong for row in table.rows} == {None}


def test_nccl_tests_may_report_each_iteration_and_the_time_of_day() -> None:
    table = only("nccl_per_iteration.txt")
    assert (table.benchmark, table.collective, table.ranks) == ("sendrecv_perf", "send-receive", 2)
    first, second = table.rows[0], table.rows[1]
    assert (first.time_us_min, first.time_us, first.time_us_max) == (38.1, 40.2, 52.7)
    assert (second.placement, second.time_us, second.iterations) == ("in-place", 40.31, 80)
    assert first.values["i_p99"] == 52.7


def test_nccl_tests_counts_wrong_values() -> None:
    (table,) = sample("nccl_allreduce_wrong.txt", UserFacts(benchmark="all_reduce_perf")).tables
    assert [row.wrong for row in table.rows] == [0, 0, 17, 0, 0, 1_000_000]


def test_nccl_tests_json_has_the_same_with_all_digits() -> None:
    reading = sample("nccl_reduce_scatter.json")
    (table,) = reading.tables
    assert (table.benchmark, table.collective, table.ranks) == ("reduce_scatter_perf", "reduce-scatter", 2)
    assert [(row.placement, row.time_us, row.wrong) for row in table.rows] == [
        ("out-of-place", 48.125, 0),
        ("in-place", 47.5, None),
        ("in-place", 80.25, 3),
    ]
    assert table.facts["nccl"] == "2.27.3"
    assert table.facts["NCCL_IB_HCA"] == "mlx5_0"


def test_the_environment_of_a_run_is_not_kept() -> None:
    reading = sample("nccl_reduce_scatter.json")
    assert "do-not-keep-me" in (SAMPLES / "nccl_reduce_scatter.json").read_text()
    assert "do-not-keep-me" not in reading.text + str(reading.tables)


@pytest.mark.parametrize(
    ("name", "benchmark", "gb_per_s"),
    [
        ("perftest_write_bw.txt", "ib_write_bw", 22044.71 * 2**20 / 1e9),
        ("perftest_bidirectional_gbits.txt", "ib_read_bw", 384.0 / 8 / 2),
    ],
)
def test_perftest_rates_have_their_units(name: str, benchmark: str, gb_per_s: float) -> None:
    table = only(name)
    assert (table.benchmark, table.collective, table.ranks) == (benchmark, "send-receive", 2)
    assert table.rows[-1].size_bytes == 65536
    assert table.rows[-1].gb_per_s == pytest.approx(gb_per_s)
    assert table.rows[-1].time_us is None


def test_perftest_says_adapter_mtu_and_queue_pairs() -> None:
    facts = only("perftest_write_bw.txt").facts
    assert (facts["nic"], facts["mtu"], facts["queue pairs"]) == ("mlx5_0", "4096[B]", "1")
    assert only("perftest_write_bw.txt").command == "ib_write_bw -d mlx5_0 -a -F 10.0.32.2"


def test_perftest_latencies_have_mean_least_and_most() -> None:
    table = only("perftest_send_lat.txt")
    row = table.rows[0]
    assert (table.benchmark, row.size_bytes, row.iterations) == ("ib_send_lat", 2, 1000)
    assert (row.time_us, row.time_us_min, row.time_us_max) == (2.04, 1.57, 9.65)
    assert row.values["99% percentile[usec]"] == 5.02


def test_perftest_json_has_its_unit_from_the_message_rate() -> None:
    mib, gbit = (table.rows[0] for table in sample("perftest_write_bw.json").tables)
    assert mib.gb_per_s == pytest.approx(2229.27 * 2**20 / 1e9)
    assert gbit.gb_per_s == pytest.approx(195.92 / 8)
    (latency,) = sample("perftest_read_lat.json").tables
    assert (latency.benchmark, latency.rows[0].time_us) == ("ib_read_lat", 2.34)


def test_osu_has_its_ranks_from_the_launcher_and_full_columns() -> None:
    table = only("osu_alltoall_full.txt")
    assert (table.benchmark, table.ranks, table.size_kind, table.version) == (
        "osu_alltoall",
        8,
        "message",
        "7.3",
    )
    row = table.rows[-1]
    assert (row.size_bytes, row.time_us, row.iterations) == (1048576, 1234.56, 100)
    assert row.values == {"min latency(us)": 1200.0, "max latency(us)": 1300.0}


def test_osu_rates_are_those_of_one_pair_and_direction() -> None:
    reading = sample("osu_many.txt")
    rates = {table.benchmark: table.rows[-1].gb_per_s for table in reading.tables}
    assert rates["osu_bw"] == pytest.approx(11.0245)
    assert rates["osu_bibw"] == pytest.approx(10.9)
    assert rates["osu_mbw_mr"] == pytest.approx(6.0)
    assert {table.benchmark: table.ranks for table in reading.tables} == {
        "osu_latency": 2,
        "osu_bw": 2,
        "osu_bibw": 2,
        "osu_mbw_mr": 8,
        "osu_allreduce": 16,
    }
    assert [row.wrong for row in reading.tables[-1].rows] == [0, 1]
    assert reading.warnings == [
        "osu_many.txt:3: osu_latency: it measures times; rates here are size over time",
        "osu_many.txt:15: osu_bibw: what is printed is the sum of both directions; here it is one, half of "
        "it",
        "osu_many.txt:19: osu_mbw_mr: rates are of one of 4 pairs; all together have 24 GB/s at most",
        'osu_many.txt:24: "OSU MPI Non-blocking All-to-Allv Personalized Exchange Latency" is not imported',
    ]


def test_imb_has_a_test_for_each_table() -> None:
    reading = sample("imb_mpi1.txt")
    told = [(table.benchmark, table.collective, table.ranks, len(table.rows)) for table in reading.tables]
    assert told == [
        ("imb-pingpong", "send-receive", 2, 3),
        ("imb-alltoall", "all-to-all", 2, 2),
        ("imb-alltoall", "all-to-all", 4, 2),
        ("imb-allreduce", "all-reduce", 4, 2),
    ]
    last = reading.tables[2].rows[-1]
    assert (last.rank_us_min, last.time_us, last.rank_us_max) == (702.1, 715.0, 730.4)
    assert reading.tables[0].rows[-1].rank_us_min is None
    assert [row.wrong for row in reading.tables[3].rows] == [0, 1]
    assert [warning.split(":")[1] for warning in reading.warnings] == ["59", "73"]
    assert reading.tables[0].command.startswith("IMB-MPI1 -msglog")


@pytest.mark.parametrize(
    ("command", "ranks"),
    [
        ("mpirun -np 16 ./osu_allreduce -n 4", 16),
        ("mpiexec -n 4 osu_allreduce", 4),
        ("srun --ntasks=32 osu_allreduce", 32),
        ("srun -N2 --ntasks-per-node=4 osu_allreduce", 8),
        ("/opt/bin/mpirun --hostfile h osu_allreduce -n 9", None),
        ("./osu_allreduce -np 3", None),
        ("mpirun -x A='b -np 16 osu_allreduce", 16),
    ],
)
def test_ranks_are_those_that_the_launcher_starts(command: str, ranks: int | None) -> None:
    assert launched_ranks(command, r"osu_\w+") == ranks


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_marks_and_encodings_do_not_matter(ending: str) -> None:
    text = (SAMPLES / "osu_alltoall_full.txt").read_text().replace("\n", ending)
    expected = only("osu_alltoall_full.txt").rows
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
        (table,) = read("osu.txt", data).tables
        assert table.rows == expected


def test_bytes_that_are_no_text_stay_out_of_the_way() -> None:
    data = (SAMPLES / "nccl_alltoall.txt").read_bytes().replace(b"gpu-b", b"gpu-\xff")
    (table,) = read("nccl.txt", data).tables
    assert table.facts["host"] == "gpu-a, gpu-�"
    assert len(table.rows) == 18


PREFIXES = [
    "[1,0]<stdout>:",
    "[prterun-host1@1,0]<stdout>: ",
    "0: ",
    " 12: ",
    "    ",
    "> ",
    "[3] ",
    "gpu-a: ",
    "worker-1  | ",
    "[pod/nccl-0/worker] ",
    "job-4711: ",
    "10:11:12.345 ",
    "2025-05-01T10:11:12.345678901Z stdout F ",
    "[2025-05-01 10:11:12,345][INFO] ",
    "May  1 10:11:12 gpu-a slurmstepd[4711]: ",
    "Thu May  1 10:11:12 2025[1,0]<stdout>: ",
    "(Worker pid=12, ip=10.0.0.1) ",
    "\x1b[36m(pid=12)\x1b[0m ",
]
TEXTS = ["nccl_alltoall.txt", "osu_many.txt", "imb_mpi1.txt", "perftest_write_bw.txt"]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_launchers_and_loggers_put_before_each_line_does_not_matter(prefix: str, name: str) -> None:
    lines = (SAMPLES / name).read_text().rstrip("\n").split("\n")
    # Digits, days and levels differ from line to line.
    moved = [
        prefix.replace("11:12", f"{index // 60 % 24:02}:{index % 60:02}").replace("INFO", levels(index))
        + line
        for index, line in enumerate(lines)
    ]
    found, expected = read(name, "\n".join(moved).encode()), sample(name)
    assert found.tables == expected.tables
    assert found.warnings == expected.warnings


def levels(index: int) -> str:
    return ("INFO", "WARN", "ERROR")[index % 3]


def test_lines_of_others_without_the_prefix_stay_as_they_are() -> None:
    lines = (SAMPLES / "nccl_alltoall.txt").read_text().split("\n")
    tagged = [line if "NCCL INFO" in line or "Warning" in line else f"[1,0]<stdout>:{line}" for line in lines]
    (table,) = read("nccl.txt", "\n".join(tagged).encode()).tables
    assert table.rows == only("nccl_alltoall.txt").rows


@pytest.mark.parametrize("name", TEXTS)
def test_colours_and_what_a_terminal_overwrote_do_not_matter(name: str) -> None:
    lines = (SAMPLES / name).read_text().split("\n")
    shown = "\r\n".join(f"\x1b]0;run\x07{line and chr(13).join((' 12 %', line))}\x1b[0m" for line in lines)
    assert read(name, shown.encode()).tables == sample(name).tables


@pytest.mark.parametrize("name", TEXTS)
def test_heads_may_have_lost_their_mark(name: str) -> None:
    text = "\n".join(line.removeprefix("#") for line in (SAMPLES / name).read_text().split("\n"))
    bare = text.replace("#bytes", "bytes").replace("#repetitions", "repetitions").replace("#iter", "iter")
    expected = [(each.benchmark, each.ranks, each.rows) for each in sample(name).tables]
    assert [(each.benchmark, each.ranks, each.rows) for each in read(name, bare.encode()).tables] == expected


def test_a_compressed_file_is_read_as_what_it_holds() -> None:
    packed = gzip.compress((SAMPLES / "imb_mpi1.txt").read_bytes())
    assert read("imb_mpi1.txt", packed).tables == sample("imb_mpi1.txt").tables
    with pytest.raises(MeasuredError, match="gzip that cannot be read"):
        read("x.gz", packed[:-30])
    with pytest.raises(MeasuredError, match="more than 16,777,216 bytes"):
        read("x.gz", gzip.compress(b"0" * (MAX_FILE_BYTES + 1)))


def test_inspector_has_a_result_for_each_communicator_collective_and_size() -> None:
    reading = sample("nccl_inspector.jsonl")
    told = [(table.benchmark, table.ranks, table.part, len(table.rows)) for table in reading.tables]
    assert told == [
        ("inspector-allreduce", 16, "0x7f8c496ae9f661", 1),
        ("inspector-reducescatter", 16, "0x7f8c496ae9f661", 1),
        ("inspector-allreduce", 8, "0xe62dedaa97644a", 1),
        ("inspector-allreduce", 8, "0x11aa22bb33cc44", 1),
    ]
    row = reading.tables[0].rows[0]
    assert (row.size_bytes, row.iterations) == (17179869184, 3)
    assert (row.time_us, row.time_us_min, row.time_us_max) == pytest.approx((61967.5, 61890.0, 62030.5))
    assert (row.rank_us_min, row.rank_us_max) == pytest.approx((61961.67, 61973.33), abs=0.01)
    assert (row.values["algorithm"], row.values["protocol"]) == ("Ring", "Simple")
    # A rank gives in a share of what is reduced and scattered.
    assert reading.tables[1].rows[0].size_bytes == 16 * 2147483648
    assert [warning.partition(": ")[2] for warning in reading.warnings] == [
        "1 single sends and receives are not imported",
        "the plugin dropped 3 records itself",
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"coll_busbw_gbs":519.', '"coll_busbw_gbs":419.', ":2: found 419."),
        ('"coll_exec_time_us":61974', '"coll_exec_time_us":71974', ":2: found 277."),
        (
            '"coll_sn":1408',
            '"coll_sn":"x"',
            ':3: found ""x"" at coll_perf.coll_sn; expected a whole number',
        ),
        ('"rank":0,"n_ranks":16', '"rank":0', ":2: found nothing at header.n_ranks"),
    ],
)
def test_a_record_of_inspector_that_does_not_fit_is_named(old: str, new: str, found: str) -> None:
    lines = (SAMPLES / "nccl_inspector.jsonl").read_text().split("\n")
    text = "\n".join([lines[0], *(line.replace(old, new) for line in lines[1:])])
    assert text != "\n".join(lines)
    with pytest.raises(MeasuredError) as raised:
        read("nccl_inspector.jsonl", text.encode())
    assert f"nccl_inspector.jsonl{found}" in str(raised.value)


def test_perftest_json_without_quotation_marks_is_read() -> None:
    (table,) = sample("perftest_unquoted.json").tables
    assert (table.benchmark, table.facts["nic"], table.facts["tx depth"]) == ("ib_write_bw", "mlx5_0", 128)
    assert table.rows[0].gb_per_s == pytest.approx(11532.14 * 2**20 / 1e9)
    with pytest.raises(MeasuredError) as raised:
        read("x.json", changed("perftest_unquoted.json", "n_iterations: 5000", "n_iterations: many"))
    assert 'x.json:24: found ""many"" at results.n_iterations' in str(raised.value)


def test_osu_may_say_the_datatype_below_the_head_and_print_percentiles() -> None:
    bandwidth, latency = sample("osu_below_head.txt").tables
    assert [row.size_bytes for row in bandwidth.rows] == [1, 65536, 1048576]
    assert (latency.ranks, latency.rows[-1].values["p99 tail lat(us)"]) == (32, 905.7)


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (
            "perftest_write_bw.txt",
            "22044.71",
            "2204.71",
            ":27: found BW average[MB/sec] 2204.71; expected 22044.",
        ),
        ("perftest_write_bw.json", "2229.27", "229.27", "found BW average[MiB/sec] 229.27"),
        ("osu_many.txt", "24000.00", "2400.00", ":22: found 2400.00 MB/s; expected 24000.00"),
    ],
)
def test_a_rate_that_is_not_that_of_its_messages_is_refused(
    name: str, old: str, new: str, found: str
) -> None:
    with pytest.raises(MeasuredError) as raised:
        read(name, changed(name, old, new))
    assert found in str(raised.value)


def test_tables_of_other_formats_in_the_same_file_are_told() -> None:
    text = "\n".join((SAMPLES / name).read_text() for name in TEXTS)
    reading = read("all.txt", text.encode())
    assert reading.format == "nccl-tests"
    assert [warning.rpartition(" ")[2] for warning in reading.warnings] == ["perftest", "osu", "imb"]
    assert read("all.txt", text.encode(), "imb").tables[0].benchmark == "imb-pingpong"
    with pytest.raises(MeasuredError) as raised:
        read("x", (SAMPLES / "osu_many.txt").read_bytes(), "imb")
    assert raised.value.hint == "it looks like osu: --format osu"


def test_a_head_without_rows_is_told() -> None:
    text = (SAMPLES / "nccl_alltoall.txt").read_text()
    cut = text[: text.index("           0             0")]
    warnings = read("x", f"{cut}\n{text}".encode()).warnings
    assert [warning.partition(": ")[2] for warning in warnings] == ["the head of a table without rows"]


def test_a_table_may_stand_in_a_page_of_notes() -> None:
    text = (SAMPLES / "osu_alltoall_full.txt").read_text()
    page = f"# Monday\n\n```\n{text}```\nIt was slow.\n\n```\n{text}```\n"
    first, second = read("notes.md", page.encode()).tables
    assert first.rows[0].size_bytes == second.rows[0].size_bytes == 1
    assert len(first.rows) == len(second.rows) == 3


def test_other_columns_of_perftest_are_kept_as_they_are_printed() -> None:
    rule = "-" * 80
    head = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]    CPU_Util[%]"
    lines = (rule, "     RDMA_Write Post List BW Test", rule, head, " 65536 0 0.00 1000.00 0.016 12.50", rule)
    (table,) = read("x", "\n".join(lines).encode()).tables
    (row,) = table.rows
    assert (table.benchmark, row.iterations) == ("ib_write_bw", None)
    assert row.gb_per_s == pytest.approx(1.048576)
    assert row.values["CPU_Util[%]"] == 12.5


def changed(name: str, old: str, new: str) -> bytes:
    text = (SAMPLES / name).read_text()
    assert old in text
    return text.replace(old, new, 1).encode()


MALFORMED = [
    (
        "nccl_alltoall.txt",
        "1320.4   50.82",
        "1320.4   5x.82",
        'nccl_alltoall.txt:31: found "5x.82" in column algbw; expected a number of 0 or more',
    ),
    (
        "nccl_alltoall.txt",
        "   44.47       0   1318.2   50.91   44.55     N/A",
        "",
        "nccl_alltoall.txt:31: found 7 cells in",
    ),
    (
        "nccl_alltoall.txt",
        "    67108864",
        "    6710886.4",
        'nccl_alltoall.txt:31: found "6710886.4" in column size; expected a whole number of 0 or more',
    ),
    ("nccl_alltoall.txt", "1320.4", "nan", 'nccl_alltoall.txt:31: found "nan" in column time'),
    (
        "nccl_alltoall.txt",
        "gpu-b:53310:53398 [0] NCCL INFO Channel 00/0 : 4[0] -> 0[0] via NET/IB/0",
        "Segmentation fault",
        'nccl_alltoall.txt:28: found "Segmentation fault"; expected a row of the table that begins above',
    ),
    (
        "nccl_reduce_scatter.json",
        '"time":48.125000',
        '"time":"fast"',
        'found ""fast"" at results[0].out_of_place.time',
    ),
    ("nccl_reduce_scatter.json", '"results":[', '"results":[[', "nccl_reduce_scatter.json:1: found "),
    (
        "perftest_write_bw.txt",
        "22044.71            0.352715",
        "22044.71",
        "perftest_write_bw.txt:27: found 4 cells in",
    ),
    (
        "perftest_write_bw.txt",
        "MB/sec]    BW average[MB/sec]",
        "KB/sec]    BW average[KB/sec]",
        ":25: found column",
    ),
    ("perftest_write_bw.json", '"BW_average": 2229.27,', "", "expected a column BW average"),
    (
        "osu_alltoall_full.txt",
        "1200.00           1300.00",
        "1200.00",
        "osu_alltoall_full.txt:8: found 4 cells in",
    ),
    (
        "osu_alltoall_full.txt",
        "srun -N2",
        "# run -N2",
        "osu_alltoall_full.txt:3: found a table of unknown ranks",
    ),
    (
        "imb_mpi1.txt",
        "5.10         5.60         5.40",
        "5.10 5.60 --",
        'imb_mpi1.txt:57: found "--" in column t_avg',
    ),
    ("imb_mpi1.txt", "# #processes = 2 ", "#", "imb_mpi1.txt:38: found a table of unknown ranks"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), MALFORMED)
def test_a_malformed_line_is_named(name: str, old: str, new: str, message: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        read(name, changed(name, old, new))
    assert message in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b" \n\n", "an empty file"),
        (b"PK\0\0\1", "a file that is no text"),
        (b"hello\n", "no table of a benchmark that is known"),
        (b"{}", "JSON with nothing"),
        (b'{"a": 1, "b": 2}', "JSON with a, b"),
        (b'{"a": NaN}', "JSON that cannot be read"),
        (b'{"a": ', '"the end of the line"'),
        (b"{" * 100_000, "x.txt"),
        (b'{"test_info": {}, "results": [' + b"[" * 100_000, "x.txt"),
        (b"x" * (MAX_FILE_BYTES + 1), "bytes"),
        (b"# OSU MPI Latency Test v7\n# Size          Latency (us)\n", "no result of osu"),
    ],
)
def test_a_file_that_is_no_output_is_refused(data: bytes, found: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        read("x.txt", data)
    assert found in str(raised.value)


def test_too_many_rows_are_refused() -> None:
    rows = "1 1.0\n" * 6000
    with pytest.raises(MeasuredError, match="at most 2,000"):
        read("x.txt", f"# OSU MPI Latency Test v7\n# Size          Latency (us)\n{rows}".encode())


def test_a_format_can_be_named() -> None:
    data = (SAMPLES / "imb_mpi1.txt").read_bytes()
    assert read("x", data, "imb").format == "imb"
    with pytest.raises(MeasuredError, match="no result of osu"):
        read("x", data, "osu")
    with pytest.raises(MeasuredError, match='format "iperf"'):
        read("x", data, "iperf")
