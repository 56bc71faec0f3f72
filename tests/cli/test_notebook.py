"""The notebook of a trial is valid, and runs from top to bottom."""

import html
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from nbclient import NotebookClient

import fabricbench as fb
from fabricbench.cli.main import run as command_line


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"]), workspace=folder)
    return folder


def written(workspace: Path, trial: str, path: Path) -> bytes:
    assert command_line(["notebook", trial, "-o", str(path), "--workspace", str(workspace)]) == 0
    return path.read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_cell_runs_and_draws(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "trial.ipynb"
    written(workspace, "latest", path)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    figures = [each for each in outputs if "application/vnd.plotly.v1+json" in each.get("data", {})]
    assert len(figures) == sum("plot." in cell.source for cell in notebook.cells)
    assert len(figures) >= 6
    assert not [each for each in outputs if each.output_type == "error"]


def test_the_same_trial_gives_the_same_notebook(workspace: Path, tmp_path: Path) -> None:
    first, second = (written(workspace, "latest~1", tmp_path / name) for name in ("a.ipynb", "b.ipynb"))
    assert first == second


def test_an_unknown_trial_writes_nothing(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trial.ipynb"
    status = command_line(["notebook", "zzz", "-o", str(path), "--workspace", str(workspace)])
    assert status == 2
    assert 'no trial "zzz"' in capsys.readouterr().err
    assert not path.exists()


def test_a_title_is_text_and_no_markup(tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)> [a](javascript:b) ![c](d) `e` *f* $g$ &amp; <script>"
    plan = fb.load("jct-alltoall").with_(data_size="1MB", title=title)
    fb.run(plan, workspace=tmp_path / "workspace")
    path = tmp_path / "trial.ipynb"
    written(tmp_path / "workspace", "latest", path)
    heading = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
    shown = MarkdownIt("commonmark", {"html": True}).render(heading)
    assert shown == f"<h1>{html.escape(title)}</h1>\n"
