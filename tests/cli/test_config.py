"""The user's defaults: which value wins, what the file may say, and how it is changed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.support.samples import PLAN, call

from fabricbench.cli.config_file import SETTINGS, config_path, read_config
from fabricbench.cli.main import program

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home" / "fabricbench" / "config.toml"
    monkeypatch.delenv("FABRICBENCH_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for setting in SETTINGS.values():
        if setting.variable:
            monkeypatch.delenv(setting.variable, raising=False)
    (tmp_path / "small.yaml").write_text(PLAN)
    return path


@pytest.fixture
def ask(file: Path, tmp_path: Path) -> Call:  # noqa: ARG001 -- it prepares the environment
    return lambda *arguments: call(*arguments, cwd=tmp_path)


def said(ask: Call, *arguments: str) -> str:
    finished = ask(*arguments)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def from_of(ask: Call) -> dict[str, tuple[object, str]]:
    rows = json.loads(said(ask, "config", "--format", "json"))["settings"]
    return {row["key"]: (row["value"], row["from"]) for row in rows}


def test_the_file_is_where_the_environment_says(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_path() == file
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert config_path() == Path("/home/somebody/.config/fabricbench/config.toml")
    monkeypatch.setenv("FABRICBENCH_CONFIG", "/etc/other.toml")
    assert config_path() == Path("/etc/other.toml")


def test_without_a_file_every_default_is_built_in(ask: Call, file: Path) -> None:
    assert {place for _, place in from_of(ask).values()} == {"default"}
    assert said(ask, "config", "path") == f"{file}\n"
    assert said(ask, "config", "get", "format") == "table\n"
    assert not file.exists()


def test_what_is_set_holds_until_it_is_unset(ask: Call, file: Path) -> None:
    for key, value in (("workspace", "here"), ("jobs", "2"), ("format", "csv")):
        assert said(ask, "config", "set", key, value) == ""
    assert file.read_text() == 'workspace = "here"\njobs = 2\nformat = "csv"\n'
    assert from_of(ask)["jobs"] == (2, str(file))
    assert said(ask, "run", "small.yaml").startswith("id,tag,plan")
    assert (file.parents[2] / "here" / "catalog.sqlite").exists()
    said(ask, "config", "unset", "format")
    said(ask, "config", "unset", "format")  # it is gone already
    assert said(ask, "trials").startswith(" ")
    assert said(ask, "config", "get", "workspace") == "here\n"


def test_an_option_wins_over_a_variable_over_the_file(
    ask: Call, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(ask, "config", "set", "workspace", "of-file")
    said(ask, "run", "small.yaml")
    monkeypatch.setenv("FABRICBENCH_WORKSPACE", "of-variable")
    said(ask, "run", "small.yaml")
    said(ask, "run", "small.yaml", "--workspace", "of-option")
    for name in ("of-file", "of-variable", "of-option"):
        assert len(list((tmp_path / name / "trials").iterdir())) == 2
    assert from_of(ask)["workspace"] == ("of-variable", "FABRICBENCH_WORKSPACE")
    assert file.exists()


def test_where_records_and_catalog_are_has_a_variable_alone(
    ask: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    url = f"sqlite:///{tmp_path}/elsewhere.sqlite"
    said(ask, "config", "set", "catalog_url", url)
    said(ask, "run", "small.yaml")
    assert (tmp_path / "elsewhere.sqlite").exists()
    assert not (tmp_path / "fabricbench-workspace" / "catalog.sqlite").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs = 1\nworkspce = 'x'\n", "2: workspce: found an unknown key; allowed: workspace, catalog_url"),
        ("\n\njobs = 0", "3: jobs: found 0; allowed: 1 to 1024"),
        ("jobs = true", "1: jobs: found True; allowed: 1 to 1024"),
        ("threads = 1.5", "1: threads: found 1.5; allowed: 1 to 1024"),
        ("format = 'xml'", '1: format: found "xml"; allowed: table, json, csv'),
        ("workspace = ['a']", "1: workspace: found ['a']; allowed: text of one line"),
        ("workspace = ''", '1: workspace: found ""; allowed: text of one line'),
        ("[run]\njobs = 2\n", "1: run: found an unknown key"),
        ("run.jobs = 2\n", "run: found an unknown key"),
        ("jobs = 1\njobs = 2\n", "2: found no TOML: "),
        ("jobs: 1\n", "1: found no TOML: Expected '=' after a key in a key/value pair (at line 1"),
    ],
)
def test_a_mistake_is_told_with_its_line(ask: Call, file: Path, text: str, message: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for command in (["trials"], ["plans"], ["config"]):
        finished = ask(*command)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr.startswith(f"error: {file}:")
        assert message in finished.stderr
    assert ask("completion", "bash").returncode == 0
    assert ask("--help").returncode == 0


def test_a_misspelt_key_is_hinted_at_and_can_be_taken_out(ask: Call, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nthreds = 2\njobs = 3 # enough\n")
    assert "hint: did you mean `threads`?" in ask("plans").stderr
    said(ask, "config", "unset", "threds")
    assert file.read_text() == "# mine\njobs = 3 # enough\n"
    assert read_config() == {"jobs": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set", "job", "1"], "found the key 'job'; allowed: workspace"),
        (["get", "time-limit"], "did you mean `time_limit`?"),
        (["unset", "nothing"], "found the key 'nothing'"),
        (["set", "jobs", "many"], 'jobs: found "many"; allowed: 1 to 1024'),
        (["set", "jobs", "9" * 5000], "allowed: 1 to 1024"),
        (["set", "workspace", "a\nb"], "allowed: text of one line"),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    ask: Call, file: Path, arguments: list[str], message: str
) -> None:
    finished = ask("config", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert message in finished.stderr
    assert not file.exists()


@pytest.mark.parametrize("value", ['a "quoted" \\ folder', "caf\u00e9/\U0001f600", "x = 1 # no comment", "~"])
def test_any_text_comes_back_as_it_was(ask: Call, file: Path, value: str) -> None:
    said(ask, "config", "set", "workspace", value)
    said(ask, "config", "set", "jobs", "2")
    assert read_config() == {"workspace": str(Path(value).expanduser()), "jobs": 2}
    assert len(file.read_text().splitlines()) == 2


def test_a_file_of_another_style_is_left_alone(ask: Call, file: Path) -> None:
    file.parent.mkdir(parents=True)
    text = 'workspace = """\nx"""\n'
    file.write_text(text)
    finished = ask("config", "set", "workspace", "y")
    assert finished.returncode == 2
    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(ask: Call, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir(parents=True)
    target = tmp_path / "dotfiles.toml"
    target.write_text("jobs = 1\n")
    file.symlink_to(target)
    said(ask, "config", "set", "jobs", "4")
    assert file.is_symlink()
    assert target.read_text() == "jobs = 4\n"


def test_a_file_that_cannot_be_read_is_named(ask: Call, file: Path) -> None:
    file.mkdir(parents=True)
    finished = ask("plans")
    assert finished.returncode == 2
    assert f"error: {file}: Is a directory" in finished.stderr
    file.rmdir()
    file.write_bytes(b"\xff\xfe")
    assert "found what is no text in UTF-8" in ask("plans").stderr


def test_each_setting_is_an_option_or_a_variable_that_there_is() -> None:
    command = typer.main.get_command(program())
    for setting in SETTINGS.values():
        assert setting.option or setting.variable
        holders = [
            each
            for name, each in command.commands.items()  # type: ignore[attr-defined]
            if not setting.commands or name in setting.commands
        ]
        options = {option for each in holders for parameter in each.params for option in parameter.opts}
        assert not setting.option or setting.option in options
