//! Paths of chunks (the part of a transfer that one queue pair sends) and of their acknowledgements; times
//! and rates of chunks on idle paths, computed once per kind of path and size.

use crate::network::idle_time::{FrameCount, Frames, LinkTiming};
use crate::network::{InitialGraph, Leg, Network};
use crate::rates::{RATE_BITS, time_for, work_of_bytes};
use ::paths::PathHash;
use jobs::{Jobs, QueuePair};
use spec::{RunSpec, SpecError, TransportSpec, unsupported};
use std::cell::Cell;
use std::collections::HashMap;
use units::{AttachmentId, Span};

/// Path of a chunk and of its acknowledgements.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) destination: AttachmentId,
    pub(crate) legs: Vec<Leg>,
    /// Path of its acknowledgements.
    pub(crate) ack_legs: Vec<Leg>,
    pub(crate) source: AttachmentId,
    /// Bytes for which it occupies a link.
    pub(crate) wire_bytes: u64,
    /// Bytes of its acknowledgements on a link, for each 2^16 of `wire_bytes`.
    pub(crate) ack_weight: u32,
    udp_source_port: u16,
    /// Number of the queue pair that the NIC assigns.
    identity: u32,
}

/// Times and rates of a chunk on an idle path.
#[derive(Clone, Copy)]
pub(crate) struct IdleTimes {
    /// Rate of the slowest link [2^-16 bit/s].
    pub(crate) slowest_rate: u64,
    /// Time from when its last bit would have left that link to its arrival.
    pub(crate) tail: Span,
    /// Time from the arrival to its acknowledgement.
    pub(crate) ack_delay: Span,
    /// Time from the post to its acknowledgement.
    pub(crate) unloaded: Span,
    /// Rate to which the window of its queue pair limits it [2^-16 bit/s], if it starts with an open window
    /// and the window ever closes.
    pub(crate) window_rate: Option<u64>,
    /// The corresponding rate if it follows a chunk that is longer than the window.
    pub(crate) paced_rate: u64,
}

impl IdleTimes {
    /// Upper bound of the rate of a burst [2^-16 bit/s]; the rate of the window if it follows others.
    pub(crate) fn bound(&self, is_paced: bool) -> u64 {
        let rate = if is_paced { Some(self.paced_rate) } else { self.window_rate };
        self.slowest_rate.min(rate.unwrap_or(u64::MAX))
    }
}

/// Times of chunks on idle paths: few are different in a regular fabric.
#[derive(Default)]
struct IdleTimesCache {
    times: Vec<IdleTimes>,
    indices: HashMap<IdleTimesKey, u32>,
    /// The last one requested, with its index.
    last_key: IdleTimesKey,
    last_index: u32,
}

/// Key of the time of a chunk on an idle path: its bytes, the number of its links, and the kinds of its links
/// and of those of its acknowledgements.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct IdleTimesKey {
    bytes: u64,
    links: Vec<u32>,
}

impl IdleTimesKey {
    fn set(&mut self, network: &Network, path: &Path, bytes: u64) {
        self.bytes = bytes;
        self.links.clear();
        self.links.push(path.legs.len() as u32);
        self.links.extend(path.legs.iter().chain(&path.ack_legs).map(|leg| network.timing_index(leg.link)));
    }
}

/// Bytes of a chunk on the wire.
#[derive(Clone, Copy, Default)]
struct WireBytes {
    bytes: u64,
    /// See [`Path::wire_bytes`] and [`Path::ack_weight`].
    wire_bytes: u64,
    ack_weight: u32,
}

/// Maximum number of outstanding packets of a queue pair, as long as no delay is above the target of its rate
/// control.
fn window_packets(transport: &TransportSpec) -> u32 {
    transport.rate_control.config().window_packets_max().min(transport.connection().window_packets)
}

fn no_path_text(pair: &QueuePair) -> String {
    format!("host {} cannot reach host {}", pair.src_host, pair.dst_host)
}

/// Paths through a fabric.
pub(crate) struct Paths {
    pub(crate) network: Network,
    pub(crate) frames: Frames,
    hash: PathHash,
    pub(crate) window_packets: u64,
    idle_cache: IdleTimesCache,
    /// The last result, since many chunks have the same size.
    last_wire_bytes: Cell<Option<WireBytes>>,
    /// Scratch space for the key to look up.
    key_buffer: IdleTimesKey,
}

