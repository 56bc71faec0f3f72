"""Buffers, PFC, ECN, DCQCN, priorities and NICs: what a plan says is what the engine is told."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import SMALL, golden, plan_of, write_plan

from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import expand
from fabricbench.plan.fabric.switches.ecn import ECN
from fabricbench.plan.fields.quantities import parse_ratio
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.transport.dcqcn import DCQCN
from fabricbench.units import UnitError

MISTAKES = golden("congestion")
OFF_PATHS = {"pfc": None, "ecn": None, "scheduling": {"kind": "strict"}}


def plan_text(where: str, lines: str) -> str:
    """Return the small plan with lines added to its fabric or transport, or in place of its job's."""
    if where == "fabric":
        return SMALL.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n  {lines}\n")
    if where == "transport":
        # DCQCN is given ECN where only its parameters are in question.
        ecn = "  switch: {ecn: sonic}\n" if "dcqcn: {" in lines else ""
        text = SMALL.replace("transport: {mtu: 4096, ack_every: 2}", f"transport:\n  {lines}")
        return text.replace("host_link: 400Gbps\n", f"host_link: 400Gbps\n{ecn}")
    given = "".join(f"    {line}\n" for line in lines.splitlines())
    collective = "" if "collective" in lines else "    collective: all-reduce\n"
    return SMALL.replace('    ranks: "0-7"\n    collective: all-to-all\n', given + collective)


def fabric_of(lines: str) -> Any:
    return expand(plan_of(plan_text("fabric", lines)))[0].run_spec["fabric"]


def switch_of(fields: str) -> Any:
    return fabric_of(f"switch: {{{fields}}}")["switch"]


def transport_of(lines: str) -> Any:
    return expand(plan_of(plan_text("transport", lines)))[0].run_spec["transport"]


@pytest.mark.parametrize("case", MISTAKES, ids=[case["add"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str], tmp_path: Path) -> None:
    name = write_plan(tmp_path, plan_text(case["where"], case["add"]))
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert str(caught.value).replace(name, "plan.yaml") == case["expect"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("buffer: 32MB", {"size_bytes": 2**25, "cell_bytes": 1, "lossy_alpha": None}),
        (
            "buffer: {size: 1MB, cell: 256, lossy_alpha: 0.5}",
            {"size_bytes": 2**20, "cell_bytes": 256, "lossy_alpha": {"numerator": 1, "denominator": 2}},
        ),
        (
            "buffer: {lossy_alpha: 2}",
            {"size_bytes": 2**26, "cell_bytes": 1, "lossy_alpha": {"numerator": 2, "denominator": 1}},
        ),
        ("buffer: {lossy_alpha: none}", {"size_bytes": 2**26, "cell_bytes": 1, "lossy_alpha": None}),
    ],
)
def test_buffers_are_written_out(fields: str, expected: dict[str, Any]) -> None:
    cells = {"kind": "cells", "bytes": max(expected["cell_bytes"], 256)}
    assert switch_of(fields)["buffer"] == expected | {"release": cells}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("scheduling: strict", {"kind": "strict"}),
        ("scheduling: dwrr", {"kind": "dwrr", "quantum_bytes": [8192] * 8}),
        (
            "scheduling: {dwrr: {quantum: {3: 32KB, 6: 4KB}}}",
            {"kind": "dwrr", "quantum_bytes": [8192, 8192, 8192, 32768, 8192, 8192, 4096, 8192]},
        ),
        (
            "scheduling: {dwrr: {quantum: [1, 2, 3, 4, 5, 6, 7, 1KB]}}",
            {"kind": "dwrr", "quantum_bytes": [1, 2, 3, 4, 5, 6, 7, 1024]},
        ),
    ],
)
def test_schedulings_are_written_out(fields: str, expected: dict[str, Any]) -> None:
    assert switch_of(fields)["scheduling"] == expected


