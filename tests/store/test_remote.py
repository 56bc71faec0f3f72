"""Records at a URL: the same trials for every machine, whole or not at all."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import call, run_trial, trial_facts

from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import StoreError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.catalog.trials import Catalog, now
from fabricbench.store.inspection import damages, quarantine
from fabricbench.store.record.location import Location
from fabricbench.store.record.schema import TABLES
from fabricbench.store.trash import delete_trial, purge, restore_trial

FIRST, SECOND = "aaaa00000001", "bbbb00000002"
SOURCES = Path(__file__).parents[2]

RUN = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from fabricbench.store import Workspace
from fabricbench.store.record.remote import Upload

if sys.argv[3] == "dies":
    Upload.apply = lambda swap: os.kill(os.getpid(), signal.SIGKILL)
for number in map(int, sys.argv[4:]):
    workspace = Workspace.open(Path(sys.argv[2]), create=True)
    run_trial(workspace, trial_facts(f"{number:012x}"), FakeBackend(copies=number + 1))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder behind the URL."""
    return tmp_path / "place"


@pytest.fixture
def machine(
    tmp_path: Path, place: Path, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Workspace]:
    """Open the workspace as each of several machines would: a folder each, one catalog, one place."""
    monkeypatch.setenv("FABRICBENCH_TABLES_URL", f"file://{place}")
    if catalog == "sqlite":
        monkeypatch.setenv("FABRICBENCH_CATALOG_URL", f"sqlite:///{tmp_path}/shared.sqlite")
    return lambda name: Workspace.open(tmp_path / name, create=True)


def records_in(place: Path) -> list[str]:
    """Return the ids of the trials that have a record there, as often as they have."""
    return sorted(path.name.partition(".")[0] for path in place.iterdir() if path.name != "fabricbench.txt")


