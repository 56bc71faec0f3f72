"""Other outputs of the kinds in `forms`: old heads, ends cut off, several hosts, groups, units, moments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.measured.forms_read import of

from fabricbench.importing import MeasuredError, switch_counters
from fabricbench.measured.model import Reading, UserFacts

FORMS = Path(__file__).parent / "forms"


def form(name: str) -> str:
    return next(FORMS.glob(f"{name}-*")).read_text()


def tables(reading: Reading) -> list[tuple[str, int, int]]:
    return [(each.benchmark, each.ranks, len(each.rows)) for each in reading.tables]


def refusal(text: str, given: UserFacts | None = None) -> str:
    with pytest.raises(MeasuredError) as raised:
        of(text, given)
    return f"{raised.value}\n{raised.value.hint}"


# nccl-tests: heads of 2019, whose algbw leaves out a rank's own part

OLD = form("02")


def test_other_tables_of_2019() -> None:
    scatter = OLD.replace("all_gather", "reduce_scatter")
    scatter = scatter.replace("   type     time", "   type   redop     time").replace(
        "  float  ", "  float  sum  "
    )
    assert tables(of(scatter)) == [("reduce_scatter_perf", 8, 8)]
    nameless = OLD.split("\n", 1)[1]
    reading = of(nameless)
    assert tables(reading) == [("all_gather_perf", 8, 8)]  # never hypercube, which is younger
    assert any("taken as all_gather_perf" in each for each in reading.warnings)
    assert any("leaves out a rank's own part" in each for each in reading.warnings)
    assert "found algbw 113.79" in refusal(OLD.replace("Rank  7", "Rank 15"))
    # With a column for the root the tool is younger, and such an algbw is wrong.
    young = OLD.replace("   type     time", "   type   root     time").replace("  float  ", "  float  -1  ")
    assert "expected 130.04" in refusal(young)


# Files that end within a row


def test_other_tables_that_the_file_cuts_off() -> None:
    bandwidth = form("24")
    rows = bandwidth[: bandwidth.index("11382.30") + 6]
    reading = of(rows)
    assert tables(reading)[0][2] == 22
    assert "8388608" in reading.warnings[0]
    osu = form("33").rstrip()[:-1]  # the last digit of a rate: no cell is missing
    reading = of(osu)
    assert tables(reading) == [("osu_bibw", 2, 2)]
    assert "the file ends in this row" in reading.warnings[0]
    assert tables(of(form("33").rstrip())) == [("osu_bibw", 2, 3)]  # only the line feed is missing
    imb = form("40")
    reading = of(imb[: imb.index("1189.70") + 5])
    assert [row.size_bytes for row in reading.tables[0].rows] == [0, 65536, 1 << 20]
    nccl = form("09")
    assert "found 7 cells" in refusal(nccl + "\n# Out of bounds values : 0 OK\n")
    whole = nccl[: nccl.index("   268435456")]
    (warning,) = of(whole).warnings
    assert "the table ends at 67,108,864 bytes; the run was to go up to 4,294,967,296" in warning
    reduced = whole.replace(
        "#\n# Using", "# Reducing maxBytes to 67108864 due to memory limitation\n# Using", 1
    )
    assert reduced != whole
    assert of(reduced).warnings == []


def test_lines_of_json_that_the_file_cuts_off() -> None:
    lines = form("43")
    reading = of(lines[:-40])
    assert any("f:12: the file ends in this line" in each for each in reading.warnings)
    assert "f:1:" in refusal(lines.split("\n")[0][:-40])  # nothing else is left
    first, *others = lines.split("\n")
    # Within the file it is damage.
    assert "expected JSON" in refusal("\n".join([first[:-40], *others]))
    assert "expected JSON" in refusal("\n".join([first, others[0][:-40], *others[1:]]))


# Times of the processor, and groups


def test_times_of_a_processor_are_left_out_of_every_kind() -> None:
    hypercube = form("13").replace("     time ", "  cputime ")
    (table,) = of(hypercube).tables
    assert [row.time_us for row in table.rows] == [None] * 4
    assert table.rows[2].gb_per_s == pytest.approx(87.52, rel=1e-3)
    whole = form("15").replace('"time"', '"cpu_time"')
    reading = of(whole)
    assert {row.time_us for row in reading.tables[0].rows} == {None}
    assert any("option -C 1" in each for each in reading.warnings)
    assert not any("option -C 1" in each for each in of(form("15")).warnings)


def test_groups_of_ranks_are_said_and_ranks_that_are_missing_too() -> None:
    split = form("14")
    four = split.replace("DIV 8", "DIV 4")
    for rank in range(16):
        four = four.replace(f"Rank {rank:2} Group  {rank // 8}", f"Rank {rank:2} Group  {rank // 4}")
    # The rates are of 8 ranks, and groups of 4 are listed.
    assert "of all_reduce_perf of 4 ranks" in refusal(four)
    one = "\n".join(line for line in split.split("\n") if "Group  1" not in line)
    assert any("8 ranks are listed and the command line starts 16" in each for each in of(one).warnings)


# Several hosts in one file

MIXED = form("31")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[1,0]<stdout>:", "[1,1]<stdout>:"),
        ("[pod/bench-0/perf] ", "[pod/bench-1/perf] "),
        ("2026-11-02T10:15:31.118Z gpu-a | ", "2026-11-02T10:15:32.934Z gpu-b | "),
        ("Nov  2 10:15:31 gpu-a ib[311]: ", "Nov  2 10:15:31 gpu-b ib[312]: "),
    ],
)
def test_hosts_of_other_launchers_are_kept_apart(first: str, second: str) -> None:
    text = MIXED.replace("node-1: ", first).replace("node-2: ", second)
    found = {table.settings["nic"]: table for table in of(text).tables}
    assert {nic: table.rows[0].gb_per_s for nic, table in found.items()} == {
        "mlx5_0": pytest.approx(24.7025),
        "mlx5_3": pytest.approx(12.30125),
    }
    hosts = [table.settings["host"] for table in found.values()]
    assert len(set(hosts)) == 2


def test_tests_that_are_mixed_without_a_label_are_refused() -> None:
    bare = MIXED.replace("node-1: ", "").replace("node-2: ", "")
    assert "a second head of a table after two titles" in refusal(bare)
    one_after_another = "\n".join(
        line for host in ("node-1: ", "node-2: ") for line in MIXED.split("\n") if line.startswith(host)
    )
    assert len(of(one_after_another).tables) == 2
    assert len(of(one_after_another.replace("node-1: ", "").replace("node-2: ", "")).tables) == 2


def test_times_before_lines_do_not_make_hosts() -> None:
    lines = form("29").split("\n")
    stamped = "\n".join(
        f"2026-11-02T10:15:{number % 60:02}.{number:03}Z {line}" for number, line in enumerate(lines)
    )
    assert tables(of(stamped)) == tables(of(form("29")))
    numbered = "\n".join(f"[{number:6}.{number:03}] {line}" for number, line in enumerate(lines))
    assert tables(of(numbered)) == tables(of(form("29")))


def test_osu_of_two_hosts_is_kept_apart() -> None:
    lines = form("33").split("\n")
    other = [line.replace("48702.77", "24351.38") for line in lines]
    text = "\n".join(
        f"{host}: {line}"
        for pair in zip(lines, other, strict=True)
        for host, line in zip("ab", pair, strict=True)
    )
    found = of(text).tables
    assert [table.settings["host"] for table in found] == ["a", "b"]
    assert [table.rows[-1].gb_per_s for table in found] == pytest.approx([24.351385, 12.17569])


# What ends a test of perftest


@pytest.mark.parametrize("end", ["^C", "^Z", "Killed", "Terminated", "[root@node-1 ~]# ", "logout", ""])
def test_a_key_or_a_shell_ends_a_table(end: str) -> None:
    text = form("27").replace("^C", end)
    assert len(of(text).tables[0].rows) == 6


@pytest.mark.parametrize(
    "prompt", ["[root@node-1 ~]# ", "(base) me@node-1:~/perf$ ", "[me@node-1 perf]$ ", "node-1% ", "$ "]
)
def test_a_prompt_is_no_option(prompt: str) -> None:
    text = form("25")
    command = next(line for line in text.split("\n") if "ib_write_bw" in line)
    bare = command[command.index("ib_write_bw") :]
    (table,) = of(text.replace(command, f"{prompt}{bare}")).tables
    assert table.command == bare


# IMB with -multi


def test_other_groups_of_imb() -> None:
    text = form("41")
    slowest = text.replace("        Group       #bytes", "       #bytes").replace("-multi 1", "-multi 0")
    kept = [line for line in slowest.split("\n") if line.split()[:1] != ["0"] or "Group" in line]
    kept = [line[13:] if line.startswith("            3") else line for line in kept]
    kept = [line for line in kept if not line.startswith(("            1", "            2"))]
    reading = of("\n".join(kept))
    (pingpong, _) = reading.tables
    assert (pingpong.benchmark, pingpong.ranks, pingpong.rows[-1].time_us) == ("imb-pingpong", 2, 97.40)
    assert any("a row is the slowest of them" in each for each in reading.warnings)
    bcast = text.replace("PingPong", "Bcast").replace("4 groups of 2", "2 groups of 4")
    assert {(table.benchmark, table.ranks, table.part) for table in of(bcast).tables[:4]} == {
        ("imb-bcast", 4, f"group{group}") for group in range(4)
    }
    pure = text.replace("Multi-Allgather", "Iallgather_pure")
    assert of(pure).tables[-1].collective == "all-gather"


# nccom-test: units and reports


def test_other_units_and_reports_of_nccom_test() -> None:
    two = """$ nccom-test -r 2 allr
    size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
   33554432        33554432    uint8         768          40.69          40.69
