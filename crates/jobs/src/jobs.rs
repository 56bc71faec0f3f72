//! The queue pairs of a run and the chunks each of them carries.
//!
//! Nearly all of that follows from numbers, so it is told when it is asked for and not stored.

use crate::rank_connections::{Ends, Laps, RankConnections};
use crate::schedules::{check_chunks, schedule};
use spec::{JobSpec, RunSpec, SpecError};
use std::ops::Range;
use units::{HostId, Rank, Seed, StreamFamily, TransferId};
use wire::Psn;
use wire::bth::Qpn;
use workload::{HANDSHAKE_TRANSFERS, Message, Parts, Schedule, Transfer};

/// First of the UDP source ports a queue pair may draw (RFC 6335: dynamic ports).
const UDP_SOURCE_PORT_MIN: u16 = 49_152;
/// How many there are.
const UDP_SOURCE_PORTS: u64 = 1 << 14;

/// Offset of queue pair numbers on the wire: 0 and 1 are reserved (IBTA vol. 1, 10.2.4.5).
const FIRST_QPN: u32 = 0x100;

/// The destination queue pair number in the packets of a queue pair of the run, in both directions.
#[must_use]
pub fn destination_qpn(number: u32) -> Qpn {
    Qpn::new(FIRST_QPN.wrapping_add(number) & Qpn::MAX.value()).unwrap_or_default()
}

/// One data chunk on one queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Its job.
    pub job: u32,
    /// Transfer of the schedule of the job.
    pub transfer: TransferId,
    /// Queue pair of the run.
    pub queue_pair: u32,
    /// Payload [bytes].
    pub bytes: u64,
}

/// A queue pair: one direction of data between two ranks.
#[derive(Clone, Copy, Debug)]
pub struct QueuePair {
    /// Its number in the run.
    pub number: u32,
    /// Its number as a NIC would give it, 24 bits: the same whichever other jobs there are.
    pub identity: u32,
    /// Its job.
    pub job: u32,
    /// Part of each transfer that it carries, from 0.
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
    /// It carries data of the collective, not the handshake before them.
    pub carries_payload: bool,
    draws: Draws,
    /// Which of them are its own.
    draw: u64,
}

/// What is drawn for queue pairs.
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
    /// The UDP source port of its data.
    #[must_use]
    pub fn udp_source_port(&self) -> u16 {
        self.draws.udp_source_port(self.draw)
    }

    /// The PSN of its first packet.
    #[must_use]
    pub fn initial_psn(&self) -> Psn {
        self.draws.initial_psn(self.draw)
    }

    /// Between ranks on one host: nothing of it enters the network.
    pub fn is_local(&self) -> bool {
        self.src_host == self.dst_host
    }
}

/// What one job will send.
struct JobFlows {
    first_chunk: u32,
    first_queue_pair: u32,
    /// Host of each rank.
    hosts: Vec<u32>,
    /// Number of its random draws.
    stream: u32,
    /// Rounds until one is like the first.
    rounds_of_a_cycle: u32,
    connections: RankConnections,
}

impl JobFlows {
    /// The hosts of both ends of a connection.
    #[inline]
    fn hosts_of(&self, ends: Ends) -> [HostId; 2] {
        [ends.src, ends.dst].map(|rank| HostId(self.hosts[rank.index()]))
    }
}

/// What one job will send, to be asked about many queue pairs of it.
#[derive(Clone, Copy)]
pub struct OneJob<'a> {
    index: u32,
    flows: &'a Jobs,
    job: &'a JobFlows,
    schedule: &'a Schedule,
}

impl OneJob<'_> {
    /// A queue pair of the job, by its number in the run, between two ranks.
    #[inline]
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
            carries_payload: self.job.connections.carries_payload(connection),
            draws: self.flows.draws,
            draw: self.draw(number),
        }
    }

    /// The connection of a queue pair, and which of its parts it carries.
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

    /// What a queue pair draws. A job draws the same whichever other jobs there are.
    #[inline]
    fn draw(&self, number: u32) -> u64 {
        (u64::from(self.job.stream) << 32) | u64::from(number - self.job.first_queue_pair)
    }

    /// The first packet sequence number of a queue pair.
    #[inline]
    pub fn initial_psn(&self, number: u32) -> Psn {
        self.flows.draws.initial_psn(self.draw(number))
    }

    /// Payload of each queue pair [bytes], where it is known that each has one chunk, that all are of the
    /// same size, and that none waits for another or for a time.
    pub fn independent_bytes(&self) -> Option<u64> {
        let has_one_each = self.flows.parts == 1 && self.job.connections.are_transfers();
        self.schedule.independent_bytes().filter(|_| has_one_each)
    }

    /// What the number of a chunk has in addition to that of its queue pair, modulo 2^32, where each has one.
    pub const fn chunks_beyond_queue_pairs(&self) -> u32 {
        self.job.first_chunk.wrapping_sub(self.job.first_queue_pair)
    }

    /// The chunk of a queue pair, where each has one.
    #[inline]
    pub const fn only_chunk(&self, queue_pair: u32) -> u32 {
        queue_pair.wrapping_add(self.chunks_beyond_queue_pairs())
    }

    /// Hands the chunks of a queue pair to `visit`, in the order of the schedule, each with its number and
    /// its part of the transfer.
    #[inline]
    pub fn each_chunk(&self, queue_pair: u32, mut visit: impl FnMut((u32, u32), Chunk)) {
        let (connection, part) = self.connection(queue_pair);
        for transfer in self.job.connections.transfers(connection) {
            let number = self.job.first_chunk + transfer.0 * self.flows.parts + part;
            let bytes = bytes_of_part(self.schedule.bytes(transfer), (part, self.flows.parts));
            visit((number, part), Chunk { job: self.index, transfer, queue_pair, bytes });
        }
    }

    /// The ranks that a transfer joins.
    #[inline]
    pub fn ranks(&self, transfer: TransferId) -> [Rank; 2] {
        let Transfer { src, dst, .. } = self.schedule.transfer(transfer);
        [src, dst]
    }
}

