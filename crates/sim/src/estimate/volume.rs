//! Computes the size of a run's traffic without creating it: chunks (parts of transfers, each sent on one
//! queue pair), queue pairs, payload and packet-hops (frames crossing a link) of each job and in total, from
//! closed forms of the communication patterns and the mean length of sampled paths.

use crate::setup::{Fabric, may_be_lazy};
use spec::{JobSpec, QpMode, RunSpec, SpecError, StorageLength, StorageSpec, TransportSpec};
use std::collections::BTreeSet;
use units::{HostId, Seed};
use workload::{HANDSHAKE_TRANSFERS, Volume, barrier_transfers};

/// Maximum number of paths of a job whose length is determined.
const PATHS: u64 = 1_024;
/// Units per link in mean path lengths.
const PARTS_OF_A_LINK: u64 = 1_000;
/// Minimum duration of a round [ps]: a round trip of some hops.
const ROUND_PS_MIN: u64 = 10_000_000;
/// Bits of a byte times picoseconds of a second.
const PS_BITS_PER_S: u128 = 8_000_000_000_000;

/// Sums over all jobs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    pub(super) chunks: u64,
    pub(super) chunk_rows: u64,
    pub(super) queue_pairs: u64,
    /// Queue pairs among these that exist only on demand, each with its chunk.
    pub(super) lazy: u64,
    pub(super) payload_bytes: u64,
    pub(super) packet_hops: u64,
}

/// One job.
struct Job {
    volume: Volume,
    /// Frames of one round: data and their acknowledgements.
    frames: u64,
    /// Mean number of links of a path [1/1000].
    links: u64,
    /// Duration of one round on an idle fabric [ps].
    round_ps: u64,
    rounds: Option<u32>,
    start_ps: u64,
    /// Its operations are no chunks of a schedule.
    is_storage: bool,
    /// Queue pairs for each connection: with handshakes they have their own.
    pairs: u64,
    /// Queue pairs are created on demand.
    is_lazy: bool,
    /// Rounds that differ: their chunks are not the same.
    rounds_of_a_cycle: u64,
    /// Rounds that differ have the same queue pairs.
    shares_pairs: bool,
    /// Transfers of the barrier after a round.
    barrier: u64,
}

pub(super) fn volume(spec: &RunSpec, fabric: &Fabric) -> Result<Total, SpecError> {
    let jobs = (0..).zip(spec.jobs.iter().zip(spec.jobs_sharing_hosts()));
    let jobs = jobs.map(|(index, (job, shares_hosts))| Job::new(spec, fabric, index, job, shares_hosts));
    let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let ends =
        jobs.iter().filter_map(|job| Some(job.start_ps + job.round_ps.saturating_mul(job.rounds?.into())));
    let end_ps = ends.max().unwrap_or(0);
    Ok(jobs.iter().fold(Total::default(), |total, job| total.plus(spec, job, job.rounds_until(end_ps))))
}

impl Job {
    fn new(
        spec: &RunSpec,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        shares_hosts: bool,
    ) -> Result<Self, SpecError> {
        if let Some(storage) = job.work.storage() {
            return Ok(Self::of_storage(spec, fabric, job, storage));
        }
        let volume = jobs::volume(spec, index, job)?;
        let parts = u64::from(spec.transport.qps_per_rank_pair);
        let chunks = volume.transfers.saturating_mul(parts);
        let chunk_bytes = volume.payload_bytes / chunks.max(1);
        let per_rank = volume.payload_bytes / u64::from(volume.busy_ranks.max(1));
        let hosts: BTreeSet<_> = job.hosts.iter().collect();
        let per_host = per_rank.saturating_mul(job.hosts.len().div_ceil(hosts.len()) as u64);
        let rate_bps = host_rate_bps(fabric, job);
        let sending = u128::from(per_host) * PS_BITS_PER_S / u128::from(rate_bps);
        let offering = job.work.open_loop().map_or(0, |open_loop| open_loop.duration_ps);
        let round_ps = u64::try_from(sending).unwrap_or(u64::MAX).max(offering).max(ROUND_PS_MIN);
        Ok(Self {
            volume,
            // A message of a barrier is a frame with its acknowledgement.
            frames: chunks
                .saturating_mul(frames(&spec.transport, chunk_bytes) + handshake_frames(job))
                .saturating_add(2 * parts * barrier_of(job)),
            links: mean_links(spec, fabric, job, volume.is_between_neighbours),
            round_ps,
            rounds: job.rounds_planned(),
            start_ps: job.start_ps,
            is_storage: false,
            pairs: transfers_per_message(job),
            is_lazy: may_be_lazy(spec, job, shares_hosts) && volume.is_periodic,
            rounds_of_a_cycle: job.rounds_of_a_cycle().into(),
            shares_pairs: job.work.collective().is_some_and(|collective| collective.round_bytes.is_some()),
            barrier: barrier_of(job),
        })
    }

