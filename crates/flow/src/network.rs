//! Directed links, and which of them carry the data of a queue pair.

use crate::fluid::{Share, WHOLE};
use crate::queues::{Buffer, LinkPlan, Queues};
use crate::train::Hop;
use crate::work::{RATE_BITS, bytes_in};
use spec::{ForwardingSpec, LoadBalancing, RunSpec, SpecError};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use topology::{Graph, NodeKind, Routes};
use units::{AttachmentId, NodeId, Rate, Seed, Span};
use wire::Framing;

/// Bytes of an Ethernet frame, its preamble included, after which a switch that cuts through acts.
const HEAD_BYTES: u32 = 8 + 64;

/// Links of a path through three tiers.
const HOPS_EXPECTED: usize = 6;

/// Two neighbouring links of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Hop of the first, from 0 at the sender.
    pub(crate) hop: u8,
    /// The first, and the port of the node it leads to by which frames go on.
    pub(crate) from: u32,
    pub(crate) port: u16,
    /// Part of the flow that takes it, of [`WHOLE`].
    pub(crate) part: u32,
}

/// The fabric.
pub(crate) struct Network {
    pub(crate) graph: Graph,
    routes: Routes,
    pub(crate) framing: Framing,
    nic_latency: Span,
    pipeline_latency: Span,
    cuts_through: bool,
    choice: Choice,
    /// None where data are paused instead of lost.
    buffer: Option<Buffer>,
}

/// Which of several next hops a queue pair takes.
enum Choice {
    /// All, as every frame may go another way.
    All,
    /// By hash; seeds by switch.
    Hash(Vec<u64>),
    /// The same with weights; next hops beyond the list have weight 1.
    Weighted(Vec<u64>, Vec<u32>),
    /// By switch and queue pair, by hash where there is none.
    Pinned(Vec<u64>, HashMap<(u32, u32), u32>),
}

impl Choice {
    fn of(spec: &RunSpec, graph: &Graph) -> Self {
        let seed = |switch| paths::ecmp_seed(Seed(spec.seed), switch);
        let seeds = || (0..graph.switches() as u32).map(seed).collect();
        match &spec.fabric.load_balancing {
            LoadBalancing::Ecmp { .. } => Self::Hash(seeds()),
            LoadBalancing::Weighted { weights } => Self::Weighted(seeds(), weights.clone()),
            LoadBalancing::Pinned { pins } => {
                let names = graph.nodes[graph.hosts()..].iter().zip(0..);
                let switches: HashMap<&str, u32> = names.map(|(node, id)| (&*node.name, id)).collect();
                let known = pins.iter().filter_map(|pin| Some((*switches.get(&*pin.switch)?, pin)));
                Self::Pinned(seeds(), known.map(|(switch, pin)| ((switch, pin.qp), pin.uplink)).collect())
            }
            _ => Self::All,
        }
    }

    /// The place of the next hop of a queue pair, of so many at a switch. Acknowledgements have no number.
    fn choose(&self, switch: usize, entropy: u32, queue_pair: Option<u32>, hops: usize) -> usize {
        match self {
            Self::All => 0,
            _ if hops < 2 => 0,
            Self::Hash(seeds) => paths::hash_choice(entropy, seeds[switch], hops),
            Self::Weighted(seeds, weights) => {
                let weight = |place: usize| weights.get(place).map_or(1, |&weight| weight as usize);
                let total: usize = (0..hops).map(weight).sum();
                let mut ticket = paths::hash_choice(entropy, seeds[switch], total.max(1));
                let is_it = |&place: &usize| {
                    let is_it = ticket < weight(place);
                    ticket = ticket.saturating_sub(weight(place));
                    is_it
                };
                (0..hops).find(is_it).unwrap_or(0)
            }
            Self::Pinned(seeds, pins) => {
                let pin = queue_pair.and_then(|pair| pins.get(&(switch as u32, pair)));
                let hash = || paths::hash_choice(entropy, seeds[switch], hops);
                pin.map_or_else(hash, |&uplink| (uplink as usize).min(hops - 1))
            }
        }
    }
}

