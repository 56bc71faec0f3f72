//! The fabric as directed links: their capacity, latency and timing for frames; finds the links of a path and
//! its transits (pairs of consecutive links), or those of an even split over all paths.

pub(crate) mod idle_time;
mod next_hop;
pub(crate) mod paths;
#[cfg(test)]
mod tests;
mod wiring;

use crate::rates::{RATE_BITS, bytes_sent_in};
use crate::sharing::link_queues::{Buffer, LinkPlan, LinkQueues};
use crate::sharing::max_min::{LinkWeight, WHOLE};
use ::paths::{Failures, framing, graph};
use idle_time::LinkTiming;
use next_hop::NextHopChoice;
use spec::{FabricSpec, ForwardingSpec, RunSpec, SpecError};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use topology::{End, Graph, NodeKind, Routes};
use units::{AttachmentId, Instant, LinkId, NodeId, Rate, Span};
use wire::Framing;
use wiring::Wiring;
pub(crate) use wiring::{Leg, Transit};

/// Bytes of an Ethernet frame, its preamble included, after which a cut-through switch forwards it.
const HEAD_BYTES: u32 = 8 + 64;

/// The graph of a fabric in the state in which it is from the start: with the rates of its links, and those
/// that are down.
pub(crate) struct InitialGraph {
    pub(crate) graph: Graph,
    /// Whether each link is down; empty if all are up.
    is_down: Vec<bool>,
}

impl InitialGraph {
    /// # Errors
    /// If the network exceeds the limits, or a failure refers to an unknown element.
    pub(crate) fn new(fabric: &FabricSpec) -> Result<Self, SpecError> {
        let mut graph = graph(fabric)?;
        if fabric.failures.is_empty() {
            return Ok(Self { graph, is_down: Vec::new() });
        }
        let failures = Failures::new(fabric, &graph)?;
        let links = || (0..graph.links.len()).map(LinkId::from_index);
        let is_down: Vec<bool> = links().map(|link| !failures.is_up(link, Instant::ZERO)).collect();
        let rates: Vec<Option<Rate>> =
            links().map(|link| failures.of_link(link).last().map(|change| change.rate)).collect();
        for (link, rate) in graph.links.iter_mut().zip(rates) {
            link.rate = rate.unwrap_or(link.rate);
        }
        let has_links_down = is_down.contains(&true);
        Ok(Self { graph, is_down: if has_links_down { is_down } else { Vec::new() } })
    }

    /// Routes over the links that are up.
    pub(crate) fn routes(&self) -> Routes {
        Routes::compute_over(&self.graph, |link| !self.is_down.get(link.index()).is_some_and(|&down| down))
    }

    /// Whether there is a path between all hosts of a plane.
    pub(crate) fn is_joined(&self) -> bool {
        self.is_down.is_empty() && self.graph.is_joined_by_switches()
    }
}

/// The fabric.
pub(crate) struct Network {
    pub(crate) graph: Graph,
    /// See [`InitialGraph::is_down`].
    is_down: Vec<bool>,
    wiring: Wiring,
    /// Distinct timings of links for frames, and the index of the timing of each directed link.
    timings: Vec<LinkTiming>,
    timing_of: Vec<u32>,
    routes: Routes,
    pub(crate) framing: Framing,
    nic_latency: Span,
    pipeline_latency: Span,
    cuts_through: bool,
    choice: NextHopChoice,
    /// `None` if data are paused instead of lost.
    buffer: Option<Buffer>,
}

/// Buffer of switches for data that may be lost.
fn buffer(spec: &RunSpec) -> Option<Buffer> {
    let (switch, data) = (&spec.fabric.switch, spec.priority_of(0));
    let is_paused = switch.pfc.as_ref().is_some_and(|pfc| pfc.priorities.contains(&data));
    let alpha = switch.buffer.lossy_alpha.map(|alpha| [alpha.numerator, alpha.denominator]);
    (!is_paused).then_some(Buffer { bytes: switch.buffer.size_bytes, alpha })
}

