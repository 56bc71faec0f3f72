//! Queue pairs and chunks (chunk: the part of a transfer that one queue pair sends) of all jobs of a run,
//! looked up by number, with their random UDP source ports and first PSNs.
//!
//! Nearly all properties follow from the number, so they are computed on demand and not stored.

use crate::rank_connections::{Ends, Laps, RankConnections};
use crate::schedules::{check_chunks, schedule};
use spec::{JobSpec, NcclConfig, RunSpec, SpecError};
use std::ops::Range;
use std::sync::Arc;
use units::{HostId, Rank, Seed, StreamFamily, TransferId};
use wire::Psn;
use wire::bth::Qpn;
use workload::{HANDSHAKE_TRANSFERS, Message, Parts, Schedule, Transfer};

/// First UDP source port of queue pairs (RFC 6335: dynamic ports).
const UDP_SOURCE_PORT_MIN: u16 = 49_152;
/// Number of UDP source ports.
const UDP_SOURCE_PORTS: u64 = 1 << 14;

/// Offset of queue pair numbers on the wire: 0 and 1 are reserved (IBTA vol. 1, 10.2.4.5).
const FIRST_QPN: u32 = 0x100;

/// Destination queue pair number in the packets of a queue pair of the run, in both directions.
pub fn destination_qpn(number: u32) -> Qpn {
    Qpn::new(FIRST_QPN.wrapping_add(number) & Qpn::MAX.value()).unwrap_or_default()
}

/// Part of a transfer that one queue pair sends.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Index of the job.
    pub job: u32,
    /// Transfer in the schedule of the job.
    pub transfer: TransferId,
    /// Number of the queue pair in the run.
    pub queue_pair: u32,
    /// Payload [bytes].
    pub bytes: u64,
}

/// A queue pair: one direction of data between two ranks.
#[derive(Clone, Copy, Debug)]
pub struct QueuePair {
    /// Number in the run.
    pub number: u32,
    /// 24-bit number as a NIC would assign it; independent of the other jobs of the run.
    pub identity: u32,
    /// Index of the job.
    pub job: u32,
    /// Index of the part of each transfer that it sends, from 0.
    pub part: u32,
    /// Channel of its transfers.
    pub channel: u32,
    /// Sending rank.
    pub src: Rank,
    /// Receiving rank.
    pub dst: Rank,
    /// Host of the sending rank.
    pub src_host: HostId,
    /// Host of the receiving rank.
    pub dst_host: HostId,
    /// Ports of both hosts, where hosts are servers with adapters.
    pub ports: Option<[u16; 2]>,
    /// Whether it sends data of the collective, not only handshakes.
    pub carries_payload: bool,
    draws: Draws,
    /// Index of its values in `draws`.
    draw: u64,
}

/// Random streams of queue pair properties.
#[derive(Clone, Copy, Debug)]
struct Draws {
    udp_source_ports: StreamFamily,
    initial_psns: StreamFamily,
}

impl Draws {
    #[inline]
    fn udp_source_port(&self, draw: u64) -> u16 {
        UDP_SOURCE_PORT_MIN + self.udp_source_ports.stream(draw).below(UDP_SOURCE_PORTS) as u16
    }

    #[inline]
    fn initial_psn(&self, draw: u64) -> Psn {
        Psn::new(self.initial_psns.stream(draw).next_u32() & 0xff_ffff)
    }
}

impl QueuePair {
    /// UDP source port of its data packets.
    pub fn udp_source_port(&self) -> u16 {
        self.draws.udp_source_port(self.draw)
    }

    /// PSN of its first packet.
    pub fn initial_psn(&self) -> Psn {
        self.draws.initial_psn(self.draw)
    }

    /// Whether both ranks are on the same host, so that no packets enter the network.
    pub fn is_local(&self) -> bool {
        self.src_host == self.dst_host
    }
}

/// Numbering and connections of one job.
struct JobFlows {
    first_chunk: u32,
    first_queue_pair: u32,
    /// Host of each rank.
    hosts: Vec<u32>,
    /// GPU of each rank, on servers.
    gpus: Vec<u32>,
    /// Ports of the sender and the receiver on each channel, if these have adapters of their own.
    channel_ports: Vec<[u16; 2]>,
    /// Stream number of its random draws.
    stream: u32,
    /// Number of rounds after which they repeat.
    rounds_of_a_cycle: u32,
    connections: RankConnections,
}

impl JobFlows {
    /// Hosts of both ends of a connection.
    #[inline]
    fn hosts_of(&self, ends: Ends) -> [HostId; 2] {
        [ends.src, ends.dst].map(|rank| HostId(self.hosts[rank.index()]))
    }
}