/// What switches have for data that may be lost.
fn buffer(spec: &RunSpec) -> Option<Buffer> {
    let (switch, data) = (&spec.fabric.switch, spec.transport.priorities.data);
    let is_paused = switch.pfc.as_ref().is_some_and(|pfc| pfc.priorities.contains(&data));
    let alpha = switch.buffer.lossy_alpha.map(|alpha| [alpha.numerator, alpha.denominator]);
    (!is_paused).then_some(Buffer { bytes: switch.buffer.size_bytes, alpha })
}

impl Network {
    pub(crate) fn new(spec: &RunSpec) -> Result<Self, SpecError> {
        let fabric = &spec.fabric;
        let graph = paths::graph(fabric)?;
        Ok(Self {
            routes: Routes::compute(&graph),
            framing: paths::framing(fabric.link_layer),
            nic_latency: Span(fabric.nic.latency_ps),
            pipeline_latency: Span(fabric.switch.pipeline_latency_ps),
            cuts_through: fabric.switch.forwarding == ForwardingSpec::CutThrough,
            choice: Choice::of(spec, &graph),
            buffer: buffer(spec),
            graph,
        })
    }

    /// What each directed link carries [2^-16 bit/s]: of link `l` that from its first end is number `2 l`.
    pub(crate) fn capacities(&self) -> impl Iterator<Item = u64> {
        self.graph.links.iter().flat_map(|link| [link.rate.bps() << RATE_BITS; 2])
    }

    /// Its directed links as queues.
    pub(crate) fn queues(&self, frame_bytes: u64) -> Queues {
        let top = self.graph.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        let ends = self.graph.links.iter().flat_map(|link| {
            let [first, second] = link.ends;
            [(link.rate, first.node, second.node), (link.rate, second.node, first.node)]
        });
        let plans = ends.map(|(rate, from, to)| {
            let (node, tiers) = (self.graph.node(to), (self.graph.node(from).tier, self.graph.node(to).tier));
            let rank = match tiers.0.cmp(&tiers.1) {
                Ordering::Less => tiers.0,
                Ordering::Equal => top,
                Ordering::Greater => 2 * top - tiers.0 + 1,
            };
            let is_host = node.kind == NodeKind::Host;
            let ports = 0..if is_host { 0 } else { node.ports.len() as u16 };
            LinkPlan {
                capacity: rate.bps() << RATE_BITS,
                rank: rank.into(),
                is_source: self.graph.node(from).kind == NodeKind::Host,
                next: ports.map(|port| self.link_of(to, port)).collect(),
            }
        });
        Queues::new(plans, (frame_bytes, self.buffer))
    }

    /// What a directed link carries [2^-16 bit/s].
    pub(crate) fn capacity(&self, link: u32) -> u64 {
        self.graph.links[link as usize / 2].rate.bps() << RATE_BITS
    }

    /// What a host can send before anything that becomes of it comes back: through one switch and back
    /// [bytes].
    pub(crate) fn first_flight(&self) -> u64 {
        let flights = self.graph.attachments.iter().map(|attachment| {
            let node = NodeId(attachment.host.0);
            let end = self.graph.node(node).ports[usize::from(attachment.host_port)];
            let link = self.graph.link(end.link);
            let there = self.latency(node, attachment.host_port) + link.delay + self.nic_latency;
            bytes_in(link.rate.bps() << RATE_BITS, there + there)
        });
        flights.min().unwrap_or(0)
    }

    /// The directed link to a port of a host.
    pub(crate) fn link_to(&self, attachment: AttachmentId) -> u32 {
        let port = self.graph.attachment(attachment);
        self.link_of(port.switch, port.switch_port)
    }

