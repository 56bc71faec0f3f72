"""Storage jobs of a plan: what they become, and the mistakes one can make."""

from pathlib import Path

import pytest
from tests.plan.examples import first_bytes, golden, plan_of, write_plan

from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import expand
from fabricbench.plan.load import load_plan

STORAGE = """\
fabricbench: 1
name: dfs
fabric:
  topology: {kind: single-switch, hosts: 16, host_link: 25Gbps}
jobs:
  - name: dfs
    collective: storage
    storage:
      clients: "0-10"
      targets: "11-14"
      depth: 32
      block_size: 4KB
      duration: 1ms
      warm_up: 100us
"""
MISTAKES = golden("storage")


@pytest.mark.parametrize("case", MISTAKES, ids=[case["name"] for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(tmp_path: Path, case: dict[str, str]) -> None:
    assert STORAGE.count(case["replace"]) == 1
    with pytest.raises(PlanError) as error:
        load_plan(write_plan(tmp_path, STORAGE.replace(case["replace"], case["by"])))
    assert str(error.value).replace(f"{tmp_path}/", "") == case["expect"]


def test_clients_and_targets_are_the_ranks() -> None:
    (trial,) = expand(plan_of(STORAGE))
    (job,) = trial.run_spec["jobs"]
    assert job["hosts"] == list(range(15))
    assert job["work"] == {
        "kind": "storage",
        "block_bytes": 4096,
        "clients": 11,
        "depth": 32,
        "read_ppm": 0,
        "length": {"kind": "duration", "duration_ps": 10**9},
        "warm_up_ps": 10**8,
        "in_capsule_bytes": 4096,
        "outstanding_reads": 16,
        "service_rate_bps": None,
        "service_time_ps": 0,
    }


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("read", 10**6), ("mixed", 500_000), ("mixed\n      read_share: 70%", 700_000)],
)
def test_an_operation_reads_or_writes(operation: str, expected: int) -> None:
    text = STORAGE.replace("depth: 32", f"operation: {operation}").replace("duration: 1ms", "operations: 7")
    (trial,) = expand(plan_of(text.replace("      warm_up: 100us\n", "")))
    storage = trial.run_spec["jobs"][0]["work"]
    assert storage["kind"] == "storage"
    assert (storage["read_ppm"], storage["depth"]) == (expected, 1)
    assert storage["length"] == {"kind": "operations", "operations": 7}


def test_the_sweep_may_give_the_block_size() -> None:
    text = STORAGE.replace("      block_size: 4KB\n", "") + "sweep: {data_size: [4KB, 4MB]}\n"
    sizes = [first_bytes(trial) for trial in expand(plan_of(text))]
    assert sizes == [4 << 10, 4 << 20]


def test_a_storage_job_needs_its_clients() -> None:
    text = STORAGE[: STORAGE.index("    storage:\n")] + "    data_size: 4KB\n"
    with pytest.raises(PlanError, match="storage: found nothing; allowed: what the clients do"):
        plan_of(text)
