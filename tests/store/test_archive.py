"""Trials go from one workspace to another in a file, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import StoreError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.inspection import damages, without_digest
from fabricbench.store.record.earlier_versions import LATER_TABLES
from fabricbench.store.record.schema import TABLES, schema_of

FIRST, SECOND = "aaaa00000001", "bbbb00000002"


@pytest.fixture
def source(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "source", create=True)
    for trial, tag in ((FIRST, "lab"), (SECOND, "")):
        run_trial(workspace, trial_facts(trial, tag=tag), FakeBackend())
    return workspace


@pytest.fixture
def archive(source: Workspace, tmp_path: Path) -> Path:
    path = tmp_path / "trials.tar"
    with path.open("wb") as stream:
        write_archive(source, source.trials(), stream)
    return path


def test_trials_arrive_as_they_left(source: Workspace, archive: Path, tmp_path: Path) -> None:
    other = Workspace.open(tmp_path / "other", create=True)
    assert read_archive(other, archive) == ([FIRST, SECOND], [])
    for name in (FIRST, SECOND):
        left, arrived = source.find(name), other.find(name)
        assert arrived.facts == left.facts
        assert (arrived.summary, arrived.results, arrived.engine) == (left.summary, left.results, left.engine)
        for table in TABLES:
            assert arrived.tables.path(table).read_bytes() == left.tables.path(table).read_bytes()
    assert sorted(path.name for path in other.records.iterdir()) == [FIRST, SECOND]
    assert [trial.id for trial in Workspace.open(other.root).trials()] == [FIRST, SECOND]


def test_an_archive_of_the_first_version_is_taken_and_gets_digests(
    source: Workspace, archive: Path, tmp_path: Path
) -> None:
    other = Workspace.open(tmp_path / "other", create=True)
    assert read_archive(other, rewritten(archive, of_version_1)) == ([FIRST, SECOND], [])
    assert list(damages(other)) == []
    assert without_digest(other) == []
    assert other.find(FIRST).facts == source.find(FIRST).facts


def test_a_record_without_the_tables_of_later_versions_has_no_rows_of_them(
    source: Workspace, tmp_path: Path
) -> None:
    with source.database.writing() as connection:
        for table in LATER_TABLES:
            connection.execute(f"UPDATE trials SET digests = json_remove(digests, '$.{table}')")
            for trial in (FIRST, SECOND):
                source.find(trial).tables.path(table).unlink()
    other = Workspace.open(tmp_path / "other", create=True)
    with (tmp_path / "earlier.tar").open("wb") as stream:
        write_archive(source, [source.find(FIRST)], stream)
    assert read_archive(other, tmp_path / "earlier.tar") == ([FIRST], [])
    for workspace in (source, other):
        found = workspace.find(FIRST)
        assert (list(damages(workspace)), without_digest(workspace)) == ([], [])
        assert found.tables.table("counters").num_rows == 0
        assert found.tables.schema("counters") == schema_of("counters")
        assert workspace.resume(found.facts) is not None


def test_a_later_table_that_was_written_is_missed(source: Workspace) -> None:
    source.find(FIRST).tables.path("counters").unlink()
    (damage,) = damages(source)
    assert (damage.trial_id, damage.found) == (FIRST, "no table counters")


def test_what_is_there_already_stays(source: Workspace, archive: Path) -> None:
    before = source.find(FIRST)
    assert read_archive(source, archive) == ([], [FIRST, SECOND])
    assert source.find(FIRST) == before


def test_the_same_trials_give_the_same_archive(source: Workspace, archive: Path) -> None:
    again = io.BytesIO()
    write_archive(source, source.trials(), again)
    assert again.getvalue() == archive.read_bytes()


Members = list[tuple[tarfile.TarInfo, bytes]]


def rewritten(path: Path, change: Callable[[Members], None]) -> Path:
    """Write an archive with other members."""
    with tarfile.open(path) as old:
        members = [(member, old.extractfile(member).read()) for member in old]  # type: ignore[union-attr]
    change(members)
    other = path.with_name("changed.tar")
    with tarfile.open(other, "w") as new:
        for member, content in members:
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    return other


def with_row(members: Members, **changed: object) -> None:
    """Change a row, and the digest that goes with it: what somebody does who means it."""
    content = json.loads(members[0][1])
    content["trials"][0] |= changed
    seal(content)
    members[0] = (members[0][0], json.dumps(content).encode())


def seal(content: dict[str, Any]) -> None:
    noted = {name: content[name] for name in ("trials", "memberships")}
    text = json.dumps(noted, sort_keys=True, separators=(",", ":"))
    content["digest"] = hashlib.sha256(text.encode()).hexdigest()


def of_version_1(members: Members) -> None:
    content = json.loads(members[0][1])
    del content["digest"]
    for row in content["trials"]:
        for later in ("digests", "backend_version", "observed", "axes"):
            del row[later]
    first = (members[0][0], json.dumps(content | {"version": 1}).encode())
    members[:] = [first, *(each for each in members[1:] if Path(each[0].name).stem not in LATER_TABLES)]


def rename(members: Members, index: int, name: str) -> None:
    members[index][0].name = name


def test_a_damaged_trial_is_not_taken_nor_are_those_before_it(archive: Path, tmp_path: Path) -> None:
    def damage(members: Members) -> None:
        member, content = members[-1]
        members[-1] = (member, content[:50] + bytes(50) + content[100:])

    other = Workspace.open(tmp_path / "other", create=True)
    with pytest.raises(StoreError, match=f"trial {SECOND}: table"):
        read_archive(other, rewritten(archive, damage))
    assert other.trials() == []
    assert list(other.records.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda members: members.pop(0), "does not begin with trials.json"),
        (lambda members: members.pop(1), "in place of table chunks"),
        (lambda members: members.__delitem__(slice(1, None)), "it ends before table chunks"),
        (lambda members: rename(members, 1, "../../etc/passwd"), "in place of table chunks"),
        (lambda members: rename(members, 1, f"/trials/{FIRST}/chunks.parquet"), "in place of table chunks"),
        (lambda members: with_row(members, id="../evil"), "no finished trial"),
        (lambda members: with_row(members, status="running"), "no finished trial"),
        (lambda members: with_row(members, position="first"), "no finished trial"),
        (lambda members: with_row(members, colour="red"), "no finished trial"),
        (lambda members: with_row(members, digests="{}"), "no finished trial"),
        (lambda members: with_row(members, run_spec='{"jobs": []}'), "it is of another run spec"),
        (lambda members: with_row(members, backend="other"), "it is of backend fake, not other"),
        (lambda members: members.__setitem__(0, (members[0][0], b"[]")), "cannot be read"),
        (lambda members: members.__setitem__(0, (members[0][0], b"[" * 100_000)), "cannot be read"),
        (
            lambda members: members.__setitem__(0, (members[0][0], b'{"version": 9, "trials": []}')),
            "version 9",
        ),
    ],
)
def test_another_archive_is_refused_and_leaves_nothing(
    archive: Path, tmp_path: Path, change: Callable[[Members], None], found: str
) -> None:
    other = Workspace.open(tmp_path / "other", create=True)
    with pytest.raises(StoreError, match=found):
        read_archive(other, rewritten(archive, change))
    assert other.trials() == []
    assert list(other.records.iterdir()) == []


def test_a_link_in_an_archive_is_not_followed(archive: Path, tmp_path: Path) -> None:
    def link(members: Members) -> None:
        members[1][0].type = tarfile.SYMTYPE
        members[1][0].linkname = "/etc/passwd"

    other = Workspace.open(tmp_path / "other", create=True)
    with pytest.raises(StoreError, match="is no plain file"):
        read_archive(other, rewritten(archive, link))


@pytest.mark.parametrize("content", [b"", b"nonsense" * 1000])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"no archive|does not begin"):
        read_archive(Workspace.open(tmp_path / "workspace", create=True), path)


def test_a_file_that_is_missing_or_cut_off_is_refused(archive: Path, tmp_path: Path) -> None:
    other = Workspace.open(tmp_path / "other", create=True)
    with pytest.raises(StoreError, match="cannot be read"):
        read_archive(other, tmp_path / "none")
    cut = tmp_path / "cut.tar"
    cut.write_bytes(archive.read_bytes()[:-20_000])
    with pytest.raises(StoreError):
        read_archive(other, cut)
    assert other.trials() == []
