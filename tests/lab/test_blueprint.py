"""What a lab would consist of: no privilege needed."""

import pytest
from tests.lab.conftest import plan_of_lab

from fabricbench.lab.blueprint import Blueprint, Bursts, Marking
from fabricbench.lab.errors import LabError

TOPOLOGY = "fabric.topology"
SHAPES = {
    "single-switch": "{kind: single-switch, hosts: 8}",
    "leaf-spine": "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, links_per_spine: 2}",
    "fat-tree": "{kind: fat-tree, pods: 2, leaves_per_pod: 2, hosts_per_leaf: 2, aggs_per_pod: 2, "
    "cores_per_agg: 2}",
    "rail-optimised": "{kind: rail-optimised, servers: 4, rails: 2, spines: 2, scale_up_link: 900Gbps}",
    "full-mesh": "{kind: full-mesh, hosts: 8}",
}


def walk(lab: Blueprint, start: str, address: str, choice: int) -> list[str]:
    """Follow routes from a switch to an address, by the `choice`-th of equal next hops."""
    nodes = {node.name: node for node in lab.nodes}
    path = [start]
    while address not in nodes[path[-1]].addresses:
        assert len(path) < 10, f"a loop: {path}"
        node = nodes[path[-1]]
        route = next(route for route in node.routes if route.address == address)
        number = route.ports[choice % len(route.ports)]
        path.append(next(port.peer for port in node.ports if port.number == number))
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_every_switch_reaches_what_the_fabric_joins_by_every_choice(shape: str) -> None:
    lab = plan_of_lab("jct-alltoall", f"{TOPOLOGY}={SHAPES[shape]}")
    assert len(lab.hosts) == 8
    for switch in lab.switches:
        for choice in range(4):
            for route in switch.routes:
                assert walk(lab, switch.name, route.address, choice)[-1].startswith("host")
    reached = {route.address for switch in lab.switches for route in switch.routes}
    assert reached == {address for host in lab.hosts for address in host.addresses}


@pytest.mark.parametrize("shape", SHAPES)
def test_both_ends_of_a_cable_know_each_other(shape: str) -> None:
    lab = plan_of_lab("jct-alltoall", f"{TOPOLOGY}={SHAPES[shape]}")
    ends = {(node.name, port.number): port for node in lab.nodes for port in node.ports}
    for (name, number), port in ends.items():
        other = ends[port.peer, port.peer_port]
        assert (other.peer, other.peer_port) == (name, number)
        assert (other.mac, other.peer_mac, other.rate_bps) == (port.peer_mac, port.mac, port.rate_bps)
    assert len({port.mac for port in ends.values()}) == len(ends)


def test_hosts_have_the_addresses_of_the_plan_and_ports_their_rates() -> None:
    lab = plan_of_lab("jct-alltoall", scale=2_000)
    assert [host.addresses for host in lab.hosts] == [[f"10.0.0.{number}"] for number in range(1, 9)]
    assert {port.rate_bps for node in lab.nodes for port in node.ports} == {200_000_000}
    assert lab.mtu_bytes == 4_200


def test_a_leaf_has_every_spine_as_a_next_hop_and_a_spine_one_leaf() -> None:
    lab = plan_of_lab("jct-alltoall")
    leaf, spine = lab.switches[0], lab.switches[-1]
    routes = {route.address: route for route in leaf.routes}
    assert routes["10.0.0.1"].ports == (0,)
    assert routes["10.0.0.1"].mac == "02:00:00:00:00:00"
    assert routes["10.0.0.8"].ports == (4, 5, 6, 7)
    assert {len(route.ports) for route in spine.routes} == {1}


def test_a_switch_queue_is_what_one_queue_may_take_of_the_buffer() -> None:
    whole = plan_of_lab("jct-alltoall", "fabric.switch.buffer=1MB")
    shared = plan_of_lab("jct-alltoall", "fabric.switch.buffer={size: 1MB, lossy_alpha: 1}")
    assert {port.queue_bytes for node in whole.switches for port in node.ports} == {1 << 20}
    assert {port.queue_bytes for node in shared.switches for port in node.ports} == {1 << 19}


def test_marks_begin_at_the_thresholds_of_the_plan() -> None:
    lab = plan_of_lab("cc-alltoall-dcqcn")
    # The plan gives thresholds for 25 Gb/s; these ports have 400.
    assert lab.switches[0].ports[0].marking == Marking(
        kmin_bytes=1_600_000, kmax_bytes=6_400_000, pmax_ppm=200_000
    )
    assert all(port.marking is None for host in lab.hosts for port in host.ports)


