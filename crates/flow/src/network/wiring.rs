//! Directed links of a graph by port, and the transits between them: pairs of consecutive links of a path.

use crate::sharing::max_min::WHOLE;
use topology::{Graph, NodeKind};
use units::NodeId;

/// A transit: two consecutive links of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    /// Hop of the first link, from 0 at the sender.
    pub(crate) hop: u8,
    /// The first link, and the second by the port of the node between them.
    pub(crate) from: u32,
    pub(crate) port: u16,
    pub(crate) to: u32,
    /// Index among all transits of the fabric.
    pub(crate) index: u32,
    /// Fraction of the flow that takes it, in units of 1/[`WHOLE`].
    pub(crate) weight: u32,
}

/// A port of a path, and the directed link out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) node: NodeId,
    pub(crate) port: u16,
    pub(crate) link: u32,
    /// Index of the first transit from the link, among all transits of the fabric.
    pub(super) first_transit: u32,
}

impl Leg {
    /// Index of the transit to the next leg.
    #[inline]
    pub(crate) fn transit_index(&self, next: &Self) -> u32 {
        self.first_transit + u32::from(next.port)
    }

    /// The transit to the next leg, from the link of a hop.
    #[inline]
    pub(super) fn transit(&self, hop: u8, next: &Self) -> Transit {
        let index = self.transit_index(next);
        Transit { hop, from: self.link, port: next.port, to: next.link, index, weight: WHOLE }
    }
}

/// Data of the link out of a port in one cache line, since paths are recomputed whenever they are needed.
#[derive(Clone, Copy)]
pub(super) struct EgressPort {
    /// The directed link: for link `l`, the one from its first end has index `2 l`.
    pub(super) link: u32,
    /// See [`Leg::first_transit`].
    pub(super) first_transit: u32,
    pub(super) peer: NodeId,
    /// Index of the first egress port of the peer.
    pub(super) first_of_peer: u32,
}

/// The directed links of a graph.
pub(super) struct Wiring {
    /// Index of the first egress port of each node.
    pub(super) first_ports: Vec<u32>,
    pub(super) egress_ports: Vec<EgressPort>,
    /// The receiving node of each link, and the index of the first transit from it.
    pub(super) receivers: Vec<NodeId>,
    pub(super) first_transits: Vec<u32>,
}

impl Wiring {
    pub(super) fn of(graph: &Graph) -> Self {
        let receivers: Vec<NodeId> =
            graph.links.iter().flat_map(|link| [link.ends[1].node, link.ends[0].node]).collect();
        let first_ports = exclusive_prefix_sums(graph.nodes.iter().map(|node| node.ports.len() as u32));
        let transit_counts = receivers.iter().map(|&receiver| transit_count(graph, receiver));
        let first_transits = exclusive_prefix_sums(transit_counts);
        let mut egress_ports = Vec::with_capacity(receivers.len());
        for (node, ports) in (0..).map(NodeId).zip(graph.nodes.iter().map(|node| &node.ports)) {
            egress_ports.extend((0..).zip(ports).map(|(port, end)| {
                let first_end = graph.link(end.link).ends[0];
                let link = 2 * end.link.0 + u32::from(first_end.node != node || first_end.port != port);
                EgressPort {
                    link,
                    first_transit: first_transits[link as usize],
                    peer: end.peer,
                    first_of_peer: first_ports[end.peer.index()],
                }
            }));
        }
        Self { first_ports, egress_ports, receivers, first_transits }
    }

    pub(super) fn link_out_of(&self, node: NodeId, port: u16) -> u32 {
        self.egress_ports[self.first_ports[node.index()] as usize + usize::from(port)].link
    }
}

/// Number of transits from a link to a node; none for a host, which forwards nothing.
fn transit_count(graph: &Graph, node: NodeId) -> u32 {
    let node = graph.node(node);
    if node.kind == NodeKind::Host { 0 } else { node.ports.len() as u32 }
}

/// Sums of all counts before each.
fn exclusive_prefix_sums(counts: impl Iterator<Item = u32>) -> Vec<u32> {
    let add = |sum: &mut u32, count| {
        let before = *sum;
        *sum = before.wrapping_add(count);
        Some(before)
    };
    counts.scan(0, add).collect()
}
