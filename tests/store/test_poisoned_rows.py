"""Rows of the catalog that no version has written: set aside, named, removable, and in nobody's way."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import call, run_trial, trial_facts
from tests.support.soak import times

from fabricbench.store import StoreError, Workspace
from fabricbench.store.catalog.schema import TRIAL_COLUMNS
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.inspection import damages
from fabricbench.store.queries.listing import TrialQuery, counts, filter_values, page

SOUND, POISONED = "aaaa00000001", "bbbb00000002"
ROWS = times(100, 500)
VALUES: tuple[Any, ...] = (
    *("", "null", "[]", "{}", "{", "[1]", '{"a": NaN}', '{"jobs": [1]}', '{"jobs": [{"name": 1e999}]}'),
    *('[{"job": "test"}]', '[{"job": "test", "busbw_gb_per_s": Infinity}]', "[" * 5000, "../..", "/"),
    *(-1, 2**62, 1.5, b"", b"\xff\xfe", b"{}", "\x00", "running", "complete", "yesterday", "9" * 400),
    *('[{"metric": 1}]', '{"values": 1}', '[{"metric": "busbw", "min": "low"}]', "\N{SNOWMAN}", "solo/x"),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(POISONED, plan="other", suite="0" * 12), FakeBackend())
    run_trial(workspace, trial_facts(SOUND), FakeBackend())
    return workspace


def poison(workspace: Workspace, column: str, value: Any, trial_id: str = POISONED) -> None:
    """Write a value into the row of a trial, as any program may; the types of columns stop nobody."""
    connection = sqlite3.connect(workspace.root / "catalog.sqlite")
    connection.execute(f'UPDATE trials SET "{column}" = ? WHERE id = ?', (value, trial_id))
    connection.commit()
    connection.close()


def multiply(workspace: Workspace) -> list[str]:
    """Copy the row of a trial many times, each with an id of its own."""
    ids = [f"cccc{number:08x}" for number in range(ROWS)]
    with workspace.database.writing() as connection:
        (found,) = connection.execute(Sql("SELECT * FROM trials WHERE id = ?", POISONED))
        row = found.mapping
        del row["attempt"]
        for each in ids:
            connection.insert("trials", row | {"id": each})
    return ids


def check_others(workspace: Workspace) -> None:
    """Whatever is wrong with one row, the other trial is found, listed and whole."""
    again = Workspace.open(workspace.root)
    assert again.find(SOUND).tables.table("chunks").num_rows == 12
    assert again.find("small").id == SOUND
    assert SOUND in [trial.id for trial in again.trials()]
    assert [trial.id for trial in again.suite(again.find(SOUND))] == [SOUND]
    for sort in ("started_at", "busbw_gb_per_s"):
        query = TrialQuery(plan="small", sort=sort)
        found = page(again, query)[1]
        assert SOUND in [trial.id for trial in found]
    assert "small" in filter_values(again)["plan"]
    assert counts(again)["complete"] >= 1
    assert {path.name for path in again.records.iterdir()} >= {SOUND}


def test_poisoned_rows_stand_in_nobodys_way(workspace: Workspace, tmp_path: Path) -> None:
    random = Random(1)
    names = [name for name in TRIAL_COLUMNS if name != "attempt"]
    connection = sqlite3.connect(workspace.root / "catalog.sqlite")
    for number, trial_id in enumerate(multiply(workspace)):
        name, value = names[number % len(names)], random.choice(VALUES)
        written = "CAST(? AS TEXT)" if isinstance(value, bytes) and number % 2 else "?"
        with suppress(sqlite3.IntegrityError):  # the id of another
            connection.execute(f'UPDATE trials SET "{name}" = {written} WHERE id = ?', (value, trial_id))
    connection.commit()
    connection.close()
    check_others(workspace)
    assert len(workspace.unreadable()) > ROWS / 2
    for command in (("trials",), ("show", SOUND), ("report", SOUND, "-o", "r.html"), ("export", SOUND)):
        done = call(*command, "--workspace", "workspace", cwd=tmp_path)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert call("workspace", "repair", "--workspace", "workspace", cwd=tmp_path).returncode == 0
    assert workspace.unreadable() == []
    check_others(workspace)


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        ("run_spec", "{", "run_spec is no JSON"),
        ("summary", '{"jobs": [], "end_ps": NaN}', "summary is no JSON: NaN is no number"),
        ("summary", '{"jobs": [], "notes": [1]}', "whose notes are texts"),
        ("summary", '{"jobs": [], "notes": "text"}', "whose notes are texts"),
        ("results", '[{"job": 1}]', "results: found '[{\"job\": 1}]', allowed is JSON: a list of objects"),
        ("data_size_bytes", -5, "data_size_bytes: found -5, allowed is an integer from 0"),
        ("status", "done", "status: found 'done', allowed is running or complete"),
        ("started_at", "yesterday", "allowed is a time, ISO 8601"),
        ("machine", b"\xff", r"machine: found b'\\xff', allowed is a text"),
    ],
)
def test_a_row_that_cannot_be_read_is_listed_and_taken_out_by_repair(
    workspace: Workspace, tmp_path: Path, column: str, value: Any, found: str
) -> None:
    poison(workspace, column, value)
    with pytest.raises(StoreError, match=f"the row of trial {POISONED}") as caught:
        workspace.find(POISONED)
    assert found.replace("\\\\", "\\") in str(caught.value)
    listed = call("trials", "--workspace", "workspace", cwd=tmp_path)
    assert listed.returncode == 0
    assert SOUND in listed.stdout
    assert POISONED not in listed.stdout
    assert f"set aside: the row of trial {POISONED}" in listed.stderr
    assert call("workspace", "check", "--workspace", "workspace", cwd=tmp_path).returncode == 2
    repaired = call("workspace", "repair", "--workspace", "workspace", cwd=tmp_path)
    assert "1 row taken out of the catalog" in repaired.stderr
    assert call("workspace", "check", "--workspace", "workspace", cwd=tmp_path).returncode == 0
    kept = json.loads((workspace.root / "damaged/row-1.json").read_text())
    assert kept["id"] == POISONED
    assert (workspace.root / "damaged" / POISONED / "chunks.parquet").is_file()
    run_trial(workspace, trial_facts(POISONED), FakeBackend())
    assert len(workspace.trials()) == 2


def test_a_row_of_a_run_that_a_trial_was_part_of_is_set_aside_alone(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(POISONED, plan="third", suite="1" * 12), FakeBackend())
    with workspace.database.writing() as connection:
        connection.execute("UPDATE memberships SET criteria = '[1]'")
    assert [row.plan for row in workspace.unreadable()] == ["other"]
    assert workspace.find(POISONED).facts.plan == "third"
    assert workspace.trials(plan="other") == []
    assert list(damages(workspace)) == []


@pytest.mark.parametrize("trial_id", ["", "..", "../trials", "/"])
def test_a_poisoned_id_of_a_trial_that_was_running_removes_nothing(
    workspace: Workspace, trial_id: str
) -> None:
    with workspace.database.writing() as connection:
        changed = {"status": "running", "pid": 0, "id": trial_id}
        connection.update("trials", changed, Sql("id = ?", POISONED))
    again = Workspace.open(workspace.root)
    assert again.find(SOUND).tables.table("chunks").num_rows == 12
    assert (again.records / POISONED / "chunks.parquet").is_file()
