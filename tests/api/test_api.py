"""The Python interface gives what the command line gives, and fails as it does."""

import csv
import gzip
import io
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import fabricbench as fb
from fabricbench.report.output.atomic_files import OutputFileError


def command_line(*arguments: object) -> str:
    program = Path(sys.executable).with_name("fabricbench")
    command = [str(program), *(str(each) for each in arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_summary_is_that_of_the_command_line_to_the_last_digit(run: fb.Trials, workspace: Path) -> None:
    for trial in run:
        shown = command_line("show", trial.id, "--workspace", workspace, "--format", "csv")
        (row,) = csv.DictReader(io.StringIO(shown))
        ours = trial.summary.row(0, named=True)
        assert list(ours) == [name for name in row if name in ours]
        for name, text in row.items():
            value = ours.get(name)
            assert value == (None if value is None else type(value)(text)) if text else value in {None, ""}, (
                name
            )


def test_tables_are_those_of_the_record(run: fb.Trials, workspace: Path) -> None:
    exported = command_line("export", run[0].id, "--table", "chunks", "--workspace", workspace)
    read = pl.read_csv(io.StringIO(exported), schema=run[0].chunks.schema)
    assert run[0].chunks.equals(read)


def test_tables_of_several_trials_say_which(run: fb.Trials) -> None:
    assert run.chunks["trial"].unique(maintain_order=True).to_list() == [trial.id for trial in run]
    assert run.chunks.drop("trial").equals(pl.concat(trial.chunks for trial in run))
    assert run[1:][0].id == run[1].id


def test_comparison_is_that_of_the_command_line(run: fb.Trials, workspace: Path) -> None:
    printed = command_line("compare", run[0].id, run[1].id, "--workspace", workspace, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed)))
    ours = fb.compare(run[0], run[1]).rows(named=True)
    assert [row["metric"] for row in rows] == [row["metric"] for row in ours]
    for row, own in zip(rows, ours, strict=True):
        assert (float(row["ratio"]) if row["ratio"] else None) == own["ratio"]


def test_runs_are_compared_size_by_size(run: fb.Trials) -> None:
    assert fb.compare(run, run[1:])["data_size_bytes"].unique().to_list() == [run[1].data_size_bytes]
    with pytest.raises(ValueError, match="no job of the same data size"):
        fb.compare(run, fb.Trials([]))


@pytest.mark.parametrize("other", ["x", 3, None, ["x"]])
def test_only_trials_are_compared(run: fb.Trials, other: object) -> None:
    for pair in ((run[0], other), (other, run)):
        with pytest.raises(TypeError, match="compare takes trials, or those of a run, not "):
            fb.compare(*pair)
    assert fb.compare([run[0]], list(run)).height


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fb.load("jct-alltoall").with_(foo=1),
        lambda: fb.load({"fabricbench": 1, "name": 3}),
        lambda: fb.run("jct-alltoall", variants=["none"]),
    ],
)
def test_the_traceback_of_a_wrong_plan_has_the_problems_alone(wrong: Callable[[], object]) -> None:
    with pytest.raises(fb.PlanError) as caught:
        wrong()
    text = "".join(traceback.format_exception(caught.value))
    assert text.count("Traceback (most recent call last)") == 1


def test_a_wrong_field_raises_what_the_command_line_says() -> None:
    plan = fb.load("jct-alltoall")
    with pytest.raises(fb.PlanError, match=r"fabric\.topology\.spines: found 0; allowed: 1 or more"):
        plan.with_({"fabric.topology.spines": 0})
    with pytest.raises(fb.PlanError, match=r'^error: data_size: found "1XB"'):
        plan.with_(data_size="1XB")
    with pytest.raises(fb.PlanError, match="did you mean `jct-alltoall`"):
        fb.load("jct-altoall")
    with pytest.raises(fb.PlanError, match="<fields>:1: fabric: found nothing"):
        fb.load({"fabricbench": 1, "name": "mine"})


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        (
            {"data_sizes": "1MB"},
            "error: data_sizes: found an unknown key; .*\nhint: did you mean `data_size`",
        ),
        ({"sed": 7}, "hint: did you mean `seed`"),
        ({"spines": 2}, "hint: `spines` belongs to fabric.topology"),
        ({"seed": {1, 2}}, "error: seed: found a value of type set.*; allowed: numbers, texts"),
    ],
)
def test_a_keyword_that_is_no_field_gets_a_hint(fields: dict[str, object], hint: str) -> None:
    with pytest.raises(fb.PlanError, match=hint):
        fb.load("jct-alltoall").with_(**fields)


def test_an_unknown_variant_is_named_as_it_was_written() -> None:
    changes = [{"name": "ideal"}, {"name": "slow", "set": {"jobs.0.step_overhead": "1us"}}]
    plan = fb.load("jct-alltoall").with_(variants=changes)
    with pytest.raises(
        fb.PlanError, match=r'^error: variant "slw": found no such .*\nhint: did you mean `slow`'
    ):
        fb.run(plan, variants=["slw"])


