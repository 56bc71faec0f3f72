"""Expected values: what is drawn, what decides, limits by order statistics, and the command."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.samples import call

import fabricbench as fb
from fabricbench.plan.engine import busiest_link
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_text
from fabricbench.results.studies.expected import Range, limit_of, order_of, trials_needed, variance_share
from fabricbench.runner.expect_trials import placed
from fabricbench.store import Workspace

RING = """
fabricbench: 1
name: ring
title: A ring over two leaves
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 8, spines: 8}
  load_balancing: ecmp
transport: {mtu: 4096, qp_mode: per_pair}
jobs:
  - {name: a, ranks: "0,8,1,9,2,10,3,11", collective: all-gather, algorithm: ring}
  - {name: b, ranks: "4,12,5,13,6,14,7,15", collective: all-gather, algorithm: ring}
sweep:
  data_size: [8MB, 16MB]
"""
PINNED = "{kind: pinned, pins: [{switch: leaf0, uplink: 0, flows: [a/0>1]}]}"
FLOW = RING + "backend: flow\n"
SPRAY = RING.replace("balancing: ecmp", "balancing: spray-random").replace(
    "_pair", "_pair, recovery: selective"
)


def test_the_busiest_link_is_that_of_the_record(tmp_path: Path) -> None:
    """A queue pair of a ring sends in every step, so that a port has as many as over the whole run."""
    plan = fb.load(_written(tmp_path, RING)).with_({"iterations": 3, "sweep.data_size": "64KB"})
    run = fb.run(plan, workspace=tmp_path / "w")
    planned = load_text(RING, "ring.yaml", ["iterations=3", 'sweep.data_size=["64KB"]']).trials
    for trial, one in zip(run, planned, strict=True):
        leaves, spines = (
            trial.ports["node"].str.starts_with("leaf"),
            trial.ports["peer"].str.starts_with("spine"),
        )
        ports = trial.ports.filter(leaves & spines)
        found = busiest_link(one.spec_json)
        assert found is not None
        assert found["queue_pairs"] == ports["egress_qps"].max()
        own = ports.filter(ports["node"] == found["switch"])
        assert found["queue_pairs_of_switch"] == own["egress_qps"].sum() == 8
        assert (found["links"], found["rate_bps"]) == (8, 400_000_000_000)


def _written(folder: Path, text: str) -> Path:
    (folder / "plan.yaml").write_text(text, encoding="utf-8")
    return folder / "plan.yaml"


def test_there_is_no_busiest_link_where_packets_go_everywhere_or_nothing_crosses() -> None:
    assert busiest_link(load_text(SPRAY, "plan.yaml").trials[0].spec_json) is None
    inside = load_text(RING, "plan.yaml", ['jobs.0.ranks="0-3"', 'jobs.1.ranks="4-7"'])
    assert busiest_link(inside.trials[0].spec_json) is None


def test_a_placement_is_one_order_of_servers_for_all_jobs() -> None:
    text = (
        FLOW.replace(
            "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 8, spines: 8}",
            "{kind: rail-optimised, servers: 8, rails: 2, spines: 2}\n  server: none",
        )
        .replace('"0,8,1,9,2,10,3,11"', '"0-14:2"')
        .replace('"4,12,5,13,6,14,7,15"', '"1-15:2"')
    )
    loaded = load_text(text, "plan.yaml")
    found = [part.loaded.trials[0].run_spec["jobs"] for part in placed(loaded, 3)]
    again = [part.loaded.trials[0].run_spec["jobs"] for part in placed(loaded, 3)]
    assert found == again
    orders = [[host // 2 for host in jobs[0]["hosts"]] for jobs in found]
    assert len({tuple(order) for order in orders}) == 3
    for jobs, order in zip(found, orders, strict=True):
        assert sorted(order) == list(range(8))
        assert jobs[0]["hosts"] == [2 * server for server in order]
        assert jobs[1]["hosts"] == [2 * server + 1 for server in order]
    assert [part.placement for part in placed(loaded, 0)] == [0]


def test_placements_beside_variants_that_place_are_refused() -> None:
    variants = 'variants:\n  - {name: a}\n  - {name: b, set: {jobs.a.ranks: "0-3,8-11"}}\n'
    text = FLOW + variants
    with pytest.raises(PlanError, match="which placements would set"):
        list(placed(load_text(text, "plan.yaml"), 2))


def test_quartiles_are_values_of_trials() -> None:
    assert Range.of([4, 1, 3, 2]) == Range(1, 1, 2, 3, 4)
    assert Range.of([7]) == Range(7, 7, 7, 7, 7)
    assert Range.of([1, 2, 3]).spread_percent == 100


def test_a_limit_is_an_order_statistic() -> None:
    values = [float(value) for value in range(1, 51)]
    random.Random(1).shuffle(values)
    low = limit_of("busbw_gb_per_s", values, 0.05, 0.0)
    assert (low.minimum, low.maximum, low.order, low.false_alarm) == (2, None, 2, 2 / 51)
    high = limit_of("completion_time_ms", values, 0.05, 0.1)
    assert (high.minimum, high.order) == (None, 2)
    assert high.maximum == pytest.approx(49 * 1.1)
    assert limit_of("busbw_gb_per_s", values[:5], 0.05, 0.0).false_alarm == 1 / 6
    assert [order_of(count, 0.05) for count in (18, 19, 38, 39, 199)] == [1, 1, 1, 2, 10]
    assert [trials_needed(share) for share in (0.05, 0.5, 0.01, 0.04)] == [19, 1, 99, 24]


@pytest.mark.parametrize("draw", ["normalvariate", "lognormvariate", "bimodal"])
def test_false_alarms_are_as_rare_as_it_says_whatever_the_distribution(draw: str) -> None:
    source, alarms, runs = random.Random(draw), 0, 4000

    def one() -> float:
        return source.choice([1.0, 2.0]) if draw == "bimodal" else float(getattr(source, draw)(0, 1))

    for _ in range(runs):
        limit = limit_of("busbw_gb_per_s", [one() for _ in range(39)], 0.05, 0.0)
        alarms += one() < (limit.minimum or 0.0)
    assert alarms / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    if draw != "bimodal":
        assert alarms / runs >= 0.05 - 3 * (0.05 * 0.95 / runs) ** 0.5


def test_the_share_of_the_variance_is_that_of_closed_forms() -> None:
    assert variance_share([1, 1, 2, 2], ["a", "a", "b", "b"]) == 1
    assert variance_share([1, 2, 1, 2], ["a", "a", "b", "b"]) == 0
    # Squares: 5 in all, 1 within; (3 - 1) of 4 - 1 degrees of freedom are left.
    assert variance_share([1, 2, 3, 4], ["a", "a", "b", "b"]) == pytest.approx(1 - 1 / 5 * 3 / 2)
    assert variance_share([1, 1], ["a", "b"]) is None
    assert variance_share([1, 2], ["a", "a"]) is None
    source = random.Random(2)
    noise = [source.random() for _ in range(60)]
    assert (variance_share(noise, [source.randrange(20) for _ in noise]) or 0) < 0.4


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expected")
    _written(folder, FLOW)
    return folder


def expected(folder: Path, *arguments: str) -> Any:
    finished = call("expect", "plan.yaml", "--seeds", "12", *arguments, cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_range_and_what_decides_it(used: Path) -> None:
    content = json.loads(expected(used, "--format", "json", "--false-alarm", "10"))
    assert (content["plan"], content["backend"], content["seeds"]) == ("ring", "flow", 12)
    sizes = {(each["of"], each["job"], each["data_size_bytes"]): each for each in content["expected"]}
    assert len(sizes) == 6
    slowest = sizes["slowest", None, 16 << 20]
    time, bus = slowest["ranges"]["completion_time_ms"], slowest["ranges"]["busbw_gb_per_s"]
    assert time["least"] < time["most"]
    # Each of k queue pairs on a link of 400 Gb/s has 400 / k, and a ring is as slow as its slowest.
    assert 49.0 / bus["least"] == pytest.approx(round(49.0 / bus["least"]), rel=0.06)
    assert any(
        "queue pairs on the busiest link between switches explain" in text for text in slowest["decides"]
    )
    of_jobs = [sizes["job", job, 16 << 20]["ranges"]["completion_time_ms"]["most"] for job in ("a", "b")]
    assert max(of_jobs) == time["most"]
    limits = {each["metric"]: each for each in slowest["limits"]}
    assert limits["busbw_gb_per_s"]["min"] == bus["least"]
    assert limits["busbw_gb_per_s"]["false_alarm"] == 1 / 13


def test_a_second_call_runs_nothing(used: Path) -> None:
    first = expected(used)
    attempts = max(trial.attempt for trial in _trials(used))
    assert expected(used) == first
    assert max(trial.attempt for trial in _trials(used)) == attempts
    assert len(_trials(used)) == 24


def _trials(folder: Path) -> list[Any]:
    return Workspace.open(folder / "fabricbench-workspace").trials()


def test_the_criteria_pass_in_the_plan_that_they_are_of(used: Path) -> None:
    text = expected(used, "--format", "yaml", "--false-alarm", "10")
    found = YAML(typ="safe").load(text)["criteria"]
    assert {each["metric"] for each in found} == {"busbw_gb_per_s", "ideal_percent"}
    assert {each["job"] for each in found} == {"a", "b"}
    (used / "judged.yaml").write_text(FLOW + text)
    assert call("run", "judged.yaml", "-s", "iterations=12", cwd=used).returncode == 0


def test_nccl_tests_gets_arguments_that_fail_below_the_limit(used: Path) -> None:
    lines = expected(used, "--format", "nccl", "--as-one", "--false-alarm", "10").splitlines()
    (command,) = [line for line in lines if not line.startswith("#")]
    assert command.endswith(" all_gather_perf -b 16M -e 32M -f 2 -g 1 -c 1")
    (told,) = [line for line in lines if "average of" in line]
    least = float(told.split("average of ")[1].split()[0])
    assert float(command.split("=")[1].split()[0]) * 0.9 == pytest.approx(least, rel=2e-3)


def test_all_jobs_as_one_have_the_rates_of_all_their_ports(used: Path) -> None:
    content = json.loads(expected(used, "--format", "json", "--as-one"))
    one = next(e for e in content["expected"] if e["of"] == "together" and e["data_size_bytes"] == 32 << 20)
    assert one["ranks"] == 16
    by_job = [e for e in content["expected"] if e["job"] and e["data_size_bytes"] == 16 << 20]
    least = min(e["ranges"]["busbw_gb_per_s"]["least"] for e in by_job)
    assert one["ranges"]["busbw_gb_per_s"]["least"] == pytest.approx(2 * least)


def test_a_measurement_is_set_beside_the_range_of_its_plan(used: Path) -> None:
    expected(used)
    content = json.loads(expected(used, "--format", "json"))
    of_jobs = [e for e in content["expected"] if e["job"] and e["data_size_bytes"] == 16 << 20]
    bus = min(e["ranges"]["busbw_gb_per_s"]["least"] for e in of_jobs) / 2
    size, factor = 16 << 20, 7 / 8
    microseconds = round(size * factor / bus / 1e3, 1)
    algorithm = size / microseconds / 1e3
    row = f"{microseconds} {algorithm:.2f} {algorithm * factor:.2f} 0"
    half = "time algbw busbw #wrong"
    head = f"# Collective test starting: all_gather_perf\n# size count type redop root {half} {half}\n"
    ranks = "".join(f"#  Rank {n} Group 0 Pid {n + 9} on h{n} device 0 [0x0f] H100\n" for n in range(8))
    (used / "nccl.txt").write_text(ranks + head + f"{size} {size // 32} float none -1 {row} {row}\n")
    told = call("explain", "nccl.txt", "--format", "json", cwd=used)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["plan"] == "ring"
    assert found["reached"] == pytest.approx(0.5, rel=0.02)
    named = json.loads(
        call("explain", "nccl.txt", "--plan", "plan.yaml", "--format", "json", cwd=used).stdout
    )
    assert (named["adapters"], named["rate_gbps"]) == (1, 400)


def test_placements_are_trials_of_their_own(used: Path) -> None:
    content = json.loads(
        expected(used, "--placements", "2", "-s", "sweep.data_size=[1MB]", "--format", "json")
    )
    assert {each["trials"] for each in content["expected"]} == {24}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "0"], "--seeds"),
        (["--false-alarm", "99"], "--false-alarm"),
        (["--format", "xml"], "--format"),
        (["--as-one", "-s", "jobs.b.collective=all-reduce"], "leave --as-one out"),
        (["--as-one", "-s", "solo=true", "-s", "jobs.b.collective=all-reduce"], "leave --as-one out"),
        (["--placements", "2", "-s", f"fabric.load_balancing={PINNED}"], "no pins beside"),
        (["--backend", "none"], 'no backend "none"'),
    ],
)
def test_what_cannot_be_expected_is_refused(used: Path, arguments: list[str], told: str) -> None:
    finished = call("expect", "plan.yaml", *arguments, cwd=used)
    assert finished.returncode == 2
    assert told in " ".join(finished.stderr.split())
    assert "Traceback" not in finished.stderr


def test_python_has_the_same(used: Path) -> None:
    plan = fb.load(used / "plan.yaml")
    found = fb.expect(plan, seeds=12, workspace=used / "fabricbench-workspace", false_alarm=0.1)
    rows = json.loads(expected(used, "--format", "json", "--false-alarm", "10"))["expected"]
    assert found.frame.height == sum(len(each["ranges"]) for each in rows)
    assert found.criteria
    assert found.decides
    assert found.nccl_tests
    assert repr(found).startswith("ring: expected of 12 seeds")
    with pytest.raises(ValueError, match="false_alarm"):
        fb.expect(plan, false_alarm=0.9)


def test_the_packet_simulator_tells_causes(tmp_path: Path) -> None:
    plan = fb.load(_written(tmp_path, RING)).with_({"sweep.data_size": "1MB"})
    found = fb.expect(plan, seeds=4, workspace=tmp_path / "w", false_alarm=0.5)
    assert any("causes that `explain` finds first" in sentence for *_, sentence in found.decides)


def test_the_flow_model_is_checked_with_packets(used: Path) -> None:
    arguments = ["--check", "-s", "sweep.data_size=[1MB]", "--format", "json"]
    finished = call("expect", "plan.yaml", "--seeds", "2", *arguments, cwd=used)
    (found,) = json.loads(finished.stdout)["checked"]
    assert found["deviation_percent"] == pytest.approx(100 * (found["time_ms"] / found["packets_ms"] - 1))
    simulated = call(
        "run", "plan.yaml", "--backend", "sim", "-s", "sweep.data_size=[1MB]", "--format", "json", cwd=used
    )
    times = [each["completion_time_ms"] for each in json.loads(simulated.stdout)["trials"]]
    assert found["packets_ms"] == max(times)
    is_far = abs(found["deviation_percent"]) > 5
    assert ("off packets" in finished.stderr) == is_far


def test_the_page_has_the_curve_of_the_slowest_job_and_the_table(used: Path) -> None:
    expected(used, "-o", "page.html")
    text = (used / "page.html").read_text()
    figure = json.loads(text.split('data-target="plot-curves">')[1].split("</script>")[0])
    (curve,) = (trace for trace in figure["data"] if str(trace.get("name")).startswith("expected"))
    assert len(curve["x"]) == len(set(curve["x"])) > 1
    assert "limits for acceptance" in text.lower()


def test_the_bound_of_the_slowest_job_is_found_by_flows(used: Path) -> None:
    content = json.loads(expected(used, "--format", "json"))
    assert {(each["of"], bool(each["gains"])) for each in content["expected"]} == {
        ("slowest", True),
        ("job", False),
    }
    for each in content["expected"]:
        assert not each["gains"] or set(each["gains"]) == {"uplinks", "adapter", "scale-up", "latency"}
    text = expected(used)
    assert "gain if" in text
    assert any(bound in text for bound in ("uplinks", "adapter"))
