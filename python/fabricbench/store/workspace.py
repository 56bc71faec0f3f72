"""A workspace: a folder with a catalog of trials and the record of each finished one.

    catalog.sqlite             the trials and their status
    trials/ID/TABLE.parquet    the record of a finished trial
    trials/.ID.N.partial/      the record of a trial that is running
    trials/.ID.N.old/          a record that is being replaced, during the swap
    copies/ID.N/TABLE.parquet  copies of records at a URL

A record is renamed to its id within a transaction that excludes other writers, so a reader sees the old one
or the new one. The next start cleans up after a crash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from uuid import uuid4

from fabricbench.store.catalog.database import Database
from fabricbench.store.catalog.databases import catalog_database
from fabricbench.store.catalog.rows import TRIAL_ID
from fabricbench.store.catalog.schema import FINISHED, IS_FINISHED, NOT_IN_TRASH, RUNNING
from fabricbench.store.catalog.sql import Connection, Sql, all_of, one_of
from fabricbench.store.catalog.trial import Trial, TrialFacts
from fabricbench.store.catalog.trials import Catalog, UnreadableRow
from fabricbench.store.errors import StoreError, UnknownTrialError, write_error
from fabricbench.store.names import (
    CATALOG_FILE,
    CATALOG_URL_VARIABLE,
    TABLES_URL_VARIABLE,
    workspace_folder,
)
from fabricbench.store.record.location import Location
from fabricbench.store.record.remote import Upload, remove_record
from fabricbench.store.record.replacement import PARTIAL, RecordSwap
from fabricbench.store.record.schema import TABLES
from fabricbench.store.record.writer import Attempt, TrialWriter
from fabricbench.store.recovery import recover

_RECORDS = "trials"
_COPIES = "copies"
_REPAIR = "`fabricbench workspace repair` takes such rows out of the catalog; the others can be used"
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")


class Workspace:
    """An open workspace.

    Attributes:
        root: Its folder.
        records: The folder of the records in it, and of those that are being written.
        copies: The folder for copies of records at a URL.
        location: Storage for new records instead of `records`; None to use `records`.
    """

    def __init__(self, root: Path, database: Database, location: Location | None = None) -> None:
        """Use a folder whose catalog has been checked; `Workspace.open` does that."""
        self.root = root
        self.records = root / _RECORDS
        self.copies = root / _COPIES
        self.database = database
        self.location = location
        self.catalog = Catalog(self.records, self.copies)

    @classmethod
    def open(
        cls,
        root: Path | None = None,
        *,
        create: bool = False,
        catalog_url: str | None = None,
        tables_url: str | None = None,
    ) -> Workspace:
        """Open a workspace and clean up after a crash.

        A workspace without write permission is opened for reading, unless `create` is set.

        Args:
            root: Its folder; by default that of the environment variable FABRICBENCH_WORKSPACE, or else
                `fabricbench-workspace` in the current folder.
            create: Create it if it does not exist.
            catalog_url: Database of the catalog, an SQLite file or PostgreSQL, as a URL; by
                default that of FABRICBENCH_CATALOG_URL, or else a file in the workspace.
            tables_url: Storage for new records, as an fsspec URL; by default that of FABRICBENCH_TABLES_URL,
                or else a folder in the workspace.

        Raises:
            StoreError: It does not exist, is not a folder, or is to be created and not writable; or its
                catalog is corrupted, foreign, or written by a newer version; or a URL cannot be used.
        """
        folder = workspace_folder(root)
        catalog = catalog_url or os.environ.get(CATALOG_URL_VARIABLE) or None
        location = tables_location(tables_url)
        # With catalog and records elsewhere, the folder does not need to exist beforehand.
        make = create or (catalog is not None and location is not None)
        if not make and catalog is None and _is_read_only(folder):
            database = catalog_database(folder, read_only=True)
            workspace = cls(folder, database, location)
            database.open(has_records=workspace._has_records())
            return workspace
        _check_folder(folder, create=make)
        database = catalog_database(folder, catalog)
        workspace = cls(folder, database, location)
        database.open(has_records=workspace._has_records())
        workspace.recover()
        return workspace

    def recover(self) -> None:
        """Mark the trials whose process has ended, and remove or restore their folders.

        Raises:
            StoreError: The catalog or the folder cannot be read or written.
        """
        self.remove_records(recover(self.database, self.catalog, self.records))

    def trials(
        self,
        *,
        plan: str | None = None,
        tag: str | None = None,
        states: Sequence[str] = (),
        deleted: bool | None = False,
    ) -> list[Trial]:
        """Return the trials of a plan or tag (or all), oldest attempt first, including unfinished ones.

        A trial that belongs to several runs is returned once, for the newest of them that matches. Deleted
        trials are omitted, unless `deleted` selects only those, or with None those as well.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self.database.reading() as connection:
            return self.catalog.select(connection, plan=plan, tag=tag, states=states, deleted=deleted)

    def unreadable(self) -> list[UnreadableRow]:
        """Return the rows of the catalog that are ignored because of invalid values.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self.database.reading() as connection:
            return self.catalog.unreadable(connection)

    def find(self, name: str) -> Trial:
        """Return the finished trial with an id, a prefix of an id, `latest` or `latest~N`, or of a plan.

        By its id, a trial that belongs to several runs is returned for the one that used it last. The name of
        a plan selects its last trial, for that plan.

        Raises:
            UnknownTrialError: No trial or several match, or the trial has not finished.
            StoreError: The catalog cannot be read.
        """
        latest = _LATEST.fullmatch(name)
        with self.database.reading() as connection:
            if latest:
                trial = self.catalog.latest_finished(connection, int(latest[1] or 0))
                matches = [trial] if trial else []
            else:
                matches = self._named(connection, name) or self._of_plan(connection, name)
            if len(matches) != 1 or not matches[0].is_finished:
                raise self._unknown(connection, name, matches)
        return matches[0]

    def _named(self, connection: Connection, prefix: str) -> list[Trial]:
        """Return the finished trials whose id has a prefix, or else the unfinished ones."""
        if not re.fullmatch("[0-9a-fA-F]{1,12}", prefix):
            return []
        matches = self.catalog.select(connection, prefix=prefix.lower())
        finished = [trial for trial in matches if trial.is_finished]
        return finished or matches

    def _of_plan(self, connection: Connection, plan: str) -> list[Trial]:
        trial = self.catalog.latest_of_plan(connection, plan)
        return [trial] if trial else []

    def _unknown(self, connection: Connection, name: str, matches: Sequence[Trial]) -> UnknownTrialError:
        if len({trial.id for trial in matches}) > 1:
            matching_ids = ", ".join(trial.id for trial in matches[:5])
            message = f'"{name}" is the beginning of several trials: {matching_ids}'
            return UnknownTrialError(self.root, message, "write more digits of the id")
        if matches:
            message = f"trial {matches[0].id} has no record: it is {matches[0].status}"
            return UnknownTrialError(
                self.root, message, "run its plan again; --resume keeps the finished trials"
            )
        unreadable = self._unreadable_match(connection, name)
        if unreadable is not None:
            return UnknownTrialError(self.database.place, unreadable.found, _REPAIR)
        finished = self.catalog.select(connection, states=FINISHED)
        ids = [trial.id for trial in finished]
        if not ids:
            return UnknownTrialError(self.root, f'no trial "{name}": none has finished', "run a plan first")
        names = ["latest", *ids, *sorted({trial.facts.plan for trial in finished})]
        close_names = [] if _LATEST.fullmatch(name) else get_close_matches(name.lower(), names, n=1)
        hint = (
            f'did you mean "{close_names[0]}"?'
            if close_names
            else "`fabricbench trials` lists them; `latest~1` is the last but one"
        )
        return UnknownTrialError(self.root, f'no trial "{name}" among {len(ids)} finished ones', hint)

    def _unreadable_match(self, connection: Connection, name: str) -> UnreadableRow | None:
        """Return an unreadable row that may match a name."""
        is_id = re.fullmatch("[0-9a-fA-F]{1,12}", name)
        for row in self.catalog.unreadable(connection):
            is_named = is_id and isinstance(row.trial_id, str) and row.trial_id.startswith(name.lower())
            if is_named or row.plan == name or _LATEST.fullmatch(name):
                return row
        return None

    def suite(self, trial: Trial) -> list[Trial]:
        """Return the finished trials that the same plan expanded to with the same tag, in its order.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self.database.reading() as connection:
            members = self.catalog.select(connection, suite=trial.facts.suite, states=FINISHED)
        return sorted(members, key=lambda member: member.facts.position)

    def family(self, trial: Trial) -> list[Trial]:
        """Return the suite of a trial, and the other finished trials of its plan in which a job ran alone.

        Raises:
            StoreError: The catalog cannot be read.
        """
        suite = self.suite(trial)
        with self.database.reading() as connection:
            solos = self.catalog.select(connection, plan=trial.facts.plan, states=FINISHED, solo=True)
        suite_attempts = {member.attempt for member in suite}
        return [*suite, *(solo for solo in solos if solo.attempt not in suite_attempts)]

    def twins(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the finished trials of other backends with the same run specs, newest first.

        Raises:
            StoreError: The catalog cannot be read.
        """
        specs = {trial.stored_spec: trial.facts.backend for trial in trials}
        with self.database.reading() as connection:
            same_spec = all_of(one_of("run_spec", specs), IS_FINISHED, NOT_IN_TRASH)
            by_attempt = {trial.attempt: trial for trial in self.catalog.where(connection, same_spec)}
        others = [
            trial
            for trial in by_attempt.values()
            if specs.get(trial.stored_spec) not in (None, trial.facts.backend)
        ]
        return sorted(others, key=lambda trial: -trial.attempt)

    def resume(self, facts: TrialFacts) -> Trial | None:
        """Return the finished trial equal to `facts`, which then need not run again, added to the same suite.

        Raises:
            StoreError: The catalog cannot be read or written.
        """
        same_id = Sql(
            f"id = ? AND backend = ? AND backend_version = ? AND {IS_FINISHED} AND {NOT_IN_TRASH}",
            *(facts.id, facts.backend, facts.backend_version),
        )
        step = (facts.plan, facts.variant, facts.iteration)
        with self.database.reading() as connection:
            finished = self.catalog.where(connection, same_id)
        # Every byte of the record is read, without blocking other writers.
        intact_attempts = {trial.attempt for trial in finished if not trial.tables.lacks(TABLES)}
        with self.database.writing() as connection:
            for trial in self.catalog.where(connection, all_of(same_id, one_of("attempt", intact_attempts))):
                if (trial.facts.plan, trial.facts.variant, trial.facts.iteration) == step:
                    self.catalog.adopt(connection, trial, facts)
                    return replace(trial, facts=facts)
        return None

    def recorded(self) -> set[str]:
        """Return the ids of the finished trials, except those in the trash.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self.database.reading() as connection:
            query = f"SELECT id FROM trials WHERE {IS_FINISHED} AND {NOT_IN_TRASH}"
            return set(connection.execute(query).scalars())

    def begin(self, facts: TrialFacts, machine: Mapping[str, Any]) -> TrialWriter:
        """Record that a trial starts, and open its tables.

        Args:
            facts: Facts of the trial.
            machine: The machine that runs it.

        Raises:
            StoreError: The workspace cannot be written, or the disk is full.
        """
        return TrialWriter(self, facts, *self._running(facts, machine))

    def begin_elsewhere(self, facts: TrialFacts, machine: Mapping[str, Any]) -> Attempt:
        """Record that a trial starts whose record another process of this machine writes; see `begin`.

        Raises:
            StoreError: The workspace cannot be written, or the disk is full.
        """
        return self.begin_together([(facts, *self.new_record(facts.id))], machine)[0]

    def begin_together(
        self, starting: Sequence[tuple[TrialFacts, Path, str | None]], machine: Mapping[str, Any]
    ) -> list[Attempt]:
        """Record that trials start whose records other processes write, all of them or none.

        It can be called again after an error that leaves open whether they were recorded.

        Args:
            starting: The trials, each with the folder and the URL of its `new_record`.
            machine: The machine that runs them.

        Raises:
            StoreError: The workspace cannot be written, or the disk is full.
        """
        with self.database.writing() as connection:
            earlier_call = all_of(
                one_of("id", [facts.id for facts, _, _ in starting]),
                one_of("folder", [folder.name for _, folder, _ in starting]),
                Sql("status = ?", RUNNING),
            )
            self.catalog.remove(connection, earlier_call)
            return [
                Attempt(
                    self,
                    facts,
                    self.catalog.add_running(connection, facts, folder.name, url, machine),
                    folder,
                    url,
                )
                for facts, folder, url in starting
            ]

    def _running(self, facts: TrialFacts, machine: Mapping[str, Any]) -> tuple[int, Path, str | None]:
        """Record that a trial starts; return the number of the attempt, its folder and its future URL."""
        folder, url = self.new_record(facts.id)
        with self.database.writing() as connection:
            attempt = self.catalog.add_running(connection, facts, folder.name, url, machine)
        return attempt, folder, url

    def new_record(self, trial_id: str) -> tuple[Path, str | None]:
        """Return the folder in which to write a record, and its future URL; None to keep it in the workspace.

        Raises:
            StoreError: The location of that URL cannot be reached or written.
        """
        name = f"{trial_id}.{uuid4().hex[:12]}"
        folder = self.records / f".{name}{PARTIAL}"
        if self.location is None:
            return folder, None
        self.location.check()
        return folder, f"{self.location.url}/{name}"

    def has_ended(self, attempts: Iterable[int]) -> bool | None:
        """Return whether attempts are finished in the catalog; None if it cannot be read."""
        try:
            with self.database.reading() as connection:
                return all(self.catalog.is_finished(connection, attempt) for attempt in attempts)
        except StoreError:
            return None

    def swap(self, trial_id: str, folder: Path, url: str | None) -> RecordSwap:
        """Prepare to move a written record to its path, replacing any record there.

        Raises:
            StoreError: The location of its URL cannot be reached or written.
        """
        record = self.records / trial_id
        if url is None:
            return RecordSwap(folder, record)
        return Upload(folder, record, url, self.copies)

    def remove_records(self, urls: Iterable[str | None]) -> None:
        """Remove records that the catalog no longer refers to. Those that cannot be reached remain."""
        for url in urls:
            if url is not None:
                remove_record(url, self.copies)

    def _has_records(self) -> bool:
        with suppress(OSError):
            return any(TRIAL_ID.fullmatch(entry.name) for entry in self.records.iterdir())
        return False


def tables_location(url: str | None = None) -> Location | None:
    """Return the location of records from a URL or FABRICBENCH_TABLES_URL; None for the workspace folder.

    Raises:
        StoreError: The URL cannot be used.
    """
    url = url or os.environ.get(TABLES_URL_VARIABLE)
    if not url:
        return None
    return Location(url)


def holds_workspace(folder: Path) -> bool:
    """Return whether a folder has been used as a workspace."""
    return (folder / CATALOG_FILE).exists() or (folder / _RECORDS).exists()


def _is_read_only(folder: Path) -> bool:
    """Return whether there is a workspace that can be read but not written; missing parts can be created."""
    existing = [path for path in _written(folder) if path.exists()]
    return (folder / CATALOG_FILE).is_file() and not all(map(_is_writable, existing))


def _written(folder: Path) -> tuple[Path, ...]:
    return folder, folder / _RECORDS


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _check_folder(folder: Path, *, create: bool) -> None:
    """Check that a workspace folder exists and can be written, creating it if requested.

    Raises:
        StoreError: It does not exist or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(
            folder, "a workspace is a folder, and this is a file", "name another one with --workspace"
        )
    if not create and not holds_workspace(folder):
        hint = "`fabricbench run PLAN` makes one; --workspace or FABRICBENCH_WORKSPACE says where it is"
        raise StoreError(folder, "there is no workspace", hint)
    try:
        (folder / _RECORDS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from error
    for writable in _written(folder):
        if not _is_writable(writable):
            raise StoreError(writable, "no permission to write", "name another folder with --workspace")
