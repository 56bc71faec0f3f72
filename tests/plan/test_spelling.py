"""Quantities and names that are spelt in another way mean the same, and give the same trials."""

from __future__ import annotations

import re

import pytest

from fabricbench import units
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_text
from fabricbench.words import same_name

PLAN = """
fabricbench: 1
name: spelling
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, host_link: 400Gbps}
  load_balancing: {kind: spray-random}
jobs:
  - {collective: all-to-all, algorithm: parallel, mapping: by-host}
transport: {recovery: go_back_n}
sweep:
  data_size: [1MB, 2MB]
"""


@pytest.mark.parametrize("text", ["400G", "400 G", "400 Gb/s", "400gbps", "400 Gbit/s", "0.4T", "400000M"])
def test_a_rate_may_be_written_as_on_a_data_sheet(text: str) -> None:
    assert units.parse_rate(text) == 400 * 10**9
    assert re.match(units.RATE.pattern, text)


@pytest.mark.parametrize("text", ["64K", "64k", "64 kB", "64 KiB", "65536", " 64KB "])
def test_a_size_may_be_written_as_programs_do(text: str) -> None:
    assert units.parse_size(text) == 64 * 1024
    assert re.match(units.SIZE.pattern, text)


@pytest.mark.parametrize("text", ["2us", "2 us", "2 \u00b5s", "2usec", "0.002 ms", "2000 nsec"])
def test_a_time_may_have_a_blank_and_a_longer_unit(text: str) -> None:
    assert units.parse_time(text) == 2_000_000


@pytest.mark.parametrize("text", ["50GB/s", "50 GBps", "0.05 TB/s", "50000MB/s", "400Gbps"])
def test_a_rate_may_count_bytes(text: str) -> None:
    assert units.parse_rate(text) == 400 * 10**9
    assert units.parse_rate("50GiB/s") == 400 * 2**30
    assert re.match(units.RATE.pattern, text)


def test_a_letter_alone_is_no_time() -> None:
    with pytest.raises(units.UnitError, match='unknown unit "M"'):
        units.parse_time("2M")


def test_what_is_written_back_is_always_the_same() -> None:
    assert units.format_rate(units.parse_rate("400 gb/s")) == "400Gbps"
    assert units.format_size(units.parse_size("64k")) == "64KB"
    assert "Gb/s" not in units.RATE.allowed


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("kind: leaf-spine", "kind: leaf_spine"),
        ("kind: leaf-spine", "kind: LeafSpine"),
        ("kind: spray-random", "kind: spray random"),
        ("collective: all-to-all", "collective: alltoall"),
        ("collective: all-to-all", "collective: all_to_all"),
        ("algorithm: parallel", "algorithm: Parallel"),
        ("mapping: by-host", "mapping: by_host"),
        ("recovery: go_back_n", "recovery: go-back-n"),
        ("host_link: 400Gbps", "host_link: 400 Gb/s"),
        ("[1MB, 2MB]", "[1 M, 2 MiB]"),
    ],
)
def test_another_spelling_gives_the_same_trials(written: str, other: str) -> None:
    assert written in PLAN
    specs = [
        [trial.spec_json for trial in load_text(text, "plan").trials]
        for text in (PLAN, PLAN.replace(written, other))
    ]
    assert specs[0] == specs[1]


def test_american_and_british_spelling_are_one() -> None:
    kinds = ["rail-optimised", "leaf-spine"]
    for written in ("rail-optimized", "rail_optimised", "Rail Optimized", "railoptimized"):
        assert same_name(written, kinds) == "rail-optimised"
    assert same_name("neighbor-exchange", ["neighbour-exchange"]) == "neighbour-exchange"
    rails = "topology: {kind: rail_optimized, servers: 2, rails: 2, spines: 1}"
    plan = PLAN.replace(PLAN[PLAN.index("topology:") : PLAN.index("\n  load_b")], rails)
    assert load_text(plan, "plan").plan.fabric.topology.kind == "rail-optimised"


def test_several_are_taken_at_once_in_overrides_and_variants() -> None:
    variants = "variants:\n  - {name: one, set: {fabric.load_balancing.kind: ECMP}}\n"
    loaded = load_text(PLAN + variants, "plan", ["jobs.0.collective=All_Gather", "jobs.0.algorithm=RING"])
    assert loaded.plan.jobs[0].collective == "all-gather"
    assert loaded.variants[0].plan.fabric.load_balancing.kind == "ecmp"


@pytest.mark.parametrize(
    ("written", "other", "found"),
    [
        ("kind: leaf-spine", "kind: leaf-spin", 'found "leaf-spin"; allowed: single-switch, leaf-spine'),
        ("collective: all-to-all", "collective: all-two-all", '"all-two-all"; allowed: all-reduce'),
        ("mapping: by-host", "mapping: byhosts", 'found "byhosts"; allowed: by-host'),
        ("recovery: go_back_n", "recovery: go_back", 'found "go_back"; allowed: go_back_n'),
    ],
)
def test_the_rest_is_refused_as_before(written: str, other: str, found: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_text(PLAN.replace(written, other), "plan")
    assert found in str(caught.value)
    assert "did you mean" in str(caught.value)


def test_a_mistake_beside_another_spelling_is_told_in_the_words_of_the_file() -> None:
    text = PLAN.replace("leaf-spine, leaves: 2", "leaf_spine, leaves: 0").replace("by-host", "by_host")
    with pytest.raises(PlanError) as caught:
        load_text(text, "plan")
    assert str(caught.value).startswith("error: plan:5: fabric.topology.leaves: found 0")
    assert str(caught.value).count("error:") == 1


def test_a_name_that_two_could_be_is_none() -> None:
    assert same_name("a_b", ["a-b", "ab"]) is None
    assert same_name(3, ["3"]) is None
    assert same_name("", ["a"]) is None
