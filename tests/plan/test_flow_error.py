"""What `auto` chooses: flows only where packets take long and the error of flows is known to be small."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plan.test_kinds import ALL_TO_ALL, spec_of

from fabricbench.backend import flow
from fabricbench.plan import engine
from fabricbench.plan.estimates import flow_error, traffic_kinds
from fabricbench.plan.estimates.flow_error import ERROR_MAX_PERCENT, JOBS_MIN, PACKETS_MAX_MS, Measured

RING = {"collective": "all-reduce", "algorithm": "ring"}
LOSSLESS: dict[str, Any] = {"switch": {"pfc": "on"}}
KNOWN = Measured(JOBS_MIN, 0.1, ERROR_MAX_PERCENT - 0.01, 40.0)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    flow_error._CHOSEN.clear()


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> dict[str, Measured]:
    """The errors that are known, by kind; a test may change them."""
    known = dict.fromkeys(traffic_kinds.KINDS, KNOWN)
    monkeypatch.setattr(flow_error, "measured", known.__getitem__)
    return known


def chosen(spec: Any) -> tuple[str, str]:
    flow_error._CHOSEN.clear()
    found = flow_error.choose(json.dumps(spec))
    return found.backend, found.why


def long_ring(**more: Any) -> Any:
    """A ring whose packets are estimated to take minutes."""
    return spec_of(RING, **({"size": "64GB", **LOSSLESS} | more))


@pytest.mark.usefixtures("errors")
def test_flows_are_chosen_where_packets_take_long_and_errors_are_small() -> None:
    assert chosen(long_ring()) == (
        "flow",
        "auto chose the flow model: packets take more than 10 s, and its error is known to be small for this "
        "kind of traffic, steps",
    )


@pytest.mark.usefixtures("errors")
def test_packets_are_chosen_up_to_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, estimate = long_ring(), engine.estimate
    for time_ms, backend in ((PACKETS_MAX_MS, "sim"), (PACKETS_MAX_MS + 1, "flow")):

        def told(spec_json: str, name: str = "sim", time_ms: int = time_ms) -> Any:
            found = estimate(spec_json, name)
            assert found is not None
            return found | {"time_ms": time_ms}

        monkeypatch.setattr(engine, "estimate", told)
        assert chosen(spec)[0] == backend
    assert chosen(spec_of(RING, size="1MB", **LOSSLESS))[0] == "flow"  # by the estimate alone


@pytest.mark.parametrize(
    ("known", "backend", "why"),
    [
        (Measured(JOBS_MIN, 0.0, ERROR_MAX_PERCENT - 0.01, 90.0), "flow", "known to be small"),
        (Measured(JOBS_MIN, 0.0, ERROR_MAX_PERCENT, 90.0), "sim", "95th percentile 5.0 %"),
        (Measured(JOBS_MIN - 1, 0.0, 0.0, 0.0), "sim", "steps: unknown, 19 of at least 20 jobs measured"),
        (Measured(0, 0.0, 0.0, 0.0), "sim", "steps: unknown, 0 of at least 20 jobs measured"),
    ],
    ids=["below the bound", "at the bound", "too few jobs", "never measured"],
)
def test_the_error_has_to_be_known_and_below_the_bound(
    errors: dict[str, Measured], known: Measured, backend: str, why: str
) -> None:
    errors[traffic_kinds.STEPS] = known
    found = chosen(long_ring())
    assert found[0] == backend
    assert why in found[1]


def test_each_kind_of_a_trial_has_to_be_known(errors: dict[str, Measured]) -> None:
    jobs = [RING | {"name": "one", "ranks": "0-3"}, {"collective": "incast", "ranks": "4-7"}]
    spec = spec_of(*jobs, size="64GB", **LOSSLESS)
    assert chosen(spec)[0] == "flow"
    errors[traffic_kinds.ROOTED] = Measured(50, 0.0, 7.0, 9.0)
    assert chosen(spec)[0] == "sim"


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize(
    ("job", "more", "why"),
    [
        ({}, {"switch": {}}, "frames may be lost without PFC"),
        ({"barrier": True, "repeat": 2}, {}, "does not cover `jobs[0]."),
        ({}, {"size": "1MB"}, "they take no more than 10 s"),
    ],
    ids=["lossy", "refused", "short"],
)
def test_packets_are_chosen_for_everything_else(job: Any, more: Any, why: str) -> None:
    found = chosen(spec_of(RING | job, **({"size": "64GB"} | LOSSLESS | more)))
    assert found[0] == "sim"
    assert found[1].startswith("auto chose packets: ")
    assert why in found[1]


@pytest.mark.usefixtures("errors")
def test_flows_are_chosen_where_packets_cannot_be_simulated() -> None:
    planes = {"kind": "multi-plane", "planes": 4, "leaves": 512, "hosts_per_leaf": 256, "spines": 256}
    spec = spec_of({"collective": "permutation"}, topology=planes, backend="flow", **LOSSLESS)
    assert engine.estimate(json.dumps(spec)) is None
    backend, why = chosen(spec)
    assert backend == "flow"
    assert "packets cannot be simulated at this size" in why


def test_another_backend_than_auto_is_taken_as_it_is() -> None:
    spec_json = json.dumps(spec_of(ALL_TO_ALL))
    assert [flow_error.backend_for(spec_json, name) for name in ("sim", "flow", "hosts")] == [
        "sim",
        "flow",
        "hosts",
    ]


def test_what_was_measured_is_of_these_results_and_these_kinds() -> None:
    content = json.loads(flow_error.FILE.read_text())
    assert content["results"] == flow.RESULTS, "run `tools/flow_error.py`"
    assert set(content["kinds"]) <= set(traffic_kinds.KINDS)
    for kind in content["kinds"]:
        found = flow_error.measured(kind)
        assert found.jobs > 0
        assert 0 <= found.median_percent <= found.p95_percent <= found.worst_percent


def test_a_kind_that_was_never_measured_is_unknown() -> None:
    assert flow_error.measured("no such kind").text("no such kind") == (
        "no such kind: unknown, 0 of at least 20 jobs measured"
    )


def test_the_stated_error_names_each_kind_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {traffic_kinds.ALL_TO_ALL: Measured(40, 0.12, 3.456, 17.8)}
    monkeypatch.setattr(flow_error, "measured", lambda kind: known.get(kind, Measured(3, 0.0, 1.0, 1.0)))
    sends = {"collective": "incast", "name": "many", "ranks": "6,7"}
    jobs = [ALL_TO_ALL | {"name": name, "ranks": ranks} for name, ranks in (("a", "0-2"), ("b", "3-5"))]
    spec = spec_of(*jobs, sends, size="60MB")
    assert flow_error.error_text(spec) == (
        "error of completion times against packets, measured for all-to-all: median 0.1 %, 95th percentile "
        "3.5 %, worst 17.8 % of 40 jobs measured; one root: unknown, 3 of at least 20 jobs measured"
    )
