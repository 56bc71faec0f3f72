"""Names, paths and texts that nobody means, on the command line: an error for the user, never a traceback."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.samples import PLAN, call

from fabricbench.cli.output import note, write

LONG = "x" * 5_000
NO_TEXT = "\udcff\udc80"
NAMES = [LONG, NO_TEXT, "a\nb\x1b[31m", "..", "latest~9999999999999999999"]
COMMANDS = (
    *("run {}", "plan check {}", "plan check small.yaml --variant {}", "run small.yaml --tag {} -s seed=x"),
    *("show {}", "show --workspace {}", "trials --plan {}", "trials --workspace {}", "compare {} latest"),
    *("report {} -o r.html", "report -o {}/r.html", "notebook {} -o r.ipynb", "notebook -o {}/r.ipynb"),
    *(
        "export {}",
        "export -o {}/r.csv",
        "export --table {}",
        "capture {}",
        "capture small.yaml -o {}/r.pcapng",
    ),
    *(
        "import {}",
        "import small.yaml --plan {}",
        "workspace check --workspace {}",
        "workspace export -o {}/x",
    ),
    *("workspace import {}", "{}"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "small.yaml").write_text(PLAN)
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("name", NAMES, ids=["long", "no text", "control", "folder", "number"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_nobody_means_is_a_users_error(folder: Path, command: str, name: str) -> None:
    if name == ".." and command.startswith(("report -o", "notebook -o", "export -o", "workspace export")):
        return  # a file beside the folder, which may be written
    finished = call(*(part.format(name) for part in command.split()), cwd=folder)
    assert finished.returncode == 2, finished.stderr
    assert finished.stderr.startswith("error: ")
    assert "this is a bug" not in finished.stderr
    assert finished.stderr.replace("\n", "").isprintable()
    assert max(map(len, finished.stderr.splitlines())) <= 4_000


def test_a_file_that_the_system_refuses_is_a_users_error(folder: Path) -> None:
    finished = call("show", "--workspace", LONG, cwd=folder)
    first, hint = finished.stderr.splitlines()
    assert first.startswith("error: xxx")
    assert first.endswith(": File name too long")
    assert hint.startswith("hint: name another file or folder")


def test_what_the_encoding_of_the_output_has_not_is_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, shown in (("ascii", rb"\xb5 \udcff"), ("utf-8", "\u00b5 ".encode() + rb"\udcff")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        write("\u00b5 \udcff")
        assert stream.buffer.getvalue() == shown + b"\n"


def test_a_message_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("error: a\x1b]0;b\x07\nhint: c\u202e")
    assert capsys.readouterr().err == "error: a\\x1b]0;b\\x07\nhint: c\\u202e\n"


def test_a_workspace_whose_records_are_gone_is_checked_and_repaired(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    assert call("run", "small.yaml", cwd=tmp_path).returncode == 0
    shutil.rmtree(tmp_path / "fabricbench-workspace/trials")
    for arguments in (
        ("show",),
        ("report", "-o", "r.html"),
        ("export",),
        ("workspace", "export", "-o", "x.tar"),
    ):
        finished = call(*arguments, cwd=tmp_path)
        assert (finished.returncode, finished.stderr[:7]) == (2, "error: "), finished.stderr
    found = call("workspace", "check", cwd=tmp_path)
    assert (found.returncode, found.stdout.count("no table chunks")) == (2, 2)
    assert call("workspace", "repair", cwd=tmp_path).returncode == 0
    assert call("workspace", "check", cwd=tmp_path).returncode == 0
    assert call("run", "small.yaml", "--resume", cwd=tmp_path).returncode == 0
    assert call("show", cwd=tmp_path).returncode == 0