def test_scheduled_switches_are_off_take_their_defaults_or_what_is_given() -> None:
    assert switch_of("")["scheduled"] is None
    defaults = {
        "credit_bytes": 4096,
        "credit_speedup_ppm": 1_030_000,
        "cell_bytes": 256,
        "cell_header_bytes": 16,
        "control_cell_bytes": 16,
        "fabric_speedup_ppm": 1_111_111,
        "egress_buffer_bytes": None,
    }
    assert switch_of("scheduled: on")["scheduled"] == defaults
    given = switch_of("scheduled: {credit: 8KB, fabric_speedup: 1.25, egress_buffer: 1MB}")["scheduled"]
    changed = {"credit_bytes": 8192, "fabric_speedup_ppm": 1_250_000, "egress_buffer_bytes": 2**20}
    assert given == defaults | changed


def test_off_is_the_default() -> None:
    for fields in ("", "pfc: off, ecn: off, scheduling: strict"):
        assert OFF_PATHS.items() <= switch_of(fields).items()


def test_pfc_takes_its_defaults_or_what_is_given() -> None:
    assert switch_of("pfc: on")["pfc"] == {
        "priorities": [3],
        "xoff": {"kind": "dynamic", "alpha": {"numerator": 1, "denominator": 4}},
        "xon_offset_bytes": 16_384,
        "reserved_bytes": 9_216,
        "headroom_bytes": None,
        "quanta": 65_535,
        "watchdog": None,
    }
    fields = "priorities: [6, 3], xoff: {bytes: 100KB}, xon_offset: 0, reserved: 0, headroom: 50KB, quanta: 1"
    assert switch_of(f"pfc: {{{fields}}}")["pfc"] == {
        "priorities": [6, 3],
        "xoff": {"kind": "static", "bytes": 102_400},
        "xon_offset_bytes": 0,
        "reserved_bytes": 0,
        "headroom_bytes": 51_200,
        "quanta": 1,
        "watchdog": None,
    }
    assert switch_of("pfc: {headroom: auto}")["pfc"]["headroom_bytes"] is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("off", None),
        ("on", {"detection_ps": 2 * 10**11, "restoration_ps": 2 * 10**11, "action": "drop"}),
        (
            "{detection: 1ms, restoration: 3ms, action: forward}",
            {"detection_ps": 10**9, "restoration_ps": 3 * 10**9, "action": "forward"},
        ),
    ],
)
def test_a_watchdog_takes_its_defaults_or_what_is_given(fields: str, expected: object) -> None:
    assert switch_of(f"pfc: {{watchdog: {fields}}}")["pfc"]["watchdog"] == expected


def test_thresholds_move_by_the_defaults_or_by_what_is_given() -> None:
    assert switch_of("ecn: alibaba")["ecn"]["dynamic"] is None
    assert switch_of("ecn: {preset: alibaba, dynamic: off}")["ecn"]["dynamic"] is None
    assert switch_of("ecn: {preset: alibaba, dynamic: on}")["ecn"]["dynamic"] == {
        "interval_ps": 10**8,
        "scale_min_ppm": 250_000,
        "scale_max_ppm": 4_000_000,
        "raise_ppm": 250_000,
        "lower_ppm": 200_000,
        "link_use_ppm": 950_000,
        "queueing_delay_ps": 2 * 10**7,
        "incast_degree": 8,
        "confirm_intervals": 2,
    }
    fields = (
        "interval: 50us, floor: 1/8, ceiling: 2, raise_by: 10%, lower_by: 30%, link_use: 90%, "
        "queueing_delay: 5us, incast_degree: 4, confirm: 1"
    )
    assert switch_of(f"ecn: {{preset: sonic, dynamic: {{{fields}}}}}")["ecn"]["dynamic"] == {
        "interval_ps": 5 * 10**7,
        "scale_min_ppm": 125_000,
        "scale_max_ppm": 2_000_000,
        "raise_ppm": 100_000,
        "lower_ppm": 300_000,
        "link_use_ppm": 900_000,
        "queueing_delay_ps": 5 * 10**6,
        "incast_degree": 4,
        "confirm_intervals": 1,
    }