impl Network {
    pub(crate) fn new(spec: &RunSpec, initial: InitialGraph) -> Self {
        let fabric = &spec.fabric;
        let routes = initial.routes();
        let InitialGraph { graph, is_down } = initial;
        let mut network = Self {
            routes,
            is_down,
            framing: framing(fabric),
            nic_latency: Span(fabric.nic.latency_ps),
            pipeline_latency: Span(fabric.switch.pipeline_latency_ps),
            cuts_through: fabric.switch.forwarding == ForwardingSpec::CutThrough,
            choice: NextHopChoice::of(spec, &graph),
            buffer: buffer(spec),
            wiring: Wiring::of(&graph),
            timings: Vec::new(),
            timing_of: Vec::new(),
            graph,
        };
        network.collect_timings();
        network
    }

    /// Sets the timing of each link.
    fn collect_timings(&mut self) {
        let mut indices = HashMap::new();
        let mut timing_of = vec![0; 2 * self.graph.links.len()];
        for link in self.graph.links.iter() {
            for End { node, port } in link.ends {
                let timing = self.timing(node, port);
                let next = self.timings.len() as u32;
                let index = *indices.entry(timing).or_insert(next);
                if index == next {
                    self.timings.push(timing);
                }
                timing_of[self.link_out_of(node, port) as usize] = index;
            }
        }
        self.timing_of = timing_of;
    }

    /// Capacity of each directed link [2^-16 bit/s]: for link `l`, the one from its first end has index `2
    /// l`.
    pub(crate) fn capacities(&self) -> impl Iterator<Item = u64> {
        self.graph.links.iter().flat_map(|link| [link.rate.bps() << RATE_BITS; 2])
    }

    /// Its directed links as queues.
    pub(crate) fn queues(&self, frame_bytes: u64) -> LinkQueues {
        let top = self.graph.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        let directed = self.graph.links.iter().flat_map(|link| {
            let [first, second] = link.ends;
            [(link.rate, first.node, second.node), (link.rate, second.node, first.node)]
        });
        let plans = directed.map(|(rate, from, to)| {
            let (sender, receiver) = (self.graph.node(from), self.graph.node(to));
            let rank = match sender.tier.cmp(&receiver.tier) {
                Ordering::Less => sender.tier,
                Ordering::Equal => top,
                Ordering::Greater => 2 * top - sender.tier + 1,
            };
            let is_to_host = receiver.kind == NodeKind::Host;
            let first = self.wiring.first_ports[to.index()];
            let ports = if is_to_host { 0 } else { receiver.ports.len() as u32 };
            LinkPlan {
                capacity: rate.bps() << RATE_BITS,
                rank: rank.into(),
                is_source: sender.kind == NodeKind::Host,
                next: first..first + ports,
            }
        });
        let next = self.wiring.egress_ports.iter().map(|egress| egress.link).collect();
        LinkQueues::new(plans, next, frame_bytes, self.buffer)
    }

    /// Capacity of a directed link [2^-16 bit/s].
    pub(crate) fn capacity(&self, link: u32) -> u64 {
        self.graph.links[link as usize / 2].rate.bps() << RATE_BITS
    }

    /// Bytes that a host can send before any feedback arrives: a round trip through one switch.
    pub(crate) fn round_trip_bytes(&self) -> u64 {
        let flights = self.graph.attachments.iter().map(|attachment| {
            let node = NodeId(attachment.host.0);
            let end = self.graph.node(node).ports[usize::from(attachment.host_port)];
            let link = self.graph.link(end.link);
            let delay = self.latency(node, attachment.host_port) + link.delay + self.nic_latency;
            bytes_sent_in(link.rate.bps() << RATE_BITS, delay + delay)
        });
        flights.min().unwrap_or(0)
    }

    /// The directed link to a port of a host.
    pub(crate) fn link_to_host(&self, attachment: AttachmentId) -> u32 {
        let port = self.graph.attachment(attachment);
        self.link_out_of(port.switch, port.switch_port)
    }

    /// The directed link out of a port of a host.
    pub(crate) fn link_from_host(&self, attachment: AttachmentId) -> u32 {
        let port = self.graph.attachment(attachment);
        self.link_out_of(NodeId(port.host.0), port.host_port)
    }

