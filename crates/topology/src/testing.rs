//! Topologies and checks shared by the tests of several modules.

use crate::builder::{CableSpec, FatTree, LinkSpec, MultiPlane, RailOptimised, RailPods};
use crate::graph::{Graph, NodeKind};
use std::collections::HashSet;

/// A 30 m cable with a rate of `gbps` Gb/s.
pub(crate) fn cable(gbps: u64) -> LinkSpec {
    LinkSpec { rate_bps: gbps * 1_000_000_000, cable: CableSpec { delay_ps: 150_000 } }
}

pub(crate) fn fat_tree(pods: u32, leaves: u32, hosts: u32, aggs: u32, cores: u32) -> FatTree {
    FatTree {
        pods,
        leaves_per_pod: leaves,
        hosts_per_leaf: hosts,
        aggs_per_pod: aggs,
        cores_per_agg: cores,
        host_link: cable(400),
        fabric_link: cable(400),
        core_link: cable(400),
    }
}

pub(crate) fn rails(servers: u32, rails: u32, spines: u32, links: u32, scale_up: bool) -> RailOptimised {
    RailOptimised {
        servers,
        rails,
        spines,
        links_per_spine: links,
        host_link: cable(400),
        fabric_link: cable(400),
        scale_up_link: scale_up.then(|| cable(3600)),
    }
}

/// Counts: pods, servers per pod, rails, spines per rail, cores per spine; with two parallel links to each
/// spine, three to each core.
pub(crate) fn rail_pods(counts: [u32; 5], scale_up: bool) -> RailPods {
    let [pods, servers_per_pod, rails, spines_per_rail, cores_per_spine] = counts;
    RailPods {
        pods,
        servers_per_pod,
        rails,
        spines_per_rail,
        links_per_spine: 2,
        cores_per_spine,
        links_per_core: 3,
        host_link: cable(400),
        fabric_link: cable(400),
        core_link: cable(400),
        scale_up_link: scale_up.then(|| cable(3600)),
    }
}

/// Counts: planes, leaves per plane, hosts per leaf, spines per plane, parallel links between two switches.
pub(crate) fn planes(counts: [u32; 5]) -> MultiPlane {
    let [planes, leaves, hosts_per_leaf, spines, links_per_spine] = counts;
    let (host_link, fabric_link) = (cable(200), cable(200));
    MultiPlane { planes, leaves, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link }
}

/// Name and port of the node connected to port `port` of the node `name`.
pub(crate) fn port_of(graph: &Graph, name: &str, port: u32) -> (String, u32) {
    let node = graph.nodes.iter().find(|node| node.name == name).expect("a node of that name");
    let plug = node.ports[port as usize];
    (graph.node(plug.peer).name.clone(), u32::from(plug.peer_port))
}

/// Checks all documented invariants of a [`Graph`].
pub(crate) fn check_consistency(graph: &Graph) {
    check_nodes(graph);
    check_links(graph);
    check_attachments(graph);
}

fn check_nodes(graph: &Graph) {
    let names: HashSet<_> = graph.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names.len(), graph.nodes.len(), "names are unique");
    assert!(graph.nodes.is_sorted_by_key(|node| node.tier), "nodes are ordered tier by tier");
    for node in &graph.nodes {
        assert_eq!(node.kind == NodeKind::Host, node.tier == 0);
    }
    let ends: usize = graph.nodes.iter().map(|node| node.ports.len()).sum();
    assert_eq!(ends, 2 * graph.links.len(), "every port is one end of one link");
}

fn check_links(graph: &Graph) {
    for (index, link) in graph.links.iter().enumerate() {
        for [end, other] in [link.ends, [link.ends[1], link.ends[0]]] {
            let port = graph.node(end.node).ports[usize::from(end.port)];
            assert_eq!((port.link.index(), port.peer, port.peer_port), (index, other.node, other.port));
        }
        let tiers = link.ends.map(|end| graph.node(end.node).tier);
        assert!(tiers[0] <= tiers[1], "the lower tier comes first");
    }
}

fn check_attachments(graph: &Graph) {
    let hosts = graph.hosts();
    let ips: HashSet<_> = graph.attachments.iter().map(|attachment| attachment.ip).collect();
    let macs: HashSet<_> = graph.attachments.iter().map(|attachment| attachment.mac).collect();
    assert_eq!((ips.len(), macs.len()), (graph.attachments.len(), graph.attachments.len()));
    for (index, attachment) in graph.attachments.iter().enumerate() {
        assert_eq!(
            (attachment.host.index(), usize::from(attachment.host_port)),
            (index % hosts, index / hosts)
        );
        let port = graph.nodes[attachment.host.index()].ports[usize::from(attachment.host_port)];
        assert_eq!((port.peer, port.peer_port), (attachment.switch, attachment.switch_port));
        assert_eq!(port.link.index(), index, "link `a` is the cable of attachment `a`");
        assert_eq!(graph.node(attachment.switch).kind, NodeKind::Switch);
    }
}
