//! Tests routes against the definition of a shortest path, on the shapes of this crate and on random graphs.

use super::Routes;
use crate::assembly::Assembly;
use crate::graph::{Graph, NodeKind};
use crate::testing::{cable, check_consistency, fat_tree, rails};
use crate::{Builder, FullMesh, LeafSpine, SingleSwitch};
use proptest::prelude::*;
use units::{AttachmentId, NodeId, Seed};

/// Hops between all pairs of switches (Floyd-Warshall), independent of the search under test.
fn distances(graph: &Graph) -> Vec<Vec<Option<u32>>> {
    let (first, count) = (graph.hosts(), graph.switches());
    let mut hops = vec![vec![None; count]; count];
    for (s, row) in hops.iter_mut().enumerate() {
        row[s] = Some(0);
        let peers = graph.nodes[first + s].ports.iter().map(|port| port.peer.index());
        peers.filter(|&peer| peer >= first).for_each(|peer| row[peer - first] = Some(1));
    }
    for via in 0..count {
        for a in 0..count {
            for b in 0..count {
                let detour = hops[a][via].zip(hops[via][b]).map(|(x, y)| x + y);
                hops[a][b] = hops[a][b].into_iter().chain(detour).min();
            }
        }
    }
    hops
}

/// Checks that the next hops of every switch to every attachment are exactly the ports strictly closer to it.
fn check_routes(graph: &Graph) {
    check_consistency(graph);
    let (routes, hops) = (Routes::compute(graph), distances(graph));
    let first = graph.hosts();
    for switch in (first..graph.nodes.len()).map(NodeId::from_index) {
        for (index, attachment) in graph.attachments.iter().enumerate() {
            let row = |node: NodeId| hops[node.index() - first][attachment.switch.index() - first];
            let nearer = |peer: NodeId| peer.index() >= first && row(peer).map(|d| d + 1) == row(switch);
            let ports = graph.node(switch).ports.iter().enumerate();
            let expected: Vec<u16> = match row(switch) {
                None => Vec::new(),
                Some(0) => vec![attachment.switch_port],
                Some(_) => ports.filter(|(_, port)| nearer(port.peer)).map(|(n, _)| n as u16).collect(),
            };
            assert_eq!(routes.next_hops(switch, AttachmentId::from_index(index)), expected);
        }
    }
}

/// Number of switches on the path from `src` to `dst` (port 0 of each), following the first next hop; `None`
/// if there is no path.
fn switch_hops(graph: &Graph, routes: &Routes, src: usize, dst: usize) -> Option<usize> {
    let mut node = graph.attachments[src].switch;
    for count in 1..=graph.switches() {
        let &port = routes.next_hops(node, AttachmentId::from_index(dst)).first()?;
        node = graph.node(node).ports[usize::from(port)].peer;
        if node.index() == dst {
            return Some(count);
        }
    }
    panic!("the way from host {src} to host {dst} is a loop")
}

fn check_paths(graph: &Graph, expected: impl Fn(usize, usize) -> Option<usize>) {
    let routes = Routes::compute(graph);
    for src in 0..graph.hosts() {
        for dst in (0..graph.hosts()).filter(|&dst| dst != src) {
            assert_eq!(switch_hops(graph, &routes, src, dst), expected(src, dst), "{src} -> {dst}");
        }
    }
}

fn leaf_spine(leaves: u32, hosts_per_leaf: u32, spines: u32, links_per_spine: u32) -> Graph {
    let (host_link, fabric_link) = (cable(400), cable(400));
    LeafSpine { leaves, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link }.build().unwrap()
}

/// Hosts on random switches of a random graph, which may be disconnected and has parallel links.
fn random_graph(seed: u64, hosts: u32, switches: u32, links: u64) -> Graph {
    let mut stream = Seed(seed).stream("test.graph", 0);
    let mut assembly = Assembly::new(hosts, links + u64::from(hosts));
    let switches = assembly.switches("leaf", 1, switches);
    let mut draw = || switches[stream.below(switches.len() as u64) as usize];
    for host in assembly.hosts() {
        assembly.connect(host, draw(), cable(400));
    }
    for _ in 0..links {
        let (a, b) = (draw(), draw());
        if a != b {
            assembly.connect(a, b, cable(400));
        }
    }
    assembly.finish()
}

