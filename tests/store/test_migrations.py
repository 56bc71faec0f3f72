"""Catalogs of earlier versions are migrated with their trials; both databases get the same tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.support import postgresql
from tests.support.catalog import postgresql_schema, sqlite_schema
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_spec, run_trial, trial_facts

from fabricbench.cli.main import run as command_line
from fabricbench.store import StoreError, Workspace, workspace as workspace_module
from fabricbench.store.catalog.migrate import REVISION, migrate
from fabricbench.store.catalog.schema import MEMBERSHIP_COLUMNS, TRIAL_COLUMNS
from fabricbench.store.queries.listing import Threshold, TrialQuery, page
from fabricbench.store.queries.run_list import run_page
from fabricbench.store.queries.tags import tags_of
from fabricbench.store.record.earlier_versions import OF_THE_SIMULATOR
from fabricbench.store.runs import RunQueue
from fabricbench.store.trash import restore_trial

CATALOGS = Path(__file__).parent / "catalogs"


def without_runs(connection: sqlite3.Connection) -> None:
    for table in ("runs", "tags", "trash", "memberships"):
        connection.execute(f"DROP TABLE {table}")


def before_outcomes(connection: sqlite3.Connection) -> None:
    for index in ("trials_by_suite", "trials_listed"):
        connection.execute(f"DROP INDEX {index}")
    for table in ("trial_metrics", "outcomes", "views"):
        connection.execute(f"DROP TABLE {table}")


def before_axes(connection: sqlite3.Connection) -> None:
    before_outcomes(connection)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE name IN ('trials', 'memberships')")
    for (table,) in tables.fetchall():
        connection.execute(f"ALTER TABLE {table} DROP COLUMN axes")


def before_hosts(connection: sqlite3.Connection) -> None:
    before_axes(connection)
    for column in ("backend", "hosts"):
        connection.execute(f"ALTER TABLE runs DROP COLUMN {column}")


def before_memberships(root: Path) -> None:
    """Make of a catalog what the version before the table of memberships wrote."""
    connection = sqlite3.connect(root / "catalog.sqlite")
    connection.execute("DROP TABLE memberships")
    before_hosts(connection)
    for column in ("digests", "backend_version", "observed"):
        connection.execute(f"ALTER TABLE trials DROP COLUMN {column}")
    connection.execute("UPDATE alembic_version SET version_num = '0006'")
    connection.commit()
    connection.close()


def test_both_databases_have_the_same_tables_and_the_code_knows_their_columns(
    tmp_path: Path, postgresql_url: str
) -> None:
    Workspace.open(tmp_path / "one", create=True)
    Workspace.open(tmp_path / "other", create=True, catalog_url=postgresql_url)
    schema = sqlite_schema(tmp_path / "one/catalog.sqlite")
    del schema.indexes["trials_listed"]  # PostgreSQL needs no index for lists
    assert schema == postgresql_schema(postgresql_url)
    for table, columns in (("trials", TRIAL_COLUMNS), ("memberships", MEMBERSHIP_COLUMNS)):
        assert {
            name: (f"{column.type}({column.length_max})" if column.length_max else column.type)
            + ("" if column.is_nullable else " NOT NULL")
            for name, column in columns.items()
        } == {name: text.partition(" DEFAULT")[0] for name, text in schema.columns[table].items()}


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a catalog with the content that version 0.2.0 wrote."""
    script = (CATALOGS / f"0.2.0.{request.param}.sql").read_text()
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "old.sqlite")) as connection:
            connection.executescript(script)
        return f"sqlite:///{tmp_path}/old.sqlite"
    url: str = request.getfixturevalue("postgresql_url")
    with psycopg.connect(url) as server:
        server.execute(script)
    return url


def test_a_catalog_of_version_0_2_0_is_migrated_to_the_tables_of_a_new_one(
    tmp_path: Path, old_url: str, postgresql_server: postgresql.Server
) -> None:
    new_url = f"sqlite:///{tmp_path}/new.sqlite"
    if not old_url.startswith("sqlite"):
        new_url = postgresql_server.new_database("new")
    for folder, url in (("old", old_url), ("new", new_url)):
        Workspace.open(tmp_path / folder, create=True, catalog_url=url)
    if old_url.startswith("sqlite"):
        assert sqlite_schema(tmp_path / "old.sqlite") == sqlite_schema(tmp_path / "new.sqlite")
    else:
        assert postgresql_schema(old_url) == postgresql_schema(new_url)


