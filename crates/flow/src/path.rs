//! The way of each chunk and of its acknowledgements.

use crate::network::Network;
use crate::train::{Frames, Hop};
use crate::work::{RATE_BITS, of_bytes, time_for};
use jobs::Jobs;
use paths::PathHash;
use spec::{LossRecovery, RateControl, RunSpec, SpecError, TransportSpec};
use units::{AttachmentId, NodeId, Span};

/// How many of the last known times are looked at before one is worked out again.
const KNOWN_LOOKED_AT: usize = 32;

/// The way of a chunk.
pub(crate) struct Path {
    pub(crate) to: AttachmentId,
    pub(crate) ports: Vec<(NodeId, u16)>,
    /// That of its acknowledgements.
    pub(crate) back: Vec<(NodeId, u16)>,
    pub(crate) back_to: AttachmentId,
    /// Bytes for which it occupies a link.
    pub(crate) wire_bytes: u64,
    /// What its acknowledgements take for each 2^16 of that.
    pub(crate) acks: u32,
}

/// What a chunk takes on an idle path.
#[derive(Clone, Copy)]
pub(crate) struct Idle {
    /// The rate of its slowest link [2^-16 bit/s].
    pub(crate) slowest: u64,
    /// From the moment at which its last bit would have left that link, to its arrival.
    pub(crate) tail: Span,
    /// From there to its acknowledgement.
    pub(crate) back: Span,
    /// From the post to its acknowledgement.
    pub(crate) unloaded: Span,
    /// What the window of its queue pair lets through of it [2^-16 bit/s], if it begins with an open window
    /// and the window is ever closed.
    pub(crate) alone: Option<u64>,
    /// The same if it follows a chunk that is longer than the window.
    pub(crate) paced: u64,
}

struct Known {
    hops: Vec<Hop>,
    back: Vec<Hop>,
    bytes: u64,
    idle: Idle,
}

/// Packets that a queue pair has outstanding at most, while no delay is above the target of Swift.
fn window_packets(transport: &TransportSpec) -> u32 {
    let window = match transport.rate_control {
        RateControl::Swift { window_max_2e20, .. } => {
            (window_max_2e20 >> 20).clamp(1, u32::MAX.into()) as u32
        }
        _ => u32::MAX,
    };
    match transport.recovery {
        LossRecovery::Selective => window.min(transport.window_packets).min(transport.ooo_window_packets),
        _ => window.min(transport.window_packets),
    }
}

/// Ways through a fabric.
pub(crate) struct Paths {
    pub(crate) network: Network,
    pub(crate) frames: Frames,
    hash: PathHash,
    pub(crate) window_packets: u64,
    /// What chunks take on idle paths: few differ in a regular fabric.
    known: Vec<Known>,
}

impl Paths {
    pub(crate) fn new(spec: &RunSpec) -> Result<Self, SpecError> {
        let network = Network::new(spec)?;
        Ok(Self {
            hash: PathHash::new(spec, &network.graph),
            frames: Frames::new(&spec.transport, network.framing),
            window_packets: window_packets(&spec.transport).into(),
            known: Vec::new(),
            network,
        })
    }

    /// That there is a path wherever data go.
    pub(crate) fn check(&self, jobs: &Jobs) -> Result<(), SpecError> {
        if self.network.graph.is_joined_by_switches() {
            return Ok(());
        }
        for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
            let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
            if self.network.ports([from, to], 0, None).is_empty() {
                return Err(SpecError::Value {
                    field: format!("jobs[{}].hosts", pair.job),
                    found: format!("host {} cannot reach host {}", pair.src_host, pair.dst_host),
                    allowed: "hosts that are joined by switches".into(),
                });
            }
        }
        Ok(())
    }

    /// The way of a chunk.
    pub(crate) fn of(&self, jobs: &Jobs, chunk: u32) -> Path {
        let (chunk, _, pair) = jobs.place(chunk);
        let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
        let port = pair.udp_source_port();
        let ports = |ends, number| {
            let entropy = self.hash.of(ends, port, pair.identity);
            self.network.ports(ends, entropy, number)
        };
        let [_, _, wire_bytes] = self.frames.of(chunk.bytes);
        let acks = self.frames.acks_of(chunk.bytes);
        Path {
            to,
            ports: ports([from, to], Some(pair.number)),
            back: ports([to, from], None),
            back_to: from,
            wire_bytes,
            acks,
        }
    }

    /// A way of a chunk of so many bytes from a port to another; none if there is none.
    pub(crate) fn between(&self, [from, to]: [AttachmentId; 2], bytes: u64) -> Option<Path> {
        let ports = |ends| Some(self.network.ports(ends, 0, None)).filter(|ports| !ports.is_empty());
        let [_, _, wire_bytes] = self.frames.of(bytes);
        let acks = self.frames.acks_of(bytes);
        let (ports, back) = (ports([from, to])?, ports([to, from])?);
        Some(Path { to, ports, back, back_to: from, wire_bytes, acks })
    }

    /// What a chunk of so many bytes takes on an idle path.
    pub(crate) fn idle(&mut self, path: &Path, bytes: u64) -> Idle {
        let (hops, back) = (self.network.hops(&path.ports), self.network.hops(&path.back));
        let is_same = |known: &&Known| known.bytes == bytes && known.hops == hops && known.back == back;
        if let Some(known) = self.known.iter().rev().take(KNOWN_LOOKED_AT).find(is_same) {
            return known.idle;
        }
        let idle = self.work_out(path, &hops, &back, bytes);
        self.known.push(Known { hops, back, bytes, idle });
        idle
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

    /// A window of packets for each round trip [2^-16 bit/s].
    fn paced(&self, hops: &[Hop], back: Span, bytes: u64) -> u64 {
        let [frames, _, wire_bytes] = self.frames.of(bytes);
        let first = self.frames.mtu_bytes().min(bytes);
        let round_trip = self.frames.unloaded(hops, first) + back;
        let work = of_bytes(wire_bytes) / u128::from(frames) * u128::from(self.window_packets);
        u64::try_from(work / u128::from(round_trip.0.max(1))).unwrap_or(u64::MAX)
    }
}
