//! Builds the network of a run: graph, routes, failures, chips, switch settings, latency of every hop, and
//! the length of a time window (step of the simulation, at most the smallest latency).

pub(super) mod chips;
pub(super) mod settings;

use super::{Chips, HostClock, Settings};
use crate::link::changes::{LinkChange, LinkChanges, LinkPlan};
use crate::link::credits::CreditPlan;
use crate::link::egress::WHOLE_FRAME;
use crate::link::errors::ErrorRate;
use crate::packet::DESTINATIONS_MAX;
use crate::switch::WINDOW_MAX;
use crate::switch::arrivals::cut_through::head_bytes;
use paths::Failures;
use spec::{FabricSpec, ForwardingSpec, LinkLayerSpec, RunSpec, SpecError, unsupported};
use std::sync::Arc;
use topology::{Graph, Node, NodeKind, Routes};
use units::{AttachmentId, HostId, LinkId, NodeId, Rate, Seed, Span};
use wire::Framing;
use wire::infiniband::flow_control::BLOCK_BYTES;

/// Most windows that an inbox can hold; each takes a bit per node. Enough for links of 40 Mb/s between NICs
/// of 400 ns.
const SLOTS_MAX: u64 = 32_768;
/// 100 % in parts per million.
const WHOLE_PPM: u32 = 1_000_000;
/// Shortest window allowed: a frame of 64 bytes at 400 Gb/s takes 1.68 ns.
const SPAN_MIN: Span = Span(1_000);

/// The network of a run, and all values derived from the fabric part of the spec alone.
pub(crate) struct Fabric {
    pub(crate) graph: Arc<Graph>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) failures: Failures,
    /// Groups of switches that form one chip.
    pub(crate) chips: Chips,
    /// Settings of each switch.
    pub(crate) settings: Settings,
    pub(crate) nic_latency: Span,
    pipeline_latency: Span,
    forwarding: ForwardingSpec,
    /// Whether switches are of the scheduled family.
    is_scheduled: bool,
    /// Encapsulation of packets.
    pub(crate) framing: Framing,
    /// Credits of every link, on InfiniBand.
    pub(crate) credits: Option<CreditPlan>,
    /// Length of a time window.
    pub(crate) span: Span,
    /// Windows that an inbox holds.
    pub(crate) slots: usize,
}

impl Fabric {
    /// Links between two host ports along the first of the equal paths; 0 if there is no path.
    pub(crate) fn links_between(&self, from: AttachmentId, to: AttachmentId) -> u32 {
        let destination = self.graph.attachment(to).host;
        let (mut links, mut node) = (1, self.graph.attachment(from).switch);
        while node != NodeId(destination.0) {
            let Some(&port) = self.routes.next_hops(node, to).first() else { return 0 };
            node = self.graph.node(node).ports[usize::from(port)].peer;
            links += 1;
        }
        links
    }

