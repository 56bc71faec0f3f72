"""The port map of run specs: rails, planes, InfiniBand, and real hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabricbench.analysis.links.port_map import PortRow, port_map, port_map_table, queue_pair_table
from fabricbench.plan.load import load_plan

PLAN = "jct-alltoall"
TOPOLOGY = "fabric.topology"


def rows_of(*overrides: str, hosts: Sequence[dict[str, Any]] = ()) -> Sequence[PortRow]:
    rows = port_map(load_plan(PLAN, overrides).trials[0].run_spec, hosts)
    assert rows is not None
    return rows


def test_each_rank_has_a_row_with_its_queue_pairs() -> None:
    rows = rows_of()
    assert [(row.rank, row.chassis, row.switch, row.switch_port) for row in rows[3:5]] == [
        (3, "host3", "leaf0", 3),
        (4, "host4", "leaf1", 0),
    ]
    assert [row.queue_pairs for row in rows] == [7] * 8
    table = queue_pair_table(load_plan(PLAN).trials[0].run_spec).to_pylist()
    assert len(table) == 56
    for row in rows:
        own = [pair for pair in table if pair["src_rank"] == row.rank]
        sources, targets = ([pair[name] for pair in own] for name in ("source_port", "destination_qp"))
        assert (row.source_port_least, row.source_port_largest) == (min(sources), max(sources))
        assert (row.destination_qp_least, row.destination_qp_largest) == (min(targets), max(targets))
        assert (list(row.source_ports), list(row.destination_qps)) == (sources[:4], targets[:4])
        assert {pair["src_ip"] for pair in own} == {row.ip}
    assert len({pair["destination_qp"] for pair in table}) == 56
    assert port_map_table(rows).num_rows == 8


def test_servers_with_rails_are_chassis_with_adapters() -> None:
    rails = "{kind: rail-optimised, servers: 2, rails: 4, spines: 1}"
    rows = rows_of(f"{TOPOLOGY}={rails}", "fabric.server=none")
    found = [(row.chassis, row.port, row.switch) for row in rows]
    assert found == [(f"server{number // 4}", f"nic{number % 4}", f"rail{number % 4}") for number in range(8)]


def test_servers_of_an_nvlink_domain_are_chassis_with_adapters() -> None:
    trays = "{kind: rail-optimised, servers: 36, rails: 4, spines: 4}"
    fields = (f"{TOPOLOGY}={trays}", "fabric.server=gb200-nvl72", "jobs.0.ranks=0-143")
    rows = rows_of(*fields, "jobs.0.collective=all-reduce", "jobs.0.algorithm=ring")
    # Ranks without queue pairs are at the adapter near their GPU.
    by_rank = {row.rank: (row.chassis, row.port, row.switch, row.switch_port) for row in rows}
    assert by_rank[70] == ("server17", "nic2", "rail2", 17)
    assert by_rank[73] == ("server18", "nic1", "rail1", 18)


def test_a_rank_has_a_row_for_each_plane_that_it_uses() -> None:
    planes = "{kind: multi-plane, planes: 2, leaves: 2, hosts_per_leaf: 4, spines: 1}"
    rows = rows_of(f"{TOPOLOGY}={planes}")
    assert [(row.rank, row.port) for row in rows[:4]] == [
        (0, "port0"),
        (0, "port1"),
        (1, "port0"),
        (1, "port1"),
    ]
    assert sum(row.queue_pairs for row in rows) == 56


def test_ports_of_infiniband_have_local_identifiers() -> None:
    rows = rows_of("fabric.link_layer=infiniband")
    assert [row.lid for row in rows] == list(range(1, 9))
    assert {(row.ip, row.mac, row.dscp_data, row.source_port_least) for row in rows} == {(None,) * 4}
    assert rows[0].destination_qps


@pytest.mark.parametrize(("address", "switch"), [("10.0.0.1", "leaf0"), ("192.0.2.7", None)])
def test_a_real_host_shows_where_it_is_cabled_if_it_has_the_planned_address(
    address: str, switch: str | None
) -> None:
    host = {"host": "gpu17", "plays": [0], "address": address, "settings": {"dscp": 12}, "facts": {}}
    first, second, *_ = rows_of(hosts=[host])
    assert (first.chassis, first.ip, first.switch, first.dscp_data) == ("gpu17", address, switch, 12)
    assert (second.chassis, second.dscp_data) == ("host1", 26)