/// View of one job, for queries about several of its queue pairs.
#[derive(Clone, Copy)]
pub struct OneJob<'a> {
    index: u32,
    flows: &'a Jobs,
    job: &'a JobFlows,
    schedule: &'a Schedule,
}

impl OneJob<'_> {
    /// Index of the job.
    #[inline]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The queue pair with that number in the run, between the given ranks.
    #[inline(always)]
    fn queue_pair(&self, number: u32, ends: Ends) -> QueuePair {
        let (connection, part) = self.connection(number);
        let [src_host, dst_host] = self.job.hosts_of(ends);
        QueuePair {
            number,
            identity: self.identity(number),
            job: self.index,
            part,
            channel: ends.channel,
            src: ends.src,
            dst: ends.dst,
            src_host,
            dst_host,
            ports: self.flows.ports(self.job, ends, part),
            carries_payload: self.job.connections.carries_payload(connection),
            draws: self.flows.draws,
            draw: self.draw(number),
        }
    }

    /// Connection of a queue pair, and index of the part it sends.
    #[inline]
    fn connection(&self, number: u32) -> (u32, u32) {
        split(number - self.job.first_queue_pair, self.flows.parts)
    }

    /// See [`QueuePair::part`].
    #[inline]
    pub fn part(&self, number: u32) -> u32 {
        self.connection(number).1
    }

    /// See [`QueuePair::identity`].
    #[inline]
    pub const fn identity(&self, number: u32) -> u32 {
        ((self.job.stream << 16) ^ (number - self.job.first_queue_pair)) & 0xff_ffff
    }

    /// See [`QueuePair::udp_source_port`].
    #[inline]
    pub fn udp_source_port(&self, number: u32) -> u16 {
        self.flows.draws.udp_source_port(self.draw(number))
    }

    /// See [`QueuePair::ports`].
    #[inline]
    pub fn ports(&self, number: u32) -> Option<[u16; 2]> {
        if self.flows.adapters_of_gpu.is_empty() {
            return None;
        }
        let (connection, part) = self.connection(number);
        self.flows.ports(self.job, self.job.connections.ends(self.schedule, connection), part)
    }

    /// Index of the random draws of a queue pair; independent of the other jobs of the run.
    #[inline]
    fn draw(&self, number: u32) -> u64 {
        (u64::from(self.job.stream) << 32) | u64::from(number - self.job.first_queue_pair)
    }

    /// PSN of a queue pair's first packet.
    #[inline]
    pub fn initial_psn(&self, number: u32) -> Psn {
        self.flows.draws.initial_psn(self.draw(number))
    }

    /// Payload per queue pair [bytes], if each queue pair has exactly one chunk, all of equal size, without
    /// dependencies or release times; `None` if this is not known.
    pub fn independent_bytes(&self) -> Option<u64> {
        let has_one_each = self.flows.parts == 1 && self.job.connections.are_transfers();
        self.schedule.independent_bytes().filter(|_| has_one_each)
    }

    /// Chunk number minus queue pair number, modulo 2^32, if each queue pair has one chunk.
    pub const fn chunks_beyond_queue_pairs(&self) -> u32 {
        self.job.first_chunk.wrapping_sub(self.job.first_queue_pair)
    }

    /// The chunk of a queue pair, if each has one.
    #[inline]
    pub const fn only_chunk(&self, queue_pair: u32) -> u32 {
        queue_pair.wrapping_add(self.chunks_beyond_queue_pairs())
    }

    /// Calls `visit` for each chunk of a queue pair, in the order of the schedule, with its number and part
    /// index.
    #[inline]
    pub fn each_chunk(&self, queue_pair: u32, mut visit: impl FnMut((u32, u32), Chunk)) {
        let (connection, part) = self.connection(queue_pair);
        for transfer in self.job.connections.transfers(connection) {
            let number = self.job.first_chunk + transfer.0 * self.flows.parts + part;
            let bytes = bytes_of_part(self.schedule.bytes(transfer), part, self.flows.parts);
            visit((number, part), Chunk { job: self.index, transfer, queue_pair, bytes });
        }
    }

    /// Sending and receiving rank of a transfer.
    #[inline]
    pub fn ranks(&self, transfer: TransferId) -> [Rank; 2] {
        let Transfer { src, dst, .. } = self.schedule.transfer(transfer);
        [src, dst]
    }
}

/// Splits a relative chunk number into transfer and part index, or a relative queue pair number into
/// connection and part index, with `parts` per transfer. Numbers are relative to the first of the job, or of
/// the host.
#[inline]
pub const fn split(number: u32, parts: u32) -> (u32, u32) {
    if parts == 1 { (number, 0) } else { (number / parts, number % parts) }
}

