"""Measurements that differ in a setting are separate results; the same settings again are repetitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.measured.printed import flat, nccl, osu, perftest
from tests.support.samples import call

from fabricbench import importing
from fabricbench.importing import (
    AS_EXPECTED,
    Hardware,
    MeasuredError,
    Options,
    RuleInput,
    Source,
    Suspect,
    fabric_of,
    read_facts,
    suspects,
)
from fabricbench.plan.load import load_plan
from fabricbench.store import Trial, Workspace

CASES = Path(__file__).parent / "diagnosed"
SAMPLES = Path(__file__).parent / "samples"


def imported(folder: Path, text: bytes | str, options: Options | None = None) -> importing.Imported:
    store = Workspace.open(folder / "workspace", create=True)
    data = text.encode() if isinstance(text, str) else text
    return importing.import_results(store, Source("file.txt", data), options)


def runs_of(trials: list[Trial] | tuple[Trial, ...]) -> dict[str, list[int]]:
    """Return the iterations of each run, by the name that stands for a plan."""
    found: dict[str, list[int]] = {}
    for trial in trials:
        found.setdefault(trial.facts.plan, []).append(trial.facts.iteration)
    return found


def examined(text: bytes | str, hardware: Hardware) -> RuleInput:
    data = text.encode() if isinstance(text, str) else text
    found = read_facts(Source("file.txt", data))
    fabric = fabric_of(found, hardware, None, None)
    return found.rule_input(fabric.hardware, fabric.ranges)


def causes(text: bytes | str, hardware: Hardware) -> list[Suspect]:
    return suspects(examined(text, hardware))


def test_two_runs_with_other_variables_are_two_runs(tmp_path: Path) -> None:
    data = (CASES / "nccl-two-settings.txt").read_bytes()
    found = imported(tmp_path, data)
    assert runs_of(list(found.trials)) == {"all_reduce_perf-run1": [0] * 4, "all_reduce_perf-run2": [0] * 4}
    assert len({trial.facts.suite for trial in found.trials}) == 2
    assert any("NCCL_IB_ADAPTIVE_ROUTING=1, NCCL_IB_OOO_RQ=0" in each for each in found.warnings)
    named = causes(data, Hardware(8, 400.0, "the test"))
    assert "collisions" not in {each.cause for each in named}
    (differs,) = [each for each in named if each.cause == "different-settings"]
    assert "NCCL_IB_ADAPTIVE_ROUTING=1" in differs.evidence[0]
    assert "NCCL_IB_ADAPTIVE_ROUTING=0" in differs.evidence[1]


def test_types_and_operations_are_separate_and_one_of_them_judges_the_network(tmp_path: Path) -> None:
    data = (CASES / "nccl-data-types.txt").read_bytes()
    found = imported(tmp_path, data)
    assert runs_of(list(found.trials)) == {
        f"all_reduce_perf-{name}": [0, 0] for name in ("int8-sum", "half-sum", "float-sum", "float-prod")
    }
    named = causes(data, Hardware(1, 400.0, "the test"))
    assert [each.cause for each in named] == [AS_EXPECTED]
    assert "48.81" in named[0].evidence[0]


def test_adapters_are_separate_results(tmp_path: Path) -> None:
    data = (CASES / "perftest-two-adapters.txt").read_bytes()
    trials = imported(tmp_path, data).trials
    assert runs_of(list(trials)) == {"ib_write_bw-mlx5_0": [0], "ib_write_bw-mlx5_1": [0]}
    rates = [8 * trial.results[0]["busbw_gb_per_s"] for trial in trials]
    assert rates == [pytest.approx(92.57, rel=1e-3), pytest.approx(97.28, rel=1e-3)]
    path = CASES / "perftest-two-adapters.txt"
    text = call("explain", str(path), "--workspace", str(tmp_path / "w"), cwd=tmp_path).stdout
    assert "189.8 Gb/s together, if they ran at the same time" in text


TWICE = flat(300.0)
JSON_RUN = json.loads((SAMPLES / "nccl_reduce_scatter.json").read_text())


def json_runs(*changes: dict[str, object]) -> str:
    return "\n".join(json.dumps(JSON_RUN | change) for change in changes)


DIFFERENT = {
    "hosts": nccl(TWICE) + nccl(TWICE, hosts=("node-c", "node-d")),
    "devices": nccl(TWICE, ranks=2) + nccl(TWICE, ranks=2, first_device=4),
    "library": nccl(TWICE) + nccl(TWICE, version="2.18.3 nccl-headers=22203 nccl-library=22203"),
    "benchmark's version": nccl(TWICE) + nccl(TWICE, version="2.17.6 nccl-headers=23003 nccl-library=23003"),
    "graph": nccl(TWICE) + nccl(TWICE, options="graph: 4"),
    "dates": nccl(TWICE, before="Mon Nov  3 14:05:01 UTC 2025")
    + nccl(TWICE, before="Tue Nov  4 14:05:01 UTC 2025"),
    "start times": nccl(TWICE, before="# Date: 2025-11-03 14:05:01")
    + nccl(TWICE, before="# Date: 2025-11-03 18:22:40"),
    "exported variable": nccl(TWICE, before="$ ./all_reduce_perf")
    + nccl(TWICE, before="$ export NCCL_ALGO=Tree\n$ ./all_reduce_perf"),
    "variable in the log": nccl(TWICE, log="node-a:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL.")
    + nccl(TWICE, log="node-a:1:1 [0] NCCL INFO NCCL_PROTO set by environment to Simple."),
    "options": nccl(TWICE, before="$ srun -n16 --cpu-bind=none ./all_reduce_perf")
    + nccl(TWICE, before="$ srun -n16 --cpu-bind=cores ./all_reduce_perf"),
    "root": nccl(TWICE, benchmark="broadcast_perf", kind="float none 0")
    + nccl(TWICE, benchmark="broadcast_perf", kind="float none 8"),
    "window of OSU": osu([(1 << 20, 9000.0)], below="# [ pairs: 1 ] [ window size: 64 ]")
    + osu([(1 << 20, 7000.0)], below="# [ pairs: 1 ] [ window size: 8 ]"),
    "library of OSU": osu([(1 << 20, 9000.0)]) + osu([(1 << 20, 9000.0)], title="MPI-CUDA"),
    "transport of OSU": osu([(1 << 20, 9000.0)], before="$ mpirun -np 2 -x UCX_TLS=rc osu_bw")
    + osu([(1 << 20, 900.0)], before="$ mpirun -np 2 -x UCX_TLS=tcp osu_bw"),
    "queue pairs": perftest([(65536, 92.0)]) + perftest([(65536, 97.0)], queue_pairs=4),
    "MTU": perftest([(65536, 92.0)], mtu=1024) + perftest([(65536, 97.0)]),
    "directions": perftest([(65536, 92.0)])
    + perftest([(65536, 180.0)], title="RDMA_Write Bidirectional BW Test"),
    "hosts of perftest": perftest([(65536, 92.0)], gids=("::ffff:10.0.0.1", "::ffff:10.0.0.2"))
    + perftest([(65536, 97.0)], gids=("::ffff:10.0.0.1", "::ffff:10.0.0.3")),
    "ends of one test": perftest([(65536, 92.0)], addresses=("0x0118", "0x0119"))
    + perftest([(65536, 92.0)], addresses=("0x0119", "0x0118"))
    .replace("0x85dc10", "0x85dc1x")
    .replace("0x85dc11", "0x85dc10")
    .replace("0x85dc1x", "0x85dc11"),
    "memory": perftest([(65536, 92.0)])
    + perftest(
        [(65536, 60.0)], before="allocated GPU buffer of a 131072 address at 0x5 for type CUDA_MEM_DEVICE"
    ),
    "variables in JSON": json_runs({"env": ["NCCL_ALGO=Ring"]}, {"env": ["NCCL_ALGO=Tree"]}),
    "start in JSON": json_runs({"start_time": "2025-11-03T10:00:00"}, {"start_time": "2025-11-04T10:00:00"}),
    "days of a launcher": "\n".join(f"2025-11-03T10:00:00Z {line}" for line in nccl(TWICE).splitlines())
    + "\n"
    + "\n".join(f"2025-11-04T10:00:00Z {line}" for line in nccl(TWICE).splitlines()),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_no_repetition(name: str, tmp_path: Path) -> None:
    trials = imported(tmp_path, DIFFERENT[name]).trials
    assert {trial.facts.iteration for trial in trials} == {0}
    assert len({trial.facts.suite for trial in trials}) == 2
    assert len({trial.facts.plan for trial in trials}) == 2
    assert len({trial.id for trial in trials}) == len(trials)


SAME = {
    "nothing": nccl(TWICE) + nccl(TWICE),
    "range of sizes": nccl(TWICE, before="$ mpirun -np 16 ./all_reduce_perf -b 256M -e 1G -f 2")
    + nccl(TWICE, before="$ mpirun -np 16 ./all_reduce_perf -b 8 -e 1G -f 2"),
    "file of output": nccl(TWICE, before="$ mpirun -np 16 ./all_reduce_perf | tee one.txt")
    + nccl(TWICE, before="$ mpirun -np 16 ./all_reduce_perf | tee two.txt"),
    "what is logged": nccl(TWICE, before="$ mpirun -np 16 -x NCCL_DEBUG=WARN ./all_reduce_perf")
    + nccl(TWICE, before="$ mpirun -np 16 -x NCCL_DEBUG=VERSION ./all_reduce_perf"),
    "perftest again": perftest([(65536, 92.0)]) + perftest([(65536, 91.0)], addresses=("0x120", "0x121")),
    "one command for several tables": nccl(TWICE, before="$ mpirun -np 16 ./all_reduce_perf") + nccl(TWICE),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_again_is_a_repetition(name: str, tmp_path: Path) -> None:
    trials = imported(tmp_path, SAME[name]).trials
    assert {trial.facts.iteration for trial in trials} == {0, 1}
    assert len({trial.facts.suite for trial in trials}) == 1


def test_equal_runs_at_other_times_of_a_day_may_collide_and_on_other_days_do_not() -> None:
    fast, slow = flat(380.0), flat(190.0)
    hardware = Hardware(8, 400.0, "the test")
    day = "# Date: 2025-11-0{} 1{}:00:00"
    same_day = nccl(fast, before=day.format(3, 1)) + nccl(slow, before=day.format(3, 2))
    (collisions,) = [each for each in causes(same_day, hardware) if each.cause == "collisions"]
    assert collisions.confidence == 1
    assert "2025-11-03 11:00:00" in collisions.evidence[0]
    other_day = nccl(fast, before=day.format(3, 1)) + nccl(slow, before=day.format(7, 2))
    assert "collisions" not in {each.cause for each in causes(other_day, hardware)}


def test_of_two_ends_of_a_test_a_warning_says_that_they_are_one(tmp_path: Path) -> None:
    found = imported(tmp_path, DIFFERENT["ends of one test"])
    assert any("the other end of the test at line" in each for each in found.warnings)


def test_a_setting_that_explains_what_is_missing_is_named_before_ratios() -> None:
    slow = nccl(flat(190.0), before="$ mpirun -np 16 -x NCCL_IB_QPS_PER_CONNECTION=1 ./all_reduce_perf")
    fast = nccl(flat(385.0), before="$ mpirun -np 16 -x NCCL_IB_QPS_PER_CONNECTION=8 ./all_reduce_perf")
    first, *_ = causes(slow + fast, Hardware(8, 400.0, "the test"))
    assert (first.cause, first.confidence) == ("different-settings", 2)
    assert "NCCL_IB_QPS_PER_CONNECTION=1" in first.evidence[0]


# Four jobs of two ranks have four ports of 400 Gb/s on each host: 4 * 50 * 4096 / 4178 = 196.07 GB/s.
IDEAL_OF_FOUR = 4 * 50 * 4096 / (4096 + 82)


def test_jobs_of_a_plan_that_do_it_together_are_pooled(tmp_path: Path) -> None:
    plan = load_plan(str(CASES / "two-rails.yaml"))
    data = (CASES / "nccl-two-servers.txt").read_bytes()
    found = imported(tmp_path, data, Options(plan=plan))
    assert [trial.facts.plan for trial in found.trials] == ["two-hosts"] * 6
    row = found.trials[-1].results[0]
    assert row["ideal_percent"] == pytest.approx(100 * row["busbw_gb_per_s"] / IDEAL_OF_FOUR)
    assert row["ideal_percent"] == pytest.approx(45.2, abs=0.05)
    assert found.warnings[1:] == []  # one says which collective it is
    _, sizes = importing.plan_sizes(plan, found.trials)
    assert sizes == [4 << 20, 16 << 20, 64 << 20]  # each of the four jobs has a fourth


FLAT = """
fabricbench: 1
name: flat
fabric:
  topology: {kind: single-switch, hosts: 8, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-7", collective: all-reduce, algorithm: ring}
sweep: {data_size: [16MB]}
"""


def test_more_than_the_ideal_has_a_note_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "flat.yaml"
    path.write_text(FLAT)
    found = imported(
        tmp_path, (CASES / "nccl-two-servers.txt").read_bytes(), Options(plan=load_plan(str(path)))
    )
    percents = [trial.results[0]["ideal_percent"] for trial in found.trials]
    assert min(percents) > 100
    assert all(
        f"{percent:.0f} % of the ideal" in trial.notes[0]
        for percent, trial in zip(percents, found.trials, strict=True)
    )
    assert sum("of the ideal" in each for each in found.warnings) == len(set(map(round, percents)))
    shown = call("show", found.trials[0].id, "--workspace", str(tmp_path / "workspace"), cwd=tmp_path)
    assert "of the ideal of plan flat" in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("ranks", "collective", "has_ideal"),
    [
        (["0,4", "1,5", "2,6", "3,7"], "all-reduce", True),
        (["0,2,4,6", "1,3,5,7"], "all-reduce", True),
        (
            ["0,4", "1,5", "2,6", "3,7"],
            "all-to-all",
            False,
        ),  # of which jobs apart send less than all together
    ],
)
def test_pooled_jobs_have_an_ideal_if_they_are_rings(
    ranks: list[str], collective: str, has_ideal: bool, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.yaml"
    job = '  - {{name: j{}, ranks: "{}", collective: {}, algorithm: {}}}'
    algorithm = "ring" if collective == "all-reduce" else "parallel"
    jobs = [job.format(place, each, collective, algorithm) for place, each in enumerate(ranks)]
    head, _, _ = FLAT.partition("jobs:")
    path.write_text("\n".join([f"{head}jobs:", *jobs, "sweep: {data_size: [16MB]}"]))
    benchmark = "all_reduce_perf" if collective == "all-reduce" else "alltoall_perf"
    data = nccl(flat(80.0), ranks=8, benchmark=benchmark)
    if benchmark == "alltoall_perf":
        data = data.replace("float sum", "float none")
    row = imported(tmp_path, data, Options(plan=load_plan(str(path)))).trials[-1].results[0]
    expected = 100 * row["busbw_gb_per_s"] / (IDEAL_OF_FOUR / 4 * len(ranks))
    assert row["ideal_percent"] == (pytest.approx(expected) if has_ideal else None)


def test_a_plan_of_too_few_ranks_is_refused_with_what_all_jobs_have_together(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text((CASES / "two-rails.yaml").read_text().replace("  - {name: r3", "  # {name: r3"))
    with pytest.raises(MeasuredError, match="all-reduce of 6 ranks, all jobs together") as refused:
        imported(tmp_path, (CASES / "nccl-two-servers.txt").read_bytes(), Options(plan=load_plan(str(path))))
    assert "8 ranks" in refused.value.hint


def test_only_the_judged_type_takes_the_name_and_the_ideal_of_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "pair.yaml"
    path.write_text(FLAT.replace('"0-7"', '"0-1"'))
    data = (CASES / "nccl-data-types.txt").read_bytes()
    trials = imported(tmp_path, data, Options(plan=load_plan(str(path)))).trials
    ideals = {trial.facts.plan: trial.results[0]["ideal_percent"] for trial in trials}
    assert ideals.pop("flat") == pytest.approx(100 * 48.81 / (50 * 4096 / 4178), rel=1e-3)
    assert ideals == {"flat-int8-sum": None, "flat-half-sum": None, "flat-float-prod": None}
