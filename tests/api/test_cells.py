"""Plans and trials in the cells of a notebook: whole, escaped, and readable on any page."""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

import fabricbench as fb
from fabricbench.api.runs import bar_html, progress_bar

ROWS = re.compile(r"<tr>")
COLOURS = re.compile(r"(?:^|[;\"])(?:color|background|border(?:-bottom)?):([^;\"]*)")


def html(value: Any) -> str:
    text = value._repr_html_()
    assert isinstance(text, str)
    return text


def test_a_plan_says_what_there_is_to_run() -> None:
    plan = fb.load("jct-alltoall").with_(data_size="16MB")
    assert "<b>jct-alltoall</b> All-to-all completion time, 8 ranks, no congestion" in html(plan)
    assert "1 trial, 8 ranks on 8 hosts, data size 16 MB" in html(plan)
    assert "<code>sweep.data_size=&quot;16MB&quot;</code>" in html(plan)


def test_what_is_odd_about_a_plan_is_shown() -> None:
    plan = fb.load("jct-alltoall").with_(scale=1000)
    assert plan.warnings
    for warning in plan.warnings:
        assert escape(warning) in html(plan)


def test_a_run_and_a_trial_are_tables_of_their_metrics(run: fb.Trials) -> None:
    text = html(run)
    assert "<b>2 trials</b>" in text
    assert len(ROWS.findall(text)) == 3
    for trial in run:
        assert f">{trial.id}</td>" in text
        assert len(ROWS.findall(html(trial))) == 2
    assert ">busbw GB/s</th>" in text
    assert ">47.64</td>" in text
    assert html(run[:0]) == "<div><b>0 trials</b></div>"


def test_what_names_bring_along_is_text(workspace: Path) -> None:
    plan = fb.load("jct-alltoall").with_(
        data_size="1MB", title="<script>alert(1)</script> & more", tag="<b>x"
    )
    run = fb.run(plan, workspace=workspace)
    for text in (html(plan), html(run), html(run[0])):
        assert "<script" not in text
        assert "<b>x" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html(plan)


def test_colours_are_those_of_the_page(run: fb.Trials) -> None:
    found = {colour for text in (html(run), html(run[0])) for colour in COLOURS.findall(text)}
    assert found
    assert all(each in ("0", "inherit", "transparent") or "rgba(128,128,128" in each for each in found)


def test_a_long_run_shows_its_beginning(run: fb.Trials) -> None:
    text = html(fb.Trials([run[0]] * 60))
    assert len(ROWS.findall(text)) == 51
    assert "and 10 more" in text


def test_a_bar_has_every_trial_that_runs() -> None:
    running = [
        fb.Progress(trial=number, trials=4, data_size_bytes=1 << 20, trial_share=0.25, simulated_ps=0)
        for number in (2, 3)
    ]
    text = bar_html(0.375, running)
    assert '<progress value="0.3750" max="1"' in text
    assert text.endswith("38% trial 2 of 4 (1 MB) 25%, trial 3 of 4 (1 MB) 25%")
    assert bar_html(1.0, []).endswith("100% ")


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_there_is_no_bar_but_in_a_notebook(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress_bar() as told:
        assert told is None


def test_a_run_is_that_far_as_its_trials_are_together(workspace: Path) -> None:
    seen: list[fb.Progress] = []
    plan = fb.load("jct-alltoall").with_(data_size=["3MB", "5MB", "6MB", "7MB"])
    fb.run(plan, workspace=workspace, jobs=2, on_progress=seen.append)
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {each.trial for each in seen} == {1, 2, 3, 4}


@pytest.mark.parametrize(("name", "value"), [("jobs", 0), ("jobs", 2000), ("threads", 0)])
def test_numbers_out_of_range_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name}: found {value}; allowed: 1 to 1024"):
        fb.run("jct-alltoall", **{name: value})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_notebook_shows_a_bar_and_then_the_run(tmp_path: Path) -> None:
    cells = [
        "import fabricbench as fb\nfrom fabricbench.api import runs\nruns._PERIOD_S = 0\n"
        "plan = fb.load('jct-alltoall').with_(data_size=['1MB', '2MB'])\nplan",
        f"run = fb.run(plan, workspace={str(tmp_path)!r})",
        "run",
        f"again = fb.run(plan, workspace={str(tmp_path)!r}, on_progress=lambda progress: None)",
    ]
    notebook = new_notebook(cells=[new_code_cell(each) for each in cells])
    messages: list[Any] = []
    client: Any = NotebookClient(notebook, timeout=120, kernel_name="python3")
    handle = client.process_message

    def process_message(message: Any, *rest: Any) -> Any:
        messages.append(message)
        return handle(message, *rest)

    client.process_message = process_message
    client.execute()
    updates = [each["content"] for each in messages if each["msg_type"] == "update_display_data"]
    texts = [each["data"]["text/html"] for each in updates]
    assert any("<progress" in text and "trial 1 of 2 (1 MB)" in text for text in texts)
    assert texts[-1] == ""
    outputs: list[nbformat.NotebookNode] = notebook.cells[2].outputs
    assert "<b>2 trials</b>" in outputs[0]["data"]["text/html"]
    assert "<b>jct-alltoall</b>" in notebook.cells[0].outputs[0]["data"]["text/html"]
    assert notebook.cells[3].outputs == []