/// Payload of a part of a transfer with `bytes` in total.
#[inline]
fn bytes_of_part(bytes: u64, part: u32, parts: u32) -> u64 {
    if parts == 1 { bytes } else { Parts::new(bytes, parts.into()).of(part.into()) }
}

/// Ports of sender and receiver on the channels of a job, followed by those of their clearances, which take
/// the opposite direction; none if its queue pairs take those of the GPUs.
fn channel_ports(job: &JobSpec) -> Vec<[u16; 2]> {
    let Some(channels) = job.work.nccl().and_then(NcclConfig::channels) else { return Vec::new() };
    let there = channels.channels.iter().map(|channel| [channel.send_nic, channel.receive_nic]);
    there.clone().chain(there.map(|[from, to]| [to, from])).collect()
}

/// Schedules, chunks and queue pairs of all jobs of a run.
///
/// Numbers of chunks and queue pairs are consecutive over all jobs. Constructors: [`new`](Self::new), then
/// [`add_scheduled`](Self::add_scheduled) or [`add`](Self::add) per job. The other methods are queries.
pub struct Jobs {
    /// Schedule of each job.
    pub schedules: Vec<Arc<Schedule>>,
    jobs: Vec<JobFlows>,
    chunks: u32,
    queue_pairs: u32,
    /// Number of parts per transfer.
    pub parts: u32,
    /// Whether any chunks are not payload: see [`Jobs::message`].
    has_control_messages: bool,
    /// Whether rounds of any job differ: see [`Jobs::round`].
    has_cycles: bool,
    /// See [`Jobs::representing`].
    servers: Option<u32>,
    /// Ports of each GPU of a server; empty if hosts are not servers.
    adapters_of_gpu: Vec<Vec<u16>>,
    draws: Draws,
}

impl Jobs {
    /// The jobs of a spec, still without schedules: see [`Jobs::add`].
    pub fn new(spec: &RunSpec) -> Self {
        let mut collectives = spec.jobs.iter().filter_map(|job| job.work.collective());
        Self {
            schedules: Vec::new(),
            jobs: Vec::new(),
            chunks: 0,
            queue_pairs: 0,
            parts: spec.transport.qps_per_rank_pair,
            has_control_messages: collectives
                .any(|each| each.rendezvous.is_some() || each.barrier || each.nccl.is_some()),
            has_cycles: spec.jobs.iter().any(|job| job.rounds_of_a_cycle() > 1),
            servers: None,
            adapters_of_gpu: match &spec.fabric.server {
                Some(server) => server.adapters_of_gpu.clone(),
                None => Vec::new(),
            },
            draws: Draws {
                udp_source_ports: Seed(spec.seed).family("qp.udp_source_port"),
                initial_psns: Seed(spec.seed).family("qp.initial_psn"),
            },
        }
    }

    /// The same jobs, in which the servers of rings of NCCL stand for so many: all are equal, so the
    /// schedule has the steps of all and the transfers of a few.
    #[must_use]
    pub fn representing(self, servers: Option<u32>) -> Self {
        Self { servers, ..self }
    }

    /// Adds the next job, unless it is storage, which has no schedule; returns the range of its queue pairs.
    ///
    /// # Errors
    /// If it has no schedule, or too many chunks.
    pub fn add_scheduled(
        &mut self,
        spec: &RunSpec,
        index: u32,
        job: &JobSpec,
    ) -> Result<Range<u32>, SpecError> {
        let schedule = schedule(spec, index, job, self.servers)?;
        check_chunks(index, self.chunks.into(), schedule.transfers().len() as u64, self.parts)?;
        let has_sizes = job.work.collective().is_some_and(|collective| collective.round_bytes.is_some());
        let cycle = if has_sizes { job.rounds_of_a_cycle() } else { 1 };
        let connections = RankConnections::new(&schedule, spec.transport.qp_mode, cycle);
        Ok(self.add(job, schedule, connections))
    }

    /// Adds the next job with its schedule and connections; returns the range of its queue pairs.
    pub fn add(&mut self, job: &JobSpec, schedule: Schedule, connections: RankConnections) -> Range<u32> {
        let first_queue_pair = self.queue_pair_count();
        self.queue_pairs += connections.count() * self.parts;
        self.jobs.push(JobFlows {
            first_chunk: self.chunks,
            first_queue_pair,
            hosts: job.hosts.clone(),
            gpus: job.gpus.clone(),
            channel_ports: channel_ports(job),
            stream: job.stream,
            rounds_of_a_cycle: job.rounds_of_a_cycle(),
            connections,
        });
        self.chunks += schedule.transfers().len() as u32 * self.parts;
        self.schedules.push(Arc::new(schedule));
        first_queue_pair..self.queue_pair_count()
    }