/// The transfer of a chunk, or the connection of a queue pair, and which of its `parts` it is, all counted
/// from the first of the job, or of the host.
#[inline]
pub const fn split(number: u32, parts: u32) -> (u32, u32) {
    if parts == 1 { (number, 0) } else { (number / parts, number % parts) }
}

/// Payload of a part of a transfer of `bytes`.
#[inline]
fn bytes_of_part(bytes: u64, (part, parts): (u32, u32)) -> u64 {
    if parts == 1 { bytes } else { Parts::new(bytes, parts.into()).of(part.into()) }
}

/// Everything the jobs will send.
pub struct Jobs {
    /// The schedule of each job.
    pub schedules: Vec<Schedule>,
    jobs: Vec<JobFlows>,
    chunks: u32,
    queue_pairs: u32,
    /// Parts of each transfer.
    pub parts: u32,
    /// Some chunks are no payload: see [`Jobs::message`].
    has_control_messages: bool,
    /// Rounds of some job differ: see [`Jobs::round`].
    has_cycles: bool,
    draws: Draws,
}

impl Jobs {
    /// Those of a spec, without what any of them sends: see [`Jobs::add`].
    #[must_use]
    pub fn new(spec: &RunSpec) -> Self {
        Self {
            schedules: Vec::new(),
            jobs: Vec::new(),
            chunks: 0,
            queue_pairs: 0,
            parts: spec.transport.qps_per_rank_pair,
            has_control_messages: spec.jobs.iter().any(|job| job.rendezvous.is_some() || job.barrier),
            has_cycles: spec.jobs.iter().any(|job| job.rounds_of_a_cycle() > 1),
            draws: Draws {
                udp_source_ports: Seed(spec.seed).family("qp.udp_source_port"),
                initial_psns: Seed(spec.seed).family("qp.initial_psn"),
            },
        }
    }

    /// Adds the collective of the next job; returns its queue pairs.
    ///
    /// # Errors
    /// See [`schedule`] and [`check_chunks`].
    pub fn add_collective(
        &mut self,
        spec: &RunSpec,
        index: u32,
        job: &JobSpec,
    ) -> Result<Range<u32>, SpecError> {
        let schedule = schedule(spec, index, job)?;
        check_chunks(index, self.chunks.into(), schedule.transfers().len() as u64, self.parts)?;
        let cycle = if job.round_bytes.is_some() { job.rounds_of_a_cycle() } else { 1 };
        let connections = RankConnections::new(&schedule, spec.transport.qp_mode, cycle);
        Ok(self.add(job, schedule, connections))
    }

    /// Adds the next job, whose transfers take these connections; returns its queue pairs.
    pub fn add(&mut self, job: &JobSpec, schedule: Schedule, connections: RankConnections) -> Range<u32> {
        let first_queue_pair = self.queue_pair_count();
        self.queue_pairs += connections.count() * self.parts;
        self.jobs.push(JobFlows {
            first_chunk: self.chunks,
            first_queue_pair,
            hosts: job.hosts.clone(),
            stream: job.stream,
            rounds_of_a_cycle: job.rounds_of_a_cycle(),
            connections,
        });
        self.chunks += schedule.transfers().len() as u32 * self.parts;
        self.schedules.push(schedule);
        first_queue_pair..self.queue_pair_count()
    }

    /// Chunks of one cycle of rounds of every job.
    #[must_use]
    pub const fn chunk_count(&self) -> u32 {
        self.chunks
    }

    /// Queue pairs of all jobs.
    #[must_use]
    pub const fn queue_pair_count(&self) -> u32 {
        self.queue_pairs
    }

    /// A chunk, by its number: they are counted job by job, in the order of its schedule, part by part.
    #[inline]
    pub fn chunk(&self, number: u32) -> Chunk {
        self.chunk_of_transfer(number).0
    }

    /// A queue pair, by its number.
    #[inline]
    pub fn queue_pair(&self, number: u32) -> QueuePair {
        let (index, connection, _) = self.connection_of(number);
        let job = self.one_job(index);
        job.queue_pair(number, job.job.connections.ends(job.schedule, connection))
    }

