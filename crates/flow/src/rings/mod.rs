//! Computes the times of ring collectives in closed form, without events, if that is exact for a spec.
//!
//! If blocks move around a ring and no link is ever full, each block moves as in an idle fabric: rank r + 1
//! posts it when rank r has delivered it. The time of a transfer is then one number per rank, and the time of
//! a block at any rank a sum of them. Rings of 131,072 ranks have 34 thousand million transfers, but few
//! different hops, which repeat from leaf to leaf and from pod to pod: blocks whose first ranks differ by one
//! period have the same times.
//!
//! The result equals that of the events, to the picosecond. It is therefore valid only
//!
//! - for senders that react, which acknowledgements do not slow down, or for a rate control with more chunks
//!   than events can number: except for acknowledgements, a reaction to events that never happen makes no
//!   difference;
//! - if each link has room for all flows that may use it at the same time, whichever next hops hashes select;
//! - if all these next hops are equal, so that a hop takes the same time on each;
//! - if a rank has sent a block, and has done its work for it, before the next one arrives.
//!
//! [`Rings::find`] checks this and returns `None` otherwise; then events are used.

mod output;
#[cfg(test)]
mod tests;

use crate::checks::delays;
use crate::network::paths::{Path, Paths};
use crate::rates::{time_for, work_of_bytes};
use crate::sharing;
use jobs::shape;
use spec::{CollectiveSpec, JobSpec, QpMode, RunSpec, SpecError};
use std::collections::HashMap;
use units::{AttachmentId, HostId, Rate, Span};
use workload::{Relay, WorkloadError};

/// Times of a part of a block from its post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PartTimes {
    bytes: u64,
    /// Until the next part may be sent.
    sent: Span,
    delivered: Span,
    completed: Span,
    /// Frames and their bytes.
    frames: [u64; 2],
}

/// A block from its post at one rank to its post at the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RingHop {
    parts: Vec<PartTimes>,
    span: Span,
}

impl RingHop {
    fn sent(&self) -> Span {
        self.parts.iter().map(|part| part.sent).max().unwrap_or_default()
    }

    fn delivered(&self) -> Span {
        self.parts.iter().map(|part| part.delivered).max().unwrap_or_default()
    }

    fn completed(&self) -> Span {
        self.parts.iter().map(|part| part.completed).max().unwrap_or_default()
    }
}

/// The ring of a job.
struct Ring {
    relay: Relay,
    /// Distinct sizes of blocks, at most two, and the index of the size with which each rank starts.
    sizes: Vec<u64>,
    size_of: Vec<u8>,
    /// Distinct kinds of hops, and the kind of each rank's hop, for each size.
    kinds: Vec<RingHop>,
    kinds_by_rank: Vec<Vec<u32>>,
    /// Blocks whose first ranks differ by this number have the same times.
    period: u32,
    /// Time that a rank works before it posts.
    wait: Span,
    /// Time that a rank works on a block that has arrived.
    receive: Span,
}

/// The rings of all jobs.
pub(crate) struct Rings {
    rings: Vec<Ring>,
}

impl Rings {
    /// The rings of a spec that consists only of rings, if the conditions of this module are met.
    pub(crate) fn find(spec: &RunSpec, paths: &mut Paths) -> Option<Self> {
        let relays: Vec<Relay> = spec.jobs.iter().map(|job| relay_of(spec, job)).collect::<Option<_>>()?;
        let has_rates = |relay: &Relay| reacts(spec, relay, paths) || is_beyond_events(spec, relay);
        if !spec.jobs.iter().zip(&relays).all(|(job, relay)| is_plain(job) && has_rates(relay)) {
            return None;
        }
        let mut demand = Demand::new(paths);
        let each = spec.jobs.iter().zip(relays);
        let rings = each.map(|(job, relay)| Ring::new(spec, job, relay, paths, &mut demand));
        let rings: Vec<Ring> = rings.collect::<Option<_>>()?;
        let is_valid = |ring: &Ring| ring.never_overlaps() && ring.fits_window(spec, paths.window_packets);
        (demand.fits(paths) && rings.iter().all(is_valid)).then_some(Self { rings })
    }