impl Paths {
    pub(crate) fn new(spec: &RunSpec) -> Result<Self, SpecError> {
        Ok(Self::on(InitialGraph::new(&spec.fabric)?, spec))
    }

    /// Those of a spec through its graph.
    pub(crate) fn on(initial: InitialGraph, spec: &RunSpec) -> Self {
        let network = Network::new(spec, initial);
        Self {
            hash: PathHash::new(spec, &network.graph),
            frames: Frames::new(&spec.transport, network.framing),
            window_packets: window_packets(&spec.transport).into(),
            idle_cache: IdleTimesCache::default(),
            last_wire_bytes: Cell::default(),
            key_buffer: IdleTimesKey::default(),
            network,
        }
    }

    /// Checks that there is a path for all data, unless links are down: see [`Self::stops`].
    pub(crate) fn check(&self, jobs: &Jobs) -> Result<(), SpecError> {
        if self.network.has_links_down() || self.network.graph.is_joined_by_switches() {
            return Ok(());
        }
        self.separated(jobs).next().map_or(Ok(()), |pair| {
            let field = format!("jobs[{}].hosts", pair.job);
            Err(unsupported(field, no_path_text(&pair), "hosts that are joined by switches"))
        })
    }

    /// Queue pairs without a path.
    fn separated<'a>(&'a self, jobs: &'a Jobs) -> impl Iterator<Item = QueuePair> + 'a {
        jobs.queue_pairs().filter(|pair| !pair.is_local()).filter(|pair| {
            let (from, to) = self.ends(pair);
            !self.network.is_reachable([from, to])
        })
    }

    /// For each job, why it stops: links that are down leave no path for some of its data.
    pub(crate) fn stops(&self, jobs: &Jobs) -> Vec<Option<String>> {
        let mut stops = vec![None; jobs.schedules.len()];
        if self.network.has_links_down() {
            for pair in self.separated(jobs) {
                stops[pair.job as usize].get_or_insert_with(|| no_path_text(&pair));
            }
        }
        stops
    }

    /// Host ports of the data of a queue pair.
    fn ends(&self, pair: &QueuePair) -> (AttachmentId, AttachmentId) {
        self.network.graph.attachments_on([pair.src_host, pair.dst_host], pair.ports, pair.part)
    }

    /// The path of a chunk.
    pub(crate) fn of(&self, jobs: &Jobs, chunk: u32) -> Path {
        let mut path = Path::default();
        self.find(jobs, chunk, &mut path);
        path
    }

    /// Replaces `path` with the path of a chunk, without that of the acknowledgements: see
    /// [`Self::find_ack_legs`].
    pub(crate) fn find(&self, jobs: &Jobs, chunk: u32, path: &mut Path) {
        let (chunk, _, pair) = jobs.chunk_with_pair(chunk);
        let (from, to) = self.ends(&pair);
        let WireBytes { wire_bytes, ack_weight, .. } = self.wire_bytes_of(chunk.bytes);
        (path.source, path.destination) = (from, to);
        (path.wire_bytes, path.ack_weight) = (wire_bytes, ack_weight);
        (path.udp_source_port, path.identity) = (pair.udp_source_port(), pair.identity);
        let entropy = self.hash.of([from, to], path.udp_source_port, path.identity);
        self.network.find_legs([from, to], entropy, Some(pair.number), &mut path.legs);
    }

    /// Finds the path of a queue pair; returns its destination.
    pub(crate) fn find_data_legs(&self, pair: &QueuePair, legs: &mut Vec<Leg>) -> AttachmentId {
        let (from, to) = self.ends(pair);
        let entropy = self.hash.of([from, to], pair.udp_source_port(), pair.identity);
        self.network.find_legs([from, to], entropy, Some(pair.number), legs);
        to
    }

    /// Adds the path of the acknowledgements.
    pub(crate) fn find_ack_legs(&self, path: &mut Path) {
        let ends = [path.destination, path.source];
        let entropy = self.hash.of(ends, path.udp_source_port, path.identity);
        self.network.find_legs(ends, entropy, None, &mut path.ack_legs);
    }

    /// The link on which a chunk leaves its host, and the bytes for which it occupies it.
    pub(crate) fn host_link_and_bytes(&self, jobs: &Jobs, chunk: u32) -> (u32, u64) {
        let (chunk, _, pair) = jobs.chunk_with_pair(chunk);
        let (from, _) = self.ends(&pair);
        (self.network.link_from_host(from), self.wire_bytes_of(chunk.bytes).wire_bytes)
    }

