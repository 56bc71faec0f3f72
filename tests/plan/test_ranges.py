"""What a number of a plan may be is the engine's to say: its refusals have the plan's fields and units."""

import pytest
from tests.plan.examples import SMALL

from fabricbench.plan.errors import PlanError
from fabricbench.plan.fields.spec_fields import plan_path, range_text
from fabricbench.plan.load import load_text

_DYNAMIC = "fabric.switch.ecn={preset: sonic, dynamic: {%s}}"
_SCHEDULED = "fabric.switch.scheduled={%s}"
_SWIFT = "transport.rate_control={swift: {%s}}"
_TIMELY = "transport.rate_control={timely: {%s}}"
_INFINIBAND = "fabric.link_layer={infiniband: {%s}}"
_STORAGE = (
    "jobs=[{collective: storage, storage: {clients: 0-3, targets: 4-7, block_size: 4KB, duration: 1ms, %s}}]"
)
_TCP = "tcp=[{ranks: 0-1, rate: 1Gbps, %s}]"


def problems_of(*overrides: str) -> list[tuple[str, str]]:
    """Return the field of each problem, and what it allows."""
    with pytest.raises(PlanError) as caught:
        load_text(SMALL, "plan.yaml", overrides)
    return [(problem.field, problem.allowed) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("override", "field", "allowed"),
    [
        ("transport.ack_every=8388609", "transport.ack_every", "1 to 8388608 with this `window`"),
        ("transport.ack_every=5000000000", "transport.ack_every", "1 or more"),
        (_SWIFT % "beta: 1.5", "transport.rate_control.swift.beta", "at most 1"),
        (_SWIFT % "decrease_max: 2", "transport.rate_control.swift.decrease_max", "at most 1"),
        (_SWIFT % "window_min: 1e-6", "transport.rate_control.swift.window_min", "0.001 to 8,388,608"),
        (
            _SWIFT % "scaling_window_min: 9, scaling_window_max: 8",
            "transport.rate_control.swift.scaling_window_min",
            "at most 8 with this `scaling_window_max`",
        ),
        (_SWIFT % "hop_target: 2000s", "transport.rate_control.swift.hop_target", "at most 1000s"),
        (_TIMELY % "alpha: 2", "transport.rate_control.timely.alpha", "at most 1"),
        (_TIMELY % "decrease_max: 2", "transport.rate_control.timely.decrease_max", "at most 1"),
        (_TIMELY % "beta: 2", "transport.rate_control.timely.beta", "at most 1"),
        (_DYNAMIC % "interval: 2s", "fabric.switch.ecn.dynamic.interval", "1us to 1s"),
        (_DYNAMIC % "floor: 1e-9", "fabric.switch.ecn.dynamic.floor", "0.000001 to 1"),
        (_DYNAMIC % "ceiling: 2000", "fabric.switch.ecn.dynamic.ceiling", "1 to 1,000"),
        (_SCHEDULED % "credit: 8GB", "fabric.switch.scheduled.credit", "at most 1MB"),
        (_SCHEDULED % "cell: 8KB", "fabric.switch.scheduled.cell", "at most 4KB"),
        (_SCHEDULED % "credit_speedup: 0.01", "fabric.switch.scheduled.credit_speedup", "0.1 to 10"),
        (
            _SCHEDULED % "control_cell: 300",
            "fabric.switch.scheduled.control_cell",
            "1B to 256B with this `cell`",
        ),
        (_INFINIBAND % "credit_interval: 2s", "fabric.link_layer.infiniband.credit_interval", "at most 1s"),
        (
            "fabric.switch.buffer={size: 1KB, cell: 2KB}",
            "fabric.switch.buffer.cell",
            "1B to 1KB with this `size`",
        ),
        ("fabric.shared_memory.rate=1bps", "fabric.shared_memory.rate", "1Mbps to 100Tbps"),
        ("fabric.convergence_time=2000s", "fabric.convergence_time", "at most 1000s"),
        ("fabric.topology.fabric_link.length=1000000km", "fabric.topology.fabric_link.length", "at most 1s"),
        ("jobs.0.send_overhead=2000s", "jobs.0.send_overhead", "at most 1000s"),
        (_TCP % "write_size: 2GB", "tcp.0.write_size", "1B to 1GB"),
        (_TCP % "start: 2000s", "tcp.0.start", "at most 1000s"),
        (_TCP % "collective: incast, root: 2", "tcp.0.root", "at most 1 with this `ranks`"),
    ],
)
def test_a_number_out_of_its_range_is_named_in_the_words_of_the_plan(
    override: str, field: str, allowed: str
) -> None:
    assert problems_of(override) == [(field, allowed)]


def test_a_target_of_storage_serves_in_a_time_that_is_known() -> None:
    overrides = (_STORAGE % "service_rate: 1bps, service_time: 2000s", "sweep=null")
    assert sorted(problems_of(*overrides)) == [
        ("jobs.0.storage.service_rate", "1Mbps to 100Tbps"),
        ("jobs.0.storage.service_time", "at most 1000s"),
    ]


def test_a_handshake_has_small_messages() -> None:
    overrides = ("transport.qp_mode=per_pair", "jobs.0.rendezvous={control_size: 8KB}")
    assert problems_of(*overrides) == [("jobs.0.rendezvous.control_size", "1B to 4KB")]


def test_all_numbers_out_of_their_ranges_are_named_at_once() -> None:
    fields = [field for field, _ in problems_of(_SWIFT % "beta: 2, window_max: 1e8, base_target: 2000s")]
    names = ("base_target", "beta", "scaling_range", "window_max")
    assert sorted(fields) == [f"transport.rate_control.swift.{name}" for name in names]


def test_a_job_that_only_others_end_needs_others() -> None:
    expected = [("jobs.0.repeat", "at least one job that ends by itself")]
    assert problems_of("jobs.0.repeat=until-others-end") == expected


def test_scheduled_switches_are_of_one_fabric() -> None:
    topology = "fabric.topology={kind: full-mesh, hosts: 8}"
    ((field, allowed),) = problems_of(topology, "fabric.switch.scheduled=on")
    assert field == "fabric.topology.kind"
    assert allowed.startswith("leaf-spine or single-switch")


def test_storage_is_not_modelled_on_infiniband() -> None:
    ((field, allowed),) = problems_of(_STORAGE % "depth: 1", "sweep=null", "fabric.link_layer=infiniband")
    assert (field, allowed) == ("jobs", "none, as its frames have the sizes of RoCEv2")


def test_what_only_the_type_limits_has_no_most() -> None:
    assert range_text("alpha_timer_ps", (1, (1 << 64) - 1)) == "1ps or more"
    assert plan_path("tcp[0].initial_window_segments") == ("tcp", 0, "initial_window")
