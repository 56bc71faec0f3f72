//! Paths of chunks and of their acknowledgements.

use crate::network::{Leg, Network};
use crate::train::{Frames, Hop};
use crate::work::{RATE_BITS, of_bytes, time_for};
use jobs::{Jobs, QueuePair};
use paths::PathHash;
use spec::{LossRecovery, RateControlSpec, RunSpec, SpecError, TransportSpec};
use std::cell::Cell;
use std::collections::HashMap;
use topology::Routes;
use units::{AttachmentId, Instant, Span};

/// Path of a chunk.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) to: AttachmentId,
    pub(crate) legs: Vec<Leg>,
    /// Path of its acknowledgements.
    pub(crate) back: Vec<Leg>,
    pub(crate) back_to: AttachmentId,
    /// Bytes for which it occupies a link.
    pub(crate) wire_bytes: u64,
    /// Bytes of its acknowledgements on a link, for each 2^16 of `wire_bytes`.
    pub(crate) acks: u32,
    /// UDP source port, and the number of the queue pair that the NIC assigns.
    labels: (u16, u32),
}

/// Times and rates of a chunk on an idle path.
#[derive(Clone, Copy)]
pub(crate) struct Idle {
    /// Rate of the slowest link [2^-16 bit/s].
    pub(crate) slowest: u64,
    /// Time from when its last bit would have left that link to its arrival.
    pub(crate) tail: Span,
    /// Time from the arrival to its acknowledgement.
    pub(crate) back: Span,
    /// Time from the post to its acknowledgement.
    pub(crate) unloaded: Span,
    /// Rate to which the window of its queue pair limits it [2^-16 bit/s], if it starts with an open window
    /// and the window ever closes.
    pub(crate) alone: Option<u64>,
    /// The corresponding rate if it follows a chunk that is longer than the window.
    pub(crate) paced: u64,
}

impl Idle {
    /// Upper bound of the rate of a burst [2^-16 bit/s]; the rate of the window if it follows others.
    pub(crate) fn bound(&self, is_paced: bool) -> u64 {
        let windowed = if is_paced { Some(self.paced) } else { self.alone };
        self.slowest.min(windowed.unwrap_or(u64::MAX))
    }
}

/// Times of chunks on idle paths: few are different in a regular fabric.
#[derive(Default)]
struct Known {
    idles: Vec<Idle>,
    numbers: HashMap<Way, u32>,
    /// The last one requested.
    last: (Way, u32),
}

/// Key of the time of a chunk on an idle path: its bytes, the number of its links, and the kinds of its links
/// and of those of its acknowledgements.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Way {
    bytes: u64,
    links: Vec<u32>,
}

impl Way {
    fn set(&mut self, network: &Network, path: &Path, bytes: u64) {
        self.bytes = bytes;
        self.links.clear();
        self.links.push(path.legs.len() as u32);
        self.links.extend(path.legs.iter().chain(&path.back).map(|leg| network.hop_number(leg.link)));
    }
}

/// Bytes of a chunk on the wire.
#[derive(Clone, Copy, Default)]
struct OnWire {
    bytes: u64,
    /// See [`Path::wire_bytes`] and [`Path::acks`].
    wire_bytes: u64,
    acks: u32,
}

/// Maximum number of outstanding packets of a queue pair, as long as no delay is above the target of Swift.
fn window_packets(transport: &TransportSpec) -> u32 {
    let window = match transport.rate_control {
        RateControlSpec::Swift(swift) => (swift.window_max_2e20 >> 20).clamp(1, u32::MAX.into()) as u32,
        _ => u32::MAX,
    };
    match transport.recovery {
        LossRecovery::Selective => window.min(transport.window_packets).min(transport.ooo_window_packets),
        _ => window.min(transport.window_packets),
    }
}