    /// See [`delays::check_rings`].
    pub(crate) fn check_delays(&self, spec: &RunSpec, paths: &Paths) -> Result<(), SpecError> {
        let rings = self.rings.iter().map(|ring| &ring.relay);
        delays::check_rings(spec, paths, spec.jobs.iter().zip(rings))
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u64 {
        self.rings.iter().map(|ring| u64::from(ring.relay.ranks)).sum()
    }

    /// Number of times of blocks that are computed to count all of them.
    pub(crate) fn computed_times(&self) -> u64 {
        self.rings.iter().map(|ring| u64::from(ring.period) * u64::from(ring.relay.steps)).sum()
    }
}

/// A job as a relay, if it is one, however many transfers it has.
pub(crate) fn relay_of(spec: &RunSpec, job: &JobSpec) -> Option<Relay> {
    let collective = job.work.collective().filter(|_| spec.fabric.server.is_none())?;
    let pattern = &collective.pattern;
    let (name, algorithm, shape) = (&pattern.collective, &pattern.algorithm, shape(spec, job, pattern));
    match workload::check_schedule(name, algorithm, &shape) {
        Ok(pattern) => pattern.relay(&shape),
        Err(WorkloadError::TooManyTransfers { .. }) => {
            workload::find(name, algorithm).ok()?.pattern.relay(&shape)
        }
        Err(_) => None,
    }
}

/// Whether a job is a single round of a collective.
fn is_plain(job: &JobSpec) -> bool {
    let is_simple = |each: &CollectiveSpec| {
        each.rendezvous.is_none() && !each.copies_own_block && each.has_equal_rounds()
    };
    job.work.collective().is_some_and(is_simple) && job.rounds_planned() == Some(1)
}

/// Whether senders have a rate control, and more chunks than events can number.
fn is_beyond_events(spec: &RunSpec, relay: &Relay) -> bool {
    let chunks = relay.transfers().saturating_mul(spec.transport.qps_per_rank_pair.into());
    spec.transport.rate_control.config().is_paced() && chunks > jobs::CHUNKS_MAX
}

fn reacts(spec: &RunSpec, relay: &Relay, paths: &Paths) -> bool {
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    let sizes = || (0..relay.ranks).map(|rank| relay.bytes(rank).div_ceil(parts));
    sharing::reacts(spec, paths, sizes().max().into_iter(), |limit| {
        let sent: Vec<u64> = sizes().map(|bytes| paths.frames.count(bytes).wire_bytes).collect();
        if spec.transport.qp_mode == QpMode::PerChunk {
            return sent.iter().any(|&bytes| bytes > limit);
        }
        if relay.transfers() > sharing::TRANSFERS_MAX as u64 {
            return relay.steps > 1 || sent.iter().any(|&bytes| bytes > limit);
        }
        // A rank sends the blocks with which the ranks before it started.
        let blocks =
            |rank: usize| sent.iter().rev().cycle().skip(sent.len() - 1 - rank).take(relay.steps as usize);
        (0..sent.len()).any(|rank| blocks(rank).sum::<u64>() > limit)
    })
}

/// Maximum load of links, if all flows are active at once [2^-16 bit/s].
struct Demand {
    by_link: Vec<u128>,
    /// The last pair of ports that was counted for a link.
    last_pair: Vec<u32>,
    pairs: u32,
}

impl Demand {
    fn new(paths: &Paths) -> Self {
        let links = 2 * paths.network.graph.links.len();
        Self { by_link: vec![0; links], last_pair: vec![0; links], pairs: 0 }
    }