def test_a_burst_is_between_two_frames_and_half_a_batch_where_chunks_are_unknown() -> None:
    unknown = Bursts(4_200)
    assert unknown.of_switch(10_000_000) == 2 * 4_214
    assert unknown.of_switch(200_000_000) == 20_000
    assert unknown.of_switch(10_000_000_000) == 32_768


def test_a_burst_is_a_frame_and_a_small_part_of_a_chunk() -> None:
    bursts = {chunk_bytes: Bursts(4_200, chunk_bytes) for chunk_bytes in (8 << 20, 2 << 20, 32_768)}
    assert bursts[8 << 20].of_switch(50_000_000) == 32_768
    assert bursts[2 << 20].of_switch(50_000_000) == 4_214 + 16_384
    assert bursts[32_768].of_switch(50_000_000) == 4_214 + 1_250, "200 us"
    assert bursts[32_768].of_switch(2_500_000) == 4_214 + 256, "a 128th"


def test_ports_of_hosts_that_transmit_at_its_rate_forgive_late_endpoints() -> None:
    assert Bursts(4_200, 32_768, paced=True).of_host(12_500_000) == 15_625, "10 ms"
    assert Bursts(4_200, 32_768, paced=True).of_switch(12_500_000) == 4_214 + 312
    assert Bursts(4_200, 32_768).of_host(12_500_000) == 4_214 + 312


def test_hosts_send_no_more_as_one_than_every_shaper_lets_through() -> None:
    assert plan_of_lab("jct-alltoall").batch_packets == 32_768 // 4_214
    assert plan_of_lab("jct-alltoall", scale=2_000).batch_packets == 20_000 // 4_214
    assert plan_of_lab("jct-alltoall", scale=20_000).batch_packets == 2
    assert plan_of_lab("cc-alltoall-dcqcn").batch_packets == 1, "marks hit single frames"


def test_hosts_have_20_ms_of_their_port_under_way() -> None:
    single = f"{TOPOLOGY}={SHAPES['single-switch']}"
    assert plan_of_lab("jct-alltoall", single).in_flight_packets == 1_000_000 // 4_200
    assert plan_of_lab("jct-alltoall", single, scale=20_000).in_flight_packets == 64
    assert plan_of_lab("jct-alltoall", single, scale=50).in_flight_packets == 1_024
    assert plan_of_lab("jct-alltoall", scale=20_000).in_flight_packets == 1_024, "a shared uplink holds some"


@pytest.mark.parametrize(
    ("overrides", "scale", "text", "hint"),
    [
        ([], 1, "400,000,000,000 bit/s at scale 1; allowed: 1,000,000 to 32,000,000,000", "larger --scale"),
        ([], 500_000, "would have 800,000 bit/s at scale 500,000", "smaller --scale"),
        (
            [f"{TOPOLOGY}={{kind: single-switch, hosts: 600}}"],
            1_000,
            "the plan's fabric has 601 hosts and switches; a lab has at most 512",
            "smaller",
        ),
    ],
)
def test_what_cannot_be_built_is_told_with_a_hint(
    overrides: list[str], scale: int, text: str, hint: str
) -> None:
    with pytest.raises(LabError, match=text.replace("(", r"\(")) as caught:
        plan_of_lab("jct-alltoall", *overrides, scale=scale)
    assert hint in caught.value.hint


def test_what_a_lab_lacks_is_told() -> None:
    fields = {each.field for each in plan_of_lab("cc-alltoall-pfc-ecn").omissions}
    assert {"fabric delays", "fabric.switch.pfc", "fabric.switch.ecn"} <= fields
    spray = {each.field: each.text for each in plan_of_lab("lb-allgather-spray").omissions}
    assert "spray" in spray["fabric.load_balancing"]


def test_a_lab_reads_back_as_it_was_written() -> None:
    lab = plan_of_lab("cc-alltoall-dcqcn")
    assert Blueprint.model_validate_json(lab.model_dump_json()) == lab


def test_hosts_have_the_addresses_that_a_plan_gives() -> None:
    given = "{subnet: 192.168.10.0/24, mac: '02:aa:00:00:00:01', vlan: 7}"
    lab = plan_of_lab("jct-alltoall", f"fabric.addresses={given}")
    assert [host.addresses for host in lab.hosts] == [[f"192.168.10.{number}"] for number in range(1, 9)]
    assert [host.ports[0].mac for host in lab.hosts] == [
        f"02:aa:00:00:00:0{number}" for number in range(1, 9)
    ]
    assert "fabric.addresses" in {each.field for each in lab.omissions}


def test_hosts_cannot_have_the_addresses_of_switches() -> None:
    with pytest.raises(LabError, match=r"host host0 has the address 100.64.0.1; allowed: .* 100.64.0.0/16"):
        plan_of_lab("jct-alltoall", "fabric.addresses={subnet: 100.64.0.0/24}")
