from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.verbs.machines import Machines


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Give the network; a test starts machines in it."""
    found = Machines(tmp_path_factory.mktemp("machines"))
    yield found
    found.end()