    /// The directed link out of a port.
    pub(crate) fn link_of(&self, node: NodeId, port: u16) -> u32 {
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

    /// Ports from one host port to another, by the hash of what is sent and the number of its queue pair; the
    /// first of equal ones where every frame may go another way. Empty if there is no way.
    pub(crate) fn ports(
        &self,
        [from, to]: [AttachmentId; 2],
        entropy: u32,
        queue_pair: Option<u32>,
    ) -> Vec<(NodeId, u16)> {
        let source = self.graph.attachment(from);
        let mut ports = Vec::with_capacity(HOPS_EXPECTED);
        ports.push((NodeId(source.host.0), source.host_port));
        let (mut node, hosts) = (source.switch, self.graph.hosts());
        while let Some(switch) = node.index().checked_sub(hosts) {
            let hops = self.routes.next_hops(node, to);
            let choice = self.choice.choose(switch, entropy, queue_pair, hops.len());
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
        let first = Share { link: self.link_of(ports[0].0, ports[0].1), weight: WHOLE };
        let mut shares = BTreeMap::new();
        self.turns(ports, to, &mut |turn| {
            let link = self.link_after(turn);
            *shares.entry((turn.hop, link)).or_insert(0) += turn.part;
        });
        let others = shares.into_iter().map(|((_, link), weight)| Share { link, weight });
        std::iter::once(first).chain(others).collect()
    }

    /// The directed link by which frames go on.
    pub(crate) fn link_after(&self, turn: Turn) -> u32 {
        self.link_of(self.end_of(turn.from), turn.port)
    }

    /// The names of both nodes of a directed link.
    pub(crate) fn name_of(&self, link: u32) -> String {
        let [from, to] = [link ^ 1, link].map(|link| &self.graph.node(self.end_of(link)).name);
        format!("{from}-{to}")
    }

    /// The node that a directed link leads to.
    fn end_of(&self, link: u32) -> NodeId {
        self.graph.links[link as usize / 2].ends[1 - link as usize % 2].node
    }

    /// From link to link along the path by these ports, hop by hop, or an even split over all next hops.
    pub(crate) fn turns(&self, ports: &[(NodeId, u16)], to: AttachmentId, visit: &mut impl FnMut(Turn)) {
        let first = self.link_of(ports[0].0, ports[0].1);
        if matches!(self.choice, Choice::All) {
            return self.split(first, to, visit);
        }
        let mut from = first;
        for (hop, &(node, port)) in (0..).zip(&ports[1..]) {
            visit(Turn { hop, from, port, part: WHOLE });
            from = self.link_of(node, port);
        }
    }

    /// Hands every link that frames out of a port may take to `visit`, whichever next hops are chosen, some of
    /// them more than once. Returns whether the choice makes no difference to how long they take.
    pub(crate) fn is_even(
        &self,
        (node, port): (NodeId, u16),
        to: AttachmentId,
        mut visit: impl FnMut(u32),
    ) -> bool {
        let first = self.link_of(node, port);
        let (mut is_even, mut kinds) = (true, Vec::new());
        visit(first);
        self.split(first, to, &mut |turn| {
            let from = self.end_of(turn.from);
            let end = self.graph.node(from).ports[usize::from(turn.port)];
            let tier = self.graph.node(end.peer).tier;
            let kind = (self.graph.link(end.link).rate, self.latency(from, turn.port), tier);
            match kinds.get(usize::from(turn.hop)) {
                Some(other) => is_even &= *other == kind,
                None => kinds.push(kind),
            }
            visit(self.link_after(turn));
        });
        is_even
    }

    /// An even split over all next hops, switch by switch.
    fn split(&self, first: u32, to: AttachmentId, visit: &mut impl FnMut(Turn)) {
        let mut level = BTreeMap::from([(first, WHOLE)]);
        for hop in 0.. {
            let mut next = BTreeMap::new();
            for (from, part) in level {
                let node = self.end_of(from);
                if node.index() < self.graph.hosts() {
                    continue;
                }
                let ports = self.routes.next_hops(node, to);
                let part = (part / ports.len() as u32).max(1);
                for &port in ports {
                    visit(Turn { hop, from, port, part });
                    *next.entry(self.link_of(node, port)).or_insert(0) += part;
                }
            }
            if next.is_empty() {
                return;
            }
            level = next;
        }
    }
}
