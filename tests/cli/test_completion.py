"""Completion by shells: what a word may be, quickly and never with a word of its own."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from tests.support.samples import PLAN, call

from fabricbench.cli.completion import complete, complete_words, fields
from fabricbench.cli.main import named_command, program
from fabricbench.plan.load import load_plan
from fabricbench.store.names import last_trials

MAIN = "import sys; from fabricbench.cli.main import main; main()"
HEAVY = {"polars", "pyarrow", "plotly", "rich"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan and a workspace with its trials."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "small.yaml").write_text(PLAN)
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy, which the test may change."""
    return shutil.copytree(filled, tmp_path / "copy")


def asked(folder: Path, script: str = MAIN, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    environment.pop("FABRICBENCH_WORKSPACE", None)
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def completed(folder: Path, *words: str) -> list[str]:
    """Complete the last of some words as bash would have it."""
    status, output, errors = answered(folder, **question(*words))
    assert (status, errors) == (0, "")
    return output.split()


def answered(folder: Path, **variables: str) -> tuple[int, str, str]:
    """Complete in this process, which is much faster; return the exit status and what is written."""
    output, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, variables),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        os.environ.pop("FABRICBENCH_WORKSPACE", None)
        status = complete(program(named_command(complete_words())))
    return status, output.getvalue(), errors.getvalue()


def question(*words: str) -> dict[str, str]:
    """Return the variables by which bash asks for the last of some words."""
    return {
        "_FABRICBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["fabricbench", *words]),
        "COMP_CWORD": str(len(words)),
    }


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["comp"], ["compare", "completion"]),
        (["plan", ""], ["check", "ports", "schema"]),
        (["campaign", ""], ["run", "report", "show"]),
        (["campaign", "--dr"], ["--dry-run"]),
        (["campaign", "some.yaml", "--dr"], ["--dry-run"]),
        (["campaign", "show", "--metric", "queue"], ["queue_max_bytes", "queue_p95_bytes"]),
        (["run", "--thr"], ["--threads"]),
        (["run", "--format", "c"], ["csv"]),
        (["run", "lb-alltoall"], ["lb-alltoall-ecmp"]),
        (["plan", "check", "sma"], ["small.yaml"]),
        (["run", "small.yaml", "-s", "transport.ack_e"], ["transport.ack_every="]),
        (["show", "lat"], ["latest"]),
        (["show", "sm"], ["small"]),
        (["show", "--workspace", "nowhere", ""], []),
        (["run", "no-such-pl"], []),
    ],
)
def test_a_word_may_be(folder: Path, words: list[str], found: list[str]) -> None:
    assert completed(folder, *words) == found


def test_trials_are_those_of_the_workspace_the_newest_first(folder: Path) -> None:
    ids = [trial for trial, plan in last_trials(folder / "fabricbench-workspace")]
    assert completed(folder, "report", ids[0][:6]) == [ids[0]]
    shown = completed(folder, "compare", "latest", "")
    assert shown == ["latest", *ids, "small"]


def test_views_are_those_of_the_workspace(folder: Path) -> None:
    assert completed(folder, "trials", "--view", "") == []
    for name in ("slow", "lab"):
        assert call("trials", "--save-view", name, cwd=folder).returncode == 0
    assert completed(folder, "trials", "--view", "") == ["lab", "slow"]
    assert completed(folder, "views", "delete", "s") == ["slow"]


