"""An import is one transaction: whatever ends it, all trials of its archive are there or none.

Kills at random moments, flipped bits and small disks; and other processes that open, check, repair and import
in the same workspace meanwhile. `tools/checks/faults.sh` tries 500 kills and 1,000 flips
(FABRICBENCH_KILLS, _FLIPS).
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from tests.support.small_disk import NoMountError, small_disk
from tests.support.soak import times

from fabricbench.store import DiskFullError, StoreError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.catalog.process_identity import ProcessIdentity
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.catalog.trials import Catalog
from fabricbench.store.inspection import damages, quarantine
from fabricbench.store.record.lease import Lease, is_leased
from fabricbench.store.record.replacement import RecordSwap
from fabricbench.store.record.staging import Staging

KILLS = int(os.environ.get("FABRICBENCH_KILLS", times(4, 60)))
FLIPS = int(os.environ.get("FABRICBENCH_FLIPS", times(20, 200)))
DISKS = int(os.environ.get("FABRICBENCH_DISKS", times(3, 30)))

KEPT = "aaaa0000000f"
IDS = [f"bbbb{number:08x}" for number in range(8)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Workspace.open(tmp_path_factory.mktemp("source"), create=True)
    for trial in IDS:
        run_trial(source, trial_facts(trial), FakeBackend(copies=3))
    path = source.root / "trials.tar"
    with path.open("wb") as stream:
        write_archive(source, source.trials(), stream)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(KEPT), FakeBackend())
    return workspace


def check_outcome(root: Path) -> bool:
    """Check that a workspace has none or all of the trials, whole; return whether it has all."""
    workspace = Workspace.open(root)
    found = {trial.id: trial.status for trial in workspace.trials()}
    assert found.pop(KEPT) == "complete"
    assert set(found.values()) <= {"complete"}
    assert sorted(found) in ([], IDS)
    assert sorted(path.name for path in workspace.records.iterdir()) == [KEPT, *sorted(found)]
    assert list(damages(workspace)) == []
    return bool(found)


# Children are forked from a server without threads: a fork next to threads of earlier tests may copy a lock
# that nobody releases.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload([__name__])


def run_and_exit(action: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """Run an action in this process and end it: status 2 for a StoreError, 1 for any other error."""
    try:
        action(*arguments)
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(2)
    except BaseException:  # noqa: BLE001 -- its traceback is printed
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def in_child(action: Callable[..., object], *arguments: object) -> ForkServerProcess:
    """Run a function of this module in a process of its own."""
    child = CHILDREN.Process(target=run_and_exit, args=(action, arguments))
    child.start()
    return child


def status_of(child: ForkServerProcess) -> int | None:
    """Wait for the end of a child; return its exit status, minus the number of the signal that ended it."""
    child.join(120)
    return child.exitcode


def import_trials(root: Path, archive: Path) -> None:
    read_archive(Workspace.open(root), archive)


def kill_itself(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_at_any_moment_leaves_all_or_nothing(
    workspace: Workspace, archive: Path, tmp_path: Path
) -> None:
    whole_root = copied(workspace, tmp_path / "whole")
    # The first child waits for the server to start, and measures nothing.
    assert status_of(in_child(import_trials, copied(workspace, tmp_path / "first"), archive)) == 0
    begin = time.monotonic()
    assert status_of(in_child(import_trials, whole_root, archive)) == 0
    lasts_s = time.monotonic() - begin
    random, whole = Random(1), 0
    for number in range(KILLS):
        root = copied(workspace, tmp_path / f"kill-{number}")
        child = in_child(import_trials, root, archive)
        time.sleep(random.uniform(0, 1.1 * lasts_s))
        child.kill()
        status_of(child)
        is_whole = check_outcome(root)
        whole += is_whole
        assert read_archive(Workspace.open(root), archive)[0] == ([] if is_whole else IDS)
        assert check_outcome(root)
        shutil.rmtree(root)
    sys.stdout.write(f"{KILLS} kills: {whole} with all trials, {KILLS - whole} with none\n")


def import_and_die(root: Path, archive: Path, moment: str) -> None:
    """Import trials in a process that is killed between two steps."""
    if moment == "journal":
        Catalog.take = kill_itself  # type: ignore[assignment]
    elif moment == "committed":
        RecordSwap.discard = kill_itself  # type: ignore[assignment]
    else:
        records = {"third": 3, "half": 6, "moved": len(IDS)}[moment]
        RecordSwap.apply = after(RecordSwap.apply, records, kill_itself)  # type: ignore[assignment]
    import_trials(root, archive)


@pytest.mark.parametrize("moment", ["journal", "half", "moved", "committed"])
def test_a_kill_between_the_steps_of_taking_leaves_all_or_nothing(
    workspace: Workspace, archive: Path, moment: str
) -> None:
    assert status_of(in_child(import_and_die, workspace.root, archive, moment)) == -signal.SIGKILL
    assert check_outcome(workspace.root) == (moment == "committed")


def after(method: Callable[..., object], calls: int, action: Callable[[], object]) -> Callable[..., object]:
    """Return a method that does something else after so many calls."""
    left = [calls]

    def call(*arguments: object) -> object:
        done = method(*arguments)
        left[0] -= 1
        if not left[0]:
            action()
        return done

    return call


def test_a_folder_in_the_place_of_a_record_survives_a_kill(workspace: Workspace, archive: Path) -> None:
    unknown = workspace.records / IDS[0]
    unknown.mkdir()
    (unknown / "note").write_text("kept")

    assert status_of(in_child(import_and_die, workspace.root, archive, "third")) == -signal.SIGKILL
    assert Workspace.open(workspace.root).trials()[0].id == KEPT
    assert (unknown / "note").read_text() == "kept"
    assert sorted(path.name for path in workspace.records.iterdir()) == [KEPT, IDS[0]]


def test_a_flipped_bit_takes_all_or_nothing(workspace: Workspace, archive: Path, tmp_path: Path) -> None:
    content, random, refused = archive.read_bytes(), Random(2), 0
    changed = tmp_path / "changed.tar"
    for number in range(FLIPS):
        bit = random.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        changed.write_bytes(flipped)
        root = copied(workspace, tmp_path / f"flip-{number}")
        try:
            read_archive(Workspace.open(root), changed)
        except StoreError:
            refused += 1
            assert not check_outcome(root)
        else:
            assert check_outcome(root)
        shutil.rmtree(root)
    assert refused > 0.9 * FLIPS
    sys.stdout.write(f"{FLIPS} flips: {refused} refused, {FLIPS - refused} harmless\n")


def test_an_archive_cut_anywhere_leaves_nothing(workspace: Workspace, archive: Path, tmp_path: Path) -> None:
    content, random, cut = archive.read_bytes(), Random(3), tmp_path / "cut.tar"
    end = len(content.rstrip(b"\0"))
    for _ in range(10):
        cut.write_bytes(content[: random.randrange(end)])
        with pytest.raises(StoreError):
            read_archive(workspace, cut)
        assert not check_outcome(workspace.root)


@pytest.mark.parametrize("appended", [b"x", b"\0" * 5000 + b"x", "member"])
def test_bytes_after_the_last_table_are_refused(
    workspace: Workspace, archive: Path, tmp_path: Path, appended: bytes | str
) -> None:
    changed = tmp_path / "changed.tar"
    content = archive.read_bytes()
    if isinstance(appended, str):
        content, appended = content.rstrip(b"\0"), b""
        content += b"\0" * (-len(content) % 512) + archive.read_bytes()[:512]
    changed.write_bytes(content + appended)
    with pytest.raises(StoreError):
        read_archive(workspace, changed)
    assert not check_outcome(workspace.root)


def test_a_small_disk_takes_all_or_nothing(archive: Path, tmp_path: Path) -> None:
    size, full, random = archive.stat().st_size, 0, Random(4)
    for number in range(DISKS):
        try:
            with small_disk(
                tmp_path / f"disk-{number}", int(size * random.uniform(0.2, 1.6)) + 400_000
            ) as disk:
                workspace = Workspace.open(disk / "workspace", create=True)
                run_trial(workspace, trial_facts(KEPT), FakeBackend())
                is_full = False
                try:
                    read_archive(workspace, archive)
                except DiskFullError:
                    is_full = True
                full += is_full
                assert check_outcome(workspace.root) == (not is_full)
        except NoMountError as reason:
            pytest.skip(f"cannot mount a tmpfs here: {reason}")
    sys.stdout.write(f"{DISKS} small disks: {full} full\n")
    assert full > 0


def opened(root: Path) -> None:
    Workspace.open(root).trials()


def checked(root: Path) -> None:
    assert list(damages(Workspace.open(root))) == []


def repaired(root: Path) -> None:
    workspace = Workspace.open(root)
    for damage in damages(workspace):
        assert quarantine(workspace, damage) is None


def ran(root: Path) -> None:
    run_trial(Workspace.open(root), trial_facts(KEPT), FakeBackend())


def repeat_until(stop: Path, action: Callable[[Path], None], root: Path) -> None:
    while not stop.exists():
        action(root)


@pytest.mark.parametrize("other", [opened, checked, repaired, ran])
def test_an_import_next_to_any_other_command_takes_all(
    workspace: Workspace, archive: Path, tmp_path: Path, other: Callable[[Path], None]
) -> None:
    stop = tmp_path / "stop"
    child = in_child(repeat_until, stop, other, workspace.root)
    try:
        for _ in range(3):
            assert read_archive(Workspace.open(workspace.root), archive)[0] in (IDS, [])
    finally:
        stop.touch()
        assert status_of(child) == 0
    assert check_outcome(workspace.root)


def test_two_imports_at_once_take_each_trial_once(workspace: Workspace, archive: Path) -> None:
    children = [in_child(import_trials, workspace.root, archive) for _ in range(3)]
    assert [status_of(child) for child in children] == [0, 0, 0]
    assert check_outcome(workspace.root)


def test_nobody_sees_a_part_of_an_import(workspace: Workspace, archive: Path) -> None:
    child = in_child(import_trials, workspace.root, archive)
    seen = set()
    while child.is_alive():
        seen.add(len(Workspace.open(workspace.root).trials()))
    seen.add(len(workspace.trials()))
    assert seen <= {1, 1 + len(IDS)}


def test_the_folder_of_a_living_writer_stays_though_its_row_names_a_process_that_is_gone(
    workspace: Workspace,
) -> None:
    # As one in another namespace of processes, such as a container with the name of its host.
    with workspace.begin(trial_facts("cccc00000001"), {}) as writer:
        with workspace.database.writing() as connection:
            gone = {"pid": 4_194_303, "process_start": "another:1"}
            connection.update("trials", gone, Sql("attempt = ?", writer.attempt))
        Workspace.open(workspace.root)
        assert writer.folder.is_dir()
    assert not writer.folder.exists()


def stage_and_die(root: Path) -> None:
    workspace = Workspace.open(root)
    _staging = Staging(workspace.database, workspace.records)
    kill_itself()


def test_a_lease_ends_with_its_process_whoever_gets_its_number(workspace: Workspace) -> None:
    assert status_of(in_child(stage_and_die, workspace.root)) == -signal.SIGKILL
    (left,) = workspace.records.glob(".import.*")
    # The number of a process is nowhere in it: one that is given again changes nothing.
    assert not is_leased(left)
    Workspace.open(workspace.root)
    assert not left.exists()


def test_an_attempt_whose_number_another_process_has_now_is_marked(workspace: Workspace) -> None:
    writer = workspace.begin_elsewhere(trial_facts("cccc00000001"), {})
    here = ProcessIdentity.current()
    with workspace.database.writing() as connection:
        earlier = {"pid": here.pid, "process_start": "earlier:1"}
        connection.update("trials", earlier, Sql("attempt = ?", writer.attempt))
    assert [trial.status for trial in Workspace.open(workspace.root).trials()] == ["complete", "interrupted"]


def test_a_lease_is_seen_by_others_until_it_is_released(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    lease, other = Lease(folder), Lease(folder)
    lease.release()
    assert is_leased(folder)
    other.release()
    assert not is_leased(folder)
    assert not is_leased(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        Lease(tmp_path / "none")


def copied(workspace: Workspace, root: Path) -> Path:
    shutil.copytree(workspace.root, root)
    return root