    /// The directed link out of a port.
    pub(crate) fn link_out_of(&self, node: NodeId, port: u16) -> u32 {
        self.wiring.link_out_of(node, port)
    }

    /// The names of both nodes of a directed link.
    pub(crate) fn name_of(&self, link: u32) -> String {
        let [from, to] = [link ^ 1, link].map(|link| &self.graph.node(self.receiver_of(link)).name);
        format!("{from}-{to}")
    }

    /// The node at the receiving end of a directed link.
    fn receiver_of(&self, link: u32) -> NodeId {
        self.wiring.receivers[link as usize]
    }

    /// Whether data are lost at a full queue, instead of being paused.
    pub(crate) const fn is_lossy(&self) -> bool {
        self.buffer.is_some()
    }

    /// Time from the last bit out of a port until the node at the other end acts.
    fn latency(&self, from: NodeId, port: u16) -> Span {
        let node = self.graph.node(from);
        let end = node.ports[usize::from(port)];
        let peer = self.graph.node(end.peer);
        let sender = if node.kind == NodeKind::Host { self.nic_latency } else { Span::ZERO };
        let receiver = match peer.kind {
            NodeKind::Host => self.nic_latency,
            NodeKind::Switch if peer.ideal => Span::ZERO,
            NodeKind::Switch => self.pipeline_latency,
        };
        sender + self.graph.link(end.link).delay + receiver
    }

    /// Timing of the link out of a port for frames from a link that is not slower.
    fn timing(&self, node: NodeId, port: u16) -> LinkTiming {
        let end = self.graph.node(node).ports[usize::from(port)];
        let rate: Rate = self.graph.link(end.link).rate;
        let acts_early = self.cuts_through && self.graph.node(end.peer).kind == NodeKind::Switch;
        let head = acts_early.then(|| rate.frame_span(HEAD_BYTES, 0));
        LinkTiming { bps: rate.bps(), head, latency: self.latency(node, port) }
    }

    /// Index common to all links with the same timing for frames as this one.
    pub(crate) fn timing_index(&self, link: u32) -> u32 {
        self.timing_of[link as usize]
    }

    /// Timing of the links of a path for frames.
    pub(crate) fn timings(&self, legs: &[Leg]) -> Vec<LinkTiming> {
        let mut timings: Vec<LinkTiming> = Vec::with_capacity(legs.len());
        for leg in legs {
            let timing = self.timings[self.timing_index(leg.link) as usize];
            // On a port faster than the one before it, a cut-through frame would underrun.
            if let Some(before) = timings.last_mut()
                && before.bps < timing.bps
            {
                before.head = None;
            }
            timings.push(timing);
        }
        timings
    }

    /// Finds the path from one host port to another by the hash of the packet and the number of its queue
    /// pair; the first of equal paths if each frame may take a different one. Leaves `legs` empty if there is
    /// none.
    pub(crate) fn find_legs(
        &self,
        [from, to]: [AttachmentId; 2],
        entropy: u32,
        queue_pair: Option<u32>,
        legs: &mut Vec<Leg>,
    ) {
        legs.clear();
        let source = self.graph.attachment(from);
        let (mut node, mut port) = (NodeId(source.host.0), source.host_port);
        let (mut first_port, hosts) = (self.wiring.first_ports[node.index()], self.graph.hosts());
        loop {
            let egress = self.wiring.egress_ports[first_port as usize + usize::from(port)];
            if self.is_down(egress.link) {
                return legs.clear();
            }
            legs.push(Leg { node, port, link: egress.link, first_transit: egress.first_transit });
            (node, first_port) = (egress.peer, egress.first_of_peer);
            let Some(switch) = node.index().checked_sub(hosts) else { return };
            let next_hops = self.routes.next_hops(node, to);
            let choice = self.choice.choose(switch, entropy, queue_pair, next_hops.len());
            let Some(&next) = next_hops.get(choice) else { return legs.clear() };
            port = next;
        }
    }

