"""Fields of presets are changed like any other, sizes are rounded, published values are left out."""

from __future__ import annotations

import pytest
from tests.plan.examples import first_bytes

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.sizes import rounded_size

PLAN = """
fabricbench: 1
name: small
fabric: {{topology: {{kind: single-switch, hosts: {hosts}}}, switch: {{{switch}}}{fabric}}}
{transport}
jobs: [{{{job}}}]
sweep: {sweep}
"""


def load(*overrides: str, **given: str) -> LoadedPlan:
    fields = {
        "hosts": "4",
        "switch": "",
        "fabric": "",
        "transport": "",
        "job": "collective: all-to-all",
        "sweep": "{data_size: 64KB}",
    }
    return load_text(PLAN.format(**fields | given), "small.yaml", overrides)


def ecn_of(loaded: LoadedPlan) -> list[object]:
    return [trial.run_spec["fabric"]["switch"]["ecn"] for trial in loaded.trials]


@pytest.mark.parametrize("preset", ["sonic", "alibaba", "on"])
def test_a_field_of_a_preset_is_swept_and_the_others_stay(preset: str) -> None:
    named = load(switch=f"ecn: {preset}", sweep="{data_size: 64KB, fabric.switch.ecn.kmin: [10KB, 20KB]}")
    name = "alibaba" if preset == "on" else preset
    written = load(
        switch=f"ecn: {{preset: {name}}}", sweep="{data_size: 64KB, fabric.switch.ecn.kmin: [10KB, 20KB]}"
    )
    assert ecn_of(named) == ecn_of(written)
    assert len({str(each) for each in ecn_of(named)}) == 2


@pytest.mark.parametrize(
    ("given", "override", "written"),
    [
        ({"switch": "pfc: on"}, "fabric.switch.pfc.headroom=300KB", {"switch": "pfc: {headroom: 300KB}"}),
        (
            {"fabric": ", load_balancing: flowlet"},
            "fabric.load_balancing.gap=5us",
            {"fabric": ", load_balancing: {kind: flowlet, gap: 5us}"},
        ),
        (
            {"switch": "ecn: alibaba", "transport": "transport: {rate_control: dcqcn}"},
            "transport.rate_control.dcqcn.preset=paper",
            {
                "switch": "ecn: alibaba",
                "transport": "transport: {rate_control: {dcqcn: {preset: paper}}}",
            },
        ),
        (
            {"transport": "transport: {rate_control: swift}"},
            "transport.rate_control.swift.beta=0.5",
            {"transport": "transport: {rate_control: {swift: {beta: 0.5}}}"},
        ),
    ],
)
def test_an_override_reaches_into_any_name(
    given: dict[str, str], override: str, written: dict[str, str]
) -> None:
    found = load(override, **given)
    assert found.trials[0].run_spec == load(**written).trials[0].run_spec


def test_a_variant_reaches_into_a_preset() -> None:
    low = "{name: low, set: {fabric.switch.ecn.kmin: 10KB}}"
    off = "{name: off, set: {fabric.switch.ecn: off}}"
    text = PLAN.format(
        hosts="4",
        switch="ecn: sonic",
        fabric="",
        transport=f"variants: [{low}, {off}]",
        job="collective: all-to-all",
        sweep="{data_size: 64KB}",
    )
    lowered, switched_off = ecn_of(load_text(text, "small.yaml"))
    assert lowered == ecn_of(load(switch="ecn: {preset: sonic, kmin: 10KB}"))[0]
    assert switched_off is None


@pytest.mark.parametrize("name", ["off", "none", "sonik"])
def test_a_name_without_a_mapping_has_no_fields(name: str) -> None:
    with pytest.raises(PlanError, match='found the field "kmin" inside'):
        load("fabric.switch.ecn.kmin=10KB", switch=f"ecn: {name}")


# Expected: (count // ranks) // 4 * 4 elements of 4 bytes for each rank (all_gather.cu, alltoall.cu).
@pytest.mark.parametrize(
    ("size", "ranks", "run"),
    [
        (64 << 20, 30, 30 * 2_236_960),
        (1 << 20, 12, 12 * 87_376),
        (8 << 30, 24, 24 * 357_913_936),
        (1000, 6, 6 * 160),
        (64 << 20, 32, 64 << 20),
        (1004, 4, 1004),
        (1001, 8, 1001),
        (64, 30, 64),
        (4, 8, 4),
    ],
)
def test_a_size_is_rounded_as_nccl_tests_do(size: int, ranks: int, run: int) -> None:
    assert rounded_size(size, ranks) == run


