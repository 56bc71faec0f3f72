//! Directed links of the fabric, and the paths of queue pairs over them.

use crate::fluid::{Share, WHOLE};
use crate::queues::{Buffer, LinkPlan, Queues};
use crate::train::Hop;
use crate::work::{RATE_BITS, bytes_in};
use spec::{ForwardingSpec, LoadBalancing, RunSpec, SpecError};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use topology::{End, Graph, NodeKind, Routes};
use units::{AttachmentId, NodeId, Rate, Seed, Span};
use wire::Framing;

/// Bytes of an Ethernet frame, its preamble included, after which a cut-through switch forwards it.
const HEAD_BYTES: u32 = 8 + 64;

/// A turn: two consecutive links of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Hop of the first link, from 0 at the sender.
    pub(crate) hop: u8,
    /// The first link, and the second by the port of the node between them.
    pub(crate) from: u32,
    pub(crate) port: u16,
    pub(crate) to: u32,
    /// Number among all turns of the fabric.
    pub(crate) number: u32,
    /// Fraction of the flow that takes it, in units of 1/[`WHOLE`].
    pub(crate) part: u32,
}

/// A port of a path, and the directed link out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) node: NodeId,
    pub(crate) port: u16,
    pub(crate) link: u32,
    /// Number of the first turn from the link, among all turns of the fabric.
    turns: u32,
}

/// Data of the link out of a port in one cache line, since paths are recomputed whenever they are needed.
#[derive(Clone, Copy)]
struct Outlet {
    /// The directed link: for link `l`, the one from its first end is number `2 l`.
    link: u32,
    /// See [`Leg::turns`].
    turns: u32,
    end: NodeId,
    /// Index of the first outlet of the node at the other end.
    next: u32,
}

/// The directed links of a graph.
struct Wiring {
    /// Index of the first outlet of each node.
    first: Vec<u32>,
    outlets: Vec<Outlet>,
    /// The receiving node of each link, and the number of the first turn from it, among all turns.
    ends: Vec<NodeId>,
    turns: Vec<u32>,
}

impl Wiring {
    fn of(graph: &Graph) -> Self {
        let ends: Vec<NodeId> =
            graph.links.iter().flat_map(|link| [link.ends[1].node, link.ends[0].node]).collect();
        let counts = graph.nodes.iter().map(|node| node.ports.len() as u32);
        let first = before_each(counts);
        let turns = before_each(ends.iter().map(|&end| turns_at(graph, end)));
        let mut outlets = Vec::with_capacity(ends.len());
        for (node, ports) in (0..).map(NodeId).zip(graph.nodes.iter().map(|node| &node.ports)) {
            outlets.extend((0..).zip(ports).map(|(port, end)| {
                let begin = graph.link(end.link).ends[0];
                let link = 2 * end.link.0 + u32::from(begin.node != node || begin.port != port);
                Outlet { link, turns: turns[link as usize], end: end.peer, next: first[end.peer.index()] }
            }));
        }
        Self { first, outlets, ends, turns }
    }

    fn link_of(&self, node: NodeId, port: u16) -> u32 {
        self.outlets[self.first[node.index()] as usize + usize::from(port)].link
    }
}

/// Number of turns from a link to a node; none for a host, which forwards nothing.
fn turns_at(graph: &Graph, node: NodeId) -> u32 {
    let node = graph.node(node);
    if node.kind == NodeKind::Host { 0 } else { node.ports.len() as u32 }
}

/// Exclusive prefix sums.
fn before_each(counts: impl Iterator<Item = u32>) -> Vec<u32> {
    let add = |sum: &mut u32, count| {
        let before = *sum;
        *sum = before.wrapping_add(count);
        Some(before)
    };
    counts.scan(0, add).collect()
}

/// The fabric.
pub(crate) struct Network {
    pub(crate) graph: Graph,
    wiring: Wiring,
    /// Distinct kinds of links with equal timing for frames, and the index of the kind by directed link.
    hops: Vec<Hop>,
    hop_of: Vec<u32>,
    routes: Routes,
    pub(crate) framing: Framing,
    nic_latency: Span,
    pipeline_latency: Span,
    cuts_through: bool,
    choice: Choice,
    /// `None` if data are paused instead of lost.
    buffer: Option<Buffer>,
}