def test_an_unknown_table_says_which_there_are(run: fb.Trials) -> None:
    for read in (run.frame, run[0].frame, run[0].lazy, run[0].arrow):
        with pytest.raises(
            ValueError, match=r'no table "chunk"; there are chunks, .*; did you mean `chunks`'
        ):
            read("chunk")


def test_a_traceback_has_the_hint(run: fb.Trials, workspace: Path, tmp_path: Path) -> None:
    def told(use: Callable[[], object]) -> str:
        with pytest.raises((fb.StoreError, fb.MeasuredError, OutputFileError)) as caught:
            use()
        return traceback.format_exception(caught.value)[-1].strip()

    assert told(lambda: fb.workspace(workspace).trial("latets")) == 'hint: did you mean "latest"?'
    assert told(lambda: run[0].write_report(tmp_path)).startswith("hint: name a file in it")
    assert told(lambda: fb.import_results(tmp_path / "none")).startswith("hint: name a file with")


def test_threads_and_reports_are_checked_as_on_the_command_line(run: fb.Trials, tmp_path: Path) -> None:
    for threads in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"threads: found {threads}; allowed: 1 to 1024"):
            fb.run("jct-alltoall", workspace=tmp_path, threads=threads)
    with pytest.raises(OutputFileError, match="a report is a page of HTML"):
        run[0].write_report(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_of_a_file_keeps_its_place_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(fb.load("jct-alltoall").text)
    changed = fb.load(path).with_(seed=3).with_(data_size="1MB")
    assert changed.overrides == ("seed=3", 'sweep.data_size="1MB"')
    assert [spec["seed"] for spec in changed.run_specs] == [3]


def test_a_trial_beyond_this_machine_is_refused_unless_forced(tmp_path: Path) -> None:
    huge = fb.load(
        {
            "fabricbench": 1,
            "name": "huge",
            "fabric": {"topology": {"kind": "single-switch", "hosts": 128}},
            "jobs": [{"collective": "permutation"}],
            "sweep": {"data_size": "15TB"},
        }
    )
    with pytest.raises(fb.PlanError, match=r"which takes up to \d+ h"):
        fb.run(huge, workspace=tmp_path)
    assert not (tmp_path / "trials").exists()


def test_what_progress_raises_stops_the_run_and_resume_goes_on(tmp_path: Path) -> None:
    plan = fb.load("jct-alltoall").with_(data_size=["2MB", "4MB", "8MB"])

    class EnoughError(Exception):
        pass

    def stop_in_the_second(progress: fb.Progress) -> None:
        if progress.trial == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        fb.run(plan, workspace=tmp_path, on_progress=stop_in_the_second)
    assert len(fb.workspace(tmp_path).trials()) == 1
    shares: list[float] = []
    done = fb.run(
        plan, workspace=tmp_path, resume=True, on_progress=lambda progress: shares.append(progress.share)
    )
    assert len(done) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_ctrl_c_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    plan = fb.load("jct-alltoall").with_(data_size=["2MB", "4MB"])

    def interrupt(progress: fb.Progress) -> None:
        if progress.trial == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.run(plan, workspace=tmp_path, on_progress=interrupt)
    assert [trial.data_size_bytes for trial in fb.workspace(tmp_path).trials()] == [2 << 20]


def test_an_unknown_trial_or_workspace_says_what_there_is(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(fb.UnknownTrialError, match='no trial "zzz"'):
        fb.workspace(workspace).trial("zzz")
    with pytest.raises(fb.StoreError):
        fb.workspace(tmp_path / "none")


def test_nothing_to_draw_says_so(run: fb.Trials) -> None:
    with pytest.raises(ValueError, match="no trial to draw"):
        _ = run[2:].plot


def test_causes_are_objects_and_a_frame(tmp_path: Path) -> None:
    plan = fb.load("cc-alltoall-ecn").with_(data_size="4MB")
    (trial,) = fb.run(plan, workspace=tmp_path)
    diagnosis = trial.diagnose()
    assert diagnosis.slow_jobs == [job["name"] for job in trial.run_spec["jobs"]]
    assert [cause.cause for cause in diagnosis.causes] == diagnosis.frame["cause"].to_list()
    assert "carries 11 of 16 queue pairs" in diagnosis.causes[0].sentence
    assert "carries 11 of 16 queue pairs" in repr(diagnosis)


def test_a_timeline_is_compressed_by_its_name(run: fb.Trials, tmp_path: Path) -> None:
    run[0].write_timeline(tmp_path / "plain.json")
    run[0].write_timeline(tmp_path / "packed.json.gz")
    plain = (tmp_path / "plain.json").read_bytes()
    assert gzip.decompress((tmp_path / "packed.json.gz").read_bytes()) == plain
    run[0].write_timeline(tmp_path / "some.json", ranks=[0])
    assert 0 < len((tmp_path / "some.json").read_bytes()) < len(plain)


@pytest.mark.usefixtures("run")
def test_a_threshold_may_be_one_text(workspace: Path) -> None:
    stored = fb.workspace(workspace)
    one, several = stored.trials(where="ideal_percent>98"), stored.trials(where=["ideal_percent>98"])
    assert [trial.id for trial in one] == [trial.id for trial in several]