    fn of_storage(spec: &RunSpec, fabric: &Fabric, job: &JobSpec, storage: &StorageSpec) -> Self {
        let operations = storage_operations(spec, fabric, job, storage);
        let targets = job.hosts.len() as u64 - u64::from(storage.clients);
        let duration_ps = match storage.length {
            StorageLength::Duration { duration_ps } => duration_ps,
            StorageLength::Operations { .. } => ROUND_PS_MIN,
        };
        Self {
            volume: Volume {
                transfers: operations,
                payload_bytes: operations.saturating_mul(storage.block_bytes),
                largest_bytes: storage.block_bytes,
                connections: u64::from(storage.clients) * targets,
                is_listed: false,
                busy_ranks: u64::from(storage.clients).min(targets) as u32,
                is_between_neighbours: false,
                is_periodic: false,
            },
            // Command and completion, each with its acknowledgement.
            frames: operations.saturating_mul(frames(&spec.transport, storage.block_bytes) + 4),
            links: mean_links(spec, fabric, job, false),
            round_ps: duration_ps.max(ROUND_PS_MIN),
            rounds: job.repeat.rounds(),
            start_ps: job.start_ps,
            is_storage: true,
            pairs: 1,
            is_lazy: false,
            rounds_of_a_cycle: 1,
            shares_pairs: false,
            barrier: 0,
        }
    }

    /// Rounds of the job if the others end at `end_ps`.
    fn rounds_until(&self, end_ps: u64) -> u64 {
        let shared = end_ps.saturating_sub(self.start_ps).div_ceil(self.round_ps).max(1);
        self.rounds.map_or(shared, u64::from)
    }
}

impl Total {
    fn plus(self, spec: &RunSpec, job: &Job, rounds: u64) -> Self {
        let parts = u64::from(spec.transport.qps_per_rank_pair);
        let rows = job.volume.transfers.saturating_mul(if job.is_storage { 1 } else { parts });
        let of_a_round = if job.is_storage { 0 } else { rows.saturating_add(job.barrier * parts) };
        let chunks = of_a_round.saturating_mul(job.rounds_of_a_cycle);
        let rounds_with_pairs = if job.shares_pairs { 1 } else { job.rounds_of_a_cycle };
        let connections = job.volume.connections.saturating_mul(rounds_with_pairs) + job.barrier;
        let queue_pairs = match spec.transport.qp_mode {
            QpMode::PerChunk if !job.is_storage => of_a_round.saturating_mul(rounds_with_pairs),
            _ => connections.saturating_mul(parts * job.pairs),
        };
        let hops = u128::from(job.frames) * u128::from(job.links) * u128::from(rounds);
        let hops = u64::try_from(hops / u128::from(PARTS_OF_A_LINK)).unwrap_or(u64::MAX);
        Self {
            chunks: self.chunks.saturating_add(chunks),
            chunk_rows: self.chunk_rows.saturating_add(rows.saturating_mul(rounds)),
            queue_pairs: self.queue_pairs.saturating_add(queue_pairs),
            lazy: self.lazy.saturating_add(if job.is_lazy { queue_pairs } else { 0 }),
            payload_bytes: self.payload_bytes.saturating_add(job.volume.payload_bytes.saturating_mul(rounds)),
            packet_hops: self.packet_hops.saturating_add(hops),
        }
    }
}