    /// See [`QueuePair::ports`].
    #[inline]
    fn ports(&self, job: &JobFlows, ends: Ends, part: u32) -> Option<[u16; 2]> {
        if self.adapters_of_gpu.is_empty() { None } else { Some(self.ports_of_servers(job, ends, part)) }
    }

    /// Ports of a queue pair between servers: those of its channel, or one of each GPU's by channel and part.
    #[inline(never)]
    fn ports_of_servers(&self, job: &JobFlows, ends: Ends, part: u32) -> [u16; 2] {
        job.channel_ports.get(ends.channel as usize).copied().unwrap_or_else(|| {
            let number = (ends.channel + part) as usize;
            [ends.src, ends.dst].map(|rank| {
                let of_gpu = &self.adapters_of_gpu[job.gpus[rank.index()] as usize];
                of_gpu[number % of_gpu.len()]
            })
        })
    }

    /// Number of chunks of all jobs, for one cycle of rounds each.
    pub const fn chunk_count(&self) -> u32 {
        self.chunks
    }

    /// Number of queue pairs of all jobs.
    pub const fn queue_pair_count(&self) -> u32 {
        self.queue_pairs
    }

    /// The chunk with that number. Numbers are ordered by job, transfer of the schedule, part.
    #[inline]
    pub fn chunk(&self, number: u32) -> Chunk {
        self.chunk_of_transfer(number).0
    }

    /// The queue pair with that number.
    #[inline]
    pub fn queue_pair(&self, number: u32) -> QueuePair {
        let (index, connection, _) = self.connection_of(number);
        let job = self.one_job(index);
        job.queue_pair(number, job.job.connections.ends(job.schedule, connection))
    }

