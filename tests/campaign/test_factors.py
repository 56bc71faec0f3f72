"""What differs among the trials of a campaign, and which of it can be told apart."""

from __future__ import annotations

from pathlib import Path

from tests.support.campaigns import (
    written,
)

import fabricbench as fb
from fabricbench.results.studies.factors import separable_factors
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.trial_table import Members, members_of, value_at, without


def members(folder: Path, *plans: str, more: str = "") -> Members:
    entries = "".join(f"  - {plan}\n" for plan in plans)
    return members_of(load_campaign(written(folder, f"campaign: 1\nname: some\n{more}plans:\n{entries}")))


def test_what_differs_among_the_trials_are_its_factors(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, seeds: 2, sweep: {data_size: [2MB, 1MB], transport.window: [64, 32]}}",
        "{plan: lb-alltoall-ecmp, seeds: 2, sweep: {data_size: [1MB]}, set: {transport.window: 32}}",
        more="set: {transport.ack_every: 4}\n",
    )
    # Sizes and numbers are in their order; what all have in common is none, and neither is the seed.
    assert found.factors == {
        "plan": ("jct-alltoall", "lb-alltoall-ecmp"),
        "data_size": ("1 MB", "2 MB"),
        "transport.window": ("32", "64"),
    }
    assert found.frame.height == 10


def test_a_field_that_a_plan_does_not_set_has_the_value_of_the_plan(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}}",
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}, set: {transport.ack_every: 8}}",
    )
    assert found.factors == {"transport.ack_every": ("2", "8")}


def test_a_mapping_and_a_field_in_it_do_not_count_twice(tmp_path: Path) -> None:
    ecn = "fabric.switch.ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}"
    swept = "fabric.switch.ecn.kmin: [50KB, 100KB]"
    found = members(
        tmp_path, f"{{plan: cc-alltoall-dcqcn, set: {{{ecn}}}, sweep: {{data_size: [1MB], {swept}}}}}"
    )
    assert found.factors == {"fabric.switch.ecn.kmin": ("50KB", "100KB")}


def test_one_value_written_in_two_ways_is_one(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        "{plan: jct-alltoall, sweep: {data_size: [1MB]}, set: {fabric.switch.buffer.size: 2MB}}",
        "{plan: jct-alltoall, sweep: {data_size: [2MB]}, set: {fabric.switch.buffer.size: 2048KB}}",
    )
    assert list(found.factors) == ["data_size"]


def test_a_trial_of_two_plans_counts_in_each_and_once_in_each(tmp_path: Path) -> None:
    text = (
        fb.load("jct-alltoall").text.replace("name: jct-alltoall", "name: again").replace("published:", "#")
    )
    (tmp_path / "again.yaml").write_text(text)
    found = members(
        tmp_path,
        "{plan: jct-alltoall, seeds: 2, sweep: {data_size: [1MB]}}",
        "{plan: jct-alltoall, seeds: 3, sweep: {data_size: [1MB]}}",
        "{plan: again.yaml, seeds: 2, sweep: {data_size: [1MB]}}",
    )
    assert found.frame.group_by("plan").len().sort("plan").rows() == [("again", 2), ("jct-alltoall", 3)]
    assert found.frame["trial"].n_unique() == 3


def test_trials_of_a_job_alone_are_counted_and_left_out(tmp_path: Path) -> None:
    found = members(tmp_path, "{plan: isolation-ring-neighbour, seeds: 1, sweep: {data_size: [1MB]}}")
    assert found.alone == 2
    assert found.frame.height == 1


def test_fields_are_found_in_models_mappings_and_lists() -> None:
    data = {"jobs": [{"name": "a", "gap": {"least": 1, "most": 2}}]}
    assert value_at(data, "jobs.0.gap.most") == 2
    assert value_at(data, "jobs.1.gap") is None
    assert value_at(data, "jobs.0.name.first") is None
    assert without(data, "jobs.0.gap.most") == {"jobs": [{"name": "a", "gap": {"least": 1}}]}


def apart(**columns: str) -> tuple[list[str], list[int], list[str]]:
    """Told apart: each factor as a text with a letter for its level in each setting."""
    found = separable_factors(
        {name: list(text) for name, text in columns.items()},
        {name: sorted(set(text)) for name, text in columns.items()},
    )
    return [factor.name for factor in found.factors], list(found.settings), list(found.notes)


def test_factors_that_change_together_are_one() -> None:
    assert apart(a="xxyy", b="ppqq", c="klkl") == (["a / b", "c"], [0, 1, 2, 3], [])


def test_a_factor_that_follows_from_another_has_no_effect_of_its_own() -> None:
    names, _, notes = apart(plan="abcabc", spines="112112", size="xxxyyy")
    assert names == ["plan", "size"]
    assert notes == ["spines follows from plan: no effect of its own."]


def test_settings_in_which_two_factors_change_together_are_left_out() -> None:
    names, settings, notes = apart(plan="aaabbbc", window="1231239")
    assert (names, settings) == (["plan", "window"], [0, 1, 2, 3, 4, 5])
    assert notes == [
        "1 setting of 7 left out of the effects, where plan and window change together: c with 9."
    ]


def test_a_factor_of_which_one_value_is_left_has_no_effect() -> None:
    assert apart(a="xxxx", b="pqpq")[0] == ["b"]


def test_a_factor_with_too_many_values_is_left_out() -> None:
    numbers = [str(number) for number in range(300)]
    found = separable_factors(
        {"many": numbers * 2, "two": ["a"] * 300 + ["b"] * 300}, {"many": numbers, "two": ["a", "b"]}
    )
    assert [factor.name for factor in found.factors] == ["two"]
    assert found.notes == ["many: 300 values are too many for effects."]
