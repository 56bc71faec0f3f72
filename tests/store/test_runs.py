"""The queue of runs: first come, first served, each once, and nothing lost."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fabricbench.store import Workspace
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.host_sets import HostSet
from fabricbench.store.runs import QueuedRun, RunQueue


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path, create=True)


def add(queue: RunQueue, plan: str = "small", **given: Any) -> QueuedRun:
    facts = {"plan": plan, "title": "", "plan_source": "", "options": {"count": 0}, "planned": []}
    return queue.add(**(facts | given))


def test_runs_are_claimed_in_the_order_in_which_they_came(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    added = [add(queue, plan) for plan in ("a", "b", "c")]
    assert queue.waiting() == [run.id for run in added]
    claimed = [queue.claim() for _ in range(4)]
    assert [run.plan if run else None for run in claimed] == ["a", "b", "c", None]
    assert queue.counts() == {"running": 3}


def test_each_run_is_claimed_by_one(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    added = {add(queue).id for _ in range(20)}
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: queue.claim(), range(24)))
    assert len([run for run in claimed if run]) == len({run.id for run in claimed if run}) == 20
    assert {run.id for run in claimed if run} == added


def test_a_run_keeps_what_was_asked_for(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    options = {"overrides": ["a=1"], "tags": ["ü"], "count": 1}
    planned = [{"id": "0123456789ab", "data_size_bytes": 1}]
    run = add(queue, options=options, planned=planned, owner="ada", title="T")
    found = RunQueue(Workspace.open(workspace.root)).find(run.id)
    assert found == run
    assert found is not None
    assert (found.options, found.trials, found.owner, found.state) == (options, planned, "ada", "queued")
    assert queue.find("0" * 12) is None


def test_a_queued_run_is_cancelled_at_once_and_a_running_one_is_asked_to_end(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second = add(queue), add(queue)
    queue.claim()
    assert [run.state for run in map(queue.cancel, (first.id, second.id)) if run] == ["running", "cancelled"]
    assert queue.cancelled([first.id, second.id]) == [first.id]
    queue.end(first.id, "failed", pid=1)
    queue.end(first.id, "cancelled", "by ada")
    ended = queue.find(first.id)
    assert ended is not None
    assert (ended.state, ended.message, ended.cancel_requested) == ("cancelled", "by ada", False)
    queue.end(first.id, "failed")
    assert ended == queue.find(first.id)


def test_a_run_of_which_nothing_was_done_is_put_back_in_its_place(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second = add(queue), add(queue)
    queue.claim()
    queue.put_back(first.id)
    assert queue.waiting() == [first.id, second.id]
    assert queue.find(first.id) == first


def test_what_ended_early_waits_again_behind_the_others(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second = add(queue), add(queue)
    assert queue.claim()
    assert (again := queue.resume(first.id)) is not None
    assert again.state == "running"
    queue.end(first.id, "interrupted")
    assert (again := queue.resume(first.id)) is not None
    assert (again.state, again.options["resume"]) == ("queued", True)
    assert queue.waiting() == [second.id, first.id]
    assert queue.resume("0" * 12) is None


def test_a_run_whose_process_is_gone_is_interrupted_and_others_are_left_alone(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second, third = add(queue), add(queue), add(queue)
    script = (
        "import sys; from pathlib import Path; from fabricbench.store import Workspace\n"
        "from fabricbench.store.runs import RunQueue\n"
        "RunQueue(Workspace.open(Path(sys.argv[1]))).claim()"
    )
    subprocess.run([sys.executable, "-c", script, str(workspace.root)], check=True)
    assert (own := queue.claim()) is not None
    assert own.id == second.id
    assert queue.recover() == [first.id]
    assert queue.recover() == []
    states = [run.state for run in map(queue.find, (first.id, second.id, third.id)) if run]
    assert states == ["interrupted", "running", "queued"]


def test_pages_have_the_newest_first(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    added = [add(queue).id for _ in range(5)]
    queue.cancel(added[0])
    total, page = queue.page(limit=2, offset=1)
    assert (total, [run.id for run in page]) == (5, [added[3], added[2]])
    total, page = queue.page(states=["cancelled"])
    assert (total, [run.id for run in page]) == (1, [added[0]])


RACK = HostSet("rack", "0123abcd", ("h0:7470", "h1:7470"))
ROW = HostSet("row", "4567abcd", ("h1:7470", "h2:7470"))
ELSEWHERE = HostSet("elsewhere", "89ababcd", ("h9:7470",))
ALL = (RACK, ROW, ELSEWHERE)


def test_a_run_on_hosts_waits_until_no_other_uses_one_of_them(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second = add(queue, backend="hosts", hosts=RACK), add(queue, backend="hosts", hosts=ROW)
    third, simulated = add(queue, backend="hosts", hosts=ELSEWHERE), add(queue, backend="sim")
    claimed = [queue.claim(ALL) for _ in range(4)]
    assert [run.id if run else None for run in claimed] == [first.id, third.id, simulated.id, None]
    assert claimed[0] is not None
    assert (claimed[0].backend, claimed[0].hosts) == ("hosts", RACK)
    assert queue.obstacles(ALL) == {second.id: f"hosts row: run {first.id} uses them"}
    queue.end(first.id, "complete")
    assert queue.obstacles(ALL) == {}
    assert (last := queue.claim(ALL)) is not None
    assert last.id == second.id


def test_runs_on_the_same_hosts_come_in_their_order(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    first, second, third = (
        add(queue, hosts=hosts) for hosts in (RACK, ROW, HostSet("one", "0", ("h2:7470",)))
    )
    offered = (*ALL, HostSet("one", "0", ("h2:7470",)))
    assert (claimed := queue.claim(offered)) is not None
    assert claimed.id == first.id
    told = queue.obstacles(offered)
    assert told[third.id] == f"hosts one: run {second.id}, which is for them too, comes first"
    assert queue.claim(offered) is None
    queue.cancel(second.id)
    assert (claimed := queue.claim(offered)) is not None
    assert claimed.id == third.id


def test_a_run_is_left_to_who_has_its_hosts_as_they_were(workspace: Workspace) -> None:
    queue = RunQueue(workspace)
    run, simulated = add(queue, hosts=RACK), add(queue)
    assert "which this server does not have" in queue.obstacles()[run.id]
    changed = HostSet("rack", "changed!", RACK.agents)
    assert "their file has changed here" in queue.obstacles([changed])[run.id]
    assert [each.id for each in (queue.claim([changed]), queue.claim()) if each] == [simulated.id]
    assert (claimed := queue.claim([RACK])) is not None
    assert claimed.id == run.id


@pytest.mark.parametrize(
    "spoilt", ["", "{", "[]", '{"name": "rack"}', '{"name": 1, "digest": 2, "agents": 3}']
)
def test_a_run_whose_hosts_cannot_be_read_holds_up_no_other(workspace: Workspace, spoilt: str) -> None:
    queue = RunQueue(workspace)
    first, second = add(queue, hosts=RACK), add(queue, hosts=RACK)
    with workspace.database.writing() as connection:
        connection.update("runs", {"hosts": spoilt}, Sql("id = ?", first.id))
    assert (claimed := queue.claim(ALL)) is not None
    assert claimed.id == second.id
    assert "cannot be read" in queue.obstacles(ALL)[first.id]
    assert queue.page()[0] == 2