@pytest.mark.parametrize("collective", ["all-to-all", "all-gather", "gather", "scatter"])
def test_a_rounded_size_is_run_and_said(collective: str) -> None:
    loaded = load(hosts="30", job=f"collective: {collective}", sweep="{data_size: [64MB, 30MB]}")
    rounded, whole = loaded.trials
    assert [first_bytes(trial) for trial in loaded.trials] == [67_108_800, 30 << 20]
    assert [trial.data_size_bytes for trial in loaded.trials] == [64 << 20, 30 << 20]
    (note,) = rounded.notes
    assert "64MB" in note
    assert "rounds as nccl-tests do: to 67,108,800 bytes, 30 shares of 2,236,960" in note
    assert whole.notes == ()
    (warning,) = loaded.warnings
    assert "67,108,800" in warning.found


def test_sizes_of_a_job_and_of_a_range_are_rounded() -> None:
    own = load(
        hosts="12", job="collective: all-gather, data_size: 1MB", sweep="{transport.ack_every: [1, 2]}"
    )
    assert {first_bytes(trial) for trial in own.trials} == {12 * 87_376}
    swept = load(hosts="6", sweep="{data_size: {start: 1KB, end: 4KB}}")
    assert [first_bytes(trial) for trial in swept.trials] == [960, 2016, 4032]


@pytest.mark.parametrize("collective", ["all-reduce", "broadcast", "reduce", "send-receive"])
def test_what_is_not_divided_is_not_rounded(collective: str) -> None:
    loaded = load(hosts="30", job=f"collective: {collective}", sweep="{data_size: 64MB}")
    assert first_bytes(loaded.trials[0]) == 64 << 20
    assert loaded.warnings == ()


def test_message_sizes_are_exact() -> None:
    loaded = load(hosts="30", sweep="{message_size: 1001}")
    assert first_bytes(loaded.trials[0]) == 30 * 1001
    assert (loaded.trials[0].notes, loaded.warnings) == ((), ())


@pytest.mark.parametrize("size", ["64", "1001", "400"])
def test_what_cannot_be_rounded_is_refused(size: str) -> None:
    with pytest.raises(PlanError, match="are not 30 equal shares"):
        load(hosts="30", sweep=f"{{data_size: {size}}}")


def test_sizes_that_are_rounded_to_one_are_refused() -> None:
    with pytest.raises(PlanError, match="which is rounded to what"):
        load(hosts="30", sweep="{data_size: [64MB, 67108868]}", job="collective: all-gather")
    with pytest.raises(PlanError, match="which is rounded to what"):
        load(hosts="30", sweep="{data_size: [67108800, 64MB]}")


def is_compared(*overrides: str) -> bool:
    return load_plan("jct-alltoall", overrides).variants[0].published is not None


@pytest.mark.parametrize(
    "override",
    [
        "sweep.data_size=1MB",
        "sweep={data_size: [16MB, 1GB]}",
        "seed=7",
        "iterations=3",
        "tag=mine",
        "jobs.0.repeat=10",
        "observe.chunks=summary",
        'jobs.0.ranks="0-7"',
        "fabric.topology.leaves=2",
    ],
)
def test_sizes_and_what_is_reported_leave_the_published_values(override: str) -> None:
    assert is_compared(override)


@pytest.mark.parametrize(
    "override",
    [
        'jobs.0.ranks="0-1"',
        "jobs.0.ranks=[0,1,2]",
        "fabric.topology.host_link=200Gbps",
        "transport.mtu=1024",
        "jobs.0.algorithm=pairwise",
        "jobs.0.start=1us",
        "sweep={data_size: 16MB, transport.ack_every: [1, 2]}",
        "scale=10",
        "fabric.switch.pipeline_latency=2us",
    ],
)
def test_anything_else_leaves_no_deviation(override: str) -> None:
    assert not is_compared(override)
    assert not is_compared("sweep.data_size=16MB", override)


def test_it_is_said_that_published_values_are_left_out() -> None:
    loaded = load_plan("jct-alltoall", ['jobs.0.ranks="0-1"'])
    assert any("left out since more than sizes is changed" in each.found for each in loaded.warnings)
    assert load_plan("jct-alltoall", ["sweep.data_size=16MB"]).warnings == ()
