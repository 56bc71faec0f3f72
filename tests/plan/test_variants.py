"""Variants of a plan: which trials there are, what differs between them, and the mistakes one can make."""

from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import golden, write_plan

from fabricbench.plan.document.shipped import published_tables
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.plan.load import load_plan
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.work import collective_of

MISTAKES = golden("variants")
FABRICS = """\
fabricbench: 1
name: fabrics
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}
jobs:
  - {name: ring, ranks: "0-3", collective: all-reduce}
  - {name: other, ranks: "4-7", collective: all-to-all, data_size: 1MB}
sweep: {data_size: [1MB, 2MB]}
variants:
  - {name: mesh, set: {fabric.topology: {kind: full-mesh, hosts: 8}}}
  - name: spray
    set:
      fabric.load_balancing:
        kind: spray-random
      jobs.other.step_overhead: 1us
  - name: clos
"""


def loaded(folder: Path, text: str = FABRICS, *overrides: str, chosen: tuple[str, ...] = ()) -> LoadedPlan:
    return load_plan(write_plan(folder, text), overrides, chosen=chosen)


def names(plan: LoadedPlan) -> list[tuple[str, int, int]]:
    return [(trial.variant, trial.data_size_bytes >> 20, trial.iteration) for trial in plan.trials]


def spec_of(plan: LoadedPlan, variant: str) -> dict[str, Any]:
    return dict(next(trial for trial in plan.trials if trial.variant == variant).run_spec)


def test_variants_of_one_size_and_iteration_stand_together(tmp_path: Path) -> None:
    plan = loaded(tmp_path, FABRICS + "iterations: 2\n")
    variants = ("mesh", "spray", "clos")
    assert names(plan) == [(name, size, at) for size in (1, 2) for at in (0, 1) for name in variants]
    assert [trial.index for trial in plan.trials] == list(range(12))
    assert plan.suite == tuple(plan.trials)
    assert len({trial.spec_json for trial in plan.suite}) == 12


def test_a_variant_differs_in_what_it_sets_and_nothing_else(tmp_path: Path) -> None:
    plan = loaded(tmp_path)
    clos, mesh, spray = (spec_of(plan, name) for name in ("clos", "mesh", "spray"))
    assert {name for name in clos if clos[name] != mesh[name]} == {"fabric"}
    assert {name for name in clos if clos[name] != spray[name]} == {"fabric", "jobs"}
    assert mesh["fabric"]["topology"]["kind"] == "full-mesh"
    assert spray["fabric"]["load_balancing"]["kind"] == "spray-random"
    assert [collective_of(job)["step_overhead_ps"] for job in spray["jobs"]] == [0, 1_000_000]


def test_an_unchanged_variant_is_the_plan_without_variants(tmp_path: Path) -> None:
    plan, base = loaded(tmp_path), loaded(tmp_path, FABRICS, "variants=[]")
    assert names(base) == [("base", 1, 0), ("base", 2, 0)]
    assert [t.spec_json for t in base.trials] == [t.spec_json for t in plan.trials if t.variant == "clos"]
    assert (plan.reference, base.reference) == ("mesh", None)


def test_iterations_have_the_same_seed_in_every_variant(tmp_path: Path) -> None:
    plan = loaded(tmp_path, FABRICS + "iterations: 3\n")
    for iteration in range(3):
        assert len({t.run_spec["seed"] for t in plan.trials if t.iteration == iteration}) == 1


def test_the_reference_is_the_first_unless_another_says_so(tmp_path: Path) -> None:
    text = FABRICS.replace("{name: mesh,", "{name: mesh, reference: false,")
    assert loaded(tmp_path, text).reference == "mesh"
    marked = text.replace("name: clos", "name: clos\n    reference: true")
    assert loaded(tmp_path, marked).reference == "clos"


def test_chosen_variants_keep_their_places_in_the_suite(tmp_path: Path) -> None:
    plan, everything = loaded(tmp_path, chosen=("clos",)), loaded(tmp_path)
    assert [(trial.variant, trial.index) for trial in plan.trials] == [("clos", 2), ("clos", 5)]
    assert plan.suite == everything.suite


def test_each_variant_has_its_jobs_alone_unless_another_has_the_same(tmp_path: Path) -> None:
    text = FABRICS.replace("fabric.load_balancing:\n        kind: spray-random\n      ", "")
    plan = loaded(tmp_path, "solo: true\n" + text)
    assert [trial.variant for trial in plan.trials if trial.data_size_bytes == 2 << 20] == [
        *("mesh/solo/ring", "mesh"),
        *("spray/solo/ring", "spray"),
        "clos",
    ]
    assert len({trial.spec_json for trial in plan.suite}) == len(plan.suite)


def test_overrides_reach_into_a_variant(tmp_path: Path) -> None:
    plan = loaded(
        tmp_path,
        FABRICS,
        "variants.mesh.set.fabric.topology.hosts=16",
        "variants.2.set.transport.ack_every=4",
    )
    assert len({trial.spec_json for trial in plan.trials}) == 6
    assert spec_of(plan, "mesh")["fabric"]["topology"]["hosts"] == 16
    assert spec_of(plan, "clos")["transport"]["ack_every"] == 4


