"""The flow model beside the packet simulator: equal where nothing is shared, near where links are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.support.samples import call

from fabricbench.report.documents.diagnosis import insight
from fabricbench.runner.listener import Quiet
from fabricbench.runner.loading import backend_of, load
from fabricbench.runner.trials import Runner
from fabricbench.store import Trial, Workspace

SWITCH = "{kind: single-switch, hosts: 8, host_link: 400Gbps}"
LEAVES = "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, host_link: 400Gbps}"


def plan(job: str, topology: str = SWITCH, balancing: str = "ecmp", size: str = "8MB") -> str:
    recovery = "go-back-n" if balancing == "ecmp" else "selective"
    return (
        f"fabricbench: 1\nname: flows\n"
        f"fabric: {{topology: {topology}, load_balancing: {balancing}}}\n"
        f"transport: {{recovery: {recovery}}}\n"
        f"jobs:\n  - {{name: test, {job}}}\nsweep: {{data_size: {size}}}\n"
    )


def run_on(root: Path, text: str, backend: str) -> Trial:
    root.mkdir(exist_ok=True)
    (root / "flows.yaml").write_text(text)
    loaded = load(str(root / "flows.yaml"), [f"backend={backend}"])
    workspace = Workspace.open(root / "workspace", create=True)
    (trial,) = Runner(workspace, backend_of(loaded, {}), Quiet()).run(loaded).trials
    return trial


def end_ps(root: Path, text: str, backend: str) -> int:
    summary = run_on(root, text, backend).summary
    assert summary is not None
    end = summary["jobs"][0]["end_ps"]
    assert isinstance(end, int)
    return end


def error(root: Path, text: str) -> float:
    simulated = end_ps(root, text, "sim")
    return abs(end_ps(root, text, "flow") - simulated) / simulated


def test_a_transfer_alone_takes_what_its_packets_take(tmp_path: Path) -> None:
    text = plan('ranks: "0,4", collective: incast', LEAVES)
    assert end_ps(tmp_path, text, "flow") == end_ps(tmp_path, text, "sim")


@pytest.mark.parametrize(
    ("job", "topology", "balancing"),
    [
        ("ranks: all, collective: all-reduce, algorithm: ring", SWITCH, "ecmp"),
        ("ranks: all, collective: all-to-all", SWITCH, "ecmp"),
        ("ranks: all, collective: all-gather, algorithm: ring", LEAVES, "spray-round-robin"),
    ],
)
def test_traffic_without_congestion_is_within_two_per_cent(
    tmp_path: Path, job: str, topology: str, balancing: str
) -> None:
    assert error(tmp_path, plan(job, topology, balancing)) < 0.02


@pytest.mark.parametrize("window", [1, 3, 16])
def test_a_window_costs_a_transfer_alone_what_it_costs_its_packets(tmp_path: Path, window: int) -> None:
    text = plan('ranks: "0,4", collective: incast', LEAVES, size="1MB")
    narrow = text.replace("go-back-n}", f"go-back-n, window: {window}, ack_every: 1}}")
    assert narrow != text
    assert error(tmp_path, narrow) < 1e-6


def test_a_window_holds_across_messages_of_a_queue_pair(tmp_path: Path) -> None:
    text = plan(
        'ranks: "0-3", collective: permutation, arrivals: {load: 90%, process: constant, duration: 50us}',
        size="64",
    )
    assert error(tmp_path, text.replace("go-back-n}", "go-back-n, window: 2}")) < 0.02


@pytest.mark.parametrize("size", ["64", "4KB"])
def test_messages_of_a_frame_meet_in_queues_as_packets_do(tmp_path: Path, size: str) -> None:
    job = "ranks: all, collective: uniform-random, arrivals: {load: 60%, process: poisson, duration: 50us}"
    assert error(tmp_path, plan(job, LEAVES, size=size)) < 0.02


@pytest.mark.parametrize("senders", [2, 3, 5])
def test_so_many_flows_on_a_link_take_so_many_times_as_long(tmp_path: Path, senders: int) -> None:
    def took(senders: int, size: str) -> int:
        job = f'ranks: "0-{senders}", collective: incast'
        return end_ps(tmp_path / f"{senders} {size}", plan(job, size=size), "flow")

    one, twice = took(1, "8MB"), took(1, "16MB")
    assert took(senders, "8MB") - one == pytest.approx((senders - 1) * (twice - one), rel=0.001)


def test_packets_sprayed_over_links_of_different_rates_are_refused(tmp_path: Path) -> None:
    topology = (
        "{kind: custom, host_link: 100Gbps, switches: [{name: a, hosts: 1}, {name: b, hosts: 1}], "
        "links: [{between: [a, b], link: 100Gbps}, {between: [a, b], link: 40Gbps}]}"
    )
    (tmp_path / "flows.yaml").write_text(plan("ranks: all, collective: incast", topology, "spray-random"))
    finished = call("run", "flows.yaml", "--backend", "flow", cwd=tmp_path)
    assert finished.returncode == 2
    assert "links of a with different rates" in finished.stderr


def test_what_the_model_does_not_cover_is_refused_by_field(tmp_path: Path) -> None:
    text = plan('ranks: "0-7", collective: all-reduce, repeat: 3')
    (tmp_path / "flows.yaml").write_text(text)
    finished = call("run", "flows.yaml", "--backend", "flow", cwd=tmp_path)
    assert finished.returncode == 2
    assert "repeat" in finished.stderr
    assert "several rounds" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_the_check_of_a_plan_names_the_line_of_what_the_model_refuses(tmp_path: Path) -> None:
    text = plan('ranks: "0-7", collective: all-reduce, repeat: 3')
    (tmp_path / "flows.yaml").write_text(text + "backend: flow\n")
    finished = call("plan", "check", "flows.yaml", cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: flows.yaml:6: jobs.0.repeat: found several rounds; ")
    assert "hint: `--backend sim` simulates packets" in finished.stderr


@pytest.mark.parametrize(
    "failure",
    [
        "{at: 1us, kind: link-down, link: leaf0-spine1}",
        "{at: 1us, kind: link-rate, link: host2-leaf0, rate: 100Gbps}",
        "{at: 1us, kind: switch-down, switch: spine2}",
        "{at: 1us, kind: bit-errors, link: leaf0-spine1, rate: 1e-9}",
        "{at: 1us, kind: frame-loss, link: leaf0-spine1, share: 1%}",
        "{at: 1us, kind: nic-throughput, host: 1, throughput: 50%}",
    ],
    ids=["link-down", "link-rate", "switch-down", "bit-errors", "frame-loss", "nic-throughput"],
)
def test_failures_are_refused_by_field_and_line(tmp_path: Path, failure: str) -> None:
    text = plan("ranks: all, collective: all-to-all", LEAVES)
    text = text.replace("load_balancing", f"failures: [{failure}], load_balancing")
    (tmp_path / "flows.yaml").write_text(text)
    finished = call("run", "flows.yaml", "--backend", "flow", cwd=tmp_path)
    field = "at" if "down" in failure or "link-rate" in failure else "kind"
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"error: flows.yaml:3: fabric.failures.0.{field}: found ")
    assert "from the start (the flow model covers no more)" in finished.stderr
    assert "hint: `--backend sim` simulates packets" in finished.stderr


def test_pauses_in_a_circle_are_refused(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(5)]
    switches = ", ".join(f"{{name: {name}, hosts: 2}}" for name in names)
    pairs = zip(names, names[1:] + names[:1], strict=True)
    links = ", ".join(f"{{between: [{name}, {after}]}}" for name, after in pairs)
    ring = f"{{kind: custom, switches: [{switches}], links: [{links}]}}"
    text = plan('ranks: "0,4,8,2,6", collective: all-gather', ring, size="10MB")

    def check(pfc: str) -> CompletedProcess[str]:
        fields = text.replace("load_balancing", f"switch: {{pfc: {pfc}}}, load_balancing")
        (tmp_path / "ring.yaml").write_text(fields)
        return call("plan", "check", "ring.yaml", "-s", "backend=flow", cwd=tmp_path)

    refused = check("on")
    assert refused.returncode == 2
    assert "pauses that may wait for each other in a circle" in refused.stderr
    assert check("off").returncode == 0


def test_flows_have_an_estimate_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "flows.yaml").write_text(plan("ranks: all, collective: all-to-all") + "backend: flow\n")
    assert "estimate: 56 chunks as flows" in call("plan", "check", "flows.yaml", cwd=tmp_path).stdout


LARGE = {
    "fat-tree": "{kind: fat-tree, pods: 64, leaves_per_pod: 32, hosts_per_leaf: 64, aggs_per_pod: 32, "
    "cores_per_agg: 32}",
    "rail-pods": "{kind: rail-pods, pods: 128, servers_per_pod: 128, rails: 8, spines_per_rail: 128, "
    "cores_per_spine: 1, links_per_core: 32, scale_up_link: 3.6Tbps}",
    "multi-plane": "{kind: multi-plane, planes: 4, leaves: 512, hosts_per_leaf: 256, spines: 256}",
}


@pytest.mark.parametrize("topology", LARGE.values(), ids=LARGE)
def test_a_plan_for_131_072_gpus_is_checked_in_little_memory(tmp_path: Path, topology: str) -> None:
    job = "ranks: all, collective: permutation"
    (tmp_path / "flows.yaml").write_text(plan(job, topology) + "backend: flow\n")
    program = [sys.executable, "-m", "fabricbench", "plan", "check", "--force", str(tmp_path / "flows.yaml")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert "131,072 ranks on 131,072 hosts" in found
    assert usage.ru_maxrss * 1024 < 1 << 30


def test_sprayed_packets_that_would_be_resent_are_refused(tmp_path: Path) -> None:
    text = plan("ranks: all, collective: all-to-all", LEAVES, "spray-random")
    (tmp_path / "flows.yaml").write_text(text.replace("selective", "go-back-n"))
    finished = call("run", "flows.yaml", "--backend", "flow", cwd=tmp_path)
    assert finished.returncode == 2
    assert "transport.recovery" in finished.stderr


def test_what_needs_packets_is_null(tmp_path: Path) -> None:
    trial = run_on(tmp_path, plan("ranks: all, collective: all-to-all"), "flow")
    chunks = trial.tables.table("chunks")
    nulls = {name: chunks[name].null_count for name in ("retransmits", "ecn_ce_rx", "completed_ps")}
    assert (len(chunks), nulls) == (56, {"retransmits": 56, "ecn_ce_rx": 56, "completed_ps": 0})


@pytest.mark.parametrize("collective", ["all-to-all", "all-reduce, algorithm: ring"])
def test_a_summary_counts_what_would_have_rows(tmp_path: Path, collective: str) -> None:
    text = plan(f"ranks: all, collective: {collective}")
    rows = run_on(tmp_path / "rows", text, "flow").tables.table("chunks").to_pylist()
    summary = run_on(tmp_path / "summary", text + "observe: {chunks: summary}\n", "flow").tables
    assert len(summary.table("chunks")) == 0
    steps = summary.table("chunk_steps").to_pylist()
    assert sum(step["chunks"] for step in steps) == len(rows)
    for step in steps:
        of_it = [row for row in rows if row["step"] == step["step"]]
        assert step["completed_ps"] == max(row["completed_ps"] for row in of_it)
        assert step["start_ps"] == min(row["start_ps"] for row in of_it)
        assert (step["retransmits"], step["latency_frames"]) == (None, None)
    times = Counter(row["fct_ps"] for row in rows)
    assert {row["fct_ps"]: row["chunks"] for row in summary.table("chunk_times").to_pylist()} == times


def test_a_ring_of_131_072_gpus_takes_seconds(tmp_path: Path) -> None:
    text = plan("ranks: all, collective: all-reduce, algorithm: ring", LARGE["fat-tree"], size="4GB")
    text += "observe: {chunks: summary}\n"
    text = text.replace("load_balancing: ecmp", "load_balancing: ecmp, switch: {pfc: on, ecn: alibaba}")
    trial = run_on(tmp_path, text.replace("transport: {", "transport: {rate_control: dcqcn, "), "flow")
    assert trial.summary is not None
    (job,) = trial.summary["jobs"]
    assert (job["status"], job["chunks"]) == ("complete", 2 * 131_071 * 131_072)
    assert len(trial.tables.table("chunk_steps")) == 2 * 131_071


def test_a_report_says_that_it_comes_from_a_flow_model(tmp_path: Path) -> None:
    run_on(tmp_path, plan("ranks: all, collective: all-to-all"), "flow")
    finished = call("report", "--workspace", "workspace", "-o", "report.html", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "An approximate model" in (tmp_path / "report.html").read_text()


def test_the_report_of_a_slow_job_of_flows_says_that_no_cause_was_looked_for(tmp_path: Path) -> None:
    text = plan("ranks: all, collective: all-to-all", LEAVES.replace("spines: 4", "spines: 1"))
    found = insight(run_on(tmp_path, text, "flow"))
    assert ([finding.cause for finding in found.findings], found.losses) == (["not-recorded"], {})
    finished = call("report", "--workspace", "workspace", "-o", "report.html", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr


ONE_KM = "{kind: single-switch, hosts: 4, host_link: {rate: 100Gbps, length: 1km}}"


@pytest.mark.parametrize(
    ("transport", "job", "field", "said"),
    [
        # 4,178 bytes and an acknowledgement over two links of 1 km, 5 us each way.
        ("rate_control: {swift: {base_target: 5us}}", "send-receive", "rate_control", "a target of"),
        ("rate_control: {swift: {base_target: 15us}}", "all-reduce", "rate_control", "a target of"),
        (
            "rate_control: {timely: {rtt_low: 5us, rtt_high: 15us}}",
            "send-receive",
            "rate_control",
            "a target of 15 us",
        ),
        ("timeout: 20us", "send-receive", "timeout", "20 us, and 2"),
        ("timeout: 20us, ack_every: 1", "all-reduce", "timeout", "20 us, and 2"),
        # Three senders of 1 MB each before the last hop.
        ("timeout: 40us", "incast", "timeout", "40 us, and acknowledgements that may"),
    ],
)
def test_delays_that_senders_react_to_on_an_idle_path_are_refused(
    tmp_path: Path, transport: str, job: str, field: str, said: str
) -> None:
    ranks = "0-1" if job == "send-receive" else "0-3"
    text = plan(f'ranks: "{ranks}", collective: {job}', ONE_KM, size="4MB")
    (tmp_path / "flows.yaml").write_text(text.replace("recovery: go-back-n", transport) + "backend: flow\n")
    checked = call("plan", "check", "flows.yaml", cwd=tmp_path)
    assert checked.returncode == 2, checked.stderr
    assert f"flows.yaml:4: transport.{field}: found {said}" in checked.stderr
    assert call("run", "flows.yaml", cwd=tmp_path).returncode == 2


def test_targets_and_timeouts_above_the_delays_are_run(tmp_path: Path) -> None:
    for transport in ("rate_control: {swift: {base_target: 25us}}", "timeout: 30us"):
        text = plan('ranks: "0-3", collective: all-reduce', ONE_KM, size="4MB")
        assert error(tmp_path, text.replace("recovery: go-back-n", transport)) < 0.02, transport


def test_chunks_as_long_as_the_window_follow_each_other_as_packets_do(tmp_path: Path) -> None:
    text = plan('ranks: "0-3", collective: all-reduce', ONE_KM, size="4MB")
    for window in (200, 256, 300, 500):
        own = f"qp_mode: per_pair, window: {window}"
        assert error(tmp_path, text.replace("recovery: go-back-n", own)) < 0.05, window
