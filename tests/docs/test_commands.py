"""Every command of the tutorial and of the pages of methods and own fabrics runs and prints what is shown."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, Step, is_shown, steps

from fabricbench.cli.main import run


def typed(command: str) -> tuple[int, str]:
    """Run a command line and return its exit status and what a terminal would show."""
    program, *arguments = shlex.split(command)
    assert program == "fabricbench", command
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = run(arguments)
    output.seek(0)
    return status, output.read() + errors.getvalue()


def follow(step: Step) -> None:
    if step.kind == "file":
        Path(step.text).write_text(step.body[0])
    elif step.kind == "python":
        exec(compile(step.text, "page", "exec"), {})
    else:
        status, shown = typed(step.text)
        assert status == step.status, f"$ {step.text}\n{shown}"
        assert is_shown(step.body, shown), f"$ {step.text}\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_who_follows_a_page_sees_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABRICBENCH_WORKSPACE", raising=False)
    followed = steps(page)
    for step in followed:
        follow(step)
    assert followed or page.name == "index.md"


def test_a_page_that_shows_something_else_is_noticed() -> None:
    printed = "one\ntwo\nthree\n"
    assert is_shown(["one", "two", "three"], printed)
    assert is_shown(["...", "two", "..."], printed)
    assert is_shown(["one", "..."], printed)
    assert not is_shown(["one", "two"], printed)
    assert not is_shown(["one", "three", "..."], printed)
    assert not is_shown(["...", "three", "...", "two", "..."], printed)
    assert not is_shown(["...", "four", "..."], printed)
