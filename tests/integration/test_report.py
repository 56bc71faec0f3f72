"""The report of a real run, through the command line."""

import json
import re
from pathlib import Path

import pytest

from fabricbench.cli.main import run


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two data sizes of the ring all-reduce."""
    folder = tmp_path_factory.mktemp("workspace")
    sizes = "sweep.data_size=[4MB, 8MB]"
    assert run(["run", "jct-allreduce-ring", "-s", sizes, "--workspace", str(folder)]) == 0
    return folder


def figures(html: str) -> dict[str, dict[str, list[dict[str, object]]]]:
    found = re.findall(r'data-target="plot-([\w-]+)">(.*?)</script>', html, flags=re.DOTALL)
    return {key: json.loads(text) for key, text in found}


def test_the_report_shows_the_run(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    assert run(["report", "latest", "-o", str(path), "--workspace", str(workspace)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote {path}: 2 trials" in err
    drawn = figures(path.read_text())
    expected = {
        "bandwidth",
        "ideal-share",
        "cdf-run",
        "timeline",
        "topology",
        "links",
        "link-use",
        "goodput",
        "queues",
        "latency",
        "uplinks",
    }
    assert set(drawn) == expected
    # 4 ranks send one chunk in each of the 6 steps.
    assert len(drawn["timeline"]["data"][0]["x"]) == 24  # type: ignore[arg-type]


def test_an_earlier_trial_of_the_run_can_be_the_focus(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert run(["report", "latest~1", "-o", str(path), "--workspace", str(workspace)]) == 0
    html = path.read_text()
    assert re.search(r"Chunk transfers <small>4 MB · trial [0-9a-f]{12}</small>", html)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["latest", "-o", "."], "it is a directory"),
        (["latest", "-o", "none/report.html"], "there is no folder none"),
        (["ffff0000ffff", "-o", "report.html"], 'no trial "ffff0000ffff"'),
        (["latest"], "-o"),
    ],
)
def test_a_wrong_command_is_explained_and_writes_nothing(
    arguments: list[str],
    message: str,
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", *arguments, "--workspace", str(workspace)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "hint:" in err
    assert list(tmp_path.iterdir()) == []
