//! Counters of each link between the switches of a scheduled fabric (cells and credits, as in a chassis):
//! joins its two directions, which are counted in different bundles (all fabric links of a leaf in one
//! direction).

use crate::link::Dropped;
use crate::link::egress::{LinkRef, Transmitter};
use crate::report::World;
use crate::setup::{FabricNode, host_ports};
use crate::switch::scheduled::{Bundle, Scheduled};
use topology::NodeKind;
use units::{Instant, NodeId, Rate, Span};

/// Counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) busy: Span,
    pub(super) lost: Dropped,
    pub(super) corrupted: Dropped,
    /// All frames that did not reach the other end.
    pub(super) missing: Dropped,
    /// Line rate, if different from the topology.
    pub(super) rate: Option<Rate>,
}

impl Sent {
    pub(super) fn of(transmitter: &Transmitter<impl LinkRef>, end: Instant) -> Self {
        Self {
            frames: transmitter.frames(),
            bytes: transmitter.bytes(),
            busy: transmitter.busy(end),
            lost: transmitter.lost(),
            corrupted: transmitter.corrupted(),
            missing: transmitter.missing(),
            rate: None,
        }
    }

    fn of_link(bundle: &Bundle, link: u32, end: Instant) -> Self {
        let counters = bundle.sent_on(link);
        Self {
            frames: counters.cells,
            bytes: counters.bytes,
            busy: bundle.busy(link, end),
            rate: Some(bundle.link_rate()),
            ..Self::default()
        }
    }
}

/// Cells sent and received by a port between two scheduled switches.
pub(super) struct FabricPort {
    pub(super) sent: Sent,
    pub(super) received: Sent,
}

/// The counters of a port between two scheduled switches; `None` for any other port.
pub(super) fn fabric_port(
    world: &World,
    nodes: &[&FabricNode],
    node: NodeId,
    port: usize,
    end: Instant,
) -> Option<FabricPort> {
    let graph = &world.fabric.graph;
    let plug = graph.node(node).ports[port];
    let between_switches =
        graph.node(node).kind == NodeKind::Switch && graph.node(plug.peer).kind == NodeKind::Switch;
    if !between_switches || !matches!(nodes[node.index()], FabricNode::Scheduled(_)) {
        return None;
    }
    let is_leaf = graph.node(node).tier == 1;
    let (leaf, leaf_port) = if is_leaf { (node, port) } else { (plug.peer, usize::from(plug.peer_port)) };
    let link = (leaf_port - host_ports(graph, graph.node(leaf))) as u32;
    let number = (leaf.index() - graph.hosts()) as u16;
    let up = match nodes[leaf.index()] {
        FabricNode::Scheduled(Scheduled::Leaf(leaf)) => leaf.uplink(),
        _ => None,
    };
    let down = nodes[graph.hosts()..].iter().find_map(|node| match node {
        FabricNode::Scheduled(Scheduled::Element(element)) => element.outlet(number),
        _ => None,
    });
    let (up, down) = (Sent::of_link(up?, link, end), Sent::of_link(down?, link, end));
    Some(if is_leaf {
        FabricPort { sent: up, received: down }
    } else {
        FabricPort { sent: down, received: up }
    })
}
