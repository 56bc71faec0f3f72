//! Builds the scheduled switches of a run (a cell fabric with virtual output queues): leaves, fabric elements
//! and the bundles of links between them; checks their number and links.

use crate::link::egress::Wire;
use crate::setup::Fabric;
use crate::setup::switches::{host_buffer, pause_plan, scheduler};
use crate::switch::EgressPlan;
use crate::switch::admission::readout::Release;
use crate::switch::scheduled::{
    Bundle, BundlePlan, CellFormat, CreditPlan, Directory, Element, GatePlan, LEAVES_MAX, LINKS_MAX,
    LeafPlan, LeafRoute, OutletPlan, Scheduled, UplinkPlan,
};
use engine::Destination;
use spec::{LeafSpine, RunSpec, ScheduledSpec, SpecError, TopologySpec, unsupported};
use std::sync::Arc;
use topology::{Graph, Node, NodeKind};
use units::{NodeId, Rate, Seed, Span, Stream};
use wire::Opcode;
use wire::size::data_frame_bytes;

/// Checks that the leaves and links of a scheduled fabric fit into the fields of messages.
pub(crate) fn check_scheduled(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    if spec.fabric.switch.scheduled.is_none() {
        return Ok(());
    }
    let refuse = |found: String, allowed: String| Err(unsupported("fabric.topology", found, allowed));
    if let TopologySpec::LeafSpine(LeafSpine { leaves, spines, links_per_spine, .. }) = spec.fabric.topology {
        let links = u64::from(spines) * u64::from(links_per_spine);
        if links > u64::from(LINKS_MAX) {
            let found = format!("{links} fabric links of a leaf");
            return refuse(found, format!("at most {LINKS_MAX} of a scheduled leaf"));
        }
        if leaves > LEAVES_MAX {
            return refuse(format!("{leaves} leaves"), format!("at most {LEAVES_MAX} scheduled leaves"));
        }
    }
    debug_assert!(leaves(&fabric.graph).all(|leaf| hosts_are_first(&fabric.graph, leaf)));
    Ok(())
}

fn hosts_are_first(graph: &Graph, leaf: &Node) -> bool {
    leaf.ports.iter().map(|port| graph.node(port.peer).kind == NodeKind::Switch).is_sorted()
}

fn leaves(graph: &Graph) -> impl Iterator<Item = &Node> {
    graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch && node.tier == 1)
}

/// Ports of a node to hosts.
pub(crate) fn host_ports(graph: &Graph, node: &Node) -> usize {
    node.ports.iter().filter(|port| graph.node(port.peer).kind == NodeKind::Host).count()
}

/// Parameters common to the scheduled switches of a run.
pub(crate) struct ScheduledFabric<'a> {
    spec: &'a RunSpec,
    scheduled: ScheduledSpec,
    fabric: &'a Fabric,
    directory: Arc<Directory>,
    first_leaf: usize,
    leaves: usize,
    elements: usize,
}

impl<'a> ScheduledFabric<'a> {
    /// `None` unless switches are scheduled.
    pub(crate) fn new(spec: &'a RunSpec, fabric: &'a Fabric) -> Option<Self> {
        let scheduled = spec.fabric.switch.scheduled?;
        let graph = &fabric.graph;
        let first_leaf = graph.hosts();
        let leaves = leaves(graph).count();
        let location = |attachment: &topology::Attachment| {
            ((attachment.switch.index() - first_leaf) as u16, attachment.switch_port)
        };
        let locations = graph.attachments.iter().map(location).collect();
        Some(Self {
            spec,
            scheduled,
            fabric,
            directory: Arc::new(Directory::new(locations, leaves)),
            first_leaf,
            leaves,
            elements: graph.switches() - leaves,
        })
    }

    /// The switch at `node`; `wires` are its ports.
    pub(crate) fn switch(&self, node: NodeId, wires: &[Wire]) -> Scheduled {
        let number = node.index() - self.first_leaf;
        if number < self.leaves {
            return Scheduled::leaf(self.leaf_plan(node, number, wires));
        }
        Scheduled::Element(self.element(node, number - self.leaves, wires))
    }

    const fn format(&self) -> CellFormat {
        CellFormat { cell_bytes: self.scheduled.cell_bytes, header_bytes: self.scheduled.cell_header_bytes }
    }

    /// All links between a leaf and the elements, in one direction; `wire` is one of them.
    fn bundle_plan(&self, links: usize, wire: Wire) -> BundlePlan {
        BundlePlan {
            links: links as u32,
            link_rate: wire.rate.scaled(self.scheduled.fabric_speedup_ppm),
            format: self.format(),
            control_bytes: self.scheduled.control_cell_bytes,
        }
    }

