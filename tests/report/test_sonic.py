"""Thresholds of switches as configuration of SONiC."""

from __future__ import annotations

from typing import Any

from fabricbench.plan.load import load_plan
from fabricbench.report.output.sonic import sonic_config


def config(plan: str, *overrides: str) -> tuple[dict[str, Any], str]:
    loaded = load_plan(plan, overrides)
    tables, missing = sonic_config(loaded.trials[0].run_spec)
    return tables, "\n".join(missing)


def test_thresholds_are_those_of_the_rate_of_each_port() -> None:
    tables, _ = config("cc-alltoall-dcqcn", "fabric.topology.fabric_link=800Gbps")
    profiles = tables["WRED_PROFILE"]
    assert list(profiles) == ["fabricbench_ecn_400g", "fabricbench_ecn_800g"]
    assert profiles["fabricbench_ecn_400g"]["green_min_threshold"] == "1600000"
    assert profiles["fabricbench_ecn_800g"]["green_max_threshold"] == "12800000"
    assert profiles["fabricbench_ecn_400g"]["green_drop_probability"] == "20"


def test_thresholds_without_a_rate_hold_for_every_port() -> None:
    tables, _ = config("cc-alltoall-dcqcn", "fabric.switch.ecn={kmin: 1MB, kmax: 2MB, pmax: 100%}")
    assert tables["WRED_PROFILE"]["fabricbench_ecn_400g"]["red_min_threshold"] == str(1 << 20)


def test_a_share_between_whole_per_cents_is_told() -> None:
    _, missing = config("cc-alltoall-dcqcn", "fabric.switch.ecn={preset: alibaba, pmax: 2.5%}")
    assert "ecn.pmax: 2.5 %, which SONiC takes in whole per cent" in missing
    assert "transport.rate_control: dcqcn is set at the adapters of hosts" in missing


def test_a_dynamic_threshold_is_a_power_of_two() -> None:
    tables, missing = config("cc-alltoall-pfc", "fabric.switch.pfc=on")
    profile = tables["BUFFER_PROFILE"]["fabricbench_pfc_400g"]
    assert profile == {
        "pool": "ingress_lossless_pool",
        "size": "9216",
        "xon_offset": "16384",
        "dynamic_th": "-2",
    }
    assert "pfc.xoff.alpha" not in missing
    assert tables["PORT_QOS_MAP"] == {"PORT_400G": {"pfc_enable": "3"}}
    assert "pfc.headroom: auto" in missing
    _, missing = config("cc-alltoall-pfc", "fabric.switch.pfc={xoff: {alpha: 0.3}}")
    assert "pfc.xoff.alpha: 0.3" in missing


def test_a_fixed_threshold_headroom_and_watchdog_have_their_fields() -> None:
    pfc = "{xoff: {bytes: 100KB}, headroom: 50KB, watchdog: {detection: 400ms}}"
    tables, _ = config("cc-alltoall-pfc", f"fabric.switch.pfc={pfc}")
    profile = tables["BUFFER_PROFILE"]["fabricbench_pfc_400g"]
    assert (profile["static_th"], profile["xoff"]) == (str(100 << 10), str(50 << 10))
    assert profile["size"] == str((9 << 10) + (50 << 10))
    assert tables["PFC_WD"]["PORT_400G"] == {
        "action": "drop",
        "detection_time": "400",
        "restoration_time": "200",
    }
