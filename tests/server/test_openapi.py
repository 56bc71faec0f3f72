"""The OpenAPI document holds: what it allows, and much that it does not, is answered, never with a 5xx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient
from tests.server.conftest import BEARER
from tests.server.live import Live, live
from tests.support.soak import times

import fabricbench as fb

FEW = settings(
    max_examples=times(2, 12),
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server whose workspace has a trial; requests may change it."""
    root = tmp_path_factory.mktemp("fuzzed")
    fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=root)
    with live(root) as running:
        # The list of plans, which is read once, takes some seconds.
        running.client.get("/api/v1/plans", timeout=60).raise_for_status()
        yield running


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(GenerationMode.POSITIVE, id="allowed"),
        pytest.param(GenerationMode.NEGATIVE, id="not-allowed", marks=pytest.mark.soak),
    ],
)
def test_whatever_is_asked_is_answered(server: Live, mode: GenerationMode) -> None:
    described = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
    operations = [each.ok() for each in described.get_all_operations() if isinstance(each, Ok)]
    counts = [asked(server, operation, mode) for operation in operations]
    assert len(operations) > 25
    assert sum(counts) > len(operations)


def asked(server: Live, operation: Any, mode: GenerationMode) -> int:
    """Ask for an operation in some ways and return how many they were."""
    count = 0

    def ask(case: Any) -> None:
        nonlocal count
        count += 1
        answer = case.call(headers=BEARER, base_url=server.address)
        assert answer.status_code < 500, "".join(server.said)[-3000:]
        case.validate_response(answer, checks=CHECKS)

    with suppress(Unsatisfiable):  # an operation without parameters cannot be asked wrongly
        given(case=operation.as_strategy(generation_mode=mode))(FEW(ask))()
    return count


def test_the_document_is_served_and_names_every_operation(reader: TestClient) -> None:
    document = reader.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    paths = set(document["paths"])
    assert {"/healthz", "/metrics", "/api/v1/runs/{run_id}/events", "/api/v1/trials/{trial_id}"} <= paths
    assert "/{path}" not in paths
    assert json.dumps(document).count(str(Path.home())) == 0
