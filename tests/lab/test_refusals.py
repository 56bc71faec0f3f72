"""What a lab command says where it cannot work; no privilege needed."""

from pathlib import Path

import pytest

from fabricbench.cli.main import run
from fabricbench.lab import state
from fabricbench.lab.errors import LabError


@pytest.fixture(autouse=True)
def _no_labs(run_folder: Path) -> None:
    del run_folder


@pytest.mark.parametrize("command", [["up", "jct-alltoall"], ["down"], ["counters"], ["exec", "host0", "ls"]])
def test_without_root_there_is_one_clear_error(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert run(["lab", *command]) == 2
    expected = "error: a lab needs the rights of root: it makes network namespaces\nhint: use sudo\n"
    assert capsys.readouterr().err == expected


def test_without_pyroute2_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert run(["lab", "up", "jct-alltoall"]) == 2
    assert " -m pip install 'pyroute2" in capsys.readouterr().err


def test_a_name_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "up", "jct-alltoall", "--name", "../x"]) == 2
    assert 'found "../x"; allowed: letters, digits and hyphens' in capsys.readouterr().err


def test_no_lab_is_no_error_for_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "list"]) == 0
    assert run(["lab", "list", "--format", "json"]) == 0
    assert capsys.readouterr().out == '{\n  "labs": []\n}\n'


def test_show_says_how_to_make_a_lab(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "show"]) == 2
    assert capsys.readouterr().err == "error: no lab is up\nhint: `fabricbench lab up PLAN` makes one\n"


def test_which_of_several_labs_is_asked_for() -> None:
    for name in ("one", "two"):
        (state.labs_folder() / name).mkdir(parents=True)
    with pytest.raises(LabError, match="there are 2 labs: one, two"):
        state.choose(None)
    with pytest.raises(LabError) as caught:
        state.choose("tow")
    assert caught.value.hint == "did you mean `two`?"
    assert state.choose("two") == "two"
