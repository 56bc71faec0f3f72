"""`-s FIELD=VALUE` changes one field, and its mistakes name the override."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricbench.plan.document import read_text
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, validate
from fabricbench.plan.model import Plan
from fabricbench.plan.overrides import apply_overrides
from tests.plan.examples import SMALL, write_plan

FIELDS = "fabric.topology.spines transport.ack_every jobs.0.ranks jobs.0 sweep.data_size sweep observe.series_points"


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
    assert plan.fabric.switch.buffer_bytes == 32 * 2**20
    assert plan.tag == "night"


def test_the_document_itself_stays_as_it_was() -> None:
    document = read_text(SMALL, "plan.yaml")
    changed = apply_overrides(document, ["jobs.0.name=other", "seed=3"])
    assert (document.data["jobs"][0]["name"], "seed" in document.data) == ("test", False)
    assert (changed.data["jobs"][0]["name"], changed.data["seed"]) == ("other", 3)


def test_a_later_override_wins() -> None:
    assert overridden("seed=3", "seed=4").seed == 4


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "transport.ack_evry=4",
            "error: -s transport.ack_evry=4: transport.ack_evry: found an unknown key; allowed: mtu, message_size, qp_mode, "
            "qps_per_rank_pair, ack_every, window, recovery, timeout, retry_count, rate_control\n"
            "hint: did you mean `ack_every`?",
        ),
        (
            "transprt.ack_every=4",
            "error: -s transprt.ack_every=4: transprt: found an unknown key; allowed: fabricbench, name, title, description, "
            "seed, fabric, transport, jobs, sweep, iterations, tag, published, observe\nhint: did you mean `transport`?",
        ),
        (
            "transport.mtu=4000",
            "error: -s transport.mtu=4000: transport.mtu: found 4000; allowed: 256, 512, 1024, 2048 or 4096",
        ),
        ("transport.mtu=", "error: -s transport.mtu=: transport.mtu: found nothing; allowed: 256, 512, 1024, 2048 or 4096"),
        (
            "jobs.0.ranks=0-9",
            "error: -s jobs.0.ranks=0-9: jobs.0.ranks: found 10 ranks on 8 hosts; allowed: at most 8",
        ),
        (
            "jobs.0.ranks=[0, 9]",
            "error: -s jobs.0.ranks=[0, 9]: jobs.0.ranks.1: found host 9; allowed: hosts 0 to 7 of this topology",
        ),
        ("jobs.1.ranks=0-9", 'error: -s jobs.1.ranks=0-9: jobs: found the list item "1"; allowed: 0 to 0'),
        ("jobs.x=1", 'error: -s jobs.x=1: jobs: found the list item "x"; allowed: 0 to 0'),
        (
            "fabric.topology.host_link.length=5m",
            'error: -s fabric.topology.host_link.length=5m: fabric.topology.host_link: found the field "length" inside '
            '"400Gbps", which is text; allowed: fields inside mappings\n'
            "hint: give the whole mapping: -s 'fabric.topology.host_link={length: ...}'",
        ),
        (
            "transport.ack_every",
            "error: -s transport.ack_every: found no field and value; allowed: FIELD=VALUE, such as transport.ack_every=4 "
            "or jobs.0.ranks=0-3",
        ),
        (
            "=4",
            "error: -s =4: found no field and value; allowed: FIELD=VALUE, such as transport.ack_every=4 or "
            "jobs.0.ranks=0-3",
        ),
        (
            "seed=[1",
            "error: -s seed=[1: found text that is no YAML: expected ',' or ']', but got '<stream end>', while parsing a flow "
            "sequence",
        ),
        (
            "seed=!x 1",
            'error: -s seed=!x 1: found "1" with the tag !x; allowed: plain values',
        ),
        (
            "sweep.data_size=1001",
            "error: -s sweep.data_size=1001: sweep.data_size: found 1001 bytes, which do not divide into 8 equal parts; "
            "allowed: multiples of 8 bytes for the all-to-all of 8 ranks of job `test`\n"
            "hint: the nearest that divide: 1000 and 1008",
        ),
        ("fabricbench=2", "error: -s fabricbench=2: fabricbench: found version 2; allowed: 1\nhint: a newer fabricbench may "
         "know it"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_override(override: str, expected: str) -> None:
    assert errors_of(override) == expected


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
@given(field=st.sampled_from(FIELDS.split()) | st.text(max_size=10), value=st.text(max_size=20))
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