@pytest.mark.parametrize(
    ("ecn", "expected"),
    [
        # At 400 Gb/s the engine makes 1.6 and 6.4 MB of it.
        ("alibaba", [100_000, 400_000, 200_000, 25 * 10**9]),
        ("on", [100_000, 400_000, 200_000, 25 * 10**9]),
        ("sonic", [512_000, 2_097_152, 50_000, None]),
        ("{preset: alibaba, kmin: 1MB, kmax: 2MB, pmax: 1%}", [2**20, 2**21, 10_000, 25 * 10**9]),
        ("{preset: sonic, kmin: 0, reference_rate: 100Gbps}", [0, 2_097_152, 50_000, 10**11]),
        ("{kmin: 1MB, kmax: 1MB, pmax: 100%}", [2**20, 2**20, 1_000_000, None]),
    ],
)
def test_thresholds_of_ecn_come_from_the_preset_unless_given(ecn: str, expected: list[int | None]) -> None:
    spec = switch_of(f"ecn: {ecn}")["ecn"]
    names = ("kmin_bytes", "kmax_bytes", "pmax_ppm", "reference_rate_bps")
    assert ([spec[name] for name in names], spec["priorities"]) == (expected, [3])


def test_pfc_and_ecn_follow_the_priority_of_data() -> None:
    text = plan_text("fabric", "switch: {pfc: on, ecn: sonic}").replace(
        "ack_every: 2", "priorities: {data: 4, ack: 4}"
    )
    spec = expand(plan_of(text))[0].run_spec
    assert spec["transport"]["priorities"] == {"data": 4, "ack": 4, "cnp": 6}
    pfc, ecn = spec["fabric"]["switch"]["pfc"], spec["fabric"]["switch"]["ecn"]
    assert pfc is not None
    assert ecn is not None
    assert (pfc["priorities"], ecn["priorities"]) == ([4], [4])


def test_the_priority_of_cnps_is_in_use_with_dcqcn_only() -> None:
    text = plan_text("fabric", "switch: {ecn: sonic, pfc: {priorities: [3, 5]}}")
    for rate_control, count in (("line-rate", 1), ("dcqcn", 0)):
        transport = f"priorities: {{cnp: 5}}, rate_control: {rate_control}"
        changed = text.replace("ack_every: 2", transport)
        if count:
            with pytest.raises(PlanError, match="priority 5, which no traffic uses"):
                plan_of(changed)
        else:
            assert plan_of(changed).transport.rate_control is not None


@pytest.mark.parametrize("name", DCQCN)
def test_presets_of_dcqcn_are_those_of_their_sources(name: str) -> None:
    us, mbps = 10**6, 10**6
    # In this order: g, alpha timer, cut period, increase timer, byte counter, F, R_AI, R_HAI, CNP interval,
    # clamp.
    expected = {
        "nvidia": [5120, 1 * us, 4 * us, 300 * us, 32_768, 1, 5 * mbps, 50 * mbps, 4 * us, False],
        "paper": [4096, 55 * us, 50 * us, 55 * us, 10 * 2**20, 5, 40 * mbps, 400 * mbps, 50 * us, True],
        # Scaled from 25 to 400 Gb/s.
        "hpcc": [4096, 1 * us, 4 * us, 300 * us, 0, 1, 80 * mbps, 800 * mbps, 4 * us, False],
        # Measured, not scaled.
        "connectx-5": [5120, 55 * us, 4 * us, 300 * us, 0, 0, 30 * mbps, 30 * mbps, 3540 * us, True],
    }[name]
    names = [
        *("g_2e20", "alpha_timer_ps", "rate_cut_period_ps", "increase_timer_ps", "byte_counter_bytes"),
        *("fast_recovery_rounds", "additive_increase_bps", "hyper_increase_bps", "cnp_interval_ps"),
        "clamp_target_rate",
    ]
    spec = transport_of(f"rate_control: {{dcqcn: {{preset: {name}}}}}")["rate_control"]
    assert spec["kind"] == "dcqcn"
    assert [spec[field] for field in names] == expected


