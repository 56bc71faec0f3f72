"""Run specs that earlier versions stored are read in the form of this version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import plan_of
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.plan.expand import expand
from fabricbench.store import Workspace
from fabricbench.store.catalog.trial import to_json
from fabricbench.store.inspection import damages
from fabricbench.store.record.earlier_specs import current_spec

PLAN = """
fabricbench: 1
name: every-kind-of-work
fabric:
  topology: {kind: single-switch, hosts: 8, host_link: 400Gbps}
transport: {qp_mode: per_pair}
jobs:
  - {name: gather, ranks: "0-3", collective: gather, data_size: 1MB, root: 2, root_shift: true, repeat: 4,
     warm_up_rounds: 1, barrier: true, compute: 10us, send_overhead: 1us, rendezvous: {threshold: 8KB}}
  - {name: sizes, ranks: "0-3", collective: all-reduce, data_size: [1MB, 4MB], repeat: until-others-end,
     priority: 4}
  - {name: offered, ranks: "4-7", collective: incast, root: 1, data_size: 8KB, start: 5us,
     arrivals: {load: 50%, duration: 200us}}
  - {name: blocks, collective: storage, storage: {clients: "0-2", targets: "3", block_size: 64KB, depth: 4,
     operation: mixed, operations: 40}}
"""


@pytest.fixture(scope="module")
def stored() -> Any:
    """The run spec of the plan as version 1 stored it."""
    return json.loads((Path(__file__).parent / "specs/version-1.json").read_text(encoding="utf-8"))


def test_a_spec_of_version_1_is_that_of_its_plan(stored: Any) -> None:
    (planned,) = expand(plan_of(PLAN))
    assert current_spec(stored) == planned.run_spec


def test_fields_that_were_added_during_version_1_have_values(stored: Any) -> None:
    oldest = {name: stored["jobs"][0][name] for name in ("name", "hosts", "collective", "data_bytes")}
    (job,) = current_spec(stored | {"jobs": [oldest]})["jobs"]
    assert job["repeat"] == {"kind": "rounds", "rounds": 1}
    assert (job["work"]["compute_ps"], job["work"]["barrier"], job["work"]["rendezvous"]) == (0, False, None)


def test_a_benchmark_s_result_remains_as_it_is() -> None:
    measured = {"measured": {"line": 1}, "jobs": [{"name": "all_reduce", "collective": "all-reduce"}]}
    assert current_spec(measured) == measured


def test_a_trial_of_version_1_is_read_and_remains_as_stored(tmp_path: Path, stored: Any) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    earlier = stored | {"jobs": stored["jobs"][:1]}
    for number, backend in enumerate(("fake", "other")):
        run_trial(workspace, trial_facts(f"{number:012}", run_spec=earlier, backend=backend), FakeBackend())
    first, second = (workspace.find(f"{number:012}") for number in range(2))
    assert first.facts.run_spec == current_spec(earlier)
    assert first.stored_spec == to_json(earlier)
    assert [twin.id for twin in workspace.twins([first])] == [second.id]
    assert not list(damages(workspace))