    fn wire_bytes_of(&self, bytes: u64) -> WireBytes {
        let last = self.last_wire_bytes.get().filter(|last| last.bytes == bytes);
        last.unwrap_or_else(|| {
            let wire_bytes = self.frames.count(bytes).wire_bytes;
            let computed = WireBytes { bytes, wire_bytes, ack_weight: self.frames.ack_weight(bytes) };
            self.last_wire_bytes.set(Some(computed));
            computed
        })
    }

    /// A path for a chunk of `bytes` from one port to another; `None` if there is none.
    pub(crate) fn between(&self, [from, to]: [AttachmentId; 2], bytes: u64) -> Option<Path> {
        let WireBytes { wire_bytes, ack_weight, .. } = self.wire_bytes_of(bytes);
        let mut path = Path { destination: to, source: from, wire_bytes, ack_weight, ..Path::default() };
        self.network.find_legs([from, to], 0, None, &mut path.legs);
        self.network.find_legs([to, from], 0, None, &mut path.ack_legs);
        (!path.legs.is_empty() && !path.ack_legs.is_empty()).then_some(path)
    }

    /// Index of the times of a chunk of `bytes` on an idle path.
    pub(crate) fn idle_times_index(&mut self, path: &Path, bytes: u64) -> u32 {
        self.key_buffer.set(&self.network, path, bytes);
        if self.key_buffer == self.idle_cache.last_key && !self.idle_cache.times.is_empty() {
            return self.idle_cache.last_index;
        }
        let index = match self.idle_cache.indices.get(&self.key_buffer) {
            Some(&index) => index,
            None => {
                let index = self.idle_cache.times.len() as u32;
                self.idle_cache.times.push(self.compute_idle_times(path, bytes));
                self.idle_cache.indices.insert(self.key_buffer.clone(), index);
                index
            }
        };
        self.idle_cache.last_key.clone_from(&self.key_buffer);
        self.idle_cache.last_index = index;
        index
    }

    /// Transmission time of a packet of a chunk on the slowest link of its path.
    pub(crate) fn packet_time(&self, jobs: &Jobs, chunk: u32) -> Span {
        let path = self.of(jobs, chunk);
        let slowest_rate =
            path.legs.iter().map(|leg| self.network.capacity(leg.link)).min().unwrap_or(u64::MAX);
        let count = self.frames.count(jobs.chunk(chunk).bytes);
        time_for(work_of_bytes(count.wire_bytes) / u128::from(count.frames), slowest_rate)
    }

    /// The times with an index.
    #[inline]
    pub(crate) fn idle_times(&self, index: u32) -> &IdleTimes {
        &self.idle_cache.times[index as usize]
    }

    fn compute_idle_times(&self, path: &Path, bytes: u64) -> IdleTimes {
        let timings = self.network.timings(&path.legs);
        let ack_delay = self.frames.ack_delay(&self.network.timings(&path.ack_legs));
        let slowest_rate = timings.iter().map(|timing| timing.bps).min().unwrap_or(1) << RATE_BITS;
        let unloaded_arrival = self.frames.unloaded(&timings, bytes);
        let sent = time_for(work_of_bytes(path.wire_bytes), slowest_rate);
        let tail = Span(unloaded_arrival.0.saturating_sub(sent.0));
        let paced_rate = self.paced_rate(&timings, ack_delay, bytes).min(slowest_rate);
        let windowed_span = self.frames.windowed(&timings, ack_delay, bytes, self.window_packets);
        let window_rate = windowed_span.map(|span| {
            let sending = span.0.saturating_sub(tail.0).max(1);
            u64::try_from(work_of_bytes(path.wire_bytes) / u128::from(sending)).unwrap_or(u64::MAX)
        });
        let unloaded = unloaded_arrival + ack_delay;
        IdleTimes { slowest_rate, tail, ack_delay, unloaded, window_rate, paced_rate }
    }

    /// Rate of one window of packets per round trip [2^-16 bit/s].
    fn paced_rate(&self, timings: &[LinkTiming], ack_delay: Span, bytes: u64) -> u64 {
        let FrameCount { frames, wire_bytes, .. } = self.frames.count(bytes);
        let first = self.frames.mtu_bytes().min(bytes);
        let round_trip = self.frames.unloaded(timings, first) + ack_delay;
        let work = work_of_bytes(wire_bytes) / u128::from(frames) * u128::from(self.window_packets);
        u64::try_from(work / u128::from(round_trip.0.max(1))).unwrap_or(u64::MAX)
    }
}
