"""Every mistake a user can make in a plan gets one clear message with its line."""

from pathlib import Path

import pytest
from tests.plan.examples import SMALL, errors_of, golden, plan_of, with_line, write_plan

from fabricbench.plan.document.shipped import published_tables
from fabricbench.plan.errors import PlanError
from fabricbench.plan.fields.spec_fields import field_text, plan_path
from fabricbench.plan.load import load_plan

MISTAKES = golden("mistakes")


def test_the_small_plan_is_one() -> None:
    assert plan_of(SMALL).name == "small"


@pytest.mark.parametrize("case", MISTAKES, ids=[case["by"] or case["replace"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str]) -> None:
    assert errors_of(with_line(case["replace"], case["by"])) == case["expect"]


def test_rails_without_spines_are_refused() -> None:
    text = with_line(
        "    kind: leaf-spine\n    leaves: 2\n    hosts_per_leaf: 4\n    spines: 4\n",
        "    kind: rail-optimised\n    servers: 2\n    rails: 4\n    spines: 0\n",
    )
    expected = (
        "error: plan.yaml:8: fabric.topology.spines: found 0 spines for 4 rails; "
        "allowed: 1 or more, so that every rank reaches every other"
    )
    assert errors_of(text) == expected


def test_pods_of_rails_without_cores_are_refused() -> None:
    text = with_line(
        "    kind: leaf-spine\n    leaves: 2\n    hosts_per_leaf: 4\n    spines: 4\n",
        "    kind: rail-pods\n    pods: 2\n    servers_per_pod: 2\n    rails: 4\n    spines_per_rail: 1\n"
        "    cores_per_spine: 0\n",
    )
    assert "plan.yaml:10: fabric.topology.cores_per_spine: found 0 cores for 4 rails" in errors_of(text)


def test_everything_wrong_is_named_at_once_in_the_order_of_the_file() -> None:
    text = with_line("ack_every: 2", "ack_every: 0, mtu_: 1").replace("name: small", "name: [small]")
    fields = [line.split(": ")[2] for line in errors_of(text).splitlines() if line.startswith("error:")]
    assert fields == ["name", "transport.ack_every", "transport.mtu_"]


def test_a_flood_of_problems_is_cut_short() -> None:
    text = with_line("[16MB, 32MB]", "[" + "x, " * 100 + "x]")
    lines = errors_of(text).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "error: and 51 more"


def test_a_published_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    name = write_plan(tmp_path, SMALL + "published: keysight_jct2_altoall.csv\n")
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    first, hint = str(caught.value).splitlines()
    found = 'found no file "keysight_jct2_altoall.csv"; allowed: a file next to the plan, or a shipped one: '
    assert first == f"error: {name}:17: published: {found}{', '.join(published_tables())}"
    assert hint == "hint: did you mean `keysight_jct2_alltoall.csv`?"


def test_what_only_the_engine_refuses_is_named_with_its_line(tmp_path: Path) -> None:
    name = write_plan(tmp_path, with_line("400Gbps", "{rate: 100kbps, length: 30m}"))
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    expected = (
        'fabric.topology.host_link.rate: found "100kbps"; allowed: 1Mbps to 100Tbps\n'
        "hint: `rate`: Line rate of the ports [bit/s]."
    )
    assert str(caught.value) == f"error: {name}:9: {expected}"


def test_a_file_is_loaded_whole(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(
        "# source\ndata_size_bytes,min_fct_ms\n16777216,1.5\n", encoding="utf-8"
    )
    name = write_plan(tmp_path, SMALL + "published: table.csv\n")
    loaded = load_plan(name)
    assert loaded.path == tmp_path / "plan.yaml"
    assert loaded.text.endswith("published: table.csv\n")
    assert [trial.data_size_bytes for trial in loaded.trials] == [16 * 2**20, 32 * 2**20]
    assert loaded.variants[0].published is not None
    assert loaded.variants[0].published.value(16 * 2**20, "min_fct_ms") == 1.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "jct-altoall",
            "error: jct-altoall: found no such plan; allowed: a shipped plan's name, or a file\n"
            "hint: did you mean `jct-alltoall`?",
        ),
        (
            "absent.yaml",
            "error: absent.yaml: found no such plan; allowed: a shipped plan's name, or a file\n"
            "hint: `fabricbench plans` lists the shipped plans",
        ),
        (
            "",
            'error: "": found no such plan; allowed: a shipped plan\'s name, or a file\n'
            "hint: `fabricbench plans` lists the shipped plans",
        ),
    ],
)
def test_a_plan_that_is_not_there_is_named(name: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("spec_field", "path"),
    [
        ("jobs[0].hosts[3]", ("jobs", 0, "ranks", 3)),
        ("fabric.topology.host_link.rate_bps", ("fabric", "topology", "host_link", "rate")),
        ("fabric.topology.core_link.cable.delay_ps", ("fabric", "topology", "core_link", "length")),
        ("fabric.switch.buffer.size_bytes", ("fabric", "switch", "buffer", "size")),
        ("fabric.switch.pfc.headroom_bytes", ("fabric", "switch", "pfc", "headroom")),
        ("transport.window_packets", ("transport", "window")),
        ("transport.message_bytes", ("transport", "message_size")),
        ("jobs[1].data_bytes", ("jobs", 1, "data_size")),
        ("fabric.switch.ecn.pmax_ppm", ("fabric", "switch", "ecn", "pmax")),
        ("fabric.switch.ecn.dynamic.raise_ppm", ("fabric", "switch", "ecn", "dynamic", "raise_by")),
    ],
)
def test_fields_of_the_engine_are_fields_of_the_plan(spec_field: str, path: tuple[str | int, ...]) -> None:
    assert plan_path(spec_field) == path


def test_values_of_the_engine_are_told_by_the_names_of_the_plan() -> None:
    dynamic = {
        "interval_ps": 100_000_000,
        "lower_ppm": 200_000,
        "scale_max_ppm": 4_000_000,
        "confirm_intervals": 2,
    }
    assert field_text("dynamic", dynamic) == "interval 100us, lower_by 20%, ceiling 400%, confirm 2"
