"""What documents say of fields, and what the fields do: zeros, open loops, metrics that are not measured."""

from __future__ import annotations

import pytest

from fabricbench.metrics import BY_NAME, OF_ALL_ROWS
from fabricbench.plan import engine
from fabricbench.plan.errors import PlanError
from fabricbench.plan.fabric.nic import parse_drift, parse_drift_max
from fabricbench.plan.jobs.check import OPEN_LOOP
from fabricbench.plan.load import load_text
from fabricbench.units import UnitError

PLAN = """
fabricbench: 1
name: small
fabric: {{topology: {{kind: single-switch, hosts: 4}}{fabric}}}
jobs: [{{{job}}}]
sweep: {{data_size: 64KB}}
{more}
"""


def load(job: str = "collective: all-to-all", fabric: str = "", more: str = "") -> object:
    return load_text(PLAN.format(job=job, fabric=fabric, more=more), "small.yaml")


def found_in(**given: str) -> str:
    with pytest.raises(PlanError) as caught:
        load(**given)
    return str(caught.value)


@pytest.mark.parametrize("zero", ["0", " 0 ", "+0", "-0", "0.0", "00", "0ppm", "0.000 ppm"])
def test_no_drift_needs_no_unit(zero: str) -> None:
    assert parse_drift(zero) == 0
    assert parse_drift_max(zero) == 0
    load(fabric=f', clocks: {{drift: "{zero}"}}')
    load(fabric=f', clocks: {{drift: 10ppm, hosts: [{{host: 1, drift: "{zero}"}}]}}')


@pytest.mark.parametrize("other", ["", "1", "0 us", "0%", "ppm", "-", "00000", "0.0000", "1e0"])
def test_any_other_drift_needs_its_unit(other: str) -> None:
    with pytest.raises(UnitError, match="a drift such as 20ppm"):
        parse_drift(other)


@pytest.mark.parametrize("job", ["collective: incast, algorithm: linear"])
@pytest.mark.parametrize("load_of", ["load: 30%", "rate: 10Gbps", "process: constant, load: 1%"])
def test_a_closed_loop_with_arrivals_names_the_algorithm(job: str, load_of: str) -> None:
    found = found_in(job=f"{job}, arrivals: {{{load_of}, duration: 100us}}")
    assert "jobs.0.algorithm: found algorithm `linear` of incast with arrivals, a closed loop" in found
    assert "allowed: parallel, which is the default" in found
    assert "allowed: incast" not in found


def test_every_algorithm_with_arrivals_is_what_the_core_takes() -> None:
    for collective, algorithms in engine.algorithms().items():
        for algorithm in algorithms:
            job = (
                f"collective: {collective}, algorithm: {algorithm}, arrivals: {{load: 30%, duration: 100us}}"
            )
            if OPEN_LOOP.get(collective) == algorithm:
                load(job=job)
            else:
                assert "arrivals" in found_in(job=job)


@pytest.mark.parametrize("chunks", ["sample", "summary"])
@pytest.mark.parametrize("metric", sorted(OF_ALL_ROWS))
def test_a_criterion_on_what_is_not_measured_is_refused(metric: str, chunks: str) -> None:
    assert metric in BY_NAME
    criterion = f"criteria: [{{metric: {metric}, min: 1}}]\nobserve: {{chunks: {{}}}}"
    found = found_in(more=criterion.replace("{}", chunks))
    assert f"criteria.0.metric: found {metric} with `observe.chunks: {chunks}`" in found
    load(more=criterion.replace("{}", "all"))
    load(more=f"criteria: [{{metric: busbw_gb_per_s, min: 1}}]\nobserve: {{chunks: {chunks}}}")