def test_a_variant_may_have_published_results_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("# theirs\ndata_size_bytes,algbw_gb_per_s\n1048576,4\n")
    plan = loaded(tmp_path, FABRICS.replace("set: {", "set: {published: theirs.csv, "))
    tables = {variant.label: variant.published for variant in plan.variants}
    assert tables["mesh"] is not None
    assert tables["mesh"].value(1 << 20, "algbw_gb_per_s") == 4
    assert (tables["spray"], tables["clos"]) == (None, None)


def test_a_criterion_of_a_variant_needs_one_unless_they_are_left_out(tmp_path: Path) -> None:
    text = FABRICS + "criteria:\n  - {metric: ideal_percent, min: 90, variant: mesh}\n"
    assert loaded(tmp_path, text).plan.criteria[0].concerns("mesh")
    assert not loaded(tmp_path, text).plan.criteria[0].concerns("clos")
    assert loaded(tmp_path, text, "variants=[]").plan.criteria[0].variant == "mesh"


def test_a_ratio_needs_variants_unless_they_are_left_out(tmp_path: Path) -> None:
    criterion = "criteria: [{metric: completion_time_ratio, max: 1.04}]\n"
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, FABRICS[: FABRICS.index("variants:")] + criterion)
    assert str(caught.value).partition(": ")[2] == (
        f"{tmp_path}/plan.yaml:9: criteria.0.metric: found completion_time_ratio in a plan without variants; "
        "allowed: a metric of one trial, or `variants` to compare"
    )
    judged = loaded(tmp_path, FABRICS + criterion).plan.criteria[0]
    assert [judged.concerns(name, "mesh") for name in ("mesh", "spray", "clos")] == [False, True, True]
    left_out = loaded(tmp_path, FABRICS + criterion, "variants=[]")
    assert not left_out.plan.criteria[0].concerns("base", left_out.reference)


@pytest.mark.parametrize("case", MISTAKES, ids=[case["name"] for case in MISTAKES])
def test_a_mistake_names_the_line_of_the_variant(tmp_path: Path, case: dict[str, str]) -> None:
    text = FABRICS.replace(case["replace"], case["by"]) if "replace" in case else FABRICS + case["add"]
    assert text != FABRICS
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, text)
    expected = case["expect"].replace("SHIPPED", ", ".join(published_tables()))
    assert str(caught.value).replace(f"{tmp_path}/", "") == expected


def test_only_variants_of_the_plan_can_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, chosen=("clos", "mash"))
    assert str(caught.value) == (
        "error: --variant mash: found no such variant; allowed: mesh, spray, clos\nhint: did you mean `mesh`?"
    )
    with pytest.raises(PlanError, match="allowed: nothing, the plan has no variants"):
        loaded(tmp_path, FABRICS, "variants=[]", chosen=("clos",))


def test_a_mistake_in_an_override_of_a_variant_names_the_override(tmp_path: Path) -> None:
    override = "variants.spray.set.fabric.load_balancing.kind=spry-random"
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, FABRICS, override)
    assert str(caught.value).startswith(
        f'error: -s {override}: fabric.load_balancing.kind: found "spry-random", in variant `spray`; allowed:'
    )


def only_problem(tmp_path: Path, override: str, text: str = FABRICS) -> Problem:
    """Return the one problem that a plan has with an override."""
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, text, override)
    (problem,) = caught.value.problems
    return problem


def test_a_mistake_that_every_variant_has_is_told_once_where_it_is_written(tmp_path: Path) -> None:
    mesh = "  - {name: mesh, set: {fabric.topology: {kind: full-mesh, hosts: 8}}}\n"
    failures = "fabric.failures=[{at: 1ms, kind: link-down, link: leaf0-spin1}]"
    problem = only_problem(tmp_path, failures, FABRICS.replace(mesh, ""))
    assert (problem.place.source, problem.found) == (f"-s {failures}", "leaf0-spin1")


def test_a_mistake_that_every_variant_has_is_told_once_though_topologies_differ(tmp_path: Path) -> None:
    failures = "fabric.failures=[{at: 1ms, kind: link-down, link: leaf0-spin1}]"
    problem = only_problem(tmp_path, failures)
    assert (problem.place.source, problem.found) == (f"-s {failures}", "leaf0-spin1")
    # The mesh has no such links, so what is allowed and the hint are those of the next variant.
    assert problem.allowed.endswith(", in variant `spray`")
    assert problem.hint == "did you mean `leaf0-spine1`?"


def test_a_link_that_some_variants_lack_is_told_for_those(tmp_path: Path) -> None:
    failures = "fabric.failures=[{at: 1ms, kind: link-down, link: leaf0-spine1}]"
    problem = only_problem(tmp_path, failures)
    assert problem.found == "leaf0-spine1, in variant `mesh`"


def test_a_mistake_that_some_variants_have_is_told_once_with_their_names(tmp_path: Path) -> None:
    failures = "fabric.failures=[{at: 1ms, kind: link-down, link: mesh-host1}]"
    problem = only_problem(tmp_path, failures)
    assert (problem.place.source, problem.found) == (
        f"-s {failures}",
        "mesh-host1, in variants `spray`, `clos`",
    )