/// Operations of a storage job within its length, limited by ports, depth and targets.
pub(crate) fn storage_operations(
    spec: &RunSpec,
    fabric: &Fabric,
    job: &JobSpec,
    storage: &StorageSpec,
) -> u64 {
    let clients = u64::from(storage.clients);
    let duration_ps = match storage.length {
        StorageLength::Operations { operations } => return operations.saturating_mul(clients),
        StorageLength::Duration { duration_ps } => u128::from(duration_ps),
    };
    let targets = job.hosts.len() as u64 - clients;
    let span = |rate_bps: u64| u128::from(storage.block_bytes) * PS_BITS_PER_S / u128::from(rate_bps.max(1));
    let port_ps = span(host_rate_bps(fabric, job)).max(1);
    let served_ps = storage.service_rate_bps.map_or(0, span) + u128::from(storage.service_time_ps);
    // The round trip, and one operation at a time.
    let operation_ps = u128::from(4 * spec.fabric.nic.latency_ps) + port_ps + served_ps;
    let limits = [
        duration_ps * u128::from(clients.min(targets)) / port_ps,
        duration_ps * u128::from(targets) / served_ps.max(1),
        duration_ps * u128::from(clients * u64::from(storage.depth)) / operation_ps,
    ];
    u64::try_from(limits.into_iter().min().unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Transfers of the barrier after a round.
fn barrier_of(job: &JobSpec) -> u64 {
    let has_barriers = job.work.collective().is_some_and(|collective| collective.barrier);
    if has_barriers { barrier_transfers(job.hosts.len() as u32) } else { 0 }
}

/// Transfers of a message: more than its payload if all have a handshake.
pub(crate) fn transfers_per_message(job: &JobSpec) -> u64 {
    let has_handshakes = job.work.collective().is_some_and(|collective| collective.rendezvous.is_some());
    if has_handshakes { HANDSHAKE_TRANSFERS } else { 1 }
}

/// Frames of the handshake of a chunk, each with its acknowledgement.
fn handshake_frames(job: &JobSpec) -> u64 {
    2 * (transfers_per_message(job) - 1)
}

/// Data frames of a chunk and their acknowledgements.
fn frames(transport: &TransportSpec, chunk_bytes: u64) -> u64 {
    let ack_every = u64::from(transport.ack_every.min(transport.window_packets)).max(1);
    let of_message = |bytes: u64| {
        let packets = bytes.div_ceil(u64::from(transport.mtu_bytes));
        packets + packets.div_ceil(ack_every)
    };
    let message_bytes = transport.message_bytes.max(1);
    let frames =
        chunk_bytes / message_bytes * of_message(message_bytes) + of_message(chunk_bytes % message_bytes);
    // A chunk without payload is a frame and its acknowledgement.
    frames.max(2)
}

/// Line rate of the first host of a job, in all planes together.
fn host_rate_bps(fabric: &Fabric, job: &JobSpec) -> u64 {
    let attachment = fabric.graph.attachment_of(HostId(job.hosts[0]), 0);
    fabric.graph.links[attachment.index()].rate.bps() * u64::from(fabric.graph.planes())
}

/// Mean number of links between two ranks of a job, of all pairs or of some drawn at random [1/1000].
fn mean_links(spec: &RunSpec, fabric: &Fabric, job: &JobSpec, neighbours: bool) -> u64 {
    let ranks = job.hosts.len() as u64;
    let peers = if neighbours { 1 } else { ranks - 1 };
    let pairs = ranks * peers;
    let mut stream = Seed(spec.seed).stream("estimate.pairs", u64::from(job.stream));
    let sampled = pairs.min(PATHS);
    let mut sum = 0;
    for index in 0..sampled {
        let pair = if pairs <= PATHS { index } else { stream.below(pairs) };
        let (src, distance) = (pair / peers, pair % peers + 1);
        sum += links(fabric, job.hosts[src as usize], job.hosts[((src + distance) % ranks) as usize]);
    }
    sum * PARTS_OF_A_LINK / sampled
}

/// Number of links between two hosts; 0 if there is no path, or none is needed.
fn links(fabric: &Fabric, src: u32, dst: u32) -> u64 {
    if src == dst {
        return 0;
    }
    let (from, to) = fabric.graph.attachments_between(HostId(src), HostId(dst), 0);
    fabric.links_between(from, to).into()
}
