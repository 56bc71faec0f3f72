"""Links of jobs: from recorded paths, shortest paths, failures; without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.analysis.memory_tables import MemoryTables
from tests.support.fake_backend import chunk_row, link_row
from tests.support.samples import job_spec

from fabricbench.analysis.links.job_links import JobLinks, LinksOfJobs

LEAVES, SPINES, HOSTS = 3, 2, 2
"""Leaves with as many hosts each: ports 0 and 1 to hosts, 2 and 3 to spines."""


def wiring() -> list[dict[str, Any]]:
    cables = [(f"host{host}", 0, f"leaf{host // HOSTS}", host % HOSTS) for host in range(LEAVES * HOSTS)]
    cables += [
        (f"leaf{leaf}", HOSTS + spine, f"spine{spine}", leaf)
        for leaf in range(LEAVES)
        for spine in range(SPINES)
    ]
    rows = []
    for one, port, other, peer_port in cables:
        rows.append(link_row(one, other, 1, 0) | {"from_port": port, "to_port": peer_port})
        rows.append(link_row(other, one, 1, 0) | {"from_port": peer_port, "to_port": port})
    return rows


def links(
    pairs: Mapping[str, Sequence[tuple[int, int]]],
    paths: Sequence[Mapping[str, Any]] = (),
    failures: Sequence[Mapping[str, Any]] = (),
    **job: Any,
) -> Mapping[str, JobLinks]:
    """Return the links of jobs between whose hosts chunks went; queue pairs are numbered through."""
    ends = [(name, pair) for name, of_job in pairs.items() for pair in of_job]
    chunks = [
        chunk_row(job=name, qp=qp, src_host=source, dst_host=target)
        for qp, (name, (source, target)) in enumerate(ends)
    ]
    spec = {
        "jobs": [job_spec(name, range(6), **job) for name in pairs],
        "fabric": {"failures": list(failures)},
    }
    tables = MemoryTables(chunks=chunks, links=wiring(), paths=[dict(row) for row in paths])
    return LinksOfJobs(spec, tables).by_job


def hop(qp: int, hop: int, node: str, port: int, peer: str) -> dict[str, Any]:
    return {"qp": qp, "job": "a", "src_rank": 0, "dst_rank": 1, "hop": hop} | {
        "node": node,
        "port": port,
        "peer": peer,
    }


def test_a_queue_pair_with_a_path_uses_that_path_alone() -> None:
    path = [hop(0, 0, "leaf0", 3, "spine1"), hop(0, 1, "spine1", 1, "leaf1")]
    found = links({"a": [(0, 2)]}, path)["a"]
    assert found.data == {("host0", 0), ("leaf0", 3), ("spine1", 1), ("leaf1", 0)}
    # Its acknowledgements may come back by either spine.
    assert found.answers == {
        *(("host2", 0), ("leaf1", 2), ("leaf1", 3)),
        *(("spine0", 0), ("spine1", 0), ("leaf0", 0)),
    }


def test_without_a_path_every_shortest_one_counts() -> None:
    found = links({"a": [(0, 2)]})["a"]
    up, down = {("leaf0", 2), ("leaf0", 3)}, {("spine0", 1), ("spine1", 1)}
    assert found.data == {("host0", 0), *up, *down, ("leaf1", 0)}


def test_hosts_at_one_leaf_use_no_link_between_switches() -> None:
    assert links({"a": [(0, 1)]})["a"].data == {("host0", 0), ("leaf0", 1)}


def test_jobs_on_leaves_of_their_own_share_no_link() -> None:
    found = links({"a": [(0, 1), (1, 0)], "b": [(2, 4), (4, 2)]})
    assert found["a"].are_disjoint_from(found["b"].data | found["b"].answers)


def test_jobs_that_share_a_spine_port_share_that_alone() -> None:
    paths = [
        *(hop(0, 0, "leaf0", 2, "spine0"), hop(0, 1, "spine0", 2, "leaf2")),
        *(hop(1, 0, "leaf1", 2, "spine0"), hop(1, 1, "spine0", 2, "leaf2")),
    ]
    found = links({"a": [(0, 4)], "b": [(2, 5)]}, paths)
    assert found["a"].data & found["b"].data == {("spine0", 2)}


def test_a_failed_link_opens_the_paths_around_it() -> None:
    path = [hop(0, 0, "leaf0", 3, "spine1"), hop(0, 1, "spine1", 1, "leaf1")]
    failure = {"kind": "link-down", "at_ps": 5, "link": "leaf0-spine1"}
    found = links({"a": [(0, 2)], "b": [(2, 4)]}, path, [failure])
    assert {("leaf0", 2), ("spine0", 1)} <= found["a"].data
    assert ("leaf0", 2) not in found["b"].data


def test_one_parallel_link_and_a_switch_are_found_by_their_names() -> None:
    spec = {"jobs": [{"name": "a", "hosts": [0, 2]}, {"name": "b", "hosts": [4, 5]}], "fabric": {}}
    tables = MemoryTables(
        chunks=[
            chunk_row(job="a", src_host=0, dst_host=2),
            chunk_row(job="b", qp=1, src_host=4, dst_host=5),
        ],
        links=wiring(),
    )
    found = LinksOfJobs(spec, tables)
    for name in ("leaf0-spine1:0", "spine1-leaf0", "spine1", "leaf1", "host2"):
        assert (found.concerns("a", name), found.concerns("b", name)) == (True, False), name
    assert found.concerns("b", "host4-leaf2")
    assert found.concerns("b", "a name of no link"), "what is not known may concern any job"


def test_a_job_without_rows_may_use_the_paths_between_all_its_hosts() -> None:
    spec = {"jobs": [{"name": "a", "hosts": [0, 2]}], "fabric": {}}
    found = LinksOfJobs(spec, MemoryTables(links=wiring())).by_job["a"]
    assert {("host0", 0), ("host2", 0), ("leaf0", 2), ("leaf1", 2)} <= found.data


def test_storage_moves_data_both_ways() -> None:
    found = links({"a": [(0, 2)]}, kind="storage", clients=1)["a"]
    assert {("host0", 0), ("host2", 0)} <= found.data
