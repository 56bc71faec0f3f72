"""`-s FIELD=VALUE` changes one field, and its mistakes name the override."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st
from tests.plan.examples import SMALL, golden, write_plan

from fabricbench.plan.document.document import read_text
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, validate
from fabricbench.plan.model import Plan

MISTAKES = golden("overrides")
FIELDS = [
    *("fabric.topology.spines", "transport.ack_every", "jobs.0.ranks", "jobs.0"),
    *("sweep.data_size", "sweep", "observe.series_points"),
]


def overridden(*overrides: str) -> Plan:
    return validate(apply_overrides(read_text(SMALL, "plan.yaml"), overrides))


def errors_of(*overrides: str) -> str:
    with pytest.raises(PlanError) as caught:
        overridden(*overrides)
    return str(caught.value)


def test_fields_are_replaced_and_added() -> None:
    plan = overridden(
        "fabric.topology.spines=2",
        "fabric.topology.fabric_link={rate: 200Gbps, length: 50m}",
        "transport.ack_every=4",
        "jobs.0.ranks=0-3",
        "sweep.data_size={start: 16MB, end: 64MB}",
        "observe.series_points=0",
        "fabric.switch.buffer=32MB",
        "tag=night",
    )
    topology = plan.fabric.topology
    assert topology.kind == "leaf-spine"
    assert (topology.spines, topology.fabric_link.length_mm) == (2, 50_000)
    assert (plan.transport.ack_every, plan.transport.mtu_bytes) == (4, 4096)
    assert plan.jobs[0].hosts == (0, 1, 2, 3)
    assert plan.observe.series_points == 0
    assert plan.fabric.switch.buffer.size_bytes == 32 * 2**20
    assert plan.tag == "night"


def test_the_document_itself_stays_as_it_was() -> None:
    document = read_text(SMALL, "plan.yaml")
    changed = apply_overrides(document, ["jobs.0.name=other", "seed=3"])
    assert (document.data["jobs"][0]["name"], "seed" in document.data) == ("test", False)
    assert (changed.data["jobs"][0]["name"], changed.data["seed"]) == ("other", 3)


def test_a_later_override_wins() -> None:
    assert overridden("seed=3", "seed=4").seed == 4


@pytest.mark.parametrize("case", MISTAKES, ids=[case["override"] for case in MISTAKES])
def test_a_mistake_names_the_override(case: dict[str, str]) -> None:
    assert errors_of(case["override"]) == case["expect"]


def test_all_mistaken_overrides_are_named() -> None:
    assert errors_of("seed", "jobs.7.root=1").count("error:") == 2
    assert errors_of("seed=-1", "transport.mtu=1").count("error:") == 2


def test_a_mistake_elsewhere_keeps_its_line() -> None:
    # Fewer leaves make the ranks in the file wrong.
    expected = "error: plan.yaml:13: jobs.0.ranks: found 8 ranks on 4 hosts; allowed: at most 4"
    assert errors_of("fabric.topology.leaves=1") == expected


def test_overrides_are_kept_with_the_loaded_plan(tmp_path: Path) -> None:
    loaded = load_plan(write_plan(tmp_path), ["seed=7"])
    assert (loaded.overrides, loaded.plan.seed) == (("seed=7",), 7)
    assert loaded.text == SMALL


@settings(max_examples=200, deadline=None)
@given(field=st.sampled_from(FIELDS) | st.text(max_size=10), value=st.text(max_size=20))
@example("", "")
@example("jobs.0", "~")
@example("jobs.-1", "~")
@example("jobs.\u0662", "~")
@example("fabric", "{}")
@example("sweep.data_size", "{start: {}, end: []}")
@example("name", "0o9")
def test_any_override_gives_a_plan_or_a_plan_error(field: str, value: str) -> None:
    with contextlib.suppress(PlanError):
        overridden(f"{field}={value}")


def test_quick_is_what_the_plan_says_it_is_and_other_overrides_come_after(tmp_path: Path) -> None:
    changes = "quick: {sweep.data_size: [1MB], seed: 7, transport.ack_every: 4}\n"
    name = write_plan(tmp_path, SMALL + changes)
    quick = load_plan(name, ["transport.ack_every=2"], quick=True)
    assert [trial.data_size_bytes for trial in quick.trials] == [2**20]
    assert (quick.plan.seed, quick.plan.transport.ack_every) == (7, 2)
    assert quick.overrides[0] == 'sweep.data_size=["1MB"]'
    assert load_plan(name).trials[0].spec_json == load_plan(write_plan(tmp_path, SMALL)).trials[0].spec_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "plan.yaml: quick: found nothing; allowed: quick: {FIELD: VALUE}, what --quick changes"),
        ("quick: 3\n", "quick: found 3; allowed: a mapping of fields"),
        (
            "quick: {sweep.sizes: 1}\n",
            "-s sweep.sizes=1: sweep.sizes: found a field that no sweep can change",
        ),
    ],
)
def test_a_plan_that_does_not_say_what_is_quick_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(write_plan(tmp_path, SMALL + text), quick=True)
    assert expected in str(caught.value)
