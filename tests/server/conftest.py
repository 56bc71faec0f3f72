"""A workspace with two runs, and clients of the application in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another library than httpx
    from starlette.testclient import TestClient

import fabricbench as fb
from fabricbench.server.app import create_app
from fabricbench.server.settings import Settings
from fabricbench.store import Workspace

TOKEN = "0123456789abcdef-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two trials of jct-alltoall and two variants of a small plan; tests only read it."""
    root = tmp_path_factory.mktemp("records")
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "8MB"], tag="lab"), workspace=root)
    changes = [{"name": "wide"}, {"name": "narrow", "set": {"fabric.topology.spines": 1}}]
    fb.run(fb.load("jct-alltoall").with_(variants=changes, data_size="2MB", name="widths"), workspace=root)
    return root


DEFAULT = Settings(token=TOKEN, workers=2)


class ClientOf(Protocol):
    """Makes a client of the application for a workspace."""

    def __call__(self, root: Path, settings: Settings = DEFAULT) -> TestClient: ...


@contextmanager
def open_clients() -> Iterator[ClientOf]:
    """Make clients, with the token, of applications for workspaces, and close them at the end."""
    with ExitStack() as stack:

        def make(root: Path, settings: Settings = DEFAULT) -> TestClient:
            application = create_app(Workspace.open(root, create=True), settings)
            client = TestClient(application, base_url="http://127.0.0.1:8989", headers=BEARER)
            return stack.enter_context(client)

        yield make


@pytest.fixture
def client_of() -> Iterator[ClientOf]:
    """Make clients for a test. Each has a scheduler, which polls its queue until the client is closed."""
    with open_clients() as make:
        yield make


@pytest.fixture(scope="session")
def reader(records: Path) -> Iterator[TestClient]:
    """A client that only reads."""
    with open_clients() as make:
        yield make(records)


@pytest.fixture
def client(tmp_path: Path, client_of: ClientOf) -> TestClient:
    """A client of a workspace of its own, which is empty."""
    return client_of(tmp_path / "workspace")
