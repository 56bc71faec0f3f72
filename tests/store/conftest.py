"""Runs the tests of the store on both databases."""

import itertools
from collections.abc import Iterator

import pytest
from tests.support import postgresql

ON_BOTH = {
    "test_workspace",
    "test_concurrency",
    "test_listing",
    "test_measured_values",
    "test_run_list",
    "test_recovery",
    "test_remote",
    "test_runs",
    "test_trash",
    "test_memberships",
    "test_views",
}
"""Modules whose tests run with the catalog in a file and in PostgreSQL."""

_numbers = itertools.count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    databases = ["sqlite", "postgresql"] if metafunc.module.__name__.split(".")[-1] in ON_BOTH else ["sqlite"]
    metafunc.parametrize("catalog", databases, indirect=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    """A server for the whole session."""
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql.server() as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql_server: postgresql.Server) -> str:
    """An empty database."""
    return postgresql_server.new_database(f"test{next(_numbers)}")


@pytest.fixture(autouse=True)
def catalog(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where workspaces of a test, and of the processes it starts, have their catalog."""
    kind: str = request.param
    if kind == "postgresql":
        monkeypatch.setenv("FABRICBENCH_CATALOG_URL", request.getfixturevalue("postgresql_url"))
    return kind
