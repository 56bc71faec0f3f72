"""What is told to Ray before a cluster is joined."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from fabricbench.runner.campaign import cluster
from fabricbench.runner.messages import ClusterError


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home without a token, and an environment that says nothing of Ray."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with mock.patch.dict(os.environ, quiet | {"HOME": str(tmp_path)}, clear=True):
        yield tmp_path


@pytest.fixture
def address() -> Iterator[str]:
    """Something listens there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"ray://127.0.0.1:{listener.getsockname()[1]}"


def joined(address: str, *answers: Exception | None) -> list[dict[str, Any]]:
    """Join with a Ray that answers so; return what it was told, each time."""
    told: list[dict[str, Any]] = []

    def init(**options: Any) -> None:
        told.append(options | {"mode": os.environ.get("RAY_AUTH_MODE")})
        if (answer := answers[len(told) - 1]) is not None:
            raise answer

    with mock.patch.object(cluster, "_library", return_value=SimpleNamespace(init=init)):
        cluster.joined(address)
    return told


def test_a_token_is_shown_where_the_user_has_one(home: Path, address: str) -> None:
    assert joined(address, None)[0]["mode"] is None
    (home / ".ray").mkdir()
    (home / ".ray" / "auth_token").write_text("secret")
    assert joined(address, None)[0]["mode"] == "token"


@pytest.mark.usefixtures("home")
def test_a_token_of_the_environment_is_shown_unless_it_says_otherwise(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    assert joined(address, None)[0]["mode"] == "token"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert joined(address, None)[0]["mode"] == "disabled"


@pytest.mark.usefixtures("home")
def test_a_process_of_the_head_that_got_stuck_is_asked_for_again_once(address: str) -> None:
    stuck = ConnectionError("Initialization failure: Starting Ray client server failed. See a log.")
    assert len(joined(address, stuck, None)) == 2
    with pytest.raises(ClusterError, match="Starting Ray client server failed"):
        joined(address, stuck, stuck)


@pytest.mark.usefixtures("home")
def test_another_refusal_is_told_at_once_with_its_reason(address: str) -> None:
    with pytest.raises(ClusterError, match=f"the Ray cluster at {address}: version mismatch"):
        joined(address, ConnectionError("version\nmismatch"))