    /// The sending side of a bundle; `wire` is one of its links.
    fn gate(&self, plan: BundlePlan, wire: Wire, first_links: Option<Stream>) -> GatePlan {
        let bundle = Bundle::new(plan);
        GatePlan { bundle, latency: wire.latency, lookahead: self.fabric.span, first_links }
    }

    /// Links between a leaf and one element.
    fn links_per_element(&self) -> usize {
        let leaf = self.fabric.graph.node(NodeId(self.first_leaf as u32));
        (leaf.ports.len() - host_ports(&self.fabric.graph, leaf)) / self.elements.max(1)
    }

    /// The element that models all links down to a leaf.
    const fn element_of(&self, leaf: usize) -> usize {
        leaf % self.elements
    }

    /// The inbox for control messages at the other end of a wire: after those of the ports.
    fn control(&self, node: NodeId, port: usize, wire: Wire) -> Destination {
        let peer = self.fabric.graph.node(self.fabric.graph.node(node).ports[port].peer);
        Destination { inbox: wire.to.inbox + peer.ports.len() as u32, ..wire.to }
    }

    fn leaf_plan(&self, node: NodeId, number: usize, wires: &[Wire]) -> LeafPlan {
        let hosts = host_ports(&self.fabric.graph, self.fabric.graph.node(node));
        let switch = &self.spec.fabric.switch;
        let port = |&wire: &Wire| {
            let egress = EgressPlan {
                wire,
                changes: None,
                scheduler: scheduler(&switch.scheduling),
                marker: None,
                control: None,
                wred: None,
                credits: None,
                release: Release::Start,
                frame_bytes_max: 0,
            };
            (egress, self.credit_plan(wire, node, wires.get(hosts)))
        };
        LeafPlan {
            number: number as u16,
            directory: Arc::clone(&self.directory),
            ports: wires[..hosts].iter().map(port).collect(),
            buffer: host_buffer(self.spec, self.fabric, node, hosts),
            pauses: pause_plan(switch.pfc.as_ref()),
            credit_bytes: self.scheduled.credit_bytes,
            uplink: (wires.len() > hosts).then(|| self.uplink(node, hosts, wires)),
        }
    }

    fn uplink(&self, node: NodeId, hosts: usize, wires: &[Wire]) -> UplinkPlan {
        let route = |leaf: usize| {
            let port = hosts + self.element_of(leaf) * self.links_per_element();
            LeafRoute { data: wires[port].to, control: self.control(node, port, wires[port]) }
        };
        let bundle = self.bundle_plan(wires.len() - hosts, wires[hosts]);
        let first_links = Seed(self.spec.seed).stream("switch.cells", node.0.into());
        UplinkPlan {
            gate: self.gate(bundle, wires[hosts], Some(first_links)),
            format: self.format(),
            control_bytes: self.scheduled.control_cell_bytes,
            routes: (0..self.leaves).map(route).collect(),
        }
    }

    fn credit_plan(&self, wire: Wire, node: NodeId, fabric_wire: Option<&Wire>) -> CreditPlan {
        let rate = wire.rate.scaled(self.scheduled.credit_speedup_ppm);
        let round_trip = fabric_wire.map_or(Span::ZERO, |up| {
            let down = self
                .fabric
                .graph
                .node(node)
                .ports
                .last()
                .map_or(Span::ZERO, |plug| self.fabric.latency(plug.peer, plug.peer_port));
            Span(2 * (up.latency.0 + down.0))
        });
        CreditPlan {
            credit_bytes: self.scheduled.credit_bytes,
            rate,
            window_bytes: self.scheduled.egress_buffer_bytes.unwrap_or_else(|| self.window(rate, round_trip)),
            scheduler: scheduler(&self.spec.fabric.switch.scheduling),
            leaves: self.leaves,
        }
    }

    /// Twice the bytes that a port sends in a round trip, one credit and one packet.
    fn window(&self, rate: Rate, round_trip: Span) -> u64 {
        let in_one = u128::from(round_trip.0) * u128::from(rate.bps()) / 8_000_000_000_000;
        let frame = data_frame_bytes(Opcode::WriteFirst, self.spec.transport.mtu_bytes);
        2 * (in_one as u64 + u64::from(self.scheduled.credit_bytes) + u64::from(frame))
    }

    fn element(&self, node: NodeId, number: usize, wires: &[Wire]) -> Element {
        let per_leaf = self.links_per_element();
        let links = per_leaf * self.elements;
        let outlet = |leaf: usize| {
            let port = leaf * per_leaf;
            let plan = self.bundle_plan(links, wires[port]);
            (self.element_of(leaf) == number).then(|| OutletPlan {
                gate: self.gate(plan, wires[port], None),
                data: wires[port].to,
                control: self.control(node, port, wires[port]),
                up_rate: Rate::from_bps(plan.link_rate.bps().saturating_mul(links as u64)),
            })
        };
        Element::new(Arc::clone(&self.directory), self.format(), (0..self.leaves).map(outlet).collect())
    }
}