def test_a_catalog_of_version_0_2_0_is_listed_and_accepts_trials(tmp_path: Path, old_url: str) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True, catalog_url=old_url)
    first, second, third = (f"{number:012x}" for number in range(3))
    assert [(trial.id, trial.facts.plan) for trial in workspace.trials()] == [
        (second, "small"),
        (first, "other"),
    ]
    assert [trial.id for trial in workspace.trials(deleted=True)] == [third]
    assert [trial.id for trial in workspace.trials(plan="small")] == [second, first]
    assert tags_of(workspace, workspace.trials()) == {first: ["old"], second: ["old", "user"]}
    assert workspace.trials()[0].facts.observed == OF_THE_SIMULATOR
    total, rows = page(workspace, TrialQuery(sort="completion_time_ms"))
    assert (total, {trial.id for trial in rows}) == (2, {first, second})
    total, runs = run_page(workspace, TrialQuery())
    assert total == 2
    assert {(run.trials, run.times) for run in runs} == {(1, 1), (2, 1)}
    queue = RunQueue(workspace)
    assert [run.plan for run in queue.page()[1]] == ["p2", "p"]
    assert (claimed := queue.claim()) is not None
    assert (claimed.plan, claimed.hosts) == ("p2", None)
    assert restore_trial(workspace, third)
    run_trial(workspace, trial_facts(first), FakeBackend())
    run_trial(workspace, trial_facts("ba9876543210"), FakeBackend())
    again = Workspace.open(tmp_path / "workspace", catalog_url=old_url)
    assert [trial.id for trial in again.trials()] == [second, third, first, "ba9876543210"]


def test_a_newer_catalog_is_not_set_back(tmp_path: Path) -> None:
    """Another process may migrate a catalog between the check of its revision and the migration."""
    database = Workspace.open(tmp_path, create=True).database
    with database.writing() as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        migrate(connection, is_new=False)
        assert connection.execute("SELECT version_num FROM alembic_version").scalar() == "9999"
    assert REVISION < "9999"


