"""Choosing a backend: by the plan, by an option, and what is said of one that cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call

from fabricbench.backend.protocol import BackendError
from fabricbench.backend.registry import BACKENDS, Registered
from fabricbench.store import Workspace

MISSING = BackendError("no adapter for backend cards", "", "load the driver: `modprobe cards`")


def _without_cards() -> Any:
    raise MISSING


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "small.yaml").write_text(PLAN)
    others = {
        "bench": Registered(lambda: FakeBackend(name="bench", version="3")),
        "cards": Registered(_without_cards),
    }
    with mock.patch.dict(BACKENDS, others):
        yield tmp_path


def _with_backend(folder: Path, name: str) -> None:
    (folder / "small.yaml").write_text(PLAN.replace("name: small", f"name: small\nbackend: {name}"))


def made_by(folder: Path) -> list[tuple[str, str]]:
    trials = Workspace.open(folder / "fabricbench-workspace").trials()
    return [(trial.facts.backend, trial.facts.backend_version) for trial in trials]


def test_the_plan_names_its_backend_and_the_option_another(folder: Path) -> None:
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    _with_backend(folder, "bench")
    assert call("run", "small.yaml", cwd=folder).returncode == 0
    assert call("run", "small.yaml", "--backend", "sim", "--resume", cwd=folder).returncode == 0
    # The simulator of this test is a fake one, of the name "fake".
    assert made_by(folder) == [("fake", "1")] * 2 + [("bench", "3")] * 2


def test_a_backend_that_is_not_there_is_named_with_its_line(folder: Path) -> None:
    _with_backend(folder, "bnech")
    for command in (["run"], ["plan", "check"]):
        finished = call(*command, "small.yaml", cwd=folder)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr == (
            'error: small.yaml:4: backend: found no backend "bnech"; '
            "allowed: auto, bench, cards, flow, hosts, sim\n"
            "hint: did you mean `bench`?\n"
        )
    assert not (folder / "fabricbench-workspace").exists()


def test_an_option_that_names_no_backend_is_called_by_its_name(folder: Path) -> None:
    finished = call("run", "small.yaml", "--backend", "udp", cwd=folder)
    expected = 'error: --backend: found no backend "udp"; allowed: auto, bench, cards, flow, hosts, sim\n'
    assert (finished.returncode, finished.stderr) == (2, expected)


def test_what_a_backend_lacks_is_said_before_anything_is_made(folder: Path) -> None:
    finished = call("run", "small.yaml", "--backend", "cards", cwd=folder)
    expected = (
        "error: --backend: found no adapter for backend cards\nhint: load the driver: `modprobe cards`\n"
    )
    assert (finished.returncode, finished.stderr) == (2, expected)
    assert not (folder / "fabricbench-workspace").exists()


@pytest.mark.parametrize(
    ("option", "setting"), [("--path=exact", "path"), ("--no-fast-forward", "fast_forward")]
)
def test_a_setting_of_the_simulator_is_refused_by_another(folder: Path, option: str, setting: str) -> None:
    finished = call("run", "small.yaml", "--backend", "bench", option, cwd=folder)
    assert (finished.returncode, finished.stderr) == (
        2,
        f"error: found setting `{setting}` for backend bench; allowed: none, the settings of bench\n"
        "hint: leave the option out\n",
    )
    assert not (folder / "fabricbench-workspace").exists()


def test_what_a_backend_shows_no_frames_of_is_not_captured(folder: Path) -> None:
    _with_backend(folder, "bench")
    finished = call("capture", "small.yaml", "--qps", "0", "-o", "x.pcapng", cwd=folder)
    expected = "found backend bench, which shows no frames"
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"error: {expected}")


def test_no_cost_is_told_of_what_the_simulator_does_not_run(folder: Path) -> None:
    assert "packet-hops" in call("plan", "check", "small.yaml", cwd=folder).stdout
    found = call("plan", "check", "small.yaml", "-s", "backend=bench", cwd=folder).stdout
    assert "packet-hops" not in found
    assert "no estimate: what this backend takes is not known before a run" in found
