"""A table of nccl-tests is what its bandwidths fit, or it is refused and what fits is proposed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from fabricbench.analysis.summary.bandwidth import BUS_FACTORS, bus_factor
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.model import Reading, UserFacts
from fabricbench.measured.nccl_tests.bandwidth_check import KINDS, Kind, factor_of
from fabricbench.measured.nccl_tests.output import collective_of
from fabricbench.measured.reading import read

SAMPLES = Path(__file__).parent / "samples"
ALLTOALL = (SAMPLES / "nccl_alltoall.txt").read_text()
ALLREDUCE = (SAMPLES / "nccl_allreduce_wrong.txt").read_text()
TWO = (SAMPLES / "nccl_two_collectives.txt").read_text()
JSON = (SAMPLES / "nccl_reduce_scatter.json").read_text()


def without(text: str, *words: str) -> str:
    return "".join(line for line in text.splitlines(True) if not any(word in line for word in words))


def told(text: str, name: str = "nccl.txt", user_facts: UserFacts | None = None) -> tuple[str, str]:
    """Return the error of an output and its hint."""
    with pytest.raises(MeasuredError) as raised:
        read(name, text.encode(), user_facts=user_facts)
    return str(raised.value), raised.value.hint


def taken(text: str, name: str = "nccl.txt", user_facts: UserFacts | None = None) -> Reading:
    return read(name, text.encode(), user_facts=user_facts)


def tables(reading: Reading) -> list[tuple[str, int, int]]:
    return [(table.benchmark, table.ranks, len(table.rows)) for table in reading.tables]


def test_factors_are_those_of_every_report() -> None:
    for kind in KINDS.values():
        if collective_of(kind.program) in BUS_FACTORS:
            for ranks in (2, 3, 8, 1000):
                assert factor_of(kind.factor, ranks) == pytest.approx(
                    bus_factor(collective_of(kind.program), ranks)
                )


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [("44.47", 44.465, 44.475), ("1820", 1819.5, 1820.5), ("1e+06", 5e5, 1.5e6), ("0.00", 0.0, 0.005)],
)
def test_a_printed_number_stands_for_all_that_round_to_it(cell: str, low: float, high: float) -> None:
    found = Interval.printed(cell)
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.02, abs=1e-4)


def test_a_table_of_another_collective_in_the_same_output_has_results_of_its_own() -> None:
    reading = taken(TWO)
    assert tables(reading) == [("all_reduce_perf", 16, 10), ("alltoall_perf", 16, 10)]
    assert [table.collective for table in reading.tables] == ["all-reduce", "all-to-all"]
    assert reading.tables[1].command == ""
    assert reading.warnings == [
        "nccl.txt:54: taken as alltoall_perf, which alone fits; the output does not say it: --benchmark does"
    ]


def test_a_name_of_the_user_stands_where_the_output_has_none_that_fits() -> None:
    reading = taken(TWO, user_facts=UserFacts(benchmark="alltoall"))
    assert tables(reading) == [("all_reduce_perf", 16, 10), ("alltoall_perf", 16, 10)]


def test_a_table_that_fits_the_one_before_says_what_else_it_may_be() -> None:
    # Nothing is checked in either, so one is as good as the other.
    text = re.sub(r"(?m) +(0|N/A)$", "     N/A", TWO).replace("sum", "none")
    unchecked = re.sub(r"(\d\.\d\d) {2,}0 {2,}", r"\1     N/A   ", text)
    gathered = unchecked[unchecked.index("# nThread", 200) :].replace("all_reduce", "all_gather")
    first = "$ mpirun -np 16 ./all_gather_perf\n" + gathered
    reading = taken(first + gathered)
    assert tables(reading) == [("all_gather_perf", 16, 10)] * 2
    assert "as the table before it; alltoall_perf would fit as well" in reading.warnings[0]


@pytest.mark.parametrize(
    ("old", "new", "line", "found", "hint"),
    [
        (
            "starting: alltoall_perf",
            "starting: all_reduce_perf",
            31,
            "busbw 44.47 (out-of-place); expected 88.94, 1.75 times algbw, of all_reduce_perf of 8 ranks",
            "--benchmark alltoall_perf --ranks 8",
        ),
        ("   44.47 ", "   94.47 ", 31, "busbw 94.47 (out-of-place); expected 44.47", "the other rows fit"),
        (
            "   50.91 ",
            "   5.091 ",
            31,
            "algbw 5.091 (in-place); expected 50.91, which size",
            "mend or remove",
        ),
        (
            "       524288     float",
            "       524287     float",
            30,
            "524,287 elements of float in 16,777,216 bytes; expected 1/8 of them",
            "the other rows fit",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_line_value_and_what_fits(
    old: str, new: str, line: int, found: str, hint: str
) -> None:
    assert old in ALLTOALL
    message, advice = told(ALLTOALL.replace(old, new))
    assert message.startswith(f"nccl.txt:{line}: found {found}")
    assert hint in advice


def test_what_is_proposed_is_taken() -> None:
    wrong = ALLTOALL.replace("starting: alltoall_perf", "starting: all_reduce_perf")
    reading = taken(wrong, user_facts=UserFacts(benchmark="alltoall_perf", ranks=8))
    assert tables(reading) == [("alltoall_perf", 8, 18)]
    assert reading.warnings == [
        "nccl.txt:20: all_reduce_perf does not fit and is not taken; alltoall_perf is"
    ]


def test_ranks_that_do_not_fit_are_refused_and_those_that_do_are_proposed() -> None:
    message, hint = told(ALLTOALL, user_facts=UserFacts(ranks=16))
    assert "busbw 44.47 (out-of-place); expected 47.65, 0.9375 times algbw, of alltoall_perf of 16" in message
    assert "--benchmark alltoall_perf --ranks 8" in hint
    message, hint = told(JSON, "nccl.json", UserFacts(ranks=16))
    assert "busbw 10.894296 (out-of-place)" in message or "busbw 13.066368 (in-place)" in message
    assert "--benchmark reduce_scatter_perf --ranks 2" in hint


@pytest.mark.parametrize("text", [ALLREDUCE, ALLTOALL], ids=["all-reduce", "all-to-all"])
def test_an_output_without_a_name_is_what_alone_fits(text: str) -> None:
    kind = "all_reduce_perf" if text is ALLREDUCE else "alltoall_perf"
    reading = taken(without(text, "alltoall_perf"))
    assert [table.benchmark for table in reading.tables] == [kind]
    assert f"taken as {kind}, which alone fits" in reading.warnings[0]


def unchecked_alltoall() -> str:
    """Return an all-to-all that does not tell itself from an all-gather."""
    return re.sub(r" 0 ( +[\d.]+ +[\d.]+ +[\d.]+ +N/A)", r" N/A \1", without(ALLTOALL, "alltoall_perf"))


def test_of_several_that_fit_the_name_of_the_file_decides() -> None:
    message, hint = told(unchecked_alltoall())
    assert "unknown benchmark, which all_gather_perf and alltoall_perf fit" in message
    assert "--benchmark all_gather_perf --ranks 8 or --benchmark alltoall_perf --ranks 8" in hint
    for name in ("cluster_alltoall-8.txt", "ALL-TO-ALL.log", "a2a.txt"):
        reading = taken(unchecked_alltoall(), name)
        assert tables(reading) == [("alltoall_perf", 8, 18)]
        assert "as the file's name says and the bandwidths allow" in reading.warnings[0]
    message, _ = told(unchecked_alltoall(), "all_reduce.txt")
    assert "which all_gather_perf and alltoall_perf fit" in message


def test_an_output_without_ranks_has_those_that_alone_fit() -> None:
    reading = taken(without(ALLTOALL, "#  Rank", "mpirun"))
    assert tables(reading) == [("alltoall_perf", 8, 18)]
    assert "taken as 8 ranks, which alone fit" in reading.warnings[0]
    assert tables(taken(without(ALLREDUCE, "#  Rank"))) == [("all_reduce_perf", 4, 6)]


def test_ranks_that_few_digits_do_not_tell_are_asked_for() -> None:
    rows = "".join(
        f"{size} {size // 4} float sum -1 {time:.1f} {rate:.2f} {rate * 2 * 511 / 512:.2f} 0"
        f" {time:.1f} {rate:.2f} {rate * 2 * 511 / 512:.2f} 0\n"
        for size, time in ((1 << 26, 1320.4), (1 << 28, 4321.0))
        for rate in [size / time / 1e3]
    )
    head = "".join(line for line in ALLREDUCE.splitlines(True) if "size" in line or "(B)" in line)
    text = f"# Collective test starting: all_reduce_perf\n{head}{rows}"
    message, hint = told(text)
    assert "a table of all_reduce_perf of unknown ranks" in message
    found = re.search(r"--ranks N of ([\d,]+) to ([\d,]+)", hint)
    assert found is not None
    least, most = (int(each.replace(",", "")) for each in found.groups())
    assert 256 < least < 512 < most < 4096
    assert tables(taken(text, user_facts=UserFacts(ranks=512)))[0][1] == 512


def test_processes_that_are_rank_0_each_are_no_measurement_of_a_network() -> None:
    message, hint = told((SAMPLES / "nccl_without_mpi.txt").read_text())
    assert 'found several processes with a "Rank 0" each; expected one list of all ranks' in message
    assert "make MPI=1" in hint


def test_processes_of_several_devices_without_mpi_are_told_from_a_run_that_was_repeated() -> None:
    text = (SAMPLES / "rccl_all_reduce.txt").read_text()
    start, table = text[: text.index("#\n#   ")], text[text.index("#\n#   ") :]
    command = "$ ./all_reduce_perf -g 2\n"
    repeated = f"{command}{start}Test NCCL failure common.cu:958 'system error'\n{text}"
    assert tables(taken(repeated)) == [("all_reduce_perf", 2, 4)]
    rows = "".join(line * 2 for line in table.splitlines(True) if line[:4].isspace())
    head = "".join(line for line in table.splitlines(True) if line.startswith("#  "))
    message, _ = told(f"{command}{start}{start}{head}{head}{rows}")
    assert 'several processes with a "Rank 0" each' in message


def test_output_of_rccl_tests_is_read() -> None:
    (table,) = taken((SAMPLES / "rccl_all_reduce.txt").read_text(), "rccl_all_reduce.txt").tables
    assert (table.benchmark, table.ranks, table.rows[0].iterations) == ("all_reduce_perf", 2, 20)
    # Of two ranks all factors but one are 1 or 1/2.
    message, hint = told((SAMPLES / "rccl_all_reduce.txt").read_text())
    assert "which all_reduce_perf and reduce_perf fit" in message
    assert hint.endswith("--benchmark all_reduce_perf --ranks 2 or --benchmark reduce_perf --ranks 2")


def test_one_rank_alone_is_no_measurement_of_a_network() -> None:
    others = [f"#  Rank  {rank}" for rank in range(1, 8)]
    message, hint = told(without(ALLTOALL, *others))
    assert "found a list of one rank; expected 2 ranks or more" in message
    assert "make MPI=1" in hint
    message, _ = told(ALLTOALL, user_facts=UserFacts(ranks=1))
    assert "found one rank; expected 2 ranks or more" in message


def test_ranks_of_processes_with_several_devices_are_counted() -> None:
    told_once = without(ALLTOALL, "#  Rank").replace("-np 8 -N 4", "-np 2").replace("nGpus 1", "nGpus 4")
    assert tables(taken(told_once)) == [("alltoall_perf", 8, 18)]
    # Of each process the JSON lists the first device alone.
    first = JSON.replace('"ngpus":1', '"ngpus":4').replace('{"rank":1', '{"rank":4')
    message, _ = told(first, "nccl.json")
    assert "of reduce_scatter_perf of 8 ranks" in message


def test_a_time_of_the_processor_is_not_that_of_the_operation() -> None:
    (table,) = taken((SAMPLES / "nccl_cputime.txt").read_text()).tables
    row = table.rows[-1]
    assert (row.time_us, row.gb_per_s, row.values["cputime"]) == (None, 149.37, 7.11)
    text = JSON.replace('"time":', '"cpu_time":')
    assert {row.time_us for row in taken(text, "nccl.json").tables[0].rows} == {None}


def test_a_benchmark_that_no_plan_has_is_checked_as_far_as_it_is_known() -> None:
    (table,) = taken((SAMPLES / "nccl_hypercube.txt").read_text()).tables
    assert (table.benchmark, table.collective) == ("hypercube_perf", "hypercube")
    reading = taken(ALLTOALL.replace("alltoall_perf", "alltoal_perf"))
    assert tables(reading) == [("alltoal_perf", 8, 18)]
    assert (
        "is not known, so its bandwidths are not checked; those printed fit alltoall_perf"
        in reading.warnings[0]
    )


def test_what_nccl_chose_stands_with_each_result_and_torn_rows_are_whole() -> None:
    (table,) = taken((SAMPLES / "nccl_tuning.txt").read_text()).tables
    assert len(table.rows) == 10
    chosen = [(row.size_bytes, row.values["algorithm"], row.values["protocol"]) for row in table.rows[::2]]
    assert chosen[0] == (65536, "Tree", "LL")
    assert chosen[-1] == (1073741824, "Ring", "Simple")
    assert table.rows[0].line == 29


def test_pieces_of_rows_may_each_have_the_tag_of_the_launcher() -> None:
    for name in ("nccl_two_collectives.txt", "nccl_tuning.txt"):
        text = (SAMPLES / name).read_text()
        # As Hydra does with -prepend-rank: before each piece that nccl-tests or NCCL writes.
        pieces = re.sub(r"(float +\w+ +-1)(?=.)|(\d\d +0)(?= +\d)", r"\g<0>[0]", text)
        tagged = "".join(f"[0]{line}" for line in pieces.splitlines(True))
        assert tagged.count("[0]") > len(text.splitlines()) + 10
        expected = taken(text).tables
        assert [(each.benchmark, each.ranks, each.rows) for each in taken(tagged).tables] == [
            (each.benchmark, each.ranks, each.rows) for each in expected
        ]


@pytest.mark.parametrize(
    ("line", "algorithm", "protocol"),
    [
        ("AllReduce: 65536 Bytes -> Algo 0 proto 2 time 12.5", "Tree", "Simple"),
        ("65536 Bytes -> Algo 1 proto 0 time 12.5", "Ring", "LL"),
        ("AllReduce: 65536 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..3}", "NVLSTree", "LL128"),
    ],
)
def test_what_nccl_chose_is_read_as_every_version_logs_it(line: str, algorithm: str, protocol: str) -> None:
    text = (SAMPLES / "nccl_tuning.txt").read_text()
    changed = re.sub(r"AllReduce: 65536 Bytes .*", line, text)
    (table,) = taken(changed).tables
    assert (table.rows[0].values["algorithm"], table.rows[0].values["protocol"]) == (algorithm, protocol)


def test_a_log_of_choices_alone_has_no_results() -> None:
    log = (
        "h:1:2 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo Ring proto Simple channel{Lo..Hi}={0..15}\n"
    )
    message, hint = told(log)
    assert "NCCL's log of its tuning, in which there are no times" in message
    assert "NCCL Inspector" in hint


def test_a_row_in_which_an_unknown_host_logs_is_refused() -> None:
    text = without((SAMPLES / "nccl_tuning.txt").read_text(), "#  Rank", "Bootstrap", "Init COMPLETE")
    torn = "".join(line for line in text.splitlines(True) if not line.startswith("10-0-0-1"))
    message, hint = told(torn)
    assert "expected a row without NCCL's log in it" in message
    assert "NCCL_DEBUG_FILE" in hint


def printed(value: float, width: int) -> str:
    """Write a number as `getFloatStr` of src/util.cu does."""
    digits = len(str(int(value))) if value >= 1 else 0
    if digits < width + 1:
        return f"{value:.{2 if digits < width - 2 else 1 if digits < width - 1 else 0}f}"
    return f"{value:.{1 if width >= 7 else 0}e}"


def made(kind: Kind, ranks: int, draw: random.Random) -> str:
    """Return an output of a benchmark, computed and printed as the benchmark does."""
    lines = [f"# Collective test starting: {kind.program}", "# nThread 1 nGpus 1 minBytes 1 iters: 20"]
    lines += [f"#  Rank {rank} Group 0 Pid 1 on host device 0 [0x01] GPU" for rank in range(ranks)]
    lines.append("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong")
    for _ in range(12):
        count = draw.randrange(1 << draw.randrange(1, 28))
        size = count * 4 * kind.shares(ranks)
        cells = [
            str(size),
            str(count),
            "float",
            "sum" if kind.reduces else "none",
            "0" if kind.has_root else "-1",
        ]
        for check in ("0", "0" if kind.has_in_place else "N/A"):
            time_us = 10 ** draw.uniform(-1, 8)
            algbw = size / time_us / 1e3 * factor_of(kind.algorithm_factor, ranks)
            busbw = size / time_us / 1e3 * factor_of(kind.factor, ranks)
            cells += [printed(time_us, 7), printed(algbw, 6), printed(busbw, 6), check]
        lines.append("  ".join(cells))
    return "\n".join(lines)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("ranks", [2, 3, 8, 100, 1024])
def test_what_the_benchmark_computes_and_rounds_is_never_refused(name: str, ranks: int) -> None:
    for seed in range(4):
        reading = taken(made(KINDS[name], ranks, random.Random(seed)))
        assert tables(reading) == [(f"{name}_perf", ranks, 24)]
        # Only a time that is printed with an exponent is taken from algbw.
        coarse = re.compile(r".* the time \S+e\+0\d us has few digits; here it is size over algbw, .*")
        assert not [each for each in reading.warnings if not coarse.fullmatch(each)]


@pytest.mark.parametrize(
    ("name", "other"), [("all_reduce", "reduce"), ("alltoall", "sendrecv"), ("gather", "all_reduce")]
)
def test_what_another_benchmark_prints_is_refused(name: str, other: str) -> None:
    for seed in range(4):
        text = made(KINDS[name], 8, random.Random(seed)).replace(f"{name}_perf", f"{other}_perf")
        message, hint = told(text)
        assert f"of {other}_perf of 8 ranks" in message
        assert f"--benchmark {name}_perf --ranks 8" in hint
