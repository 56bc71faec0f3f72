"""Measured results become trials beside simulated ones, shown and compared; what they lack is null."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.samples import PLAN, call

import fabricbench as fb
from fabricbench import importing
from fabricbench.importing import MeasuredError, Options, Source, UserFacts
from fabricbench.report.documents.table import Table
from fabricbench.report.html.rendering import render_page
from fabricbench.report.html.run_page import build_page
from fabricbench.store import StoreError, Trial, Workspace
from fabricbench.store.inspection import damages

SAMPLES = Path(__file__).parent / "samples"
OSU = """$ mpirun -np 4 osu_alltoall
# OSU MPI All-to-All Personalized Exchange Latency Test v7.3
# Size       Avg Latency(us)
262144                   40.00
524288                   80.00
"""


def taken(folder: Path, name: str, options: Options | None = None) -> list[Trial]:
    store = Workspace.open(folder / "workspace", create=True)
    source = Source(name, (SAMPLES / name).read_bytes())
    return list(importing.import_results(store, source, options).trials)


def taken_osu(folder: Path, options: Options) -> list[Trial]:
    store = Workspace.open(folder / "workspace", create=True)
    source = Source("osu.txt", OSU.encode())
    return list(importing.import_results(store, source, options).trials)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a plan, the simulated trials of it, and measured ones of the same sizes."""
    (tmp_path / "small.yaml").write_text(PLAN)
    (tmp_path / "osu.txt").write_text(OSU)
    assert call("run", "small.yaml", cwd=tmp_path).returncode == 0
    finished = call("import", "osu.txt", "--plan", "small.yaml", "--tag", "lab", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    return tmp_path


def test_tables_come_in_the_order_in_which_the_benchmark_prints_them(tmp_path: Path) -> None:
    finished = call("import", SAMPLES / "nccl_alltoall.txt", cwd=tmp_path)
    placements = [line.split(", ")[1] for line in finished.stdout.splitlines() if line.startswith("all")]
    assert placements == ["out-of-place", "in-place"]


def test_bandwidths_follow_from_time_and_size(tmp_path: Path) -> None:
    trial = taken(tmp_path, "nccl_alltoall.txt")[-2]
    (row,) = trial.results
    assert row["completion_time_ms"] == pytest.approx(1.3204)
    assert row["algbw_gb_per_s"] == pytest.approx(67108864 / 1320.4e-6 / 1e9)
    assert row["busbw_gb_per_s"] == pytest.approx(row["algbw_gb_per_s"] * 7 / 8)
    # As the benchmark itself prints, to its digits.
    assert round(row["algbw_gb_per_s"], 2) == 50.82
    assert round(row["busbw_gb_per_s"], 2) == 44.47
    assert row["ideal_percent"] is None
    assert row["rounds"] == 20


def test_the_spread_over_ranks_is_what_the_benchmark_prints(tmp_path: Path) -> None:
    names = ("rank_ms_min", "rank_ms_mean", "rank_ms_max", "completion_time_ms", "round_ms_min")
    for name, expected in (
        ("imb_mpi1.txt", (0.7021, 0.715, 0.7304, 0.715, None)),
        ("osu_alltoall_full.txt", (1.2, 1.23456, 1.3, 1.23456, None)),
    ):
        found = [row for trial in taken(tmp_path / name, name) for row in trial.results]
        spread = [tuple(row[each] for each in names) for row in found]
        assert pytest.approx(expected) in [
            each for each in spread if each[0] is not None and each[4] is None
        ], name


def test_printed_bandwidths_agree_with_ours(tmp_path: Path) -> None:
    for name in ("nccl_alltoall.txt", "nccl_old.txt", "nccl_reduce_scatter.json"):
        for trial in taken(tmp_path, name):
            (row,), printed = trial.results, (trial.summary or {})["result"]["values"]
            for ours, theirs in (("algbw_gb_per_s", "algbw"), ("busbw_gb_per_s", "busbw")):
                if row[ours]:
                    assert row[ours] == pytest.approx(printed[theirs], abs=0.006, rel=2e-4), (name, row)


def test_what_a_benchmark_does_not_measure_is_null(tmp_path: Path) -> None:
    trial = taken(tmp_path, "osu_alltoall_full.txt")[0]
    (row,) = trial.results
    absent = (
        "chunks",
        "chunks_complete",
        "chunks_failed",
        "frames_lost",
        "retransmits",
        "ecn_ce_rx",
        "cnp_tx",
    )
    assert {row[name] for name in (*absent, "pfc_rx", "fct_ms_p50", "jain_fairness", "algorithm")} == {None}
    for table in ("chunks", "ports", "links", "paths", "series", "events"):
        assert trial.tables.table(table).num_rows == 0
    assert not list(damages(Workspace.open(tmp_path / "workspace")))


def test_message_sizes_make_data_sizes_by_the_collective(tmp_path: Path) -> None:
    alltoall = taken(tmp_path, "osu_alltoall_full.txt")[-1]
    assert (alltoall.facts.size_kind, alltoall.facts.data_size_bytes) == ("message", 1048576)
    assert alltoall.results[0]["data_size_bytes"] == 8 * 1048576
    imb = taken(tmp_path, "imb_mpi1.txt")
    sizes = {
        (each.results[0]["job"], each.results[0]["ranks"]): each.results[0]["data_size_bytes"] for each in imb
    }
    assert sizes["imb-alltoall", 4] == 4 * 1048576
    assert sizes["imb-allreduce", 4] == 2048


def test_a_size_of_nothing_and_a_time_of_nothing_have_no_bandwidth(tmp_path: Path) -> None:
    trials = taken(tmp_path, "imb_mpi1.txt")
    pingpong, alltoall = trials[0].results[0], trials[3].results[0]
    assert (pingpong["completion_time_ms"], pingpong["algbw_gb_per_s"]) == (pytest.approx(0.00112), None)
    assert (alltoall["completion_time_ms"], alltoall["busbw_gb_per_s"]) == (None, None)


def test_latencies_of_perftest_have_shortest_and_longest(tmp_path: Path) -> None:
    row = taken(tmp_path, "perftest_send_lat.txt")[1].results[0]
    assert (row["round_ms_min"], row["completion_time_ms"], row["round_ms_max"]) == (0.0026, 0.0028, 0.00865)
    assert row["busbw_gb_per_s_max"] == pytest.approx(4096 / 2.6e-6 / 1e9)


@pytest.mark.parametrize(
    ("option", "text", "found"),
    [
        ("--tag", "a\nb", "error: --tag: found the character U+000A; expected one line of text"),
        ("--name", "n" * 81, "error: --name: found 81 characters; expected at most 80 characters"),
    ],
)
def test_what_would_break_a_table_is_no_name_and_no_tag(
    tmp_path: Path, option: str, text: str, found: str
) -> None:
    (tmp_path / "osu.txt").write_text(OSU)
    finished = call("import", "osu.txt", option, text, cwd=tmp_path)
    assert (finished.returncode, finished.stderr.splitlines()[0]) == (2, found)


def test_a_tag_is_read_as_that_of_a_plan(tmp_path: Path) -> None:
    (trial, _) = taken_osu(tmp_path, Options(tag=" lab "))
    assert trial.facts.tag == "lab"


def test_a_benchmark_that_is_not_known_is_told(tmp_path: Path) -> None:
    text = (SAMPLES / "nccl_alltoall.txt").read_text().replace("alltoall_perf", "unknown")
    (tmp_path / "nccl.txt").write_text("\n".join(line for line in text.splitlines() if "unknown" not in line))
    for name, is_told in (("alltoall_perf", False), ("alltoal_perf", True)):
        finished = call("import", "nccl.txt", "--benchmark", name, "--ranks", "8", cwd=tmp_path)
        assert finished.returncode == 0, finished.stderr
        assert ("no bus bandwidth" in finished.stderr) == is_told
        assert ("those printed fit alltoall_perf" in finished.stderr) == is_told


def test_wrong_values_make_a_trial_incomplete(tmp_path: Path) -> None:
    given = Options(user_facts=UserFacts(benchmark="all_reduce_perf"))
    trials = taken(tmp_path, "nccl_allreduce_wrong.txt", given)
    broken = [trial for trial in trials if trial.status == "incomplete"]
    assert [trial.message for trial in broken] == [
        "all_reduce_perf: its own check found 17 wrong values",
        "all_reduce_perf: its own check found 1,000,000 wrong values",
    ]
    assert {trial.results[0]["busbw_gb_per_s"] for trial in broken} == {None}


def test_runs_of_one_benchmark_are_iterations_and_tables_that_differ_are_runs(tmp_path: Path) -> None:
    store = Workspace.open(tmp_path / "workspace", create=True)
    twice = Source("osu.txt", (OSU + "\n" + OSU).encode())
    trials = importing.import_results(store, twice).trials
    assert [trial.facts.iteration for trial in trials] == [0, 0, 1, 1]
    assert len({trial.facts.suite for trial in trials}) == 1
    imb = taken(tmp_path, "imb_mpi1.txt", Options(name="lab"))
    assert list(dict.fromkeys(trial.facts.plan for trial in imb)) == [
        "lab-imb-pingpong",
        "lab-imb-alltoall-2",
        "lab-imb-alltoall-4",
        "lab-imb-allreduce",
    ]
    assert len({trial.facts.suite for trial in imb}) == 4


def test_a_file_imported_again_takes_the_place_of_its_trials(tmp_path: Path) -> None:
    first = taken(tmp_path, "nccl_old.txt")
    again = taken(tmp_path, "nccl_old.txt", Options(tag="again"))
    assert [trial.id for trial in first] == [trial.id for trial in again]
    assert len(Workspace.open(tmp_path / "workspace").trials()) == 4


@pytest.mark.parametrize(("old", "new"), [("-np 4", "-np 99999999"), ("524288 ", "9223372036854775807 ")])
def test_what_no_fabric_has_is_refused(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "osu.txt").write_text(OSU.replace(old, new))
    finished = call("import", "osu.txt", cwd=tmp_path)
    assert finished.returncode == 2
    assert "expected less than 2^63 bytes of at most 16,777,216 ranks" in finished.stderr
    assert call("trials", cwd=tmp_path).stdout == ""


def test_nothing_is_stored_of_a_file_with_a_malformed_line(tmp_path: Path) -> None:
    (tmp_path / "osu.txt").write_text(OSU.replace("80.00", "80,00"))
    finished = call("import", "osu.txt", cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr == (
        'error: osu.txt:5: found "80,00" in column avg latency(us); expected a number of 0 or more\n'
        "hint: numbers have a decimal point: run the benchmark with LC_ALL=C, or put points in\n"
    )
    assert call("trials", cwd=tmp_path).stdout == ""


def test_nothing_is_stored_if_the_last_trial_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Workspace.open(tmp_path / "workspace", create=True)
    finish = store.catalog.finish

    def full(*arguments: Any, **given: Any) -> None:
        if given["outcome"]["results"][0]["data_size_bytes"] == 2 << 20:
            raise StoreError(store.root, "the disk is full", "free some space")
        finish(*arguments, **given)

    monkeypatch.setattr(store.catalog, "finish", full)
    with pytest.raises(StoreError):
        importing.import_results(store, Source("osu.txt", OSU.encode()))
    assert {trial.status for trial in store.trials()} == {"failed"}
    assert not [entry for entry in store.records.iterdir() if not entry.name.startswith(".")]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("import",), "FILE"),
        (("import", "missing.txt"), "missing.txt: found No such file or directory; expected a file"),
        (("import", "."), "found Is a directory"),
        (("import", "osu.txt", "--format", "iperf"), "--format"),
        (("import", "osu.txt", "-s", "seed=1"), "--plan"),
        (("import", "osu.txt", "--plan", "nothing"), "no such plan"),
        (("import", "osu.txt", "--plan", "jct-alltoall"), "found all-to-all of 4 ranks; expected what plan"),
        (("import", "osu.txt", "--ranks", "0"), "--ranks"),
        (("compare", "--by", "size", "latest"), "--by size takes a trial of each of two runs"),
    ],
)
def test_a_users_error_is_one_message_and_a_hint(
    tmp_path: Path, arguments: tuple[str, ...], found: str
) -> None:
    (tmp_path / "osu.txt").write_text(OSU)
    (tmp_path / "fabricbench-workspace" / "trials").mkdir(parents=True)
    finished = call(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert found in finished.stderr
    assert "\nhint: " in finished.stderr
    assert finished.stdout == ""


def test_a_plan_gives_its_name_its_ideal_and_the_commands_to_simulate(lab: Path) -> None:
    found = rows(call("trials", "--plan", "small", "--format", "csv", cwd=lab).stdout)
    assert [row["job"] for row in found] == ["test", "test", "osu_alltoall", "osu_alltoall"]
    assert [float(row["data_size_bytes"]) for row in found] == [1 << 20, 2 << 20, 1 << 20, 2 << 20]
    measured = found[-1]
    goodput = 50 * 4096 / (4096 + 82)
    assert float(measured["ideal_percent"]) == pytest.approx(
        100 * float(measured["busbw_gb_per_s"]) / goodput
    )
    again = call("import", "osu.txt", "--plan", "small.yaml", cwd=lab)
    assert "fabricbench run small.yaml -s 'sweep.data_size=[1048576, 2097152]'" in again.stderr


def test_show_tells_what_was_printed_and_what_is_missing(lab: Path) -> None:
    text = call("show", "latest", cwd=lab).stdout
    assert "mpirun -np 4 osu_alltoall" in text
    assert "osu 7.3: osu.txt, line 5" in text
    assert "Measured results carry no per-chunk data" in text
    assert "PFC" not in text
    shown = json.loads(call("show", "latest", "--format", "json", cwd=lab).stdout)
    (trial,) = shown["trials"]
    assert (trial["chunks"], trial["pfc_rx"], trial["reordering"], shown["fabric"]) == (
        None,
        None,
        None,
        None,
    )
    assert trial["measured"]["command"] == "mpirun -np 4 osu_alltoall"
    assert set(shown["engine"].values()) == {None, "osu 7.3", "imported"}


def test_a_measured_and_a_simulated_trial_are_compared(lab: Path) -> None:
    ids = [row["id"] for row in rows(call("trials", "--format", "csv", cwd=lab).stdout)]
    found = json.loads(call("compare", ids[3], ids[1], "--format", "json", cwd=lab).stdout)
    (job,) = found["jobs"]
    for name in ("completion_time_ms", "algbw_gb_per_s", "busbw_gb_per_s"):
        assert job["metrics"][name]["ratio"] > 0
    assert job["metrics"]["frames_lost"] | {"unit": "", "direction": ""} == {
        "unit": "",
        "direction": "",
        "first": None,
        "second": 2,
        "ratio": None,
        "verdict": None,
    }
    backends = {ids[3]: "imported osu 7.3", ids[1]: "fake 1"}
    assert found["parameters"] == [{"field": "backend", "values": backends}]
    assert "measured" in found["note"]
    text = call("compare", ids[3], ids[1], cwd=lab).stdout
    assert "Completion time" in text
    assert "Slowdown" not in text


def test_parameters_of_two_measurements_are_what_their_outputs_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes((SAMPLES / "perftest_write_bw.json").read_bytes())
    assert call("import", "a.txt", cwd=tmp_path).returncode == 0
    found = json.loads(call("compare", "latest~1", "latest", "--format", "json", cwd=tmp_path).stdout)
    assert "connection type" in {each["field"] for each in found["parameters"]}


def test_two_runs_are_compared_size_by_size(lab: Path) -> None:
    text = call("compare", "--by", "size", "latest", "latest~3", cwd=lab).stdout
    lines = text.splitlines()
    assert lines[0] == "small [lab], measured (1) and small, fake (2); ratios are 2 over 1"
    assert [line.split()[:2] for line in lines[5:7]] == [["1", "MB"], ["2", "MB"]]
    found = rows(call("compare", "--by", "size", "latest", "latest~3", "--format", "csv", cwd=lab).stdout)
    pairs = {(row["first_trial"], row["second_trial"]) for row in found}
    assert len(pairs) == 2
    itself = call("compare", "--by", "size", "latest", "latest~1", cwd=lab)
    assert itself.returncode == 2
    assert "latest and latest~1 are of the same run" in itself.stderr


def test_a_list_has_measured_and_simulated_trials(lab: Path) -> None:
    text = call("trials", cwd=lab).stdout
    assert "osu_alltoall" in text
    listed = json.loads(call("trials", "--format", "json", cwd=lab).stdout)["trials"]
    assert [len(each["jobs"]) for each in listed] == [1, 1, 1, 1]
    table = rows(call("export", "latest", "--table", "trials", "--format", "csv", cwd=lab).stdout)
    assert (table[0]["job"], table[0]["frames_lost"]) == ("osu_alltoall", "")


def test_the_report_of_measured_results_has_what_there_is(lab: Path) -> None:
    finished = call("report", "latest", "-o", "measured.html", cwd=lab)
    assert finished.returncode == 0, finished.stderr
    page = (lab / "measured.html").read_text()
    assert "Measured results carry no per-chunk data" in page
    assert "Imported file" in page
    assert "Assumptions and limits" not in page
    assert 'id="fct"' not in page


def test_a_report_sets_measured_results_beside_simulated_ones(lab: Path) -> None:
    store = Workspace.open(lab / "fabricbench-workspace")
    measured, simulated = store.suite(store.find("latest")), store.suite(store.find("latest~3"))
    page = build_page(simulated, simulated[0], measured)
    parts = next(section for section in page.sections if section.key == "summary").parts
    tables = [part for part in parts if isinstance(part, Table)]
    assert [(table.title.rpartition(", ")[2], len(table.rows)) for table in tables] == [
        ("fake", 2),
        ("measured", 2),
    ]
    assert "</html>" in render_page(page)
    finished = call("report", "latest~3", "--with", "latest", "-o", "both.html", cwd=lab)
    assert finished.returncode == 0, finished.stderr


def test_a_notebook_and_an_archive_take_measured_trials(lab: Path) -> None:
    assert call("notebook", "latest", "-o", "trial.ipynb", cwd=lab).returncode == 0
    assert "timeline" not in (lab / "trial.ipynb").read_text()
    assert call("workspace", "export", "latest", "-o", "one.tar", cwd=lab).returncode == 0
    assert call("workspace", "import", "one.tar", "--workspace", "other", cwd=lab).returncode == 0
    shown = call("show", "latest", "--workspace", "other", cwd=lab)
    assert "mpirun -np 4 osu_alltoall" in shown.stdout


def test_python_has_the_same(tmp_path: Path) -> None:
    measured = fb.import_results(SAMPLES / "nccl_alltoall.txt", tag="lab", workspace=tmp_path / "workspace")
    frame = measured.summary
    assert frame.height == 18
    assert "frames_lost" not in frame.columns
    assert frame["busbw_gb_per_s"].drop_nulls().max() == pytest.approx(44.55, abs=0.01)
    assert measured.chunks.height == 0
    assert len(measured.plot.bandwidth().data) == 2
    for plot in (measured.plot.cdf, measured[0].plot.timeline, measured[0].plot.links):
        with pytest.raises(ValueError, match="nothing to draw"):
            plot()
    both = fb.compare(measured, measured)
    assert set(both.filter(pl.col("metric") == "busbw_gb_per_s")["ratio"].drop_nulls()) == {1.0}


def test_python_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(OSU.replace("40.00", "-40"))
    with pytest.raises(fb.MeasuredError, match=r"bad\.txt:4: found \"-40\"") as raised:
        fb.import_results(tmp_path / "bad.txt", workspace=tmp_path / "workspace")
    assert isinstance(raised.value, MeasuredError)
    assert raised.value.line == 4


def test_ranks_that_are_not_those_of_the_output_are_told(tmp_path: Path) -> None:
    for ranks, is_told in ((2, False), (3, True)):
        # What is sent and received has one bandwidth, however many do it.
        finished = call("import", SAMPLES / "nccl_per_iteration.txt", "--ranks", str(ranks), cwd=tmp_path)
        assert finished.returncode == 0, finished.stderr
        assert ("--ranks 3 in place of 2, which the output lists" in finished.stderr) is is_told


@pytest.mark.parametrize(("name", "listed"), [("nccl_alltoall.txt", 8), ("nccl_reduce_scatter.json", 2)])
def test_ranks_that_the_bandwidths_do_not_fit_are_refused_with_those_that_do(
    tmp_path: Path, name: str, listed: int
) -> None:
    assert call("import", SAMPLES / name, "--ranks", str(listed), cwd=tmp_path).returncode == 0
    stored = call("trials", cwd=tmp_path).stdout
    finished = call("import", SAMPLES / name, "--ranks", "3", cwd=tmp_path)
    assert finished.returncode == 2
    assert "found busbw " in finished.stderr
    assert f"--ranks {listed}\n" in finished.stderr
    assert call("trials", cwd=tmp_path).stdout == stored


def test_tables_of_two_collectives_in_one_output_are_two_runs(tmp_path: Path) -> None:
    trials = taken(tmp_path, "nccl_two_collectives.txt")
    told = {(trial.results[0]["collective"], trial.facts.suite, trial.facts.iteration) for trial in trials}
    assert sorted(collective for collective, _, _ in told) == ["all-reduce", "all-to-all"]
    assert {iteration for _, _, iteration in told} == {0}
    assert len({suite for _, suite, _ in told}) == 2


def test_processes_without_mpi_are_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    finished = call("import", SAMPLES / "nccl_without_mpi.txt", cwd=tmp_path)
    assert finished.returncode == 2
    assert 'nccl_without_mpi.txt:40: found several processes with a "Rank 0" each' in finished.stderr
    assert "hint: if several processes were started, nccl-tests was built without MPI" in finished.stderr
    assert call("trials", cwd=tmp_path).stdout == ""


def test_communicators_of_one_job_are_no_iterations_of_each_other(tmp_path: Path) -> None:
    trials = taken(tmp_path, "nccl_inspector.jsonl")
    assert [trial.facts.iteration for trial in trials] == [0, 0, 0, 0]
    assert len({trial.facts.suite for trial in trials}) == 4
    first = trials[0].results[0]
    assert (first["ranks"], first["rounds"], first["data_size_bytes"]) == (16, 3, 17179869184)
    assert first["busbw_gb_per_s"] == pytest.approx(17179869184 / 61967.5e-6 / 1e9 * 2 * 15 / 16)
    assert first["round_ms_min"] == pytest.approx(61.890)
    assert trials[2].facts.plan == "inspector-allreduce-8-0xe62dedaa97644a"


def test_the_algorithm_that_nccl_logged_is_shown(tmp_path: Path) -> None:
    assert call("import", SAMPLES / "nccl_tuning.txt", cwd=tmp_path).returncode == 0
    shown = call("show", "latest", cwd=tmp_path).stdout
    assert "algorithm" in shown
    assert "Ring" in shown


def test_a_time_of_the_processor_gives_the_bandwidth_that_is_printed(tmp_path: Path) -> None:
    row = taken(tmp_path, "nccl_cputime.txt")[-1].results[0]
    assert row["completion_time_ms"] is None
    assert (row["algbw_gb_per_s"], row["busbw_gb_per_s"]) == pytest.approx((149.37, 149.37 * 7 / 8))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("imb_mpi1.txt", "2, 4"),
        ("osu_many.txt", "2, 8"),
        ("perftest_write_bw.json", "2"),
        ("perftest_send_lat.txt", "2"),
    ],
)
def test_ranks_that_an_output_says_itself_are_kept_and_told(tmp_path: Path, name: str, said: str) -> None:
    finished = call("import", SAMPLES / name, "--ranks", "3", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert f"{name}: --ranks 3 is not taken where the output says {said}\n" in finished.stderr
    assert "--ranks" not in call("import", SAMPLES / name, cwd=tmp_path).stderr


def test_python_warns_of_what_is_left_out(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="imb_mpi1.txt") as told:
        fb.import_results(SAMPLES / "imb_mpi1.txt", ranks=3, workspace=tmp_path / "workspace")
    texts = [str(each.message).removeprefix(f"{SAMPLES}/") for each in told]
    assert "imb_mpi1.txt:73: Barrier, #repetitions first, is not imported" in texts
    assert "imb_mpi1.txt: --ranks 3 is not taken where the output says 2, 4" in texts
    assert {Path(each.filename).name for each in told} == {"test_importing.py"}
