"""Labs of shipped plans, in a run folder of their own; each is removed again, whatever a test does."""

import importlib.util
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricbench.lab import build, removal, state
from fabricbench.lab.blueprint import Blueprint, blueprint
from fabricbench.lab.kernel import namespaces
from fabricbench.lab.state import Lab
from fabricbench.plan import engine
from fabricbench.runner import loading

Planned = Callable[..., Blueprint]
Made = Callable[..., Lab]


def plan_of_lab(plan: str = "jct-alltoall", *overrides: str, scale: int = 1_000) -> Blueprint:
    """Return the lab of the first trial of a plan, under a name that no other lab has."""
    trial = loading.load(plan, overrides).trials[0]
    name = f"test{secrets.token_hex(4)}"
    described, choices = engine.describe(trial.spec_json), engine.path_choices(trial.spec_json)
    return blueprint(name, plan, trial.run_spec, described, scale, choices)


def refusal() -> str:
    """Return why no lab can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "needs root: makes network namespaces"
    if importlib.util.find_spec("pyroute2") is None:
        return "needs pyroute2: pip install 'fabricbench[lab]'"
    name = f"fb-test{secrets.token_hex(4)}-probe"
    try:
        namespaces.create(name)
    except Exception as error:  # noqa: BLE001 -- whatever the reason, it is told
        return f"no network namespaces: {error}"
    finally:
        namespaces.remove(name)
    return ""


@pytest.fixture(scope="session")
def _machine() -> str:
    return refusal()


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(state.RUN_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def make(_machine: str, run_folder: Path) -> Iterator[Made]:
    """Make labs of plans; all are removed in the end."""
    del run_folder  # its labs are beside no others
    if _machine:
        pytest.skip(_machine)

    def up(plan: str = "jct-alltoall", *overrides: str, scale: int = 1_000) -> Lab:
        return build.up(plan_of_lab(plan, *overrides, scale=scale))

    yield up
    for name in state.names():
        removal.remove(name)