def start(root: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(SOURCES), str(root), *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_another_machine_reads_what_one_has_run(
    machine: Callable[[str], Workspace], place: Path, tmp_path: Path
) -> None:
    here, there = machine("here"), machine("there")
    run_trial(here, trial_facts(FIRST), FakeBackend())
    mine, theirs = here.find(FIRST), there.find(FIRST)
    assert mine == theirs
    record = next(path for path in place.iterdir() if path.is_dir())
    for table in TABLES:
        assert theirs.tables.path(table).read_bytes() == mine.tables.path(table).read_bytes()
        assert theirs.tables.path(table).read_bytes() == (record / f"{table}.parquet").read_bytes()
    assert list(there.records.iterdir()) == list(here.records.iterdir()) == []
    shutil.rmtree(there.copies)
    assert there.find(FIRST).tables.table("chunks").num_rows == 12
    shown = [call("show", FIRST, "--workspace", tmp_path / name, cwd=tmp_path) for name in ("here", "there")]
    assert shown[0].stdout == shown[1].stdout != ""


def test_machines_at_once_lose_nothing(
    machine: Callable[[str], Workspace], place: Path, tmp_path: Path
) -> None:
    machine("here")  # makes the catalog
    batches = ([*range(6)], [*range(6, 12)], [*range(3, 9)])
    processes = [
        start(tmp_path / f"machine{number}", "lives", *map(str, batch))
        for number, batch in enumerate(batches)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    workspace = machine("reader")
    found = workspace.trials()
    assert sorted(int(trial.id, 16) for trial in found) == list(range(12))
    assert {trial.status for trial in found} == {"complete"}
    assert all(trial.tables.table("chunks").num_rows == 12 * (int(trial.id, 16) + 1) for trial in found)
    assert records_in(place) == [f"{number:012x}" for number in range(12)]
    assert list(damages(workspace)) == []


def test_a_trial_that_runs_again_leaves_one_record(machine: Callable[[str], Workspace], place: Path) -> None:
    workspace = machine("here")
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 24
    assert records_in(place) == [FIRST]
    assert len(list(workspace.copies.iterdir())) == 1


def test_a_record_of_before_the_url_is_read_and_replaced(
    machine: Callable[[str], Workspace], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.delenv("FABRICBENCH_TABLES_URL")
        for trial in (FIRST, SECOND):
            run_trial(machine("here"), trial_facts(trial), FakeBackend())
    workspace = machine("here")
    run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    sizes = [workspace.find(name).tables.table("chunks").num_rows for name in (FIRST, SECOND)]
    assert sizes == [24, 12]
    assert [path.name for path in workspace.records.iterdir()] == [SECOND]
    monkeypatch.delenv("FABRICBENCH_TABLES_URL")
    run_trial(machine("here"), trial_facts(FIRST), FakeBackend(copies=3))
    assert machine("here").find(FIRST).tables.table("chunks").num_rows == 36
    assert records_in(place) == []


@pytest.mark.parametrize("culprit", [(Catalog, "finish"), (Location, "upload")])
def test_what_fails_on_the_way_leaves_the_record_of_before(
    machine: Callable[[str], Workspace],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    culprit: tuple[type, str],
) -> None:
    workspace = machine("here")
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    works = getattr(*culprit)

    def fail(*arguments: object, **more: object) -> None:
        works(*arguments, **more)
        raise StoreError("somewhere", "it broke", "mend it")

    with monkeypatch.context() as broken:
        broken.setattr(*culprit, fail)
        with pytest.raises(StoreError, match="it broke"):
            run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert records_in(place) == [FIRST]
    assert list(workspace.records.iterdir()) == []
    assert [trial.status for trial in workspace.trials()] == ["complete", "failed"]


def test_a_file_that_arrives_in_part_is_noticed(
    machine: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fsspec.filesystem("file")
    put_file = files.put_file

    def cut_off(source: str, target: str, **more: object) -> None:
        put_file(source, target, **more)
        if source.endswith("chunks.parquet"):
            os.truncate(target, 100)

    monkeypatch.setattr(files, "put_file", cut_off)
    with pytest.raises(StoreError, match=r"chunks\.parquet of record .* did not arrive in whole"):
        run_trial(machine("here"), trial_facts(FIRST), FakeBackend())


def test_what_a_killed_process_uploaded_is_removed_by_the_next(
    machine: Callable[[str], Workspace], place: Path, tmp_path: Path
) -> None:
    run_trial(machine("here"), trial_facts(f"{7:012x}"), FakeBackend())
    process = start(tmp_path / "here", "dies", "7")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert records_in(place) == [f"{7:012x}"] * 2
    workspace = machine("here")
    assert records_in(place) == [f"{7:012x}"]
    assert workspace.find(f"{7:012x}").tables.table("chunks").num_rows == 12
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]


def test_damaged_missing_and_unknown_records_are_put_aside(
    machine: Callable[[str], Workspace], place: Path
) -> None:
    workspace = machine("here")
    for trial in (FIRST, SECOND, "cccc00000003"):
        run_trial(workspace, trial_facts(trial), FakeBackend())
    assert list(damages(workspace)) == []
    first, second, _ = sorted(path for path in place.iterdir() if path.is_dir())
    content = bytearray((first / "chunks.parquet").read_bytes())
    content[20:60] = bytes(40)
    (first / "chunks.parquet").write_bytes(content)
    (second / "ports.parquet").unlink()
    (place / "dddd00000004.0123456789ab").mkdir()
    (place / "dddd00000004.0123456789ab/chunks.parquet").write_bytes(b"of nobody")
    found = list(damages(workspace))
    assert [damage.trial_id for damage in found] == [FIRST, SECOND, "dddd00000004"]
    assert "table chunks: it is not what was written" in found[0].found
    assert (found[1].found, found[2].found) == ("no table ports", "the catalog does not know this record")
    assert [quarantine(workspace, damage) for damage in found] == [
        f"file://{place}/damaged/{name}" for name in (first.name, second.name, "dddd00000004.0123456789ab")
    ]
    assert (place / "damaged" / first.name / "chunks.parquet").read_bytes() == bytes(content)
    assert list(damages(workspace)) == []
    assert [trial.id for trial in workspace.trials(states=["complete"])] == ["cccc00000003"]


def test_a_record_that_is_gone_is_named_when_it_is_read(
    machine: Callable[[str], Workspace], place: Path
) -> None:
    workspace = machine("here")
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    for folder in (place, workspace.copies):
        shutil.rmtree(folder)
    with pytest.raises(StoreError, match="this trial's record is incomplete: the file is missing") as caught:
        workspace.find(FIRST).tables.table("chunks")
    assert str(caught.value.path).startswith(f"file://{place}/{FIRST}.")
    assert workspace.resume(trial_facts(FIRST)) is None


def test_trials_are_deleted_restored_and_purged(machine: Callable[[str], Workspace], place: Path) -> None:
    workspace = machine("here")
    for trial in (FIRST, SECOND):
        run_trial(workspace, trial_facts(trial), FakeBackend())
    assert delete_trial(workspace, FIRST)
    assert delete_trial(workspace, SECOND)
    assert restore_trial(workspace, SECOND)
    assert purge(machine("there"), now()) == [FIRST]
    assert records_in(place) == [SECOND]
    assert workspace.find(SECOND).tables.table("chunks").num_rows == 12


def test_an_archive_goes_from_and_to_a_url(
    machine: Callable[[str], Workspace], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = machine("here")
    for trial in (FIRST, SECOND):
        run_trial(workspace, trial_facts(trial), FakeBackend())
    shutil.rmtree(workspace.copies)
    with (tmp_path / "all.tar").open("wb") as stream:
        write_archive(workspace, workspace.trials(), stream)
    read_archive(workspace, tmp_path / "all.tar")
    assert records_in(place) == [FIRST, SECOND]
    monkeypatch.delenv("FABRICBENCH_CATALOG_URL")
    other = machine("other")
    assert read_archive(other, tmp_path / "all.tar") == ([FIRST, SECOND], [])
    assert records_in(place) == [FIRST, FIRST, SECOND, SECOND]
    assert other.find(FIRST).tables.table("chunks") == workspace.find(FIRST).tables.table("chunks")


def test_any_place_of_fsspec_will_do(tmp_path: Path) -> None:
    url = f"memory://bench{next(_numbers)}"
    workspace = Workspace.open(tmp_path, create=True, tables_url=url)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    shutil.rmtree(workspace.copies)
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert [trial.id for trial in workspace.trials()] == [FIRST]


_numbers = itertools.count()


@pytest.mark.parametrize(
    ("url", "found", "hint"),
    [
        ("bench/lab", "the URL of the tables cannot be read", "s3://bucket/folder"),
        ("file://lab", "no absolute path", "file:///folder"),
        ("s3://bench/lab", "its driver is not installed: Install s3fs", r"install 's3fs>="),
        ("webdav://bench/lab", "its driver is not installed: Install webdav4", "this names"),
        ("nonsense://bench", "fsspec knows no protocol nonsense://", "s3://bucket/folder"),
        ("ftp://me:secret@bench/lab", "holds a password", "FSSPEC_FTP_PASSWORD"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(tmp_path: Path, url: str, found: str, hint: str) -> None:
    with pytest.raises(StoreError, match=found) as caught:
        Workspace.open(tmp_path, create=True, tables_url=url)
    assert "secret" not in f"{caught.value}{caught.value.hint}"
    assert re.search(hint, caught.value.hint)


def test_a_place_that_is_not_there_is_named_before_anything_runs(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/not/there"
    workspace = Workspace.open(tmp_path / "workspace", create=True, tables_url=url)
    with pytest.raises(StoreError, match="there is no such place") as caught:
        workspace.begin(trial_facts(FIRST), machine_facts())
    assert (caught.value.path, workspace.trials()) == (url, [])


def test_a_place_that_goes_away_while_a_trial_runs_is_named(
    machine: Callable[[str], Workspace], place: Path
) -> None:
    workspace = machine("here")

    def replace_by_a_file() -> None:
        shutil.rmtree(place)
        place.write_text("no folder")

    with pytest.raises(StoreError, match="cannot be reached"):
        run_trial(workspace, trial_facts(FIRST), FakeBackend(on_first_batch=replace_by_a_file))
    assert [trial.status for trial in workspace.trials()] == ["failed"]