/// Paths through a fabric.
pub(crate) struct Paths {
    pub(crate) network: Network,
    pub(crate) frames: Frames,
    hash: PathHash,
    pub(crate) window_packets: u64,
    known: Known,
    /// The last result, since many chunks have the same size.
    on_wire: Cell<Option<OnWire>>,
    /// Scratch space for the key to look up.
    way: Way,
}

impl Paths {
    pub(crate) fn new(spec: &RunSpec) -> Result<Self, SpecError> {
        let network = Network::new(spec)?;
        Ok(Self {
            hash: PathHash::new(spec, &network.graph),
            frames: Frames::new(&spec.transport, network.framing),
            window_packets: window_packets(&spec.transport).into(),
            known: Known::default(),
            on_wire: Cell::default(),
            way: Way::default(),
            network,
        })
    }

    /// Checks that there is a path for all data.
    pub(crate) fn check(&self, jobs: &Jobs) -> Result<(), SpecError> {
        if self.network.graph.is_joined_by_switches() {
            return Ok(());
        }
        for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
            let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
            if !self.network.has_way([from, to]) {
                return Err(SpecError::Value {
                    field: format!("jobs[{}].hosts", pair.job),
                    found: format!("host {} cannot reach host {}", pair.src_host, pair.dst_host),
                    allowed: "hosts that are joined by switches".into(),
                });
            }
        }
        Ok(())
    }

    /// The path of a chunk.
    pub(crate) fn of(&self, jobs: &Jobs, chunk: u32) -> Path {
        let mut path = Path::default();
        self.find(jobs, chunk, &mut path);
        path
    }

    /// Replaces `path` with the path of a chunk, without that of the acknowledgements: see
    /// [`Self::find_back`].
    pub(crate) fn find(&self, jobs: &Jobs, chunk: u32, path: &mut Path) {
        let (chunk, _, pair) = jobs.place(chunk);
        let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
        let OnWire { wire_bytes, acks, .. } = self.on_wire(chunk.bytes);
        (path.to, path.back_to, path.wire_bytes, path.acks) = (to, from, wire_bytes, acks);
        path.labels = (pair.udp_source_port(), pair.identity);
        let entropy = self.hash.of([from, to], path.labels.0, path.labels.1);
        self.network.find_way([from, to], entropy, Some(pair.number), &mut path.legs);
    }

    /// Finds the path of a queue pair by given routes; returns its destination.
    pub(crate) fn find_by(&self, routes: &Routes, pair: &QueuePair, legs: &mut Vec<Leg>) -> AttachmentId {
        let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
        let entropy = self.hash.of([from, to], pair.udp_source_port(), pair.identity);
        self.network.find_way_by(routes, [from, to], (entropy, Some(pair.number)), legs);
        to
    }

    /// Adds the path of the acknowledgements.
    pub(crate) fn find_back(&self, path: &mut Path) {
        let ends = [path.to, path.back_to];
        let entropy = self.hash.of(ends, path.labels.0, path.labels.1);
        self.network.find_way(ends, entropy, None, &mut path.back);
    }

    /// Earliest time from `at` on at which packets of a path, or acknowledgements (without `queue_pair`), get
    /// through; `None` if never.
    pub(crate) fn opens(&self, path: &Path, queue_pair: Option<u32>, at: Instant) -> Option<Instant> {
        let ends = if queue_pair.is_some() { [path.back_to, path.to] } else { [path.to, path.back_to] };
        let entropy = self.hash.of(ends, path.labels.0, path.labels.1);
        self.network.opens(ends, entropy, queue_pair, at)
    }

    /// The link on which a chunk leaves its host, and the bytes for which it occupies it.
    pub(crate) fn start(&self, jobs: &Jobs, chunk: u32) -> (u32, u64) {
        let (chunk, _, pair) = jobs.place(chunk);
        let (from, _) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
        (self.network.link_from(from), self.on_wire(chunk.bytes).wire_bytes)
    }

    fn on_wire(&self, bytes: u64) -> OnWire {
        let known = self.on_wire.get().filter(|known| known.bytes == bytes);
        known.unwrap_or_else(|| {
            let [_, _, wire_bytes] = self.frames.of(bytes);
            let found = OnWire { bytes, wire_bytes, acks: self.frames.acks_of(bytes) };
            self.on_wire.set(Some(found));
            found
        })
    }

    /// A path for a chunk of `bytes` from one port to another; `None` if there is none.
    pub(crate) fn between(&self, [from, to]: [AttachmentId; 2], bytes: u64) -> Option<Path> {
        let OnWire { wire_bytes, acks, .. } = self.on_wire(bytes);
        let mut path = Path { to, back_to: from, wire_bytes, acks, ..Path::default() };
        self.network.find_way([from, to], 0, None, &mut path.legs);
        self.network.find_way([to, from], 0, None, &mut path.back);
        (!path.legs.is_empty() && !path.back.is_empty()).then_some(path)
    }

    /// Number of the times of a chunk of `bytes` on an idle path.
    pub(crate) fn number_idle(&mut self, path: &Path, bytes: u64) -> u32 {
        self.way.set(&self.network, path, bytes);
        if self.way == self.known.last.0 && !self.known.idles.is_empty() {
            return self.known.last.1;
        }
        let number = match self.known.numbers.get(&self.way) {
            Some(&number) => number,
            None => {
                let (hops, back) = (self.network.hops(&path.legs), self.network.hops(&path.back));
                self.known.idles.push(self.work_out(path, &hops, &back, bytes));
                let number = self.known.idles.len() as u32 - 1;
                self.known.numbers.insert(self.way.clone(), number);
                number
            }
        };
        self.known.last.0.clone_from(&self.way);
        self.known.last.1 = number;
        number
    }

    /// Transmission time of a packet of a chunk on the slowest link of its path.
    pub(crate) fn packet_time(&self, jobs: &Jobs, chunk: u32) -> Span {
        let path = self.of(jobs, chunk);
        let slowest = path.legs.iter().map(|leg| self.network.capacity(leg.link)).min().unwrap_or(u64::MAX);
        let [frames, _, wire_bytes] = self.frames.of(jobs.chunk(chunk).bytes);
        time_for(of_bytes(wire_bytes) / u128::from(frames), slowest)
    }

    /// The times with a number.
    #[inline]
    pub(crate) fn idle(&self, number: u32) -> &Idle {
        &self.known.idles[number as usize]
    }

    fn work_out(&self, path: &Path, hops: &[Hop], back: &[Hop], bytes: u64) -> Idle {
        let back = self.frames.acknowledged(back);
        let slowest = hops.iter().map(|hop| hop.bps).min().unwrap_or(1) << RATE_BITS;
        let arrives = self.frames.unloaded(hops, bytes);
        let sent = time_for(of_bytes(path.wire_bytes), slowest);
        let tail = Span(arrives.0.saturating_sub(sent.0));
        let paced = self.paced(hops, back, bytes).min(slowest);
        let windowed = self.frames.windowed(hops, back, bytes, self.window_packets);
        let alone = windowed.map(|span| {
            let sending = span.0.saturating_sub(tail.0).max(1);
            u64::try_from(of_bytes(path.wire_bytes) / u128::from(sending)).unwrap_or(u64::MAX)
        });
        Idle { slowest, tail, back, unloaded: arrives + back, alone, paced }
    }

    /// Rate of one window of packets per round trip [2^-16 bit/s].
    fn paced(&self, hops: &[Hop], back: Span, bytes: u64) -> u64 {
        let [frames, _, wire_bytes] = self.frames.of(bytes);
        let first = self.frames.mtu_bytes().min(bytes);
        let round_trip = self.frames.unloaded(hops, first) + back;
        let work = of_bytes(wire_bytes) / u128::from(frames) * u128::from(self.window_packets);
        u64::try_from(work / u128::from(round_trip.0.max(1))).unwrap_or(u64::MAX)
    }
}