proptest! {
    #[test]
    fn next_hops_lead_strictly_nearer_in_any_graph(
        seed in any::<u64>(), hosts in 1..8u32, switches in 1..12u32, links in 0..24u64,
    ) {
        check_routes(&random_graph(seed, hosts, switches, links));
    }

    #[test]
    fn leaf_spine_ways_and_next_hops(leaves in 1..5u32, hosts in 1..4u32, spines in 1..5u32, links in 1..4u32) {
        let graph = leaf_spine(leaves, hosts, spines, links);
        check_routes(&graph);
        let leaf = |host: usize| host / hosts as usize;
        check_paths(&graph, |src, dst| Some(if leaf(src) == leaf(dst) { 1 } else { 3 }));
    }

    #[test]
    fn fat_tree_ways_and_next_hops(
        pods in 1..4u32, leaves in 1..4u32, hosts in 1..3u32, aggs in 1..4u32, cores in 1..3u32,
    ) {
        let graph = fat_tree(pods, leaves, hosts, aggs, cores).build().unwrap();
        check_routes(&graph);
        let leaf = |host: usize| host / hosts as usize;
        let pod = |host: usize| leaf(host) / leaves as usize;
        check_paths(&graph, |src, dst| {
            Some(if leaf(src) == leaf(dst) { 1 } else if pod(src) == pod(dst) { 3 } else { 5 })
        });
    }

    #[test]
    fn rail_ways_and_next_hops(
        servers in 1..4u32, rail in 1..4u32, spines in 0..3u32, links in 1..3u32, scale_up in any::<bool>(),
    ) {
        let graph = rails(servers, rail, spines, links, scale_up).build().unwrap();
        check_routes(&graph);
        let rail_of = |host: usize| host % rail as usize;
        check_paths(&graph, |src, dst| match rail_of(src) == rail_of(dst) {
            true => Some(1),
            false => (spines > 0).then_some(3),
        });
    }
}

#[test]
fn one_switch_and_the_mesh_are_one_hop() {
    for graph in [
        SingleSwitch { hosts: 6, host_link: cable(400) }.build().unwrap(),
        FullMesh { hosts: 6, host_link: cable(400) }.build().unwrap(),
    ] {
        check_routes(&graph);
        check_paths(&graph, |_, _| Some(1));
    }
}

#[test]
fn a_leaf_spreads_over_every_parallel_link_to_every_spine() {
    let graph = leaf_spine(3, 4, 5, 2);
    let routes = Routes::compute(&graph);
    let leaf = graph.attachments[0].switch;
    assert_eq!(routes.next_hops(leaf, AttachmentId(11)), (4..14).collect::<Vec<u16>>());
    let spine = NodeId::from_index(graph.nodes.len() - 1);
    assert_eq!(routes.next_hops(spine, AttachmentId(11)), [4, 5]);
}

#[test]
fn ways_through_a_fat_tree_use_every_agg_and_core() {
    let graph = fat_tree(3, 2, 2, 4, 3).build().unwrap();
    let routes = Routes::compute(&graph);
    let of =
        |name: &str| graph.nodes.iter().position(|node| node.name == name).map(NodeId::from_index).unwrap();
    let (other_pod, same_pod) = (AttachmentId(11), AttachmentId(2));
    assert_eq!(routes.next_hops(of("leaf0"), other_pod), [2, 3, 4, 5]);
    assert_eq!(routes.next_hops(of("agg0"), other_pod), [2, 3, 4]);
    assert_eq!(routes.next_hops(of("agg0"), same_pod), [1]);
    assert_eq!(routes.next_hops(of("core0"), other_pod), [2]);
}

#[test]
fn a_scale_up_port_is_reached_inside_its_server_only() {
    let graph = rails(2, 3, 1, 1, true).build().unwrap();
    let routes = Routes::compute(&graph);
    let scale_up_port = graph.attachment_of(units::HostId(4), 1);
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch) {
        let ports = routes.next_hops(NodeId::from_index(index), scale_up_port);
        assert_eq!(ports, if node.name == "scaleup1" { &[1][..] } else { &[] });
    }
}

#[test]
fn alike_switches_share_their_rows() {
    let graph = leaf_spine(64, 2, 8, 1);
    let routes = Routes::compute(&graph);
    // One row for all leaves, one for all spines.
    assert_eq!(routes.cells.len(), 2 * 64);
}

/// A three-tier fabric with 32,768 hosts.
#[test]
fn the_tables_of_a_large_fabric_are_small() {
    let graph = fat_tree(32, 32, 32, 32, 32).build().unwrap();
    let routes = Routes::compute(&graph);
    assert_eq!((graph.hosts(), graph.switches(), graph.links.len()), (32_768, 3_072, 98_304));
    let bytes = routes.memory_bytes();
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

#[test]
fn the_size_of_the_tables_is_that_of_their_parts() {
    let (host_link, fabric_link) = (cable(400), cable(800));
    let shape =
        LeafSpine { leaves: 2, hosts_per_leaf: 2, spines: 2, links_per_spine: 1, host_link, fabric_link };
    let routes = Routes::compute(&shape.build().unwrap());
    // A column and a port for each of four hosts; a row for each of four switches; the leaves have equal
    // cells, and so have the spines; three port lists: both uplinks, and one for each downlink.
    let (hosts, rows, cells, lists) = (4 * (4 + 2), 4 * 16, 2 * 2 * 4, (3 + 2 + 2) * 2);
    assert_eq!(routes.memory_bytes(), hosts + rows + cells + lists);
}