"""
    reading = of(two)
    assert reading.tables[0].rows[0].values["algbw [GiB/s]"] == 40.69
    assert any("2^30 bytes" in each for each in reading.warnings)
    mixed = two + "   33554432        33554432    uint8         768          43.69          43.69\n"
    assert '"40.69" in column algbw' in refusal(mixed)
    assert '"6.06" in column busbw' in refusal(form("21").replace("-r 32", "-r 64").replace("allr", "allg"))
    report = json.loads(form("23"))
    for each in report["results"]:
        each["time:p50(us)"] = each["time:avg(us)"] * 0.98
    (table,) = of(json.dumps(report), UserFacts(32, "allg")).tables
    assert table.rows[-1].time_us == 2960.4
    assert table.rows[-1].values["time p50"] == pytest.approx(2901.192)
    assert "no number of ranks" in refusal(json.dumps(report), UserFacts(None, "allg"))
    assert "all_reduce of 4,096 bytes" in refusal(json.dumps(report), UserFacts(32, "allr"))
    del report["results"][1]["busbw(GB/s)"]
    assert "without busbw(GB/s)" in refusal(json.dumps(report), UserFacts(32, "allg"))


# rccl-tests: the short head


def test_other_records_below_a_short_head() -> None:
    text = form("18")
    four = text.replace(",2,16,8,1,", ",4,16,4,1,")
    assert tables(of(four)) == [("all_reduce_perf", 16, 4)]
    assert "at busBw" in refusal(text.replace(",2,16,8,1,", ",2,32,16,1,"))
    assert "found 15 cells" in refusal(text.replace('"sum",', '"sum",-1,'))
    assert "found 12 cells" in refusal(text.replace(",2,16,8,1,", ",2,1,"))
    whole = text.replace("collective,ranks", "collective,nodes,ranks")
    assert tables(of(whole)) == [("all_reduce_perf", 16, 4)]
    # The factors of 32 and 64 ranks differ by less than 2 %.
    gather = text.replace("AllReduce", "AllGather").replace(",2,16,8,1,", ",8,64,8,1,")
    for old, new in (("179.162602", "92.567343"), ("179.789018", "92.890992"), ("247.830803", "128.045915")):
        gather = gather.replace(old, new)
    assert "92.567343 at busBw" in refusal(gather.replace("248.024556", "128.146020"))


# NCCL Inspector


def test_other_timings_of_inspector() -> None:
    text = form("44")
    kernel = text.replace("collective_cpu", "kernel_cpu")
    (table,) = of(kernel).tables
    assert table.rows[0].iterations == 2
    started = text.replace("kernel_gpu", "collective_cpu")
    assert "operations timed by the processor" in refusal(started)
    (table,) = of(
        form("43").replace('"coll_exec_time_us":27', '"coll_exec_time_us":15').split("\n")[0]
    ).tables
    assert table.rows[0].iterations == 1


# Counters of several switches and moments


def growth(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "f.json"
    path.write_text(text)
    (found,) = switch_counters([path])
    name = "/interfaces/interface/state/counters/in-discards"
    return {each.place: each.value for each in found.changes if each.vendor_name == name}


def test_moments_in_any_order_and_one_switch_alone(tmp_path: Path) -> None:
    events = json.loads(form("52"))
    expected = {"198.18.9.11:Ethernet0": 900_000, "198.18.9.12:Ethernet0": 0}
    assert growth(tmp_path, json.dumps(events[::-1], indent=1)) == expected
    between = [{**event, "timestamp": event["timestamp"] - 5_000_000_000} for event in events[2:]]
    between = json.loads(json.dumps(between).replace("900100", "300"))
    assert growth(tmp_path, json.dumps([*between, *events], indent=1)) == expected
    alone = [event for event in events if event["tags"]["source"].startswith("198.18.9.11")]
    assert growth(tmp_path, json.dumps(alone, indent=1)) == {"Ethernet0": 900_000}
    once = json.dumps(alone[:1], indent=1)
    assert growth(tmp_path, once) == {"Ethernet0": 100}
    same = json.dumps([{**event, "timestamp": 1} for event in alone], indent=1)
    with pytest.raises(MeasuredError, match="each counter once"):
        growth(tmp_path, same)


def test_other_answers_of_several_switches(tmp_path: Path) -> None:
    def answer(source: str, moment: int, value: int) -> dict[str, object]:
        path = "interfaces/interface[name=Ethernet0]/state/counters"
        return {
            "source": source,
            "timestamp": moment,
            "updates": [{"Path": path, "values": {path: {"in-discards": value}}}],
        }

    both = [answer("leaf-1:57400", 1, 5), answer("leaf-2:57400", 2, 7)]
    assert growth(tmp_path, json.dumps(both, indent=1)) == {"leaf-1:Ethernet0": 5, "leaf-2:Ethernet0": 7}
    later = [answer("leaf-1:57400", 1, 5), answer("leaf-1:57400", 10**9, 12)]
    assert growth(tmp_path, json.dumps(later, indent=1)) == {"Ethernet0": 7}
    path = "interfaces/interface[name=Ethernet0]/state/counters/in-discards"
    flat = f"[leaf-1:57400] {path}: 5\n[leaf-2:57400] {path}: 7\n\n"
    assert growth(tmp_path, flat) == {"leaf-1:Ethernet0": 5, "leaf-2:Ethernet0": 7}


def test_watermarks_by_other_commands(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"

    def pools(text: str) -> dict[str, object]:
        path.write_text(text)
        (found,) = switch_counters([path])
        return {each.place: each.value for each in found.changes}

    title = "Headroom pool maximum occupancy:\n                 Pool    Bytes\n"
    table = f"{title}---------------------  -------\ningress_lossless_pool  "
    user, kept = f"{table} 432640\n", f"{table} 863616\n"
    both = {"ingress_lossless_pool": 432_640, "persistent:ingress_lossless_pool": 863_616}
    scripts = f"$ watermarkstat -t headroom_pool\n{user}$ watermarkstat -p -t headroom_pool\n{kept}"
    assert pools(scripts) == both
    shown = f"# show headroom-pool watermark\n{user}# show headroom-pool persistent-watermark\n{kept}"
    assert pools(shown) == both
    reverse = f"root@a:/home# show headroom-pool persistent-watermark\n{kept}"
    assert pools(f"{reverse}root@a:/home# show headroom-pool watermark\n{user}") == both
    with pytest.raises(MeasuredError, match="each counter once"):
        pools(user + kept)  # nothing says which is which


def test_other_counters_that_were_cleared(tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    name = "47-sonic-ifcounters"
    text = (FORMS / f"{name}-after.txt").read_text()
    before.write_text(text.replace("2026-11-02T10:41:07.118402", "2026-11-02T09:00:00.000000"))
    after.write_text(text)
    (found,) = switch_counters([after], [before])
    least = {each.place: each.least for each in found.changes if each.vendor_name.endswith("OUT_DISCARDS")}
    assert least == {"Ethernet0": 0, "Ethernet8": 88_120, "Ethernet16": 0}
    # The other way round the file was written before the counters were cleared: nothing is known.
    (found,) = switch_counters([FORMS / f"{name}-before.txt"], [after])
    assert {each.least for each in found.changes} == {None}
    (found,) = switch_counters([after], [after])
    assert {each.least for each in found.changes} == {None}
