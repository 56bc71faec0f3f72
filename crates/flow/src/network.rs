//! Directed links, and which of them carry the data of a queue pair.

use crate::fluid::{Share, WHOLE};
use crate::train::Hop;
use spec::{ForwardingSpec, LoadBalancing, RunSpec, SpecError};
use std::collections::BTreeMap;
use topology::{Graph, NodeKind, Routes};
use units::{AttachmentId, NodeId, Rate, Seed, Span};
use wire::Framing;

/// Bytes of an Ethernet frame, its preamble included, after which a switch that cuts through acts.
const HEAD_BYTES: u32 = 8 + 64;
/// Fractional bits of rates.
pub(crate) const RATE_BITS: u32 = 16;

/// The fabric.
pub(crate) struct Network {
    pub(crate) graph: Graph,
    routes: Routes,
    pub(crate) framing: Framing,
    nic_latency: Span,
    pipeline_latency: Span,
    cuts_through: bool,
    /// By switch; none where every frame may go another way.
    ecmp_seeds: Option<Vec<u64>>,
}

impl Network {
    pub(crate) fn new(spec: &RunSpec) -> Result<Self, SpecError> {
        let fabric = &spec.fabric;
        let graph = paths::graph(fabric)?;
        let seeds = || (0..graph.switches() as u32).map(|switch| paths::ecmp_seed(Seed(spec.seed), switch));
        let is_ecmp = matches!(fabric.load_balancing, LoadBalancing::Ecmp { .. });
        Ok(Self {
            routes: Routes::compute(&graph),
            framing: paths::framing(fabric.link_layer),
            nic_latency: Span(fabric.nic.latency_ps),
            pipeline_latency: Span(fabric.switch.pipeline_latency_ps),
            cuts_through: fabric.switch.forwarding == ForwardingSpec::CutThrough,
            ecmp_seeds: is_ecmp.then(|| seeds().collect()),
            graph,
        })
    }

    /// What each directed link carries [2^-16 bit/s]: of link `l` that from its first end is number `2 l`.
    pub(crate) fn capacities(&self) -> impl Iterator<Item = u64> {
        self.graph.links.iter().flat_map(|link| [link.rate.bps() << RATE_BITS; 2])
    }

    /// The directed link out of a port.
    fn link_of(&self, node: NodeId, port: u16) -> u32 {
        let link = self.graph.node(node).ports[usize::from(port)].link;
        let first = self.graph.link(link).ends[0];
        2 * link.0 + u32::from(first.node != node || first.port != port)
    }

    /// From the last bit out of a port to the moment the node at the other end acts.
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

    /// Ports from one host port to another, by the hash of what is sent; the first of equal ones without
    /// hashes. Empty if there is no way.
    pub(crate) fn ports(&self, [from, to]: [AttachmentId; 2], entropy: u32) -> Vec<(NodeId, u16)> {
        let source = self.graph.attachment(from);
        let mut ports = vec![(NodeId(source.host.0), source.host_port)];
        let (mut node, hosts) = (source.switch, self.graph.hosts());
        while let Some(switch) = node.index().checked_sub(hosts) {
            let hops = self.routes.next_hops(node, to);
            let choice = match &self.ecmp_seeds {
                Some(seeds) if hops.len() > 1 => paths::hash_choice(entropy, seeds[switch], hops.len()),
                _ => 0,
            };
            let Some(&port) = hops.get(choice) else { return Vec::new() };
            ports.push((node, port));
            node = self.graph.node(node).ports[usize::from(port)].peer;
        }
        ports
    }

    /// The links of a path as frames cross them.
    pub(crate) fn hops(&self, ports: &[(NodeId, u16)]) -> Vec<Hop> {
        let mut hops: Vec<Hop> = Vec::with_capacity(ports.len());
        for &(node, port) in ports {
            let end = self.graph.node(node).ports[usize::from(port)];
            let rate: Rate = self.graph.link(end.link).rate;
            // Out of a port faster than the one before it, a frame that cuts through would run dry.
            if let Some(before) = hops.last_mut()
                && before.bps < rate.bps()
            {
                before.head = None;
            }
            let acts_early = self.cuts_through && self.graph.node(end.peer).kind == NodeKind::Switch;
            let head = acts_early.then(|| rate.frame_span(HEAD_BYTES, 0));
            hops.push(Hop { bps: rate.bps(), head, latency: self.latency(node, port) });
        }
        hops
    }

    /// Which part of its data each link carries.
    pub(crate) fn shares(&self, ports: &[(NodeId, u16)], to: AttachmentId) -> Box<[Share]> {
        if self.ecmp_seeds.is_some() {
            let share = |&(node, port)| Share { link: self.link_of(node, port), weight: WHOLE };
            return ports.iter().map(share).collect();
        }
        self.split(ports[0], to)
    }

    /// An even split over all next hops, switch by switch.
    fn split(&self, (host, port): (NodeId, u16), to: AttachmentId) -> Box<[Share]> {
        let mut shares = vec![Share { link: self.link_of(host, port), weight: WHOLE }];
        let first = self.graph.node(host).ports[usize::from(port)].peer;
        let mut level = BTreeMap::from([(first.0, WHOLE)]);
        while !level.is_empty() {
            let mut next = BTreeMap::new();
            for (node, weight) in level {
                let hops = self.routes.next_hops(NodeId(node), to);
                let weight = (weight / hops.len() as u32).max(1);
                for &port in hops {
                    shares.push(Share { link: self.link_of(NodeId(node), port), weight });
                    let peer = self.graph.node(NodeId(node)).ports[usize::from(port)].peer;
                    if peer.index() >= self.graph.hosts() {
                        *next.entry(peer.0).or_insert(0) += weight;
                    }
                }
            }
            level = next;
        }
        shares.into()
    }
}
