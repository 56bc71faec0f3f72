"""Searches with the real engine: against the closed form, and against the values that they did not try."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.samples import call
from tests.support.searches import BURST, SMALL, SMALL_VALUES

import fabricbench as fb
from fabricbench.cli.main import run

BUFFER = 1 << 20
STEP = 4 << 10
HEADERS = 62
MTU = 4096


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    (folder / "burst.yaml").write_text(BURST)
    return folder


def called(
    folder: Path, capsys: pytest.CaptureFixture[str], *options: str, workspace: str = "w"
) -> tuple[int, str]:
    capsys.readouterr()
    status = run(["run", str(folder / "burst.yaml"), "--workspace", str(folder / workspace), *options])
    return status, capsys.readouterr().out


def bytes_of(text: str) -> int:
    for unit, size in (("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)):
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * size)
    raise AssertionError(text)


def test_the_largest_burst_without_loss_is_the_buffer_shared_by_the_senders_but_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = called(folder, capsys, "--format", "json")
    assert status == 0
    cases = json.loads(out)["search"]
    assert [case["axes"]["jobs.burst.ranks"] for case in cases] == ["0-2", "0-4", "0-7"]
    for case, senders in zip(cases, (2, 4, 7), strict=True):
        holds, fails = bytes_of(case["holds"]), bytes_of(case["fails"])
        assert fails - holds <= STEP
        # N bursts of S bytes leave (N - 1) S in the queue, headers included; one frame more is on the wire.
        payload = BUFFER * MTU / (MTU + HEADERS) / (senders - 1)
        assert holds - 2 * MTU <= payload <= fails + 2 * MTU


def test_what_holds_holds_and_what_does_not_does_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = called(folder, capsys, "--resume", "--format", "json")
    for case in json.loads(out)["search"]:
        for value, status in ((case["holds"], 0), (case["fails"], 3)):
            ranks = case["axes"]["jobs.burst.ranks"]
            options = ["-s", "search=null", "-s", f"sweep={{jobs.burst.ranks: ['{ranks}']}}"]
            options += ["-s", f"jobs.burst.data_size={value}"]
            assert called(folder, capsys, *options, workspace="direct")[0] == status


def test_a_search_goes_on_where_it_was_and_its_trials_are_one_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, first = called(folder, capsys, "--resume")
    again = call("trials", "--workspace", folder / "w", "--format", "json", cwd=folder)
    trials = json.loads(again.stdout)["trials"]
    assert len({trial["id"] for trial in trials}) == len(trials)
    tried = sum(int(line.split()[-1]) for line in first.splitlines()[-3:])
    assert (status, len(trials)) == (0, tried)
    assert f"{tried} trials" in first.splitlines()[0]
    shown = call("report", "latest", "-o", "r.html", "--workspace", folder / "w", cwd=folder)
    assert f"{tried} trials" in shown.stderr


def test_an_end_that_holds_ends_the_search_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["-s", "fabric.switch.pfc=on", "-s", "fabric.switch.buffer=64MB", "-s", "sweep=null"]
    status, out = called(folder, capsys, *options, workspace="end")
    assert status == 0
    assert out.splitlines()[-1].split() == ["8MB", "-", "1"]


def test_a_range_in_which_nothing_holds_is_told_and_no_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = called(folder, capsys, "-s", "search.from=4MB", "-s", "sweep=null", workspace="none")
    assert status == 3
    assert out.splitlines()[-1] == "burst: not even 4MB holds"


def test_the_lowest_value_is_searched_from_below(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest buffer without loss for a burst of 1 MB of each of two senders."""
    ends = "from: 64KB, to: 8MB, find: lowest, resolution: 4KB, steps: 20"
    search = f"search={{field: fabric.switch.buffer.size, {ends}}}"
    status, out = called(
        folder, capsys, "-s", search, "-s", "sweep=null", "--format", "json", workspace="lowest"
    )
    assert status == 0
    (case,) = json.loads(out)["search"]
    holds, fails = bytes_of(case["holds"]), bytes_of(case["fails"])
    assert 0 < holds - fails <= STEP
    assert abs(holds - (1 << 20) * (MTU + HEADERS) / MTU) <= 2 * STEP


def test_python_and_the_command_line_find_the_same_and_a_scan_of_every_value_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "small.yaml").write_text(SMALL)
    seen: list[fb.Progress] = []
    found = fb.run(folder / "small.yaml", workspace=folder / "python", on_progress=seen.append)
    command = ["run", str(folder / "small.yaml"), "--workspace", str(folder / "command"), "--format", "json"]
    capsys.readouterr()
    assert run(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert [trial.id for trial in found] == [trial["id"] for trial in told["trials"]]
    rows = found.found.to_dicts()
    assert [
        {name: row[name] for name in ("field", "find", "variant", "holds", "fails", "tried")} for row in rows
    ] == [
        {name: case[name] for name in ("field", "find", "variant", "holds", "fails", "tried")}
        for case in told["search"]
    ]
    shares = [each.share for each in seen]
    assert (shares, shares[-1]) == (sorted(shares), 1.0)
    assert all(each.trial <= each.trials for each in seen)
    for row in rows:
        alone = {"search": None, "sweep": {"jobs.burst.data_size": SMALL_VALUES}}
        plan = fb.load(folder / "small.yaml").with_(alone | {"jobs.burst.ranks": row["jobs.burst.ranks"]})
        scanned = fb.run(plan, workspace=folder / "scan").summary
        lost = dict(zip(SMALL_VALUES, scanned["frames_lost"], strict=True))
        first = next(value for value, frames in lost.items() if frames > 0)
        assert all(frames > 0 for frames in list(lost.values())[SMALL_VALUES.index(first) :])
        assert (row["fails"], row["holds"]) == (first, SMALL_VALUES[SMALL_VALUES.index(first) - 1])


def test_a_run_from_python_goes_on_where_it_was_and_is_one_run(folder: Path) -> None:
    first = fb.run(folder / "small.yaml", workspace=folder / "again", jobs=2)
    seen: list[fb.Progress] = []
    again = fb.run(folder / "small.yaml", workspace=folder / "again", on_progress=seen.append, resume=True)
    assert [trial.id for trial in again] == [trial.id for trial in first]
    assert again.found.equals(first.found)
    assert seen[-1].share == 1.0
    assert {trial.id for trial in fb.workspace(folder / "again").run_of(first[0])} == {
        trial.id for trial in first
    }
    assert (
        fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=folder / "again").found.height == 0
    )