/// How a queue pair selects among several next hops.
enum Choice {
    /// All of them, since each frame may take a different path.
    All,
    /// By hash; seeds by switch.
    Hash(Vec<u64>),
    /// By hash with weights; next hops beyond the list have weight 1.
    Weighted(Vec<u64>, Vec<u32>),
    /// By switch and queue pair, otherwise by hash.
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

    /// Index of the next hop of a queue pair among `hops` at a switch. Acknowledgements have no queue pair
    /// number.
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

/// Buffer of switches for data that may be lost.
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
        let mut network = Self {
            routes: Routes::compute(&graph),
            framing: paths::framing(fabric),
            nic_latency: Span(fabric.nic.latency_ps),
            pipeline_latency: Span(fabric.switch.pipeline_latency_ps),
            cuts_through: fabric.switch.forwarding == ForwardingSpec::CutThrough,
            choice: Choice::of(spec, &graph),
            buffer: buffer(spec),
            wiring: Wiring::of(&graph),
            hops: Vec::new(),
            hop_of: Vec::new(),
            graph,
        };
        network.number_hops();
        Ok(network)
    }

    /// Assigns equal numbers to links with equal timing for frames.
    fn number_hops(&mut self) {
        let mut numbers = HashMap::new();
        let mut hop_of = vec![0; 2 * self.graph.links.len()];
        for link in self.graph.links.iter() {
            for End { node, port } in link.ends {
                let hop = self.hop(node, port);
                let next = self.hops.len() as u32;
                let number = *numbers.entry(hop).or_insert(next);
                if number == next {
                    self.hops.push(hop);
                }
                hop_of[self.link_of(node, port) as usize] = number;
            }
        }
        self.hop_of = hop_of;
    }

    /// Capacity of each directed link [2^-16 bit/s]: for link `l`, the one from its first end is number `2
    /// l`.
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
            let first = self.wiring.first[to.index()];
            let ports = if is_host { 0 } else { node.ports.len() as u32 };
            LinkPlan {
                capacity: rate.bps() << RATE_BITS,
                rank: rank.into(),
                is_source: self.graph.node(from).kind == NodeKind::Host,
                next: first..first + ports,
            }
        });
        let next = self.wiring.outlets.iter().map(|outlet| outlet.link).collect();
        Queues::new(plans, next, (frame_bytes, self.buffer))
    }

    /// Capacity of a directed link [2^-16 bit/s].
    pub(crate) fn capacity(&self, link: u32) -> u64 {
        self.graph.links[link as usize / 2].rate.bps() << RATE_BITS
    }

    /// Bytes that a host can send before any feedback arrives: a round trip through one switch.
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
        self.wiring.link_of(node, port)
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

    /// Finds the path from one host port to another by the hash of the packet and the number of its queue
    /// pair; the first of equal paths if each frame may take a different one. Leaves `legs` empty if there is
    /// none.
    pub(crate) fn find_way(
        &self,
        [from, to]: [AttachmentId; 2],
        entropy: u32,
        queue_pair: Option<u32>,
        legs: &mut Vec<Leg>,
    ) {
        legs.clear();
        let source = self.graph.attachment(from);
        let (mut node, mut port) = (NodeId(source.host.0), source.host_port);
        let (mut first, hosts) = (self.wiring.first[node.index()], self.graph.hosts());
        loop {
            let outlet = self.wiring.outlets[first as usize + usize::from(port)];
            legs.push(Leg { node, port, link: outlet.link, turns: outlet.turns });
            (node, first) = (outlet.end, outlet.next);
            let Some(switch) = node.index().checked_sub(hosts) else { return };
            let hops = self.routes.next_hops(node, to);
            let choice = self.choice.choose(switch, entropy, queue_pair, hops.len());
            let Some(&next) = hops.get(choice) else { return legs.clear() };
            port = next;
        }
    }

    /// Whether data are lost at a full queue, instead of being paused.
    pub(crate) const fn loses(&self) -> bool {
        self.buffer.is_some()
    }

    /// The directed link out of a port of a host.
    pub(crate) fn link_from(&self, attachment: AttachmentId) -> u32 {
        let port = self.graph.attachment(attachment);
        self.link_of(NodeId(port.host.0), port.host_port)
    }

    /// Whether there is a path from one host port to another.
    pub(crate) fn has_way(&self, ends: [AttachmentId; 2]) -> bool {
        let mut legs = Vec::new();
        self.find_way(ends, 0, None, &mut legs);
        !legs.is_empty()
    }

    /// Number common to all links with the same timing for frames as this one.
    pub(crate) fn hop_number(&self, link: u32) -> u32 {
        self.hop_of[link as usize]
    }

    /// Timing of the link out of a port for frames from a link that is not slower.
    fn hop(&self, node: NodeId, port: u16) -> Hop {
        let end = self.graph.node(node).ports[usize::from(port)];
        let rate: Rate = self.graph.link(end.link).rate;
        let acts_early = self.cuts_through && self.graph.node(end.peer).kind == NodeKind::Switch;
        let head = acts_early.then(|| rate.frame_span(HEAD_BYTES, 0));
        Hop { bps: rate.bps(), head, latency: self.latency(node, port) }
    }

    /// Timing of the links of a path for frames.
    pub(crate) fn hops(&self, legs: &[Leg]) -> Vec<Hop> {
        let mut hops: Vec<Hop> = Vec::with_capacity(legs.len());
        for leg in legs {
            let hop = self.hops[self.hop_number(leg.link) as usize];
            // On a port faster than the one before it, a cut-through frame would underrun.
            if let Some(before) = hops.last_mut()
                && before.bps < hop.bps
            {
                before.head = None;
            }
            hops.push(hop);
        }
        hops
    }

    /// The fraction of the data that each link transports.
    pub(crate) fn shares(&self, legs: &[Leg], to: AttachmentId) -> Box<[Share]> {
        let first = Share { link: legs[0].link, weight: WHOLE };
        let mut shares = BTreeMap::new();
        self.turns(legs, to, &mut |turn| {
            *shares.entry((turn.hop, turn.to)).or_insert(0) += turn.part;
        });
        let others = shares.into_iter().map(|((_, link), weight)| Share { link, weight });
        std::iter::once(first).chain(others).collect()
    }

    /// The names of both nodes of a directed link.
    pub(crate) fn name_of(&self, link: u32) -> String {
        let [from, to] = [link ^ 1, link].map(|link| &self.graph.node(self.end_of(link)).name);
        format!("{from}-{to}")
    }

    /// The node at the receiving end of a directed link.
    fn end_of(&self, link: u32) -> NodeId {
        self.wiring.ends[link as usize]
    }

    /// Visits the turns of a path, hop by hop, or those of an even split over all next hops.
    #[inline]
    pub(crate) fn turns(&self, legs: &[Leg], to: AttachmentId, visit: &mut impl FnMut(Turn)) {
        if matches!(self.choice, Choice::All) {
            return self.split(legs[0].link, to, visit);
        }
        (0..).zip(legs.windows(2)).for_each(|(hop, legs)| visit(turn(hop, legs)));
    }

    /// Visits the turns after one hop.
    #[inline]
    pub(crate) fn turns_behind(&self, hop: u8, legs: &[Leg], to: AttachmentId, visit: &mut impl FnMut(Turn)) {
        if matches!(self.choice, Choice::All) {
            let behind = &mut |turn: Turn| {
                if turn.hop == hop {
                    visit(turn);
                }
            };
            return self.split(legs[0].link, to, behind);
        }
        if let Some(legs) = legs.get(usize::from(hop)..usize::from(hop) + 2) {
            visit(turn(hop, legs));
        }
    }

    /// Visits every link that frames on the host's link `first` may take, whichever next hops are selected;
    /// some of them more than once. Returns whether frames take the same time on all of these paths.
    pub(crate) fn is_even(&self, first: u32, to: AttachmentId, mut visit: impl FnMut(u32)) -> bool {
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
            visit(turn.to);
        });
        is_even
    }

    /// Visits the turns of an even split over all next hops, switch by switch.
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
                    let to = self.link_of(node, port);
                    let number = self.wiring.turns[from as usize] + u32::from(port);
                    visit(Turn { hop, from, port, to, number, part });
                    *next.entry(to).or_insert(0) += part;
                }
            }
            if next.is_empty() {
                return;
            }
            level = next;
        }
    }
}

/// The turn from one leg to the next.
#[inline]
fn turn(hop: u8, legs: &[Leg]) -> Turn {
    let number = legs[0].turn(&legs[1]);
    Turn { hop, from: legs[0].link, port: legs[1].port, to: legs[1].link, number, part: WHOLE }
}

impl Leg {
    /// The number of the turn to the next leg.
    #[inline]
    pub(crate) fn turn(&self, next: &Self) -> u32 {
        self.turns + u32::from(next.port)
    }
}
