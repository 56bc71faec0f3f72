"""`new` writes plans that run: of shipped plans and of clusters, under the name of their file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.samples import call

from fabricbench.plan.load import load_plan


def new(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call("new", "mine.yaml", *arguments, cwd=folder)


def test_a_copy_of_a_shipped_plan_keeps_its_comments(tmp_path: Path) -> None:
    finished = new(tmp_path, "--from", "jct-alltoall")
    assert (finished.returncode, finished.stdout) == (0, "")
    assert finished.stderr.splitlines()[-1] == "next: fabricbench run mine.yaml"
    text = (tmp_path / "mine.yaml").read_text()
    assert text.startswith("# Job completion time, all-to-all")
    copy, shipped = load_plan(str(tmp_path / "mine.yaml")), load_plan("jct-alltoall")
    assert copy.plan.name == "mine"
    assert [trial.spec_json for trial in copy.trials] == [trial.spec_json for trial in shipped.trials]


@pytest.mark.parametrize("collective", ["all-reduce", "alltoall"])
def test_a_plan_of_a_cluster(tmp_path: Path, collective: str) -> None:
    finished = new(tmp_path, "--cluster", "dgx-h100", "--servers", "4", "--collective", collective)
    assert finished.returncode == 0, finished.stderr
    loaded = load_plan(str(tmp_path / "mine.yaml"))
    assert loaded.plan.title.endswith(" on 4 x dgx-h100")
    assert {len(trial.run_spec["jobs"][0]["hosts"]) for trial in loaded.trials} == {32}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "found neither; allowed: one of them"),
        (("--from", "jct-alltoall", "--cluster", "dgx-h100"), "found both; allowed: one of them"),
        (("--from", "jct-altoall"), "did you mean `jct-alltoall`?"),
        (("--cluster", "dgx-h10"), "did you mean `dgx-h100`?"),
        (("--cluster", "dgx-h100", "--collective", "allreduc"), "did you mean `all-reduce`?"),
        (("--from", "sonic-switches"), "in the copy of sonic-switches"),
    ],
)
def test_a_mistake_writes_nothing(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    finished = new(tmp_path, *arguments)
    assert finished.returncode == 2
    assert text in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_on_request_only(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    finished = new(tmp_path, "--from", "jct-alltoall")
    assert finished.returncode == 2
    assert finished.stderr.startswith(
        "error: FILE.yaml: found mine.yaml, which exists; allowed: a new file\n"
    )
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    assert new(tmp_path, "--from", "jct-alltoall", "--force").returncode == 0
