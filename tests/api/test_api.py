"""The Python interface gives what the command line gives, and fails as it does."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import fabricbench as fb


def command_line(*arguments: object) -> str:
    program = Path(sys.executable).with_name("fabricbench")
    command = [str(program), *(str(each) for each in arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_summary_is_that_of_the_command_line_to_the_last_digit(run: fb.Trials, workspace: Path) -> None:
    for trial in run:
        shown = command_line("show", trial.id, "--workspace", workspace, "--format", "csv")
        (row,) = csv.DictReader(io.StringIO(shown))
        ours = trial.summary.row(0, named=True)
        assert list(ours) == list(row)
        for name, text in row.items():
            assert ours[name] == (type(ours[name])(text) if text and ours[name] is not None else None) or (
                text == "" and ours[name] in {None, ""}
            ), name


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
            "fabric": {"topology": {"kind": "single-switch", "hosts": 16}},
            "jobs": [{"collective": "permutation"}],
            "sweep": {"data_size": "100TB"},
        }
    )
    with pytest.raises(fb.PlanError, match="which takes up to 14 h"):
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