def test_a_catalog_of_before_criteria_keeps_its_trials_and_takes_new_ones(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    before_axes(connection)
    for column in ("criteria", "size_kind", "reference", "tables", "digests", "backend_version", "observed"):
        connection.execute(f"ALTER TABLE trials DROP COLUMN {column}")
    without_runs(connection)
    connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.commit()
    connection.close()
    workspace = Workspace.open(tmp_path)
    assert workspace.find("latest").facts == trial_facts()
    criteria = ({"metric": "frames_lost", "min": None, "max": 0.0, "job": None},)
    run_trial(workspace, trial_facts("ba9876543210", criteria=criteria), FakeBackend())
    assert Workspace.open(tmp_path).find("latest").facts.criteria == criteria


def test_a_catalog_of_before_variants_takes_a_reference(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    before_axes(connection)
    for column in ("reference", "tables", "digests", "backend_version", "observed"):
        connection.execute(f"ALTER TABLE trials DROP COLUMN {column}")
    without_runs(connection)
    connection.execute("UPDATE alembic_version SET version_num = '0003'")
    connection.commit()
    connection.close()
    workspace = Workspace.open(tmp_path)
    assert workspace.find("latest").facts.reference is None
    run_trial(workspace, trial_facts("ba9876543210", variant="b", reference="a"), FakeBackend())
    assert Workspace.open(tmp_path).find("latest").facts.reference == "a"


def test_a_catalog_of_before_memberships_takes_them_from_now_on(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    before_memberships(tmp_path)
    workspace = Workspace.open(tmp_path)
    assert workspace.find("latest").facts == trial_facts()
    run_trial(workspace, trial_facts(plan="other", suite="beefbeefbeef"), FakeBackend())
    assert [trial.facts for trial in workspace.trials(plan="small")] == [trial_facts()]


def test_a_catalog_of_before_memberships_is_read_where_nothing_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    before_memberships(tmp_path)
    monkeypatch.setattr(workspace_module, "_is_read_only", lambda _: True)
    content = (tmp_path / "catalog.sqlite").read_bytes()
    workspace = Workspace.open(tmp_path)
    assert [trial.facts for trial in workspace.trials(plan="small")] == [trial_facts()]
    with pytest.raises(StoreError, match="no permission to write"):
        run_trial(workspace, trial_facts(), FakeBackend())
    assert (tmp_path / "catalog.sqlite").read_bytes() == content


def test_a_catalog_of_before_digests_is_read_and_told_by_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    before_hosts(connection)
    for column in ("digests", "backend_version", "observed"):
        connection.execute(f"ALTER TABLE trials DROP COLUMN {column}")
    connection.execute("UPDATE alembic_version SET version_num = '0007'")
    connection.commit()
    connection.close()
    workspace = Workspace.open(tmp_path)
    assert workspace.find("latest").tables.table("chunks").num_rows == 12
    assert command_line(["workspace", "check", "--workspace", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("0123456789ab: no digest")
    run_trial(workspace, trial_facts(), FakeBackend())
    assert command_line(["workspace", "check", "--workspace", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_a_trial_of_before_versions_of_backends_is_found_and_never_resumed(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), before := trial_facts(), FakeBackend())
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    before_hosts(connection)
    for column in ("backend_version", "observed"):
        connection.execute(f"ALTER TABLE trials DROP COLUMN {column}")
    connection.execute("UPDATE alembic_version SET version_num = '0008'")
    connection.commit()
    connection.close()
    workspace = Workspace.open(tmp_path)
    assert workspace.find(before.id).facts == before
    assert workspace.find(before.id).tables.table("chunks").num_rows == 12
    assert workspace.resume(trial_facts(backend_version="1")) is None
    assert workspace.resume(trial_facts(backend="other", backend_version="0.0.1")) is None
    assert workspace.resume(before) is not None


def test_a_run_that_was_queued_before_hosts_is_claimed(tmp_path: Path) -> None:
    asked = {"plan": "small", "title": "", "plan_source": "", "options": {"count": 0}, "planned": []}
    run = RunQueue(Workspace.open(tmp_path, create=True)).add(**asked)  # type: ignore[arg-type]
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    before_hosts(connection)
    connection.execute("UPDATE alembic_version SET version_num = '0010'")
    connection.commit()
    connection.close()
    claimed = RunQueue(Workspace.open(tmp_path)).claim()
    assert claimed is not None
    assert (claimed.id, claimed.backend, claimed.hosts) == (run.id, "", None)


def test_a_catalog_of_before_outcomes_is_ordered_by_the_metrics_that_it_had(tmp_path: Path) -> None:
    made = Workspace.open(tmp_path, create=True)
    for number in range(3):
        run_trial(made, trial_facts(f"{number:012x}", run_spec=run_spec(seed=number)), FakeBackend())
    query = TrialQuery(sort="completion_time_ms", where=(Threshold("completion_time_ms", ">", 0),))
    expected = [trial.id for trial in page(made, query)[1]]
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    values = connection.execute("SELECT * FROM trial_metrics ORDER BY attempt, metric").fetchall()
    digests = connection.execute("SELECT * FROM outcomes ORDER BY attempt").fetchall()
    before_outcomes(connection)
    connection.execute("UPDATE trials SET results = '[{' WHERE attempt = 1")
    connection.execute("UPDATE alembic_version SET version_num = '0012'")
    connection.commit()
    connection.close()
    workspace = Workspace.open(tmp_path)
    assert [trial.id for trial in page(workspace, query)[1]] == [each for each in expected if each[-1] != "0"]
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    kept = connection.execute("SELECT * FROM trial_metrics ORDER BY attempt, metric").fetchall()
    again = connection.execute("SELECT * FROM outcomes ORDER BY attempt").fetchall()
    connection.close()
    assert kept == [row for row in values if row[0] != 1]
    assert again[1:] == digests[1:]


def test_the_catalog_may_live_in_another_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/elsewhere.sqlite"
    workspace = Workspace.open(tmp_path / "workspace", create=True, catalog_url=url)
    run_trial(workspace, trial_facts(), FakeBackend())
    assert Workspace.open(tmp_path / "workspace", catalog_url=url).find("latest").id == "0123456789ab"
    assert not (tmp_path / "workspace/catalog.sqlite").exists()


@pytest.mark.parametrize(
    "url",
    [
        *("mysql://team:secret@db/bench", "sqlite://", "nonsense", "postgresql://team:secret@db"),
        *("postgresql://team:secret%@db/bench", "postgresql://team:secret@[db/bench"),
        *("postgresql://db/bench?password=secret&speed=1", "mysql://db/bench?user=team&password=secret"),
    ],
)
def test_a_catalog_in_no_database_that_is_supported_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(StoreError, match="catalog's URL") as caught:
        Workspace.open(tmp_path, create=True, catalog_url=url)
    assert "secret" not in str(caught.value)
