"""Damaged records are found, named, and put aside without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.cli.main import run as command_line
from fabricbench.store import Workspace
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.inspection import damages, quarantine

FIRST, SECOND = "aaaa00000001", "bbbb00000002"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    for trial in (FIRST, SECOND):
        run_trial(workspace, trial_facts(trial), FakeBackend())
    return workspace


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20:60] = bytes(40)
    path.write_bytes(content)


def test_a_sound_workspace_has_no_damage(workspace: Workspace) -> None:
    assert list(damages(workspace)) == []
    assert command_line(["workspace", "check", "--workspace", str(workspace.root)]) == 0


@pytest.mark.parametrize(
    ("spoiled", "found"),
    [
        (lambda tables: tables.path("ports").unlink(), "no table ports"),
        (lambda tables: tables.path("ports").write_bytes(b""), "table ports: it is not what was written"),
        (lambda tables: spoil(tables.path("chunks")), "table chunks: it is not what was written"),
    ],
)
def test_a_damaged_record_is_found_put_aside_and_run_again(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], spoiled: object, found: str
) -> None:
    spoiled(workspace.find(SECOND).tables)  # type: ignore[operator]
    root = str(workspace.root)
    assert command_line(["workspace", "check", "--workspace", root]) == 2
    told = capsys.readouterr()
    assert told.out.startswith(f"{SECOND}: {found}")
    assert "1 damaged record" in told.err
    assert command_line(["workspace", "repair", "--workspace", root]) == 0
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]
    assert found in workspace.trials()[1].message
    assert (workspace.root / "damaged" / SECOND).is_dir()
    assert command_line(["workspace", "check", "--workspace", root]) == 0
    run_trial(workspace, trial_facts(SECOND), FakeBackend())
    assert [trial.status for trial in workspace.trials()] == ["complete", "complete"]


def test_a_record_of_another_trial_is_damage(workspace: Workspace) -> None:
    theirs = workspace.find(FIRST).tables.path("links").read_bytes()
    workspace.find(SECOND).tables.path("links").write_bytes(theirs)
    (damage,) = damages(workspace)
    assert (damage.trial_id, damage.found[:39]) == (SECOND, "table links: it is not what was written")
    with workspace.database.writing() as connection:
        connection.execute("UPDATE trials SET digests = NULL")
    (damage,) = damages(workspace)
    assert (damage.trial_id, damage.found) == (SECOND, f"table links: it is of trial {FIRST}")


def test_results_in_the_catalog_that_the_record_does_not_have_are_damage(workspace: Workspace) -> None:
    results = [{**row, "busbw_gb_per_s": 1.0} for row in workspace.find(SECOND).results]
    with workspace.database.writing() as connection:
        connection.update("trials", {"results": json.dumps(results)}, Sql("id = ?", SECOND))
    (damage,) = damages(workspace)
    assert (damage.trial_id, damage.found) == (SECOND, "the catalog has other results than table trials")


def test_a_record_that_the_catalog_does_not_know_is_put_aside_each_time(workspace: Workspace) -> None:
    for _ in range(2):
        (workspace.records / "cccc00000003").mkdir()
        (damage,) = damages(workspace)
        assert damage.attempt is None
        assert quarantine(workspace, damage) is not None
    aside = sorted(path.name for path in (workspace.root / "damaged").iterdir())
    assert aside == ["cccc00000003", "cccc00000003.1"]
    assert [trial.status for trial in workspace.trials()] == ["complete", "complete"]


def test_export_and_import_from_the_command_line(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = str(tmp_path / "trials.tar"), str(tmp_path / "other")
    root = str(workspace.root)
    assert command_line(["workspace", "export", SECOND, "-o", path, "--workspace", root]) == 0
    assert command_line(["workspace", "import", path, "--workspace", other]) == 0
    assert "took 1 trial into" in capsys.readouterr().err
    assert [trial.id for trial in Workspace.open(Path(other)).trials()] == [SECOND]
    assert command_line(["workspace", "export", "--tag", "none", "-o", path, "--workspace", root]) == 2
    assert "no finished trial answers to that" in capsys.readouterr().err