    /// Adds a flow with a rate of at most `bound` to every link that it may take; returns whether all paths
    /// are equal.
    fn add(&mut self, paths: &Paths, path: &Path, bound: u64) -> bool {
        self.pairs += 1;
        let has_equal_paths = paths.network.has_equal_paths(path.legs[0].link, path.destination, |link| {
            if std::mem::replace(&mut self.last_pair[link as usize], self.pairs) != self.pairs {
                self.by_link[link as usize] += u128::from(bound);
            }
        });
        has_equal_paths && paths.network.has_equal_paths(path.ack_legs[0].link, path.source, |_| {})
    }

    fn fits(&self, paths: &Paths) -> bool {
        self.by_link
            .iter()
            .zip(paths.network.capacities())
            .all(|(&demand, capacity)| demand <= capacity.into())
    }
}

impl Ring {
    fn new(
        spec: &RunSpec,
        job: &JobSpec,
        relay: Relay,
        paths: &mut Paths,
        demand: &mut Demand,
    ) -> Option<Self> {
        let collective = job.work.collective()?;
        let mut sizes: Vec<u64> = (0..relay.ranks).map(|rank| relay.bytes(rank)).collect();
        let size_of_rank = sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let index_of_size = |bytes: &u64| sizes.binary_search(bytes).unwrap_or_default() as u8;
        let mut ring = Self {
            relay,
            size_of: size_of_rank.iter().map(index_of_size).collect(),
            kinds_by_rank: vec![Vec::with_capacity(size_of_rank.len()); sizes.len()],
            sizes,
            kinds: Vec::new(),
            period: relay.ranks,
            wait: Span(collective.step_overhead_ps + collective.send_overhead_ps),
            receive: Span(collective.receive_overhead_ps),
        };
        let mut kinds_by_hop = HashMap::new();
        for rank in 0..relay.ranks {
            for size in 0..ring.sizes.len() {
                let hop = ring.hop(spec, job, rank, size, paths, demand)?;
                let next = kinds_by_hop.len() as u32;
                let kind = *kinds_by_hop.entry(hop).or_insert_with_key(|hop| {
                    ring.kinds.push(hop.clone());
                    next
                });
                ring.kinds_by_rank[size].push(kind);
            }
        }
        if let [kinds] = &ring.kinds_by_rank[..] {
            ring.period = period(kinds);
        }
        Some(ring)
    }

    /// The hop of a block of one of the sizes from a rank to the next; `None` if it is not always the same.
    fn hop(
        &self,
        spec: &RunSpec,
        job: &JobSpec,
        rank: u32,
        size: usize,
        paths: &mut Paths,
        demand: &mut Demand,
    ) -> Option<RingHop> {
        let parts = workload::Parts::new(self.sizes[size], spec.transport.qps_per_rank_pair.into());
        let hosts = [rank, (rank + 1) % self.relay.ranks].map(|rank| HostId(job.hosts[rank as usize]));
        let mut hop = RingHop { parts: Vec::new(), span: Span::ZERO };
        for number in 0..spec.transport.qps_per_rank_pair {
            let bytes = parts.of(number.into());
            let part = match hosts[0] == hosts[1] {
                true => copy(spec, bytes, &hop),
                false => {
                    let (from, to) = paths.network.graph.attachments_between(hosts[0], hosts[1], number);
                    send([from, to], bytes, paths, (size == 0).then_some(&mut *demand))?
                }
            };
            hop.parts.push(part);
        }
        hop.span = self.wait + hop.delivered() + self.receive;
        Some(hop)
    }

    /// Whether a rank has sent each block before the next one arrives, and never works for two at once.
    fn never_overlaps(&self) -> bool {
        let sent = self.kinds.iter().map(RingHop::sent).max().unwrap_or_default();
        // Blocks of one size follow each other at the distance of the first hop of the later one.
        let gap = self.kinds.iter().map(|hop| hop.span).min().unwrap_or_default();
        let behind = |rank: u32| (rank + self.relay.ranks - 1) % self.relay.ranks;
        let is_edge = |rank: &u32| self.size_of[*rank as usize] != self.size_of[behind(*rank) as usize];
        let mut edges = (0..self.relay.ranks).filter(is_edge);
        gap >= sent && edges.all(|rank| self.keeps_distance(behind(rank), rank, sent))
    }