def test_what_cannot_be_read_has_no_trials(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder / "fabricbench-workspace"
    assert len(last_trials(root)) == 2
    monkeypatch.setenv("FABRICBENCH_CATALOG_URL", "postgresql://nobody@nowhere/nothing")
    assert last_trials(root) == []
    monkeypatch.delenv("FABRICBENCH_CATALOG_URL")
    (root / "catalog.sqlite").write_bytes(b"no database")
    assert last_trials(root) == []
    assert last_trials(folder / "none") == []


def test_fields_are_those_that_a_plan_takes() -> None:
    names = fields("")
    assert len(set(names)) == len(names) > 200
    assert {"seed=", "jobs.0.ranks=", "transport.ack_every=", "sweep.data_size="} <= set(names)
    for override in ("seed=7", "jobs.0.start=2us", "transport.ack_every=4"):
        assert f"{override.partition('=')[0]}=" in names
        load_plan("jct-alltoall", [override])


def test_completing_loads_nothing_heavy(folder: Path) -> None:
    script = (
        f"import sys\ntry:\n    {MAIN.partition('; ')[2]}\nexcept SystemExit: pass\n"
        f"print('loaded', *sorted(set(sys.modules) & {HEAVY!r}))"
    )
    for words in (["show", "lat"], ["run", "jct-alltoall", "-s", "seed"]):
        finished = asked(folder, script, **question(*words))
        assert (finished.returncode, finished.stderr) == (0, "")
        assert finished.stdout.split()[1:] == ["loaded"]


@pytest.mark.parametrize("instruction", ["", "complete_tcsh", "nonsense", "complete_zsh", "complete_fish"])
def test_a_shell_that_asks_oddly_is_told_nothing(folder: Path, instruction: str) -> None:
    for words in ("", "fabricbench run '", "no-such-command x "):
        _, _, errors = answered(folder, _FABRICBENCH_COMPLETE=instruction, _TYPER_COMPLETE_ARGS=words)
        assert errors == ""


@pytest.mark.parametrize(
    ("shell", "expected"),
    [("zsh", '"small":"its last trial"'), ("fish", "small\tits last trial")],
)
def test_other_shells_see_what_a_word_means(folder: Path, shell: str, expected: str) -> None:
    finished = asked(
        folder,
        _FABRICBENCH_COMPLETE=f"complete_{shell}",
        _TYPER_COMPLETE_ARGS="fabricbench show sm",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert expected in finished.stdout
    assert finished.stderr == ""


def shell_script(folder: Path, shell: str) -> Path:
    """Write the completion script of a shell, and the program that it calls."""
    program = folder / "fabricbench"
    program.write_text(f"#!{sys.executable}\n{MAIN}\n")
    program.chmod(0o755)
    script = folder / f"completion.{shell}"
    script.write_text(call("completion", shell, cwd=folder).stdout)
    return script


def test_bash_completes_with_the_script_that_it_is_given(folder: Path) -> None:
    script = shell_script(folder, "bash")
    ask = (
        f"source {script}; COMP_WORDS=(fabricbench run small.yaml -s transport.ack_e); COMP_CWORD=4; "
        f'_fabricbench_completion {folder}/fabricbench 2>/dev/null; echo "${{COMPREPLY[@]}}"; '
        "complete -p fabricbench"
    )
    finished = subprocess.run(
        ["bash", "--norc", "-c", ask], cwd=folder, check=True, capture_output=True, text=True
    )
    assert finished.stdout.splitlines() == [
        "transport.ack_every=",
        "complete -o default -F _fabricbench_completion fabricbench",
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_with_the_script_that_it_is_given(folder: Path) -> None:
    script = shell_script(folder, "fish")
    ask = "; ".join(
        f"complete -C 'fabricbench {words}'"
        for words in ("run sma", "run small.yaml -s transport.ack_e", "plan ")
    )
    finished = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; {ask}"],
        cwd=folder,
        env=os.environ | {"PATH": f"{folder}:/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    words = [line.partition("\t")[0] for line in finished.stdout.splitlines()]
    assert words == ["small.yaml", "transport.ack_every=", "check", "ports", "schema"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_completes_with_the_script_that_it_is_given(folder: Path) -> None:
    script = shell_script(folder, "zsh")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update(PATH=f"{folder}:/usr/bin:/bin", TERM="dumb")
        os.execv("/usr/bin/env", ["env", "zsh", "-f", "-i"])

    def shown(typed: str, expected: str) -> str:
        """Type something and return what the terminal shows until an expected text, or for half a minute."""
        os.write(terminal, typed.encode())
        seen, end = "", time.monotonic() + 30
        while expected not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 1 << 16).decode()
        return seen

    try:
        start = f"PS1=; autoload -Uz compinit; compinit -u -D; source {script}; echo re''ady\n"
        assert "ready" in shown(start, "ready")
        assert "fabricbench run small.yaml" in shown("fabricbench run sma\t", "small.yaml")
        assert "transport.ack_every=" in shown("-s transport.ack_e\t", "ack_every=")
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


@pytest.mark.parametrize(("shell", "sign"), [("zsh", "compdef"), ("fish", "complete --command")])
def test_other_shells_get_theirs(tmp_path: Path, shell: str, sign: str) -> None:
    finished = call("completion", shell, cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert sign in finished.stdout
    assert "_FABRICBENCH_COMPLETE=complete_" in finished.stdout


def test_an_unknown_shell_is_refused(tmp_path: Path) -> None:
    finished = call("completion", "tcsh", cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in finished.stderr