@pytest.mark.parametrize(("alpha", "written"), [("1", None), ("0", 0), ("1/4", 1 << 18), ("0.5", 1 << 19)])
def test_the_initial_alpha_of_dcqcn_is_written_unless_it_is_1(alpha: str, written: int | None) -> None:
    spec = transport_of(f"rate_control: {{dcqcn: {{initial_alpha: {alpha}}}}}")["rate_control"]
    assert spec.get("initial_alpha_2e20") == written


@pytest.mark.parametrize(
    ("fields", "interval_us"), [("", 4), (", preset: paper", 50), (", cnp_interval: 52us", 52)]
)
def test_a_sender_without_reaction_runs_at_line_rate_and_has_cnps(fields: str, interval_us: int) -> None:
    spec = transport_of(f"rate_control: {{dcqcn: {{reaction: off{fields}}}}}")["rate_control"]
    assert spec == {"kind": "line-rate", "cnp_interval_ps": interval_us * 10**6}


def test_a_fixed_rate_is_that_of_each_queue_pair() -> None:
    spec = transport_of("rate_control: {fixed: {rate: 25Gbps}}")["rate_control"]
    assert spec == {"kind": "fixed", "rate_bps": 25 * 10**9}


def test_swift_and_timely_have_the_parameters_of_their_sources() -> None:
    us, one = 10**6, 2**20
    assert transport_of("rate_control: swift")["rate_control"] == {
        "kind": "swift",
        "base_target_ps": 20 * us,
        "hop_target_ps": 3_053_435,
        "scaling_range_ps": 100 * us,
        "scaling_window_min_2e20": round(one / 10),
        "scaling_window_max_2e20": 100 * one,
        "additive_increase_2e20": one,
        "beta_ppm": 800_000,
        "decrease_max_ppm": 500_000,
        "window_min_2e20": round(one / 100),
        "window_max_2e20": 1024 * one,
        "reset_timeouts": 5,
    }
    assert transport_of("rate_control: timely")["rate_control"] == {
        "kind": "timely",
        "alpha_ppm": 875_000,
        "beta_ppm": 800_000,
        # The authors' published code; the paper has no limit.
        "decrease_max_ppm": 500_000,
        "rtt_low_ps": 50 * us,
        "rtt_high_ps": 500 * us,
        "rtt_min_ps": 20 * us,
        # 10 Mb/s at 10 Gb/s.
        "additive_increase_bps": 400_000_000,
        "segment_bytes": 16 << 10,
        "rate_min_bps": 100_000_000,
    }


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ("{}", "found nothing; allowed: one of `dcqcn`, `fixed`, `swift` and `timely`"),
        ("{swift: {}, timely: {}}", "found `swift` and `timely`; allowed: one of"),
        ("{swift: {beta: 2}}", "swift.beta: found 2; allowed: at most 1"),
        (
            "{swift: {window_max: 1e8}}",
            r"window_max: found 100000000.0; allowed: 0.001 to 8,388,608\nhint: .* \[packets\]",
        ),
        ("{swift: {beta: 5000}}", "swift.beta: found 5000; allowed: at most 1"),
        ("{swift: {window_min: 8, window_max: 4}}", "window_min: found 8; .* 4 with this `window_max`"),
        ("{swift: {additive_increase: 2000}}", "found 2000; allowed: 0.000001 to 1,000"),
        ("{timely: {rtt_low: 1ms}}", 'rtt_low: found "1ms"; allowed: 1ps to 500us with this `rtt_high`'),
        ("{fixed: {}}", "rate_control.fixed.rate: found nothing"),
        ("{fixed: {rate: 100kbps}}", 'fixed.rate: found "100kbps"; allowed: 1Mbps'),
        ("{fixed: {rate: 1Tbps}}", "fixed.rate: found 1Tbps; allowed: at most the rate of the host's port"),
        (
            "{timely: {rate_min: 1Tbps}}",
            "rate_min: found 1Tbps; allowed: at most the rate of the host's port",
        ),
    ],
)
def test_delay_based_control_that_cannot_work_is_refused(control: str, message: str) -> None:
    text = plan_text("fabric", "switch: {}").replace("ack_every: 2", f"rate_control: {control}")
    with pytest.raises(PlanError, match=message):
        load_text(text, "plan.yaml")