    /// Whether no block waits for the window of a queue pair because of earlier ones.
    fn fits_window(&self, spec: &RunSpec, window: u64) -> bool {
        let gap = self.kinds.iter().map(|hop| hop.span).min().unwrap_or_default();
        let completed = self.kinds.iter().map(RingHop::completed).max().unwrap_or_default();
        let frames = self.kinds.iter().flat_map(|hop| &hop.parts).map(|part| part.frames[0]).max();
        // Blocks with possibly outstanding packets when the next one arrives, and that one.
        let blocks = 1 + completed.0.div_ceil(gap.0.max(1));
        spec.transport.qp_mode == QpMode::PerChunk
            || gap >= completed
            || frames.unwrap_or(0).saturating_mul(blocks) <= window
    }

    /// Whether a block never gets too close to the one that started a rank ahead.
    fn keeps_distance(&self, behind: u32, ahead: u32, sent: Span) -> bool {
        let ranks = self.relay.ranks;
        let busy = self.kinds.iter().map(|hop| hop.span.0 - hop.delivered().0).max().unwrap_or(0);
        let gap_min = i128::from(sent.0.max(busy));
        let mut gap = i128::from(self.hop_of(behind, behind).span.0);
        (0..self.relay.steps).all(|step| {
            let is_valid = gap >= gap_min;
            let rank = ((u64::from(ahead) + u64::from(step)) % u64::from(ranks)) as u32;
            let [behind, ahead] = [behind, ahead].map(|first| self.hop_of(first, rank).span.0);
            gap += i128::from(behind) - i128::from(ahead);
            is_valid
        })
    }

    /// The hop, from rank `rank` to the next, of the block with which rank `first` started.
    fn hop_of(&self, first: u32, rank: u32) -> &RingHop {
        let size = self.size_of[first as usize];
        &self.kinds[self.kinds_by_rank[usize::from(size)][rank as usize] as usize]
    }
}

/// A copy in shared memory, after the parts before it.
fn copy(spec: &RunSpec, bytes: u64, ahead: &RingHop) -> PartTimes {
    let memory = spec.fabric.shared_memory;
    let sent = ahead.sent() + Rate::from_bps(memory.rate_bps).span_of(bytes);
    let delivered = sent + Span(memory.latency_ps);
    PartTimes { bytes, sent, delivered, completed: delivered, frames: [0, 0] }
}

/// A part sent over the network, counted in `demand` if given; `None` if paths are not equal.
fn send(
    ends: [AttachmentId; 2],
    bytes: u64,
    paths: &mut Paths,
    demand: Option<&mut Demand>,
) -> Option<PartTimes> {
    let path = paths.between(ends, bytes)?;
    let index = paths.idle_times_index(&path, bytes);
    let times = *paths.idle_times(index);
    let bound = times.bound(false);
    // At most at the rate of its slowest link, whatever its size and window.
    if demand.is_some_and(|demand| !demand.add(paths, &path, times.slowest_rate)) {
        return None;
    }
    let sent = time_for(work_of_bytes(path.wire_bytes), bound);
    let delivered = sent + times.tail;
    let frames = paths.frames.count(bytes).on_links();
    Some(PartTimes { bytes, sent, delivered, completed: delivered + times.ack_delay, frames })
}

/// The least divisor of the length after which kinds repeat.
fn period(kinds: &[u32]) -> u32 {
    // Knuth, Morris and Pratt: length of the longest proper prefix that is also a suffix, for each prefix.
    let mut borders = vec![0; kinds.len()];
    for last in 1..kinds.len() {
        let mut border = borders[last - 1];
        while border > 0 && kinds[last] != kinds[border] {
            border = borders[border - 1];
        }
        borders[last] = border + usize::from(kinds[last] == kinds[border]);
    }
    let period = kinds.len() - borders.last().copied().unwrap_or(0);
    if kinds.len().is_multiple_of(period) { period as u32 } else { kinds.len() as u32 }
}
