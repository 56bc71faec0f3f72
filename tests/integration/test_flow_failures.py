"""Links that fail under the flow model: what packets make of it, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.integration.test_flow import run_on
from tests.support.samples import call
from tools.swarm.failing import failing_plan_of

from fabricbench.plan import engine
from fabricbench.plan.kinds import FAILING, kinds_of
from fabricbench.runner import loading

LINKS_AND_ROUTES = {"link_down", "link_up", "link_rate", "switch_down", "routes_converged"}
LEAVES = "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, host_link: 400Gbps}"
DOWN = "{at: 50us, kind: link-down, link: leaf0-spine1}"
REPAIRED = f"{DOWN}, {{at: 90us, kind: link-up, link: leaf0-spine1}}"
SPINE = "{at: 60us, kind: switch-down, switch: spine2}"
SLOW = "{at: 60us, kind: link-rate, link: host2-leaf0, rate: 100Gbps}"


def plan(job: str, failures: str, recovery: str = "go-back-n", topology: str = LEAVES) -> str:
    return (
        f"fabricbench: 1\nname: flows\n"
        f"fabric:\n  topology: {topology}\n  switch: {{pfc: on}}\n"
        f"  convergence_time: 20us\n  failures: [{failures}]\n"
        f"transport: {{recovery: {recovery}, timeout: 500us}}\n"
        f"jobs:\n  - {{name: test, {job}}}\nsweep: {{data_size: 8MB}}\n"
    )


def ended(root: Path, text: str, backend: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return the job of a run, and what happened to links and routes."""
    trial = run_on(root, text, backend)
    assert trial.summary is not None
    events = trial.tables.table("events").to_pylist()
    return trial.summary["jobs"][0], [event for event in events if event["kind"] in LINKS_AND_ROUTES]


@pytest.mark.parametrize("recovery", ["go-back-n", "selective"])
@pytest.mark.parametrize("failures", [DOWN, REPAIRED, SPINE, SLOW], ids=["down", "repaired", "spine", "slow"])
def test_an_all_to_all_meets_a_failure_as_its_packets_do(
    tmp_path: Path, failures: str, recovery: str
) -> None:
    text = plan("ranks: all, collective: all-to-all", failures, recovery)
    packets, told = ended(tmp_path, text, "sim")
    flows, told_of_flows = ended(tmp_path, text, "flow")
    assert flows["end_ps"] == pytest.approx(packets["end_ps"], rel=0.05)
    assert told_of_flows == told


def test_a_host_that_cannot_be_reached_fails_the_same_chunks(tmp_path: Path) -> None:
    failure = "{at: 20us, kind: link-down, link: host4-leaf1}"
    text = plan('ranks: "0,1,4,5", collective: all-to-all', failure, "selective")
    packets, _ = ended(tmp_path, text, "sim")
    flows, _ = ended(tmp_path, text, "flow")
    assert flows["status"] == packets["status"] == "incomplete"
    assert flows["chunks_failed"] == packets["chunks_failed"] > 0


def test_pauses_in_a_circle_are_refused(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(5)]
    switches = ", ".join(f"{{name: {name}, hosts: 2}}" for name in names)
    pairs = zip(names, names[1:] + names[:1], strict=True)
    links = ", ".join(f"{{between: [{name}, {after}]}}" for name, after in pairs)
    ring = f"{{kind: custom, switches: [{switches}], links: [{links}]}}"
    text = plan('ranks: "0,4,8,2,6", collective: all-gather', "", topology=ring)

    def check(text: str) -> CompletedProcess[str]:
        (tmp_path / "ring.yaml").write_text(text)
        return call("plan", "check", "ring.yaml", "-s", "backend=flow", cwd=tmp_path)

    refused = check(text.replace("8MB", "10MB"))
    assert refused.returncode == 2
    assert "pauses that may wait for each other in a circle" in refused.stderr
    assert check(text.replace("8MB", "10MB").replace("pfc: on", "pfc: off")).returncode == 0


@pytest.mark.parametrize(
    "failure",
    [
        "{at: 1us, kind: bit-errors, link: leaf0-spine1, rate: 1e-9}",
        "{at: 1us, kind: frame-loss, link: leaf0-spine1, share: 1%}",
        "{at: 1us, kind: nic-throughput, host: 1, throughput: 50%}",
    ],
    ids=["bit-errors", "frame-loss", "nic-throughput"],
)
def test_random_losses_and_slow_adapters_are_refused(tmp_path: Path, failure: str) -> None:
    (tmp_path / "plan.yaml").write_text(plan("ranks: all, collective: all-to-all", failure))
    loaded = loading.load(str(tmp_path / "plan.yaml"))
    (refusal,) = engine.check(loaded.trials[0].spec_json, engine.FLOW)
    assert refusal.field == "fabric.failures[0].kind"


def test_scenarios_of_failures_are_a_kind_of_their_own() -> None:
    for seed in (1, 2, 3, 4):
        (trial, *_) = loading.load_fields(failing_plan_of(seed)).trials
        assert set(kinds_of(trial.run_spec)) == {FAILING}
        # Of their short timeouts some may expire behind other queue pairs.
        refused = {each.field for each in engine.check(trial.spec_json, engine.FLOW)}
        assert refused <= {"transport.timeout_ps"}
