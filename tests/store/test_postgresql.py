"""What is special about a catalog in PostgreSQL: migrations, errors, and a server that dies."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest
from tests.support import postgresql
from tests.support.fake_backend import FakeBackend
from tests.support.samples import Planned, Rows, run_spec, run_trial, trial_facts

from fabricbench.results.job_reports import result_rows
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import StoreError, Workspace
from fabricbench.store.catalog import postgresql as database
from fabricbench.store.catalog.database import BUSY_TIMEOUT_S
from fabricbench.store.errors import UnreachableError
from fabricbench.store.record.writer import finish_together

FIRST, SECOND = "aaaa00000001", "bbbb00000002"


def test_an_older_catalog_is_migrated_with_its_trials(tmp_path: Path, postgresql_url: str) -> None:
    workspace = Workspace.open(tmp_path, create=True, catalog_url=postgresql_url)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    with psycopg.connect(postgresql_url) as connection:
        connection.execute(
            "ALTER TABLE trials DROP COLUMN criteria, DROP COLUMN size_kind, DROP COLUMN reference, "
            "DROP COLUMN tables, DROP COLUMN digests, DROP COLUMN backend_version, DROP COLUMN observed, "
            "DROP COLUMN axes"
        )
        connection.execute("DROP INDEX trials_by_suite")
        connection.execute("DROP TABLE runs, tags, trash, memberships, trial_metrics, outcomes, views")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    assert Workspace.open(tmp_path, catalog_url=postgresql_url).find(FIRST).facts.criteria == ()


def test_one_database_serves_two_machines(tmp_path: Path, postgresql_url: str) -> None:
    """Both have the folder of the records, such as by NFS; what one runs, the other finds."""
    here, there = (Workspace.open(tmp_path, create=True, catalog_url=postgresql_url) for _ in range(2))
    run_trial(here, trial_facts(FIRST), FakeBackend())
    run_trial(there, trial_facts(SECOND), FakeBackend())
    assert [trial.id for trial in here.trials()] == [trial.id for trial in there.trials()] == [FIRST, SECOND]
    assert not (tmp_path / "catalog.sqlite").exists()


def test_a_database_without_the_records_it_should_know_is_refused(
    tmp_path: Path, postgresql_url: str
) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(FIRST), FakeBackend())
    with pytest.raises(StoreError, match="the workspace holds records"):
        Workspace.open(tmp_path, catalog_url=postgresql_url)


def test_a_foreign_database_is_left_alone(tmp_path: Path, postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE accounts (id int)")
    with pytest.raises(StoreError, match="not the catalog of a fabricbench workspace"):
        Workspace.open(tmp_path, create=True, catalog_url=postgresql_url)


@pytest.mark.parametrize(
    "change",
    [("postgresql://bench@/", "postgresql://bench:secret@/no_such_database_"), ("host=", "host=/nowhere")],
)
def test_a_database_out_of_reach_says_what_to_check(
    tmp_path: Path, postgresql_url: str, change: tuple[str, str]
) -> None:
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        Workspace.open(tmp_path, create=True, catalog_url=postgresql_url.replace(*change))
    assert "PGPASSWORD" in caught.value.hint
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_a_server_that_is_killed_in_the_middle_of_a_run_costs_only_that_trial(tmp_path: Path) -> None:
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql.server() as server:
        url = server.new_database("bench")
        workspace = Workspace.open(tmp_path, create=True, catalog_url=url)
        run_trial(workspace, trial_facts(FIRST), FakeBackend())
        with pytest.raises(StoreError, match="cannot be reached"):
            run_trial(workspace, trial_facts(SECOND), FakeBackend(on_first_batch=server.kill))
        server.start()
        assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
        assert [trial.status for trial in workspace.trials()] == ["complete", "running"]
        assert [path.name for path in workspace.records.iterdir()] == [FIRST]
        run_trial(workspace, trial_facts(SECOND), FakeBackend())
        assert workspace.find(SECOND).tables.table("chunks").num_rows == 12


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_commit_of_which_nothing_was_heard_is_asked_for_and_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_noted: bool
) -> None:
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql.server() as server:
        workspace = Workspace.open(tmp_path, create=True, catalog_url=server.new_database("bench"))
        with workspace.begin(trial_facts(FIRST), machine_facts()) as writer:
            result = FakeBackend().run(Planned(run_spec()), Rows(writer.write), threads=1)
            rows = result_rows(trial_facts(FIRST), result.summary, writer.close())
            ready = writer.ready(result.summary, result.engine, writer.written(rows))
            commit = psycopg.Connection.commit

            def lose(connection: psycopg.Connection) -> None:
                if is_noted:
                    commit(connection)
                server.kill()
                raise psycopg.OperationalError("the server closed the connection unexpectedly")

            with monkeypatch.context() as patched:
                patched.setattr(psycopg.Connection, "commit", lose)
                with pytest.raises(UnreachableError):
                    finish_together(workspace, [ready])
            with pytest.raises(UnreachableError):
                finish_together(workspace, [ready])
            server.start()
            finish_together(workspace, [ready])
        assert [trial.status for trial in workspace.trials()] == ["complete"]
        assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
        assert [path.name for path in workspace.records.iterdir()] == [FIRST]


def test_trials_of_which_nobody_knows_whether_they_were_noted_begin_once(
    tmp_path: Path, postgresql_url: str
) -> None:
    workspace = Workspace.open(tmp_path, create=True, catalog_url=postgresql_url)
    starting = [
        (facts, *workspace.new_record(facts.id)) for facts in (trial_facts(FIRST), trial_facts(SECOND))
    ]
    workspace.begin_together(starting, machine_facts())
    attempts = workspace.begin_together(starting, machine_facts())
    assert [trial.attempt for trial in workspace.trials()] == [attempt.attempt for attempt in attempts]
    assert [trial.status for trial in workspace.trials()] == ["running", "running"]


def test_a_writer_that_is_stopped_keeps_no_other_waiting(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PAUSE_MAX_S", 1)
    stopped, other = (Workspace.open(tmp_path, create=True, catalog_url=postgresql_url) for _ in range(2))

    def hold() -> None:
        with stopped.database.writing() as connection:
            began = time.monotonic()
            run_trial(other, trial_facts(FIRST), FakeBackend())
            assert time.monotonic() - began < BUSY_TIMEOUT_S / 2
            connection.execute("SELECT 1")

    with pytest.raises(StoreError, match="cannot be reached"):
        hold()


def test_a_connection_that_is_cut_is_told_as_such(tmp_path: Path, postgresql_url: str) -> None:
    workspace = Workspace.open(tmp_path, create=True, catalog_url=postgresql_url)

    def be_cut_off() -> None:
        with workspace.database.writing() as connection, psycopg.connect(postgresql_url) as another:
            own = "datname = current_database() AND pid <> pg_backend_pid()"
            another.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {own}")
            connection.execute("SELECT 1")

    with pytest.raises(StoreError, match="cannot be reached"):
        be_cut_off()