    /// Builds the graph and its routes.
    ///
    /// # Errors
    /// When the graph is too large, its latencies allow no valid window, or a failure names an item that does
    /// not exist.
    pub(crate) fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        let graph = paths::graph(spec)?;
        check_ports(&graph)?;
        let routes = Arc::new(Routes::compute(&graph));
        let failures = Failures::new(spec, &graph)?;
        let chips = Chips::new(&spec.chips, &graph)?;
        let settings = Settings::new(spec, &graph, &chips)?;
        let mut fabric = Self {
            graph: Arc::new(graph),
            routes,
            failures,
            chips,
            settings,
            nic_latency: Span(spec.nic.latency_ps),
            pipeline_latency: Span(spec.switch.pipeline_latency_ps),
            forwarding: spec.switch.forwarding,
            is_scheduled: spec.switch.scheduled.is_some(),
            framing: paths::framing(spec),
            credits: credits(spec.link_layer),
            span: Span::ZERO,
            slots: 0,
        };
        let slowest_ppm =
            spec.switch.scheduled.map_or(WHOLE_PPM, |scheduled| scheduled.fabric_speedup_ppm.min(WHOLE_PPM));
        fabric.choose_window(slowest_ppm)?;
        Ok(fabric)
    }

    /// Inboxes of a node: one per port. Scheduled switches have a second one per port for control messages,
    /// which overtake cells.
    pub(crate) fn inboxes(&self, node: &Node) -> u32 {
        let of_a_port = if self.is_scheduled && node.kind == NodeKind::Switch { 2 } else { 1 };
        node.ports.len() as u32 * of_a_port
    }

    pub(crate) fn host_names(&self) -> Vec<&str> {
        self.graph.nodes[..self.graph.hosts()].iter().map(|node| node.name.as_str()).collect()
    }

    /// Transmission time of a byte at the fastest port of each host; whole picoseconds, rounded down.
    pub(crate) fn byte_ps_of_hosts(&self, spec: &RunSpec) -> Vec<u64> {
        let hosts = (0..).map(HostId).zip(&self.graph.nodes[..self.graph.hosts()]);
        let of_hosts = hosts.map(|(id, host)| {
            let clock = HostClock::of(spec, id);
            let byte_ps = |port: &topology::Port| {
                8_000_000_000_000 / clock.rate(self.graph.links[port.link.index()].rate).bps()
            };
            host.ports.iter().map(byte_ps).min().unwrap_or(0)
        });
        of_hosts.collect()
    }

    /// Time from the last bit sent by a port of `from` until the node at the other end acts.
    pub(crate) fn latency(&self, from: NodeId, port: u16) -> Span {
        let end = self.graph.node(from).ports[usize::from(port)];
        let sender = match self.graph.node(from).kind {
            NodeKind::Host => self.nic_latency,
            NodeKind::Switch => Span::ZERO,
        };
        let peer = self.graph.node(end.peer);
        let receiver = match peer.kind {
            NodeKind::Host => self.nic_latency,
            NodeKind::Switch if peer.ideal => Span::ZERO,
            NodeKind::Switch => self.pipeline_latency,
        };
        sender + self.graph.link(end.link).delay + receiver
    }

    /// Scheduled changes of the link of a port, if any; `own_rate` maps a nominal rate to that of the node's
    /// clock.
    pub(crate) fn changes(
        &self,
        node: NodeId,
        port: u16,
        seed: Seed,
        own_rate: impl Fn(Rate) -> Rate,
    ) -> Option<LinkChanges> {
        let id = self.graph.node(node).ports[usize::from(port)].link;
        let at_own_rate = |change: &paths::LinkChange| LinkChange {
            at: change.at,
            is_up: change.is_up,
            rate: own_rate(change.rate),
            errors: change.corruption.and_then(ErrorRate::of),
        };
        let changes: Vec<LinkChange> = self.failures.of_link(id).iter().map(at_own_rate).collect();
        // The latency of a NIC is between its scheduler and the link.
        let lead = match self.graph.node(node).kind {
            NodeKind::Host => self.nic_latency,
            NodeKind::Switch => Span::ZERO,
        };
        let link = self.graph.link(id);
        let is_second = link.ends[1].node == node && link.ends[1].port == port;
        let stream = seed.stream("link.errors", u64::from(id.0) * 2 + u64::from(is_second));
        let rate = own_rate(link.rate);
        let plan = LinkPlan { changes: &changes, rate, lead, delay: link.delay, stream };
        (!changes.is_empty()).then(|| LinkChanges::new(plan))
    }

    /// Byte times after which the node at the other end may act on a frame.
    pub(crate) fn head_bytes(&self, from: NodeId, port: u16) -> u16 {
        let end = self.graph.node(from).ports[usize::from(port)];
        match (self.forwarding, self.graph.node(end.peer).kind) {
            (ForwardingSpec::CutThrough, NodeKind::Switch) => head_bytes(self.framing),
            _ => WHOLE_FRAME,
        }
    }

    /// Time for which a frame occupies a link of this rate.
    pub(crate) const fn frame_span(&self, rate: Rate, frame_bytes: u32) -> Span {
        rate.frame_span(frame_bytes, self.framing.link_overhead_bytes())
    }

    /// Sets `span` to the smallest latency, limited to half the largest window of a switch, and `slots` such
    /// that inboxes cover the largest latency plus the longest frame time. `slowest_ppm` is the smallest
    /// fraction of its rate that a link ever has.
    fn choose_window(&mut self, slowest_ppm: u32) -> Result<(), SpecError> {
        let mut shortest = Span(u64::MAX);
        let mut longest = Span::ZERO;
        for (node, port, rate) in self.directed_ports() {
            let latency = self.latency(node, port);
            shortest = shortest.min(latency);
            let frame = self.frame_span(rate, u32::from(u16::MAX)).0;
            longest = longest.max(latency + Span(frame * u64::from(WHOLE_PPM) / u64::from(slowest_ppm)));
        }
        if shortest < SPAN_MIN {
            let found = format!("a hop with {shortest} of latency in all");
            return Err(unsupported(
                "fabric",
                found,
                "1 ns or more (cable, pipeline and NIC latency together)",
            ));
        }
        let span = shortest.min(Span(WINDOW_MAX.0 / 2));
        // Scheduled switches emit messages up to one window before their links are free.
        let ahead = u64::from(self.is_scheduled);
        let slots = (longest.0 / span.0 + 4 + ahead).next_power_of_two();
        if slots > SLOTS_MAX {
            let found = format!("hop latencies from {shortest} to {longest}");
            return Err(unsupported("fabric", found, "latencies within a factor of 32,000 of each other"));
        }
        self.span = span;
        self.slots = slots as usize;
        Ok(())
    }

    /// Both ends of each link, with the slowest rate it ever has.
    fn directed_ports(&self) -> impl Iterator<Item = (NodeId, u16, Rate)> {
        (0..).map(LinkId).zip(&self.graph.links).flat_map(|(id, link)| {
            let changed = self.failures.of_link(id).iter().map(|change| change.rate);
            let rate = changed
                .fold(link.rate, |slowest, rate| if rate.bps() < slowest.bps() { rate } else { slowest });
            link.ends.map(|end| (end.node, end.port, rate))
        })
    }
}

const fn credits(spec: LinkLayerSpec) -> Option<CreditPlan> {
    match spec {
        LinkLayerSpec::Ethernet {} => None,
        LinkLayerSpec::Infiniband { vl_buffer_bytes, credit_interval_ps } => Some(CreditPlan {
            buffer_blocks: (vl_buffer_bytes / BLOCK_BYTES) as u16,
            interval: Span(credit_interval_ps),
        }),
    }
}

/// Checks that the ports of all hosts fit into the address field of a packet.
fn check_ports(graph: &Graph) -> Result<(), SpecError> {
    let ports = graph.attachments.len();
    if ports > DESTINATIONS_MAX {
        let found = format!("{ports} ports of hosts");
        let allowed = format!("at most {DESTINATIONS_MAX} where packets are simulated");
        return Err(unsupported("fabric.topology", found, allowed));
    }
    Ok(())
}