    /// Whether links are down.
    pub(crate) const fn has_links_down(&self) -> bool {
        !self.is_down.is_empty()
    }

    /// Whether a directed link is down.
    pub(crate) fn is_down(&self, link: u32) -> bool {
        self.is_down.get(link as usize / 2).is_some_and(|&is_down| is_down)
    }

    /// Whether there is a path from one host port to another.
    pub(crate) fn is_reachable(&self, ends: [AttachmentId; 2]) -> bool {
        let mut legs = Vec::new();
        self.find_legs(ends, 0, None, &mut legs);
        !legs.is_empty()
    }

    /// The fraction of the data that each link transports.
    pub(crate) fn link_weights(&self, legs: &[Leg], to: AttachmentId) -> Box<[LinkWeight]> {
        let first = LinkWeight { link: legs[0].link, weight: WHOLE };
        let mut weights = BTreeMap::new();
        self.transits(legs, to, &mut |transit| {
            *weights.entry((transit.hop, transit.to)).or_insert(0) += transit.weight;
        });
        let others = weights.into_iter().map(|((_, link), weight)| LinkWeight { link, weight });
        std::iter::once(first).chain(others).collect()
    }

    /// Visits the transits of a path, hop by hop, or those of an even split over all next hops.
    #[inline]
    pub(crate) fn transits(&self, legs: &[Leg], to: AttachmentId, visit: &mut impl FnMut(Transit)) {
        if matches!(self.choice, NextHopChoice::All) {
            return self.split_evenly(legs[0].link, to, visit);
        }
        (0..).zip(legs.windows(2)).for_each(|(hop, legs)| visit(legs[0].transit(hop, &legs[1])));
    }

    /// Visits the transits after one hop.
    #[inline]
    pub(crate) fn transits_after(
        &self,
        hop: u8,
        legs: &[Leg],
        to: AttachmentId,
        visit: &mut impl FnMut(Transit),
    ) {
        if matches!(self.choice, NextHopChoice::All) {
            let after = &mut |transit: Transit| {
                if transit.hop == hop {
                    visit(transit);
                }
            };
            return self.split_evenly(legs[0].link, to, after);
        }
        if let Some(legs) = legs.get(usize::from(hop)..usize::from(hop) + 2) {
            visit(legs[0].transit(hop, &legs[1]));
        }
    }

    /// Visits every link that frames on the host's link `first` may take, whichever next hops are selected;
    /// some of them more than once. Returns whether frames take the same time on all of these paths.
    pub(crate) fn has_equal_paths(&self, first: u32, to: AttachmentId, mut visit: impl FnMut(u32)) -> bool {
        let (mut are_equal, mut kinds) = (true, Vec::new());
        visit(first);
        self.split_evenly(first, to, &mut |transit| {
            let from = self.receiver_of(transit.from);
            let end = self.graph.node(from).ports[usize::from(transit.port)];
            let tier = self.graph.node(end.peer).tier;
            let kind = (self.graph.link(end.link).rate, self.latency(from, transit.port), tier);
            match kinds.get(usize::from(transit.hop)) {
                Some(other) => are_equal &= *other == kind,
                None => kinds.push(kind),
            }
            visit(transit.to);
        });
        are_equal
    }

    /// Visits the transits of an even split over all next hops, switch by switch.
    fn split_evenly(&self, first: u32, to: AttachmentId, visit: &mut impl FnMut(Transit)) {
        let mut weights = BTreeMap::from([(first, WHOLE)]);
        for hop in 0.. {
            let mut next = BTreeMap::new();
            for (from, weight) in weights {
                let node = self.receiver_of(from);
                if node.index() < self.graph.hosts() {
                    continue;
                }
                let ports = self.routes.next_hops(node, to);
                let weight = (weight / ports.len() as u32).max(1);
                for &port in ports {
                    let to = self.link_out_of(node, port);
                    let index = self.wiring.first_transits[from as usize] + u32::from(port);
                    visit(Transit { hop, from, port, to, index, weight });
                    *next.entry(to).or_insert(0) += weight;
                }
            }
            if next.is_empty() {
                return;
            }
            weights = next;
        }
    }
}
