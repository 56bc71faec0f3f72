"""Plans with a search where they are not carried out: one clear error, and nothing ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.searches import BURST

import fabricbench as fb
from fabricbench.cli.main import run
from fabricbench.cli.testbed.lab import blueprint_of
from fabricbench.lab.errors import LabError
from fabricbench.runner import calibration_sweeps, loading

LINE = 1 + BURST.splitlines().index(
    "search: {field: jobs.burst.data_size, from: 16KB, to: 8MB, resolution: 4KB, steps: 20}"
)
OSU = """$ mpirun -np 8 ./osu_alltoall
# OSU MPI All-to-All Personalized Exchange Latency Test v7.3
# Size       Avg Latency(us)
1048576                 170.00
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "burst.yaml").write_text(BURST)
    (tmp_path / "osu.txt").write_text(OSU)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "who"),
    [
        (["expect", "burst.yaml"], "expect"),
        (["tune", "burst.yaml", "--search", "seed=1..2", "--minimize", "completion_time_ms"], "tune"),
        (["capture", "burst.yaml", "--list-qps"], "capture"),
        (["import", "osu.txt", "--plan", "burst.yaml"], "measured results"),
        (["explain", "osu.txt", "--plan", "burst.yaml"], "measured results"),
        (["run", "burst.yaml", "--backend", "flow", "--twin"], "a prediction of each trial"),
    ],
)
def test_what_does_not_carry_a_search_out_says_so_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str], who: str
) -> None:
    assert run(command) == 2
    told = [
        line for line in capsys.readouterr().err.splitlines(keepends=True) if not line.startswith("note: ")
    ]
    assert "".join(told) == (
        f"error: burst.yaml:{LINE}: search: found a search of jobs.burst.data_size; "
        f"allowed: none with {who}\n"
        "hint: `fabricbench run` carries it out; `-s search=null` takes the plan as it stands\n"
    )
    assert not (folder / "fabricbench-workspace").exists()


def test_a_campaign_names_its_own_line_and_that_of_the_plan(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "campaign: 1\nname: bursts\nplans:\n  - {plan: jct-alltoall, seeds: 1}\n  - {plan: burst.yaml%s}\n"
    (folder / "bursts.yaml").write_text(text % "")
    assert run(["campaign", "bursts.yaml", "--dry-run"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: bursts.yaml:5: plans.1.plan: found a mistake: ")
    assert (
        f"burst.yaml:{LINE}: search: found a search of jobs.burst.data_size; allowed: none with a campaign"
        in told
    )
    (folder / "bursts.yaml").write_text(text % ", set: {search: null}")
    assert run(["campaign", "bursts.yaml", "--dry-run"]) == 0
    assert "13 trials of 2 plans" in capsys.readouterr().out


def test_python_refuses_what_the_command_line_refuses(folder: Path) -> None:
    for refused in (
        lambda: fb.expect("burst.yaml", seeds=1, workspace=folder / "w"),
        lambda: fb.import_results("osu.txt", plan="burst.yaml", workspace=folder / "w"),
        lambda: fb.run(fb.load("burst.yaml").with_(backend="flow"), twin=True, workspace=folder / "w"),
    ):
        with pytest.raises(fb.PlanError, match=rf"burst\.yaml:{LINE}: search: found a search"):
            refused()
    small = fb.load("burst.yaml").with_({"search": None, "jobs.0.data_size": "64KB"})
    assert fb.expect(small, seeds=1, workspace=folder / "w").frame.height


def test_calibration_has_sweeps_of_its_own(folder: Path) -> None:
    del folder
    loaded = loading.load("burst.yaml")
    for name, sweep in calibration_sweeps.sweeps(loaded, calibration_sweeps.Options([(0, 1)], 1, 1 << 20)):
        assert (name, sweep.plan.search) == (name, None)


def test_a_lab_has_one_fabric(folder: Path) -> None:
    del folder
    assert blueprint_of("burst.yaml", [], None, 1000, None).hosts
    search = "search={field: fabric.switch.buffer.size, from: 64KB, to: 8MB}"
    with pytest.raises(
        LabError, match=r"tries values of fabric\.switch\.buffer\.size, which is of the fabric"
    ):
        blueprint_of("burst.yaml", [search], None, 1000, None)
