"""What a worker does with a trial, without Ray."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.fake_backend import FakeBackend
from tests.support.samples import Planned, run_spec, trial_facts

from fabricbench.runner.campaign import worker
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.messages import Done, Failed, Order, Setup
from fabricbench.store import TrialFacts


class Sharing(FakeBackend):
    def sharing(self, _cores: int) -> Sharing:
        return self


def answer_to(facts: TrialFacts, folder: Path, mark: Path) -> Answer:
    backend = Sharing()
    planned: Any = Planned(run_spec())
    facts = replace(facts, backend_version=backend.version)
    setup: Any = Setup(backend, 1)
    order = Order(planned, facts, folder, 1)
    with mock.patch.object(worker, "_node", return_value="here"):
        (answer,) = worker.run_orders(setup, [order], str(mark))
    return answer


def test_a_worker_that_sees_the_workspace_leaves_the_record_there(tmp_path: Path) -> None:
    facts = replace(trial_facts(), engine_version=Sharing().engine_version)
    answer = answer_to(facts, tmp_path / "record", tmp_path)
    assert isinstance(answer.outcome, Done), answer.outcome
    assert answer.files is None
    assert (tmp_path / "record" / "chunks.parquet").is_file()


def test_one_that_does_not_sends_the_same_files(tmp_path: Path) -> None:
    facts = replace(trial_facts(), engine_version=Sharing().engine_version)
    answer_to(facts, tmp_path / "record", tmp_path)
    answer = answer_to(facts, tmp_path / "elsewhere", tmp_path / "no such mark")
    assert not (tmp_path / "elsewhere").exists()
    assert answer.files == {
        file.name: file.read_bytes() for file in (tmp_path / "record").iterdir() if file.is_file()
    }


def test_one_with_another_version_refuses_every_trial(tmp_path: Path) -> None:
    facts = replace(trial_facts(), engine_version="another")
    answer = answer_to(facts, tmp_path / "record", tmp_path)
    assert isinstance(answer.outcome, Failed)
    assert "of engine another" in str(answer.outcome.error)
    assert not (tmp_path / "record").exists()