    /// What a job will send.
    #[inline]
    pub fn one_job(&self, index: usize) -> OneJob<'_> {
        let (job, schedule) = (&self.jobs[index], &self.schedules[index]);
        OneJob { index: index as u32, flows: self, job, schedule }
    }

    /// Hands the hosts that data of each of the first so many connections of a job comes from and goes to to
    /// `visit`, in order. Each has a queue pair for every part.
    pub fn each_connection(&self, job: usize, connections: u32, mut visit: impl FnMut([HostId; 2])) {
        let (schedule, job) = (&self.schedules[job], &self.jobs[job]);
        job.connections.each_ends(schedule, connections, |ends| visit(job.hosts_of(ends)));
    }

    /// The connections of a job in laps.
    #[must_use]
    pub fn laps(&self, job: usize) -> Laps {
        self.jobs[job].connections.laps(&self.schedules[job])
    }

    /// The first chunk of a job.
    #[must_use]
    pub fn first_chunk(&self, job: usize) -> u32 {
        self.jobs[job].first_chunk
    }

    /// The first queue pair of a job.
    #[must_use]
    pub fn first_queue_pair(&self, job: usize) -> u32 {
        self.jobs[job].first_queue_pair
    }

    /// Whether each transfer of a job has queue pairs of its own, in the order of the transfers.
    pub fn has_queue_pairs_of_each_transfer(&self, job: usize) -> bool {
        self.jobs[job].connections.are_transfers()
    }

    /// The queue pair of the first part of a transfer.
    pub fn first_queue_pair_of(&self, job: usize, transfer: TransferId) -> u32 {
        let job = &self.jobs[job];
        job.first_queue_pair + job.connections.of(transfer) * self.parts
    }

    /// All queue pairs, by number.
    pub fn queue_pairs(&self) -> impl ExactSizeIterator<Item = QueuePair> + '_ {
        (0..self.queue_pair_count()).map(|number| self.queue_pair(number))
    }

    /// Hands all queue pairs to `visit`, by number: sooner done than one by one.
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

    /// The chunks of a queue pair, in the order of the schedule.
    #[inline]
    pub fn chunks_of(&self, queue_pair: u32) -> impl Iterator<Item = u32> + '_ {
        let (index, connection, part) = self.connection_of(queue_pair);
        let job = &self.jobs[index];
        let first = job.first_chunk + part;
        job.connections.transfers(connection).map(move |transfer| first + transfer.0 * self.parts)
    }

    /// A chunk with its transfer and its queue pair, in one look.
    #[inline(always)]
    pub fn place(&self, chunk: u32) -> (Chunk, Transfer, QueuePair) {
        let (chunk, transfer) = self.chunk_of_transfer(chunk);
        let pair = self.one_job(chunk.job as usize).queue_pair(chunk.queue_pair, Ends::of(&transfer));
        (chunk, transfer, pair)
    }

    /// Chunks of a job in a round, without those of handshakes and barriers. Rounds that differ have as many.
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

    /// The round of its job in which a chunk is sent, when it is sent for the `pass`-th time, from 0.
    #[inline]
    pub fn round(&self, chunk: u32, pass: u32) -> u32 {
        if !self.has_cycles || chunk >= self.chunks {
            return pass;
        }
        let (rounds, first) = self.cycle_of(chunk);
        pass * rounds + first
    }

    /// How often a chunk is sent in so many rounds of its job.
    pub fn passes(&self, chunk: u32, rounds: u32) -> u32 {
        if !self.has_cycles || chunk >= self.chunks {
            return rounds;
        }
        let (of_a_cycle, first) = self.cycle_of(chunk);
        rounds.saturating_sub(first).div_ceil(of_a_cycle)
    }

    /// After how many rounds a chunk is sent again, and the first round in which it is.
    fn cycle_of(&self, chunk: u32) -> (u32, u32) {
        let Chunk { job, transfer, .. } = self.chunk(chunk);
        let (rounds, schedule) = (self.jobs[job as usize].rounds_of_a_cycle, &self.schedules[job as usize]);
        let phases = schedule.phases().len() as u32 / rounds;
        (rounds, schedule.phase_of(transfer) / phases)
    }

    /// What a chunk is part of: data of a collective, or the handshake before them.
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

    /// The payload that a chunk of an announcement announces.
    pub const fn announced_by(&self, chunk: u32) -> u32 {
        chunk + (HANDSHAKE_TRANSFERS as u32 - 1) * self.parts
    }

    /// The transfer a chunk is part of.
    #[inline]
    pub fn transfer(&self, chunk: &Chunk) -> Transfer {
        self.schedules[chunk.job as usize].transfer(chunk.transfer)
    }

    /// The job of a chunk.
    #[inline]
    pub fn job_of(&self, chunk: u32) -> u32 {
        self.jobs.partition_point(|job| job.first_chunk <= chunk) as u32 - 1
    }

    /// The job of a queue pair, its connection there and which of its parts it carries.
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
        let bytes = bytes_of_part(transfer.bytes, (part, self.parts));
        (Chunk { job: index, transfer: id, queue_pair, bytes }, transfer)
    }
}
