"""Errors: the user's are 2 with a message and a hint, ours are 1, a broken pipe is quiet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, PROGRAM, call

from fabricbench.cli.errors import exit_status
from fabricbench.cli.main import program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PLAN)
    return tmp_path


def test_an_error_names_the_option_that_was_typed(folder: Path) -> None:
    finished = call("run", "small.yaml", "--seed", str(10**20), "--tag", "a\nb", cwd=folder)
    assert finished.returncode == 2
    assert [line.split(" found")[0] for line in finished.stderr.splitlines()] == [
        "error: --seed:",
        "error: --tag:",
    ]
    given = call("run", "small.yaml", "-s", "tag=[]", cwd=folder)
    assert given.stderr.startswith("error: -s tag=[]: tag: found")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("run", "nothing.yaml"), "no such plan"),
        (("run", "small.yaml", "-s", "jobs.0.rank=0-9"), "jobs.0.rank"),
        (("run", "small.yaml", "--threads", "0"), "--threads"),
        (("run", "small.yaml", "--seed", "-1"), "--seed"),
        (("run", "small.yaml", "--format", "xml"), "--format"),
        (("notebook", "-o", "trial.txt"), "name it trial.ipynb"),
        (("report", "-o", "report.pdf"), "name it report.html"),
        (("run", "small.yaml", "--path", "fast"), "--path"),
        (("run",), "PLAN"),
        (("run", "small.yaml", "--workspace", "small.yaml"), "this is a file"),
        (("runs",), "No such command"),
        (("trials",), "there is no workspace"),
        (("show", "0000"), "there is no workspace"),
        (("export", "latest", "--table", "nothing"), "--table"),
        (("export", "latest", "-o", "chunks.xlsx"), "error: -o chunks.xlsx: tables are written as .csv"),
        (("export", "latest", "-o", "chunks.csv.gz"), "name it so, or say which by --format"),
        (("notebook", "-o", "x.txt"), "error: -o x.txt: Jupyter opens"),
    ],
)
def test_a_users_error_is_one_message_and_a_hint(
    folder: Path, arguments: tuple[str, ...], found: str
) -> None:
    finished = call(*arguments, cwd=folder)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert found in finished.stderr
    assert "\nhint: " in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (folder / "fabricbench-workspace").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "ffff"),
        ("compare", "latest", "latest~9"),
        ("export", "zzz"),
        ("report", "ffff", "-o", "x.html"),
    ],
)
def test_an_unknown_trial_is_a_users_error(folder: Path, arguments: tuple[str, ...]) -> None:
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    finished = call(*arguments, cwd=folder)
    assert finished.returncode == 2
    assert "error: " in finished.stderr
    assert "no trial" in finished.stderr
    assert "hint: " in finished.stderr


def test_an_error_of_an_option_reads_as_one_of_ours(folder: Path) -> None:
    finished = call("run", "small.yaml", "--format", "xml", cwd=folder)
    assert finished.stderr.startswith("error: Invalid value for '--format': 'xml' is not one of ")


def test_a_report_and_a_notebook_are_of_the_latest_trial_by_default(folder: Path) -> None:
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    for name, file in (("report", "x.html"), ("notebook", "x.ipynb")):
        assert call(name, "-o", file, cwd=folder).returncode == 0
        assert (folder / file).is_file()


def test_a_paragraph_of_help_fills_its_lines(folder: Path) -> None:
    lines = [line.strip() for line in call("run", "--help", cwd=folder).stdout.splitlines()]
    first = next(index for index, line in enumerate(lines) if line.startswith("Exit status:"))
    paragraph = lines[first : lines.index("", first)]
    assert min(map(len, paragraph[:-1])) > 60


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*path, name))


@pytest.mark.parametrize("columns", [72, 80, 120])
def test_help_cuts_no_word_at_any_width(folder: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for path in _commands(typer.main.get_command(program())):
        text = call(*path, "--help", cwd=folder).stdout
        assert "\u2026" not in text, path
        assert not re.search(r"\w\.\.\.$", text, re.MULTILINE), path
        assert max(map(len, text.splitlines())) <= columns, path


def test_without_a_command_it_prints_its_help(folder: Path) -> None:
    finished = call(cwd=folder)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.strip() == call("--help", cwd=folder).stdout.strip()


def test_a_corrupted_catalog_and_a_half_written_record_are_users_errors(folder: Path) -> None:
    call("run", "small.yaml", cwd=folder)
    records = folder / "fabricbench-workspace/trials"
    for chunks in records.glob("*/chunks.parquet"):
        chunks.unlink()
    finished = call("show", cwd=folder)
    assert finished.returncode == 2
    assert "this trial's record is incomplete: the file is missing" in finished.stderr
    assert call("trials", cwd=folder).returncode == 0
    assert call("run", "small.yaml", "--resume", cwd=folder).returncode == 0
    assert call("show", cwd=folder).returncode == 0
    (folder / "fabricbench-workspace/catalog.sqlite").write_bytes(b"nonsense" * 100)
    finished = call("show", cwd=folder)
    assert finished.returncode == 2
    assert "corrupted" in finished.stderr


def test_an_export_that_cannot_be_written_is_a_users_error(folder: Path) -> None:
    call("run", "small.yaml", cwd=folder)
    finished = call("export", "latest", "-o", "nowhere/chunks.csv", cwd=folder)
    assert finished.returncode == 2
    assert "there is no folder nowhere" in finished.stderr


def test_our_own_error_is_said_to_be_a_bug(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = FakeBackend(error=ZeroDivisionError("oops"))
    finished = call("run", "small.yaml", cwd=folder, backend=broken)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "error: this is a bug in fabricbench: ZeroDivisionError: oops" in finished.stderr
    assert "Traceback" not in finished.stderr
    finished = call("--debug", "run", "small.yaml", cwd=folder, backend=broken)
    assert (finished.returncode, "Traceback" in finished.stderr) == (1, True)
    monkeypatch.setenv("FABRICBENCH_DEBUG", "1")
    assert "Traceback" in call("run", "small.yaml", cwd=folder, backend=broken).stderr


@pytest.mark.parametrize(
    "arguments",
    [("trials", "--format", "json"), ("export", "latest", "--format", "json"), ("export", "latest")],
)
def test_a_reader_that_goes_away_is_no_error(folder: Path, arguments: tuple[str, ...]) -> None:
    assert call("run", "small.yaml", cwd=folder, backend=FakeBackend(copies=2000)).returncode == 0
    command = [sys.executable, str(PROGRAM), *arguments]
    read_end, write_end = os.pipe()
    os.close(read_end)
    finished = subprocess.run(command, cwd=folder, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert finished.stderr == b""
    assert finished.returncode == 128 + 13


def test_a_processor_that_polars_is_not_built_for_is_named_before_it_dies(folder: Path) -> None:
    warning = (
        "Missing required CPU features.\n\nThe following required CPU features were not detected:\n"
        "    avx, avx2\nContinuing to use this version of Polars will likely result in a crash.\n"
    )
    (folder / "polars.py").write_text(f"import warnings\nwarnings.warn({warning!r}, RuntimeWarning)\n")
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    program = [sys.executable, "-c", "from fabricbench.cli import main; main()"]
    finished = subprocess.run(
        [*program, "report", "latest", "-o", "report.html"],
        env=os.environ | {"PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 2
    assert finished.stderr == (
        "error: polars is built for processors with more than this one has: avx, avx2\n"
        f"hint: `{sys.executable} -m pip install 'polars[rtcompat]>=1.36'` brings a build for older ones\n"
    )


def test_no_memory_for_a_thread_is_no_memory(capsys: pytest.CaptureFixture[str]) -> None:
    error = pa.ArrowException(
        "Unknown error: Failed to launch worker thread: Resource temporarily unavailable"
    )
    assert exit_status(error, debug=False) == 2
    assert capsys.readouterr().err.startswith("error: out of memory")
