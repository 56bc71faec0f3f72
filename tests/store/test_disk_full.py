"""A disk that fills: a clear message, the trial marked, finished trials intact, nothing left behind."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from tests.support.small_disk import NoMountError, small_disk

from fabricbench.store import DiskFullError, StoreError, Workspace
from fabricbench.store.catalog.sql import Connection
from fabricbench.store.record.replacement import RecordSwap

FIRST, SECOND = "aaaa00000001", "bbbb00000002"
LARGE = FakeBackend(copies=6000, batch_rows=8000, is_noisy=True)
"""72,000 rows, of which four columns of 8 bytes do not compress: 2 MB."""


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with small_disk(tmp_path / "disk", 1 << 20) as folder:
            yield folder
    except NoMountError as reason:
        pytest.skip(f"cannot mount a tmpfs here: {reason}; the file size limit below takes its place")


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size: the system answers as it does for a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)


def check_aftermath(root: Path) -> None:
    """The first trial is intact, the second failed and left nothing."""
    workspace = Workspace.open(root)
    assert [(trial.id, trial.status) for trial in workspace.trials()] == [
        (FIRST, "complete"),
        (SECOND, "failed"),
    ]
    assert workspace.trials()[1].message.startswith("DiskFullError: ")
    assert workspace.find("latest").tables.table("chunks").num_rows == 12
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]


def test_a_full_disk_fails_the_trial_and_no_other(full_disk: Path) -> None:
    workspace = Workspace.open(full_disk / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    with pytest.raises(DiskFullError, match=r"No space left on device; [\d,]+ bytes are free") as caught:
        run_trial(workspace, trial_facts(SECOND), LARGE)
    assert str(caught.value.path).endswith("/chunks.parquet")
    assert "finished trials are intact" in caught.value.hint
    check_aftermath(workspace.root)


def test_there_is_room_again_after_a_full_disk(full_disk: Path) -> None:
    workspace = Workspace.open(full_disk / "workspace", create=True)
    with pytest.raises(DiskFullError):
        run_trial(workspace, trial_facts(SECOND), LARGE)
    run_trial(workspace, trial_facts(SECOND), FakeBackend())
    assert [trial.status for trial in workspace.trials()] == ["complete"]


@pytest.mark.parametrize("room_bytes", [0, 4096, 16_384, 40_960, 65_536, 81_920])
def test_no_room_for_the_catalog_or_the_tables_is_said_so(full_disk: Path, room_bytes: int) -> None:
    filler = full_disk / "filler"
    filler.write_bytes(b"x" * ((1 << 20) - room_bytes - 4096))
    with pytest.raises(DiskFullError):
        run_trial(Workspace.open(full_disk / "workspace", create=True), trial_facts(FIRST), FakeBackend())
    filler.unlink()
    workspace = Workspace.open(full_disk / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert [trial.status for trial in workspace.trials()] == ["complete"]


def test_a_file_size_limit_is_answered_like_a_full_disk(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    with file_size_limit(1 << 20), pytest.raises(DiskFullError, match="File too large"):
        run_trial(workspace, trial_facts(SECOND), LARGE)
    check_aftermath(workspace.root)


def test_no_room_in_the_catalog_keeps_the_earlier_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())

    def finish(*_arguments: object, **_values: object) -> None:
        raise DiskFullError(workspace.root, "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(workspace.catalog, "finish", finish)
        with pytest.raises(DiskFullError):
            run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]


def test_a_commit_that_fails_puts_the_earlier_record_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    apply = RecordSwap.apply

    def apply_then_fail(swap: RecordSwap) -> None:
        apply(swap)
        raise DiskFullError(workspace.root, "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(RecordSwap, "apply", apply_then_fail)
        with pytest.raises(DiskFullError):
            run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]


def test_a_commit_whose_answer_is_lost_keeps_what_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    writing, apply = workspace.database.writing, RecordSwap.apply
    is_applied: list[RecordSwap] = []

    def applied(swap: RecordSwap) -> None:
        apply(swap)
        is_applied.append(swap)

    @contextmanager
    def without_answer() -> Iterator[Connection]:
        with writing() as connection:
            yield connection
        if is_applied:
            raise StoreError(workspace.root, "cannot be reached", "check the server")

    with monkeypatch.context() as patched:
        patched.setattr(RecordSwap, "apply", applied)
        patched.setattr(workspace.database, "writing", without_answer)
        run_trial(workspace, trial_facts(FIRST), FakeBackend(copies=2))
    assert [trial.status for trial in workspace.trials()] == ["complete"]
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 24
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]
