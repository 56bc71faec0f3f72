"""Sweeps over fields: which trials there are, what they run, and the mistakes one can make."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.plan.examples import golden, write_plan

from fabricbench.plan.document.document import read_text
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.schema import plan_schema

ROOT = Path(__file__).resolve().parents[2]
MISTAKES = golden("sweep")
SWEPT = """\
fabricbench: 1
name: swept
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}
  switch: {ecn: {preset: alibaba}}
jobs:
  - {name: all, collective: all-to-all}
sweep:
  data_size: [1MB, 2MB]
  transport.window: [32, 64]
  fabric.switch.ecn.kmin:
    - 20KB
    - 50KB
"""
ZIPPED = SWEPT.replace("[1MB, 2MB]", "1MB").replace(
    "  fabric.switch.ecn.kmin:\n    - 20KB\n    - 50KB\n",
    "  zip:\n    fabric.switch.ecn.kmin: [20KB, 50KB]\n    fabric.switch.ecn.kmax: [80KB, 200KB]\n",
)


def loaded(text: str, *overrides: str) -> LoadedPlan:
    return load_text(text, "plan.yaml", overrides)


def axes(plan: LoadedPlan) -> list[tuple[Any, ...]]:
    return [tuple(value for _, value in trial.case.axes) for trial in plan.trials]


def ecn(plan: LoadedPlan, index: int) -> Any:
    return plan.trials[index].run_spec["fabric"]["switch"]["ecn"]


def test_every_combination_runs_at_every_size_the_last_list_fastest() -> None:
    plan = loaded(SWEPT)
    assert [name for name, _ in plan.trials[0].case.axes] == ["transport.window", "fabric.switch.ecn.kmin"]
    sizes = [trial.data_size_bytes >> 20 for trial in plan.trials]
    found = [(*values, size) for values, size in zip(axes(plan), sizes, strict=True)]
    assert found == [(w, k, size) for w in (32, 64) for k in ("20KB", "50KB") for size in (1, 2)]
    assert [trial.index for trial in plan.trials] == list(range(8))
    assert len({json.dumps(trial.run_spec["transport"]) for trial in plan.trials}) == 2
    assert len({ecn(plan, index)["kmin_bytes"] for index in (0, 2)}) == 2
    assert plan.extent.startswith("8 trials at 4 combinations, ")


def test_a_combination_is_the_plan_with_its_values() -> None:
    plain = SWEPT.partition("  transport.window")[0]
    alone = loaded(plain, "transport.window=64", "fabric.switch.ecn.kmin=20KB")
    swept = loaded(SWEPT).trials[4:6]
    assert [trial.spec_json for trial in alone.trials] == [trial.spec_json for trial in swept]
    assert axes(alone) == [(), ()]


def test_zipped_lists_change_together_and_are_combined_with_the_others() -> None:
    plan = loaded(ZIPPED)
    pairs = [("20KB", "80KB"), ("50KB", "200KB")]
    assert axes(plan) == [(window, *pair) for window in (32, 64) for pair in pairs]


def test_sizes_may_be_zipped_with_fields() -> None:
    text = SWEPT.replace("  data_size: [1MB, 2MB]\n", "").replace("4, spines", "3, spines")
    text += "  zip: {fabric.topology.hosts_per_leaf: [3, 4], data_size: [6MB, 8MB]}\n"
    assert [(*trial.case.axes[-1:], trial.data_size_bytes >> 20) for trial in loaded(text).trials] == [
        (("fabric.topology.hosts_per_leaf", hosts), size) for hosts, size in [(3, 6), (4, 8)] * 4
    ]


def test_jobs_with_sizes_of_their_own_need_none_in_the_sweep() -> None:
    text = SWEPT.replace("  data_size: [1MB, 2MB]\n", "").replace(
        "all-to-all}", "all-to-all, data_size: 1MB}"
    )
    assert [trial.data_size_bytes for trial in loaded(text).trials] == [1 << 20] * 4


def test_variants_run_with_every_combination_and_keep_their_names() -> None:
    text = SWEPT + "variants: [{name: ecmp}, {name: spray, set: {fabric.load_balancing: spray-random}}]\n"
    plan = loaded(text)
    assert [trial.variant for trial in plan.trials] == ["ecmp", "spray"] * 8
    assert axes(plan)[::2] == axes(loaded(SWEPT))
    assert len({trial.spec_json for trial in plan.trials}) == 16
    assert {plan.variant_of(trial).case.axes for trial in plan.trials[:4]} == {plan.trials[0].case.axes}
    chosen = load_text(text, "plan.yaml", chosen=("spray",))
    assert [trial.index for trial in chosen.trials] == list(range(1, 16, 2))


def test_a_variant_may_change_the_mapping_that_a_swept_field_is_in() -> None:
    text = SWEPT + "variants: [{name: one}, {name: two, set: {fabric.switch.ecn: {preset: sonic}}}]\n"
    plan = loaded(text)
    assert ecn(plan, 0)["kmax_bytes"] != ecn(plan, 1)["kmax_bytes"]
    assert plan.trials[1].case.axes[1] == ("fabric.switch.ecn.kmin", "20KB")


def test_jobs_alone_and_iterations_are_those_of_each_combination() -> None:
    jobs = """{name: all, ranks: "0-3", collective: all-to-all}
  - {name: ring, ranks: "4-7", collective: all-reduce}"""
    text = SWEPT.replace("{name: all, collective: all-to-all}", jobs) + "solo: true\niterations: 2\n"
    plan = loaded(text)
    assert [trial.variant for trial in plan.trials[:3]] == ["solo/all", "solo/ring", "base"]
    assert len(plan.trials) == 4 * 2 * 2 * 3
    assert len({trial.spec_json for trial in plan.trials}) == len(plan.trials)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("sweep.transport.window=[16]", [16]),
        ("sweep.transport.window=16", [16]),
        ("sweep.transport.window.1=128", [32, 128]),
    ],
)
def test_an_override_reaches_the_values_of_a_swept_field(override: str, expected: list[int]) -> None:
    assert list(dict.fromkeys(window for window, _ in axes(loaded(SWEPT, override)))) == expected


def test_overrides_add_fields_and_zipped_lists() -> None:
    plan = loaded(ZIPPED, "sweep.zip.transport.mtu=[1024, 4096]", "sweep.transport.ack_every=[1, 2]")
    assert [name for name, _ in plan.trials[0].case.axes][:2] == ["transport.window", "transport.ack_every"]
    assert {values[-3:] for values in axes(plan)} == {("20KB", "80KB", 1024), ("50KB", "200KB", 4096)}


def test_quick_changes_the_values_of_a_swept_field(tmp_path: Path) -> None:
    path = write_plan(tmp_path, SWEPT + "quick: {sweep.transport.window: [8], sweep.data_size: 64KB}\n")
    assert axes(load_plan(path, quick=True)) == [(8, "20KB"), (8, "50KB")]


def test_values_may_be_mappings() -> None:
    plan = loaded(SWEPT.replace("window: [32, 64]", "rate_control: [dcqcn, {dcqcn: {g: 1/16}}]"))
    first, last = (plan.trials[index].run_spec["transport"]["rate_control"] for index in (0, -1))
    assert first is not None
    assert first != last


@pytest.mark.parametrize("case", MISTAKES, ids=[case["name"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str]) -> None:
    text = SWEPT + case.get("add", "")
    if "replace" in case:
        assert text.count(case["replace"]) == 1
        text = text.replace(case["replace"], case["by"])
    with pytest.raises(PlanError) as caught:
        loaded(text)
    assert str(caught.value) == case["expect"]


def test_a_wrong_value_of_an_override_is_named_with_its_combination() -> None:
    with pytest.raises(PlanError) as caught:
        loaded(SWEPT, "sweep.transport.window=[32, many]")
    assert str(caught.value) == (
        'error: -s sweep.transport.window=[32, many]: transport.window: found "many", with '
        "transport.window many, fabric.switch.ecn.kmin 20KB and 1 other combination; allowed: a whole number"
    )


def test_an_editor_takes_swept_fields_by_the_schema() -> None:
    for text in (SWEPT, ZIPPED):
        jsonschema.validate(read_text(text, "plan.yaml").data, plan_schema())
    wrong = read_text(SWEPT.replace("[32, 64]", "{start: 1}"), "plan.yaml").data
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, plan_schema())


def test_the_example_of_the_page_is_a_plan() -> None:
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
    section = page.partition("\n## Sweeps\n")[2]
    example = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert example is not None
    plan = loaded(example[1])
    assert len(plan.trials) == 2 * 2 * 3
    assert [name for name, _ in plan.trials[0].case.axes] == [
        *("transport.window", "fabric.switch.ecn.kmin", "fabric.switch.ecn.kmax"),
    ]