    /// View of one job.
    #[inline]
    pub fn one_job(&self, index: usize) -> OneJob<'_> {
        let (job, schedule) = (&self.jobs[index], &self.schedules[index]);
        OneJob { index: index as u32, flows: self, job, schedule }
    }

    /// Calls `visit` with the source and destination host of each of the first `connections` connections of a
    /// job, in order. Each connection has one queue pair per part.
    pub fn each_connection(&self, job: usize, connections: u32, mut visit: impl FnMut([HostId; 2])) {
        let (schedule, job) = (&self.schedules[job], &self.jobs[job]);
        job.connections.each_ends(schedule, connections, |ends| visit(job.hosts_of(ends)));
    }

    /// Periodicity of the connections of a job.
    pub fn laps(&self, job: usize) -> Laps {
        self.jobs[job].connections.laps(&self.schedules[job])
    }

    /// Number of a job's first chunk.
    pub fn first_chunk(&self, job: usize) -> u32 {
        self.jobs[job].first_chunk
    }

    /// Number of a job's first queue pair.
    pub fn first_queue_pair(&self, job: usize) -> u32 {
        self.jobs[job].first_queue_pair
    }

    /// Whether each transfer of a job has its own queue pairs, in the order of the transfers.
    pub fn has_queue_pairs_of_each_transfer(&self, job: usize) -> bool {
        self.jobs[job].connections.are_transfers()
    }

    /// Queue pair of the first part of a transfer.
    pub fn first_queue_pair_of(&self, job: usize, transfer: TransferId) -> u32 {
        let job = &self.jobs[job];
        job.first_queue_pair + job.connections.of(transfer) * self.parts
    }

    /// All queue pairs, by number.
    pub fn queue_pairs(&self) -> impl ExactSizeIterator<Item = QueuePair> + '_ {
        (0..self.queue_pair_count()).map(|number| self.queue_pair(number))
    }

    /// Calls `visit` for all queue pairs by number; faster than separate queries.
    pub fn each_queue_pair(&self, mut visit: impl FnMut(QueuePair)) {
        let mut next = 0;
        for job in (0..self.jobs.len()).map(|index| self.one_job(index)) {
            let connections = &job.job.connections;
            connections.each_ends(job.schedule, connections.count(), |ends| {
                let first = next;
                next += self.parts;
                (first..next).for_each(|number| visit(job.queue_pair(number, ends)));
            });
        }
    }

    /// Chunks of a queue pair, in the order of the schedule.
    #[inline]
    pub fn chunks_of(&self, queue_pair: u32) -> impl Iterator<Item = u32> + '_ {
        let (index, connection, part) = self.connection_of(queue_pair);
        let job = &self.jobs[index];
        let first = job.first_chunk + part;
        job.connections.transfers(connection).map(move |transfer| first + transfer.0 * self.parts)
    }

    /// A chunk with its transfer and queue pair, in one lookup.
    #[inline(always)]
    pub fn chunk_with_pair(&self, chunk: u32) -> (Chunk, Transfer, QueuePair) {
        let (chunk, transfer) = self.chunk_of_transfer(chunk);
        let pair = self.one_job(chunk.job as usize).queue_pair(chunk.queue_pair, Ends::of(&transfer));
        (chunk, transfer, pair)
    }

    /// Number of payload chunks of a job per round, without handshakes and barriers; equal for all rounds.
    pub fn payload_chunks(&self, job: usize) -> u64 {
        let schedule = &self.schedules[job];
        let ids = (0..schedule.transfers().len()).map(TransferId::from_index);
        let transfers = match schedule.has_control_messages() {
            false => ids.len(),
            true => ids.filter(|&id| schedule.message(id) == Message::Payload).count(),
        };
        let rounds = self.jobs[job].rounds_of_a_cycle;
        transfers as u64 / u64::from(rounds) * u64::from(self.parts)
    }

    /// Round of its job in which a chunk is sent for the `pass`-th time, from 0.
    #[inline]
    pub fn round(&self, chunk: u32, pass: u32) -> u32 {
        if !self.has_cycles || chunk >= self.chunks {
            return pass;
        }
        let (rounds, first) = self.cycle_of(chunk);
        pass * rounds + first
    }

    /// How many times a chunk is sent in the first `rounds` rounds of its job.
    pub fn passes(&self, chunk: u32, rounds: u32) -> u32 {
        if !self.has_cycles || chunk >= self.chunks {
            return rounds;
        }
        let (of_a_cycle, first) = self.cycle_of(chunk);
        rounds.saturating_sub(first).div_ceil(of_a_cycle)
    }

    /// Number of rounds after which a chunk is sent again, and its first round.
    fn cycle_of(&self, chunk: u32) -> (u32, u32) {
        let Chunk { job, transfer, .. } = self.chunk(chunk);
        let (rounds, schedule) = (self.jobs[job as usize].rounds_of_a_cycle, &self.schedules[job as usize]);
        let phases = schedule.phases().len() as u32 / rounds;
        (rounds, schedule.phase_of(transfer) / phases)
    }

    /// Kind of message of a chunk: payload of a collective, handshake or barrier.
    #[inline]
    pub fn message(&self, chunk: u32) -> Message {
        if !self.has_control_messages || chunk >= self.chunks {
            return Message::Payload;
        }
        self.message_of_schedule(chunk)
    }

    #[inline(never)]
    fn message_of_schedule(&self, chunk: u32) -> Message {
        let Chunk { job, transfer, .. } = self.chunk(chunk);
        self.schedules[job as usize].message(transfer)
    }

    /// Payload chunk announced by a chunk of an announcement (RTS).
    pub const fn announced_by(&self, chunk: u32) -> u32 {
        chunk + (HANDSHAKE_TRANSFERS as u32 - 1) * self.parts
    }

    /// The transfer of a chunk.
    #[inline]
    pub fn transfer(&self, chunk: &Chunk) -> Transfer {
        self.schedules[chunk.job as usize].transfer(chunk.transfer)
    }

    /// The job of a chunk.
    #[inline]
    pub fn job_of(&self, chunk: u32) -> u32 {
        self.jobs.partition_point(|job| job.first_chunk <= chunk) as u32 - 1
    }

    /// Job of a queue pair, its connection in the job, and index of the part it sends.
    #[inline]
    fn connection_of(&self, queue_pair: u32) -> (usize, u32, u32) {
        let index = self.jobs.partition_point(|job| job.first_queue_pair <= queue_pair) - 1;
        let (connection, part) = split(queue_pair - self.jobs[index].first_queue_pair, self.parts);
        (index, connection, part)
    }

    #[inline(always)]
    fn chunk_of_transfer(&self, number: u32) -> (Chunk, Transfer) {
        let index = self.job_of(number);
        let job = &self.jobs[index as usize];
        let (transfer, part) = split(number - job.first_chunk, self.parts);
        let id = TransferId(transfer);
        let transfer = self.schedules[index as usize].transfer(id);
        let queue_pair = job.first_queue_pair + job.connections.of(id) * self.parts + part;
        let bytes = bytes_of_part(transfer.bytes, part, self.parts);
        (Chunk { job: index, transfer: id, queue_pair, bytes }, transfer)
    }
}
