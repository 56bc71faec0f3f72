"""The catalog that is made at once and the one that migrations build are the same."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from tests.support.catalog import PARTIAL_INDEX, differences
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_spec, run_trial, trial_facts

from fabricbench.cli.main import run as command_line
from fabricbench.store import StoreError, Workspace, database, migrate
from fabricbench.store import workspace as workspace_module
from fabricbench.store.catalog_schema import REVISION
from fabricbench.store.listing import Threshold, TrialQuery, page
from fabricbench.store.migrate import known_revisions, upgrade
from fabricbench.store.runs import RunQueue


def schema_of(path: Path) -> list[tuple[str, ...]]:
    """Name what is in a catalog, with the SQL of the partial index."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, type, sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return [(name, kind, sql if name == PARTIAL_INDEX else "") for name, kind, sql in rows]


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


def test_migrations_build_what_the_code_describes(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/migrated.sqlite")
    with engine.begin() as connection:
        upgrade(connection)
        assert differences(connection) == []
    engine.dispose()
    Workspace.open(tmp_path / "workspace", create=True)
    assert schema_of(tmp_path / "migrated.sqlite") == schema_of(tmp_path / "workspace/catalog.sqlite")


def test_the_code_knows_the_newest_revision() -> None:
    assert max(known_revisions()) == REVISION


def test_an_older_catalog_is_migrated_with_its_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(), FakeBackend())
    calls: list[str] = []
    monkeypatch.setattr(database, "REVISION", "0999")
    monkeypatch.setattr(migrate, "upgrade", lambda connection: calls.append(str(connection.in_transaction())))
    assert Workspace.open(tmp_path).find("latest").id == "0123456789ab"
    assert calls == ["True"]


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


def test_an_up_to_date_catalog_never_loads_alembic(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from fabricbench.store import Workspace\n"
        f"Workspace.open(Path({str(tmp_path)!r}), create=True).trials()\n"
        "assert 'alembic' not in sys.modules and 'pyarrow.dataset' not in sys.modules, 'loaded'"
    )
    for _ in ("made", "opened"):
        subprocess.run([sys.executable, "-c", script], check=True, env=os.environ)


def test_the_catalog_may_live_in_another_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/elsewhere.sqlite"
    workspace = Workspace.open(tmp_path / "workspace", create=True, catalog_url=url)
    run_trial(workspace, trial_facts(), FakeBackend())
    assert Workspace.open(tmp_path / "workspace", catalog_url=url).find("latest").id == "0123456789ab"
    assert not (tmp_path / "workspace/catalog.sqlite").exists()


@pytest.mark.parametrize(
    "url", ["mysql://team:secret@db/bench", "sqlite://", "nonsense", "postgresql://team:secret@db"]
)
def test_a_catalog_in_no_database_that_is_supported_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(StoreError, match="catalog's URL") as caught:
        Workspace.open(tmp_path, create=True, catalog_url=url)
    assert "secret" not in str(caught.value)
