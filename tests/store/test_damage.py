"""Workspaces that cannot be used: every case is named, with a hint, and nothing in them is changed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import StoreError, Workspace


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A workspace with one finished trial."""
    root = tmp_path / "workspace"
    run_trial(Workspace.open(root, create=True), trial_facts(), FakeBackend())
    return root


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def no_database(catalog: Path) -> None:
    catalog.write_bytes(b"this is no database, but it is long enough to hold a header" * 4)


def cut_off(catalog: Path) -> None:
    os.truncate(catalog, catalog.stat().st_size - 4096)


def cut_in_the_header(catalog: Path) -> None:
    os.truncate(catalog, 60)


def emptied(catalog: Path) -> None:
    os.truncate(catalog, 0)


def removed(catalog: Path) -> None:
    catalog.unlink()


def overwritten_pages(catalog: Path) -> None:
    with catalog.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (catalog.stat().st_size - 100))


def of_another_program(catalog: Path) -> None:
    catalog.unlink()
    with sqlite3.connect(catalog) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()


def without_its_table(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("DROP TABLE trials")
    connection.close()


def without_a_column(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("ALTER TABLE trials DROP COLUMN message")
    connection.close()


def without_a_revision(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("DELETE FROM alembic_version")
    connection.close()


def of_a_newer_version(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()


def with_broken_json(catalog: Path) -> None:
    with sqlite3.connect(catalog) as connection:
        connection.execute("UPDATE trials SET run_spec = '{'")
    connection.close()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (no_database, "corrupted: it is no SQLite database"),
        (cut_off, "the catalog is cut off"),
        (cut_in_the_header, "corrupted"),
        (emptied, "missing or empty, but the workspace holds records"),
        (removed, "missing or empty, but the workspace holds records"),
        (overwritten_pages, "corrupted"),
        (of_another_program, "not the catalog of a fabricbench workspace"),
        (without_its_table, "not the catalog of a fabricbench workspace"),
        (without_a_column, "not the catalog of a fabricbench workspace"),
        (without_a_revision, "the catalog has no revision"),
        (of_a_newer_version, "revision 9999"),
        (with_broken_json, "the row of trial 0123456789ab cannot be read"),
    ],
)
@pytest.mark.parametrize("is_run", [False, True])
def test_a_damaged_catalog_is_named_and_left_alone(
    used: Path, damage: Callable[[Path], None], found: str, is_run: bool
) -> None:
    damage(used / "catalog.sqlite")
    before = snapshot(used)
    with pytest.raises(StoreError, match=found) as caught:
        Workspace.open(used, create=is_run).find("latest")
    assert caught.value.path == used / "catalog.sqlite"
    assert caught.value.hint
    after = snapshot(used)
    assert {name: after.get(name) for name in before} == before


def test_a_file_in_the_place_of_the_workspace_is_named(tmp_path: Path) -> None:
    (tmp_path / "workspace").write_text("mine")
    with pytest.raises(StoreError, match="this is a file"):
        Workspace.open(tmp_path / "workspace", create=True)
    assert (tmp_path / "workspace").read_text() == "mine"


def test_a_file_in_the_place_of_the_records_is_named(tmp_path: Path) -> None:
    (tmp_path / "trials").write_text("mine")
    with pytest.raises(StoreError, match="cannot write: File exists"):
        Workspace.open(tmp_path, create=True)


def test_a_folder_in_the_place_of_the_catalog_is_named(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        Workspace.open(tmp_path, create=True)


def test_a_workspace_that_may_not_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The superuser may write anywhere, so the answer of the operating system is given here.
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(StoreError, match="no permission to write") as caught:
        Workspace.open(tmp_path, create=True)
    assert "--workspace" in caught.value.hint


def test_a_workspace_that_may_only_be_read_is_read(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(used)
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)
    workspace = Workspace.open(used)
    assert [trial.status for trial in workspace.trials()] == ["complete"]
    assert workspace.find("latest").tables.table("chunks").num_rows == 12
    with pytest.raises(StoreError, match="no permission to write"):
        run_trial(workspace, trial_facts(), FakeBackend())
    with pytest.raises(StoreError, match="no permission to write"):
        Workspace.open(used, create=True)
    assert snapshot(used) == before


def test_a_workspace_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write: Not a directory"):
        Workspace.open(tmp_path / "file" / "workspace", create=True)
