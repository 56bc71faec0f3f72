"""The search of a plan: its range in base units, the values between, and what makes no sense."""

from __future__ import annotations

import json

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.load import document_of, load_text
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.stored_plan import PlanOfTrial
from fabricbench.plan.sweep.search_range import Range, range_of

PLAN = """
fabricbench: 1
name: burst
fabric:
  topology: {kind: single-switch, hosts: 4}
  switch: {ecn: alibaba}
jobs:
  - {name: burst, collective: incast, data_size: 1MB}
search: {field: jobs.burst.data_size, from: 64KB, to: 16MB}
criteria:
  - {metric: frames_lost, max: 0}
"""


def loaded(*overrides: str) -> LoadedPlan:
    return load_text(PLAN, "plan.yaml", overrides)


def found(*overrides: str) -> Range:
    plan = loaded(*overrides)
    return range_of(plan.plan, document_of(plan))


def problem(*overrides: str) -> str:
    with pytest.raises(PlanError) as caught:
        loaded(*overrides)
    return str(caught.value)


def test_a_search_has_a_range_in_base_units() -> None:
    bytes_range = found("search.resolution=1KB")
    assert (bytes_range.low, bytes_range.high, bytes_range.resolution) == (65536, 16 << 20, 1024)
    assert (bytes_range.is_highest, bytes_range.steps) == (True, 10)
    assert bytes_range.text(65536) == "64KB"


@pytest.mark.parametrize(
    ("field", "low", "high", "middle"),
    [
        ("transport.window", 2, 100, "51"),
        ("fabric.topology.host_link.rate", "100Gbps", "400Gbps", "250Gbps"),
        ("jobs.0.start", "0s", "1us", "500ns"),
        ("fabric.switch.ecn.pmax", "1%", "3%", "2%"),
    ],
)
def test_every_kind_of_number_can_be_searched(field: str, low: object, high: object, middle: str) -> None:
    search = found(f"search={json.dumps({'field': field, 'from': low, 'to': high})}")
    between = search.between(search.low, search.high)
    assert between is not None
    assert search.text(between) == middle


def test_values_between_are_steps_of_the_resolution() -> None:
    search = found("search.resolution=48KB")
    between = search.between(search.low, search.high)
    assert between is not None
    assert (between - search.low) % (48 << 10) == 0
    assert search.between(search.low, search.low + (48 << 10)) is None


def test_there_is_nothing_between_neighbours() -> None:
    search = found('search={"field": "transport.window", "from": 1, "to": 8}', "transport.ack_every=1")
    assert search.between(3, 4) is None
    assert search.between(4, 3) is None


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("search.field=jobs.burst.data_sise", "found no such field"),
        ("search.field=jobs.burst.collective", "which has no numbers"),
        ("search.field=iterations", "a field that no search can change"),
        ("search.field=jobs.9.data_size", "the list item"),
        ("search.from=16MB", "search.from: found 16MB; allowed: less than `to`, 16MB"),
        ("search.from=fast", 'search.from: found "fast"; allowed: a whole number of bytes'),
        ("search.to=2s", "search.to: found"),
        ("search.resolution=16MB", "search.resolution: found 16MB; allowed: less than the range"),
        ("search.steps=0", "search.steps: found 0"),
        ("search.find=best", 'search.find: found "best"; allowed: highest or lowest'),
        ("criteria=[]", "search: found a search without criteria"),
        ("sweep.jobs.burst.data_size=[1MB, 2MB]", "which the sweep has too"),
        ('variants=[{"name": "a", "set": {"jobs.0.data_size": "2MB"}}]', "which variant `a` sets"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_field(override: str, told: str) -> None:
    assert told in problem(override)


def test_a_ratio_to_another_trial_cannot_be_searched_by() -> None:
    variants = 'variants=[{"name": "a"}, {"name": "b", "set": {"transport.window": 9}}]'
    text = problem(variants, 'criteria=[{"metric": "completion_time_ratio", "max": 2}]')
    assert "criteria.0.metric: found completion_time_ratio, a ratio to another trial" in text
    assert "no criterion of variant `b`" in problem(
        variants, 'criteria=[{"metric": "frames_lost", "max": 0, "variant": "a"}]'
    )


def test_a_plan_with_a_search_says_what_it_may_run_and_cost_at_most() -> None:
    plan = loaded("search.steps=3")
    low, high = (each.estimates[0] for each in plan.ends)
    assert low is not None
    assert high is not None
    assert [trial.data_size_bytes for each in plan.ends for trial in each.trials] == [64 << 10, 16 << 20]
    assert plan.trials_max == 5
    assert [each["packet_hops"] for each in plan.bounds] == [low["packet_hops"], *4 * [high["packet_hops"]]]
    assert plan.extent == (
        "1 trial, at up to 5 values of jobs.burst.data_size, 4 ranks on 4 hosts, data size 64 KB to 16 MB"
    )
    without = loaded("search=null")
    assert (without.ends, without.trials_max, without.bounds) == ((), 1, without.estimates)


def test_limits_are_those_of_what_a_search_tries() -> None:
    limits = Limits(None, 2_000)
    with pytest.raises(PlanError) as caught:
        load_text(PLAN, "plan.yaml", ["search.to=64GB"], limits)
    assert "search.to: found 64GB, with which jobs is trial 1 of 1 (64 GB), which takes up to" in str(
        caught.value
    )
    # The plan as it stands is not run, so it may be beyond them.
    assert load_text(PLAN, "plan.yaml", ["jobs.0.data_size=64GB"], limits).ends


def test_a_plan_is_possible_at_both_ends() -> None:
    text = problem("search.to=100TB")
    assert "search.to: found 100TB, with which jobs.0.data_size is" in text
    text = problem('search={"field": "transport.window", "from": 1, "to": 8}')
    assert "search.from: found 1, with which transport.ack_every is 2; allowed: 1 to 1" in text


def test_the_plan_of_a_single_trial_has_no_search() -> None:
    plan = PlanOfTrial(PLAN, (), "base", 0, 1 << 20, "data").load()
    assert (plan.plan.search, len(plan.trials)) == (None, 1)
