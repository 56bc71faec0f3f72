"""The file of a campaign: what it stands for, and what is said where it is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.support.samples import PLAN, call

from fabricbench.plan.errors import PlanError
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.trial_units import Unit, longest_first, units_of

CAMPAIGN = """\
campaign: 1
name: thresholds
seeds: 3
set: {transport.ack_every: 4}
plans:
  - {plan: small.yaml, sweep: {data_size: [1MB, 2MB]}}
  - {plan: jct-alltoall, seeds: 1, sweep: {data_size: [1MB]}, set: {transport.ack_every: 8}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PLAN)
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


def test_plans_times_sweeps_times_seeds_are_its_trials(file: Path) -> None:
    units = units_of(load_campaign(file))
    sizes = [(unit.facts.plan, unit.facts.data_size_bytes >> 20, unit.facts.iteration) for unit in units]
    small = [("small", size, seed) for size in (1, 2) for seed in range(3)]
    assert sizes == [*small, ("jct-alltoall", 1, 0)]
    assert {unit.planned.run_spec["transport"]["ack_every"] for unit in units[:6]} == {4}
    assert units[6].planned.run_spec["transport"]["ack_every"] == 8


def test_a_trial_that_two_plans_have_in_common_is_there_once(file: Path) -> None:
    entry = "  - {plan: jct-alltoall, sweep: {data_size: [1MB]}, set: {%s}}\n"
    file.write_text(
        "campaign: 1\nname: twice\nplans:\n" + entry % "name: a, seed: 1" + entry % "name: b, seed: 1"
    )
    (unit,) = units_of(load_campaign(file))
    assert (unit.facts.plan, [each.plan for each in unit.others]) == ("a", ["b"])


@pytest.mark.parametrize(
    ("replaced", "by", "line", "told"),
    [
        ("seeds: 3", "seeds: 0", 3, "1 or more"),
        ("small.yaml", "nowhere.yaml", 6, "nowhere.yaml"),
        ("jct-alltoall", "jct-altoall", 7, "jct-altoall"),
        ("transport.ack_every: 8", "transport.ack_evry: 8", 7, "ack_every"),
        ("data_size: [1MB, 2MB]", "data_size: []", 6, "data_size"),
        ("campaign: 1", "campaign: 2", 1, "1"),
        ("plans:", "plan:", 5, "plans"),
    ],
)
def test_a_mistake_is_told_with_its_line(file: Path, replaced: str, by: str, line: int, told: str) -> None:
    file.write_text(CAMPAIGN.replace(replaced, by, 1))
    with pytest.raises(PlanError) as error:
        load_campaign(file)
    text = str(error.value)
    assert f"campaign.yaml:{line}:" in text
    assert told in text


def test_the_longest_trials_come_first() -> None:
    planned, facts, backend = object(), object(), object()
    units = [Unit(planned, facts, backend, cost_ms, None) for cost_ms in (5, 9, 1, 9)]  # type: ignore[arg-type]
    place = {id(unit): number for number, unit in enumerate(units)}
    assert [place[id(unit)] for unit in longest_first(units)] == [1, 3, 0, 2]


def test_what_it_would_run_is_told_without_running_it(file: Path) -> None:
    told = call("campaign", "campaign.yaml", "--dry-run", cwd=file.parent)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("thresholds: 7 trials of 2 plans, up to ")
    assert not (file.parent / "fabricbench-workspace").exists()


def test_a_campaign_far_beyond_what_is_meant_is_refused_with_its_cost(file: Path) -> None:
    file.write_text(CAMPAIGN.replace("seeds: 3", "seeds: 5000"))
    refused = call("campaign", "campaign.yaml", cwd=file.parent)
    assert refused.returncode == 2
    assert "10,001 trials of 2 plans" in refused.stderr
    assert "--force" in refused.stderr
    assert not (file.parent / "fabricbench-workspace").exists()


def test_of_far_too_many_plans_not_all_are_loaded(file: Path) -> None:
    plans = load_campaign(file, trials_max=3)
    assert (len(plans.plans), plans.uncounted) == (1, 1)
    assert load_campaign(file, trials_max=7).uncounted == 0


def test_the_cost_is_told_in_every_format(file: Path) -> None:
    told = [
        call("campaign", "campaign.yaml", "--dry-run", "--format", each, cwd=file.parent)
        for each in ("json", "csv")
    ]
    values = json.loads(told[0].stdout)
    assert list(csv.DictReader(told[1].stdout.splitlines())) == [
        {name: str(value) for name, value in values.items()}
    ]
    assert (values["name"], values["trials"], values["plans"]) == ("thresholds", 7, 2)


@pytest.mark.parametrize("on", ["loca", "ray://", "ray://head", "head:ray", "head:99999"])
def test_what_is_no_address_of_a_cluster_is_refused(file: Path, on: str) -> None:
    refused = call("campaign", "campaign.yaml", "--on", on, cwd=file.parent)
    assert refused.returncode == 2
    assert f"{on} is no address of a Ray cluster" in refused.stderr
    assert "ray://HOST:PORT" in refused.stderr
