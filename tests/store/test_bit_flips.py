"""A single bit that flips, in any table or in an archive, is noticed or changes nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from tests.support.soak import times

from fabricbench.store import StoreError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.inspection import damages
from fabricbench.store.record.schema import TABLES

TRIAL = "aaaa00000001"
TABLE_FLIPS, OLD_FLIPS, ARCHIVE_FLIPS = times(150, 600), times(25, 100), times(60, 300)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(TRIAL), FakeBackend(copies=3))
    return workspace


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_every_flip_in_a_table_is_noticed_when_it_is_opened(workspace: Workspace) -> None:
    random = Random(1)
    for number in range(TABLE_FLIPS):
        table = TABLES[number % len(TABLES)]
        tables = workspace.find(TRIAL).tables
        content = tables.path(table).read_bytes()
        tables.path(table).write_bytes(flipped(content, random.randrange(8 * len(content))))
        with pytest.raises(StoreError, match="it is not what was written"):
            tables.opened(table)
        tables.path(table).write_bytes(content)
        tables.opened(table)


def test_a_flip_in_a_table_of_an_earlier_version_is_told_or_read_and_never_ends_the_check(
    workspace: Workspace,
) -> None:
    with workspace.database.writing() as connection:
        connection.execute("UPDATE trials SET digests = NULL")
    random, noticed = Random(2), 0
    for number in range(OLD_FLIPS):
        table = TABLES[number % len(TABLES)]
        tables = workspace.find(TRIAL).tables
        content = tables.path(table).read_bytes()
        tables.path(table).write_bytes(flipped(content, random.randrange(8 * len(content))))
        found = list(damages(workspace))
        if not found:
            assert tables.table(table) is not None
        noticed += len(found)
        tables.path(table).write_bytes(content)
    assert noticed > OLD_FLIPS / 3


def test_every_flip_in_an_archive_is_noticed_or_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    archive, changed = tmp_path / "trials.tar", tmp_path / "changed.tar"
    with archive.open("wb") as stream:
        write_archive(workspace, workspace.trials(), stream)
    content = archive.read_bytes()
    wanted = {table: workspace.find(TRIAL).tables.path(table).read_bytes() for table in TABLES}
    known, random, harmless = workspace.find(TRIAL), Random(3), 0
    other = Workspace.open(tmp_path / "other", create=True)
    for number in range(ARCHIVE_FLIPS):
        changed.write_bytes(flipped(content, random.randrange(8 * len(content))))
        try:
            assert read_archive(other, changed) == ([TRIAL], [])
        except StoreError:
            assert other.trials() == []
            continue
        found = other.find(TRIAL)
        assert (found.facts, found.summary, found.results) == (known.facts, known.summary, known.results)
        assert {table: found.tables.path(table).read_bytes() for table in TABLES} == wanted
        harmless += 1
        other = Workspace.open(tmp_path / f"other{number}", create=True)
    assert harmless < ARCHIVE_FLIPS / 2