def test_what_is_given_replaces_the_preset_and_is_not_scaled() -> None:
    given = "preset: hpcc, g: 1/16, additive_increase: 1Gbps, byte_counter: 1MB, rate_min: 10Mbps"
    spec = transport_of(f"rate_control: {{dcqcn: {{{given}}}}}")["rate_control"]
    found = [spec[name] for name in ("g_2e20", "additive_increase_bps", "hyper_increase_bps")]
    assert found == [65_536, 10**9, 8 * 10**8]
    assert (spec["byte_counter_bytes"], spec["rate_min_bps"]) == (2**20, 10**7)
    off = transport_of("rate_control: {dcqcn: {preset: nvidia, byte_counter: off}}")["rate_control"]
    assert off["byte_counter_bytes"] == 0


def test_presets_of_ecn_are_in_order() -> None:
    for preset in ECN.values():
        assert 0 < preset.kmin_bytes < preset.kmax_bytes


def test_nics_are_written_out() -> None:
    fields = "drain_rate: 200Gbps, receive_buffer: 1MB, impairments: [{host: 3, throughput: 50%}]"
    assert fabric_of(f"nic: {{{fields}}}")["nic"] == {
        "latency_ps": 400_000,
        "drain_rate_bps": 2 * 10**11,
        "receive_buffer_bytes": 2**20,
        "receive_xoff_bytes": 2**19,
        "impairments": [{"host": 3, "throughput_ppm": 500_000, "direction": "both"}],
    }


def test_impairments_may_hold_for_one_direction() -> None:
    for direction in ("send", "receive"):
        fields = f"{{host: 1, throughput: 25%, direction: {direction}}}"
        nic = fabric_of(f"nic: {{impairments: [{fields}]}}")["nic"]
        assert nic["impairments"] == [{"host": 1, "throughput_ppm": 250_000, "direction": direction}]


@pytest.mark.parametrize("recovery", ["go_back_n", "selective", "none"])
def test_recoveries_are_taken(recovery: str) -> None:
    plan = plan_of(plan_text("transport", f"recovery: {recovery}"))
    assert expand(plan)[0].run_spec["transport"]["recovery"] == recovery


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2, Fraction(2)), (0.25, Fraction(1, 4)), ("5/1024", Fraction(5, 1024)), ("0.1", Fraction(1, 10))],
)
def test_ratios_are_exact(value: object, expected: Fraction) -> None:
    assert parse_ratio(value) == expected


@pytest.mark.parametrize("value", [0, -1, True, None, "x", "1/0", "1/2/3", 2**40, "1e99", float("nan"), []])
def test_what_is_no_ratio_is_refused(value: object) -> None:
    with pytest.raises(UnitError):
        parse_ratio(value)


def test_a_double_binary_tree_without_shared_queue_pairs_is_warned_of(tmp_path: Path) -> None:
    text = plan_text("job", 'ranks: "0-7"\nalgorithm: double-binary-tree')
    (warning,) = load_plan(write_plan(tmp_path, text)).warnings
    assert warning.text("warning").startswith(
        f"warning: {tmp_path}/plan.yaml:14: jobs.0.algorithm: found a pipeline"
    )
    assert warning.hint == "set `transport.qp_mode: per_pair`"
    assert load_plan(write_plan(tmp_path, text), ["transport.qp_mode=per_pair"]).warnings == ()


def test_impairments_name_one_host_or_many() -> None:
    def impaired(host: str) -> list[int]:
        nic = fabric_of(f"nic: {{impairments: [{{host: {host}, throughput: 50%}}]}}")["nic"]
        assert all(entry["throughput_ppm"] == 500_000 for entry in nic["impairments"])
        return [entry["host"] for entry in nic["impairments"]]

    assert impaired("3") == [3]
    assert impaired('"0-6:2"') == [0, 2, 4, 6]
    assert impaired("[7, 1]") == [7, 1]
