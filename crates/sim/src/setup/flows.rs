//! The queue pairs of a run and the chunks each of them carries.
//!
//! Nearly all of that follows from numbers, so it is told when it is asked for and not stored.

use super::Fabric;
use super::entropy::{Direction, PathHash};
use super::rank_connections::{Ends, RankConnections};
use super::schedules::{schedule, value};
use super::unloaded::unloaded;
use spec::{JobSpec, LoadBalancing, RunSpec, SpecError};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use topology::{Attachment, Graph};
use units::{AttachmentId, HostId, Rank, Rate, Seed, Span, StreamFamily, TransferId};
use wire::Psn;
use workload::{HANDSHAKE_TRANSFERS, Message, Parts, Schedule, Transfer};

/// First of the UDP source ports a queue pair may draw (RFC 6335: dynamic ports).
const UDP_SOURCE_PORT_MIN: u16 = 49_152;
/// How many there are.
const UDP_SOURCE_PORTS: u64 = 1 << 14;

/// One data chunk on one queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) job: u32,
    pub(crate) transfer: TransferId,
    pub(crate) queue_pair: u32,
    pub(crate) bytes: u64,
}

/// A queue pair: one direction of data between two ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePair {
    /// Its number in the run.
    pub(crate) number: u32,
    /// Its number as a NIC would give it, 24 bits: the same whichever other jobs there are.
    pub(crate) identity: u32,
    pub(crate) job: u32,
    pub(crate) part: u32,
    pub(crate) channel: u32,
    pub(crate) src: Rank,
    pub(crate) dst: Rank,
    pub(crate) src_host: HostId,
    pub(crate) dst_host: HostId,
    /// It carries data of the collective, not the handshake before them.
    pub(crate) carries_payload: bool,
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
    pub(crate) fn udp_source_port(&self) -> u16 {
        self.draws.udp_source_port(self.draw)
    }

    pub(crate) fn initial_psn(&self) -> Psn {
        self.draws.initial_psn(self.draw)
    }

    /// Between ranks on one host: nothing of it enters the network.
    pub(crate) fn is_local(&self) -> bool {
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
pub(super) struct OneJob<'a> {
    index: u32,
    flows: &'a Flows,
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

    /// See [`QueuePair::identity`].
    #[inline]
    const fn identity(&self, number: u32) -> u32 {
        ((self.job.stream << 16) ^ (number - self.job.first_queue_pair)) & 0xff_ffff
    }

    /// What a queue pair draws. A job draws the same whichever other jobs there are.
    #[inline]
    fn draw(&self, number: u32) -> u64 {
        (u64::from(self.job.stream) << 32) | u64::from(number - self.job.first_queue_pair)
    }

    /// The first packet sequence number of a queue pair.
    #[inline]
    pub(super) fn initial_psn(&self, number: u32) -> Psn {
        self.flows.draws.initial_psn(self.draw(number))
    }

    /// See [`Flows::entropy`].
    #[inline]
    pub(super) fn entropy(&self, number: u32, ends: [AttachmentId; 2]) -> u32 {
        let udp_source_port = self.flows.draws.udp_source_port(self.draw(number));
        self.flows.path_hash.of(ends, udp_source_port, self.identity(number))
    }

    /// Payload of each queue pair [bytes], where it is known that each has one chunk, that all are of the
    /// same size, and that none waits for another or for a time.
    pub(super) fn independent_bytes(&self) -> Option<u64> {
        let has_one_each = self.flows.parts == 1 && self.job.connections.are_transfers();
        self.schedule.independent_bytes().filter(|_| has_one_each)
    }

    /// What the number of a chunk has in addition to that of its queue pair, modulo 2^32, where each has one.
    pub(super) const fn chunks_beyond_queue_pairs(&self) -> u32 {
        self.job.first_chunk.wrapping_sub(self.job.first_queue_pair)
    }

    /// The chunk of a queue pair, where each has one.
    #[inline]
    pub(super) const fn only_chunk(&self, queue_pair: u32) -> u32 {
        queue_pair.wrapping_add(self.chunks_beyond_queue_pairs())
    }

    /// Hands the chunks of a queue pair to `visit`, in the order of the schedule, each with its number and
    /// its part of the transfer.
    #[inline]
    pub(super) fn each_chunk(&self, queue_pair: u32, mut visit: impl FnMut((u32, u32), Chunk)) {
        let (connection, part) = self.connection(queue_pair);
        for transfer in self.job.connections.transfers(connection) {
            let number = self.job.first_chunk + transfer.0 * self.flows.parts + part;
            let bytes = bytes_of_part(self.schedule.bytes(transfer), (part, self.flows.parts));
            visit((number, part), Chunk { job: self.index, transfer, queue_pair, bytes });
        }
    }

    /// The ranks that a transfer joins.
    #[inline]
    pub(super) fn ranks(&self, transfer: TransferId) -> [Rank; 2] {
        let Transfer { src, dst, .. } = self.schedule.transfer(transfer);
        [src, dst]
    }
}

/// The transfer of a chunk, or the connection of a queue pair, and which of its `parts` it is, all counted
/// from the first of the job, or of the host.
#[inline]
pub(super) const fn split(number: u32, parts: u32) -> (u32, u32) {
    if parts == 1 { (number, 0) } else { (number / parts, number % parts) }
}

/// Payload of a part of a transfer of `bytes`.
#[inline]
fn bytes_of_part(bytes: u64, (part, parts): (u32, u32)) -> u64 {
    if parts == 1 { bytes } else { Parts::new(bytes, parts.into()).of(part.into()) }
}

/// Everything the jobs will send.
pub(crate) struct Flows {
    pub(crate) schedules: Vec<Schedule>,
    jobs: Vec<JobFlows>,
    chunks: u32,
    queue_pairs: u32,
    /// By queue pair: [`Flows::receiver`]. Empty where no path is pinned.
    receivers: Vec<u32>,
    is_pinned: bool,
    graph: Arc<Graph>,
    /// Every host has one port, which has the number of the host.
    has_one_port_each: bool,
    /// Parts of each transfer.
    pub(crate) parts: u32,
    /// Some chunks are no payload: see [`Flows::message`].
    has_control_messages: bool,
    /// Rounds of some job differ: see [`Flows::round`].
    has_cycles: bool,
    /// What a chunk of each queue pair of open-loop traffic would take on an idle fabric: all of one queue
    /// pair are of one size.
    pub(crate) unloaded: HashMap<u32, Span>,
    /// The same of a storage operation that writes or reads.
    pub(crate) unloaded_operations: HashMap<u32, [Span; 2]>,
    /// Queue pairs so far whose data begins, and ends, at each host.
    senders_at: Vec<u32>,
    receivers_at: Vec<u32>,
    draws: Draws,
    /// What decides the way of packets wherever there are several.
    path_hash: PathHash,
}

impl Flows {
    /// Schedules every job and gives its transfers to queue pairs.
    ///
    /// # Errors
    /// When a collective is unknown, a size does not suit it, or two ranks cannot reach each other.
    pub(crate) fn new(spec: &RunSpec, fabric: &Fabric) -> Result<Self, SpecError> {
        let mut flows = Self {
            schedules: Vec::new(),
            jobs: Vec::new(),
            chunks: 0,
            queue_pairs: 0,
            receivers: Vec::new(),
            is_pinned: matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. }),
            graph: Arc::clone(&fabric.graph),
            has_one_port_each: fabric.graph.attachments.len() == fabric.graph.hosts(),
            parts: spec.transport.qps_per_rank_pair,
            has_control_messages: spec.jobs.iter().any(|job| job.rendezvous.is_some() || job.barrier),
            has_cycles: spec.jobs.iter().any(|job| job.rounds_of_a_cycle() > 1),
            unloaded: HashMap::new(),
            unloaded_operations: HashMap::new(),
            senders_at: vec![0; fabric.graph.hosts()],
            receivers_at: vec![0; fabric.graph.hosts()],
            draws: Draws {
                udp_source_ports: Seed(spec.seed).family("qp.udp_source_port"),
                initial_psns: Seed(spec.seed).family("qp.initial_psn"),
            },
            path_hash: PathHash::new(spec, &fabric.graph),
        };
        for (index, job) in spec.jobs.iter().enumerate() {
            match &job.storage {
                None => flows.add_job(spec, fabric, index as u32, job)?,
                Some(storage) => flows.add_storage(spec, fabric, index as u32, job, storage)?,
            }
        }
        Ok(flows)
    }

    pub(crate) const fn chunk_count(&self) -> u32 {
        self.chunks
    }

    pub(crate) const fn queue_pair_count(&self) -> u32 {
        self.queue_pairs
    }

    /// A chunk, by its number: they are counted job by job, in the order of its schedule, part by part.
    #[inline]
    pub(crate) fn chunk(&self, number: u32) -> Chunk {
        self.chunk_of_transfer(number).0
    }

    /// A queue pair, by its number.
    #[inline]
    pub(crate) fn queue_pair(&self, number: u32) -> QueuePair {
        let (index, connection, _) = self.connection_of(number);
        let job = self.one_job(index);
        job.queue_pair(number, job.job.connections.ends(job.schedule, connection))
    }

    /// What a job will send.
    #[inline]
    pub(super) fn one_job(&self, index: usize) -> OneJob<'_> {
        let (job, schedule) = (&self.jobs[index], &self.schedules[index]);
        OneJob { index: index as u32, flows: self, job, schedule }
    }

    /// The ports of hosts between which packets of a queue pair go in a direction.
    #[inline]
    pub(crate) fn attachments(&self, pair: &QueuePair, direction: Direction) -> [AttachmentId; 2] {
        let [src, dst] = self.attachments_between(pair.src_host, pair.dst_host);
        match direction {
            Direction::Forward => [src, dst],
            Direction::Reverse => [dst, src],
        }
    }

    /// The ports of hosts between which data from one host to another goes.
    #[inline]
    pub(super) fn attachments_between(&self, src: HostId, dst: HostId) -> [AttachmentId; 2] {
        match self.has_one_port_each {
            true => [AttachmentId(src.0), AttachmentId(dst.0)],
            false => self.graph.attachments_between(src, dst).into(),
        }
    }

    /// What decides the way of packets of a queue pair between two ports of hosts wherever there are several.
    #[inline]
    pub(crate) fn entropy(&self, pair: &QueuePair, ends: [AttachmentId; 2]) -> u32 {
        self.path_hash.of(ends, pair.udp_source_port(), pair.identity)
    }

    /// The place of a queue pair among those whose data ends at the same host: the number its frames carry
    /// there. It is known where paths are pinned, as nothing else asks for it here.
    #[inline]
    pub(crate) fn receiver(&self, queue_pair: u32) -> Option<u32> {
        self.receivers.get(queue_pair as usize).copied()
    }

    /// How many queue pairs have data that begins, and ends, at each host.
    pub(super) fn counts_at_hosts(&self) -> [&[u32]; 2] {
        [&self.senders_at, &self.receivers_at]
    }

    /// Hands the hosts that data of each connection of a job comes from and goes to to `visit`, in order.
    /// Each has a queue pair for every part.
    pub(super) fn each_connection(&self, job: usize, mut visit: impl FnMut([HostId; 2])) {
        let (schedule, job) = (&self.schedules[job], &self.jobs[job]);
        job.connections.each_ends(schedule, |ends| visit(job.hosts_of(ends)));
    }

    /// Whether each transfer of a job has queue pairs of its own, in the order of the transfers.
    pub(super) fn has_queue_pairs_of_each_transfer(&self, job: usize) -> bool {
        self.jobs[job].connections.are_transfers()
    }

    /// The queue pair of the first part of a transfer.
    pub(super) fn first_queue_pair_of(&self, job: usize, transfer: TransferId) -> u32 {
        let job = &self.jobs[job];
        job.first_queue_pair + job.connections.of(transfer) * self.parts
    }

    /// All queue pairs, by number.
    pub(crate) fn queue_pairs(&self) -> impl ExactSizeIterator<Item = QueuePair> + '_ {
        (0..self.queue_pair_count()).map(|number| self.queue_pair(number))
    }

    /// Hands all queue pairs to `visit`, by number: sooner done than one by one.
    pub(crate) fn each_queue_pair(&self, mut visit: impl FnMut(QueuePair)) {
        let mut next = 0;
        for job in (0..self.jobs.len()).map(|index| self.one_job(index)) {
            job.job.connections.each_ends(job.schedule, |ends| {
                let first = next;
                next += self.parts;
                (first..next).for_each(|number| visit(job.queue_pair(number, ends)));
            });
        }
    }

    /// The chunks of a queue pair, in the order of the schedule.
    #[inline]
    pub(crate) fn chunks_of(&self, queue_pair: u32) -> impl Iterator<Item = u32> + '_ {
        let (index, connection, part) = self.connection_of(queue_pair);
        let job = &self.jobs[index];
        let first = job.first_chunk + part;
        job.connections.transfers(connection).map(move |transfer| first + transfer.0 * self.parts)
    }

    /// A chunk with its transfer and its queue pair, in one look.
    #[inline(always)]
    pub(crate) fn place(&self, chunk: u32) -> (Chunk, Transfer, QueuePair) {
        let (chunk, transfer) = self.chunk_of_transfer(chunk);
        let pair = self.one_job(chunk.job as usize).queue_pair(chunk.queue_pair, Ends::of(&transfer));
        (chunk, transfer, pair)
    }

    /// Chunks of a job in a round, without those of handshakes and barriers. Rounds that differ have as many.
    pub(crate) fn payload_chunks(&self, job: usize) -> u64 {
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
    pub(crate) fn round(&self, chunk: u32, pass: u32) -> u32 {
        if !self.has_cycles || chunk >= self.chunks {
            return pass;
        }
        let (rounds, first) = self.cycle_of(chunk);
        pass * rounds + first
    }

    /// How often a chunk is sent in so many rounds of its job.
    pub(crate) fn passes(&self, chunk: u32, rounds: u32) -> u32 {
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
    pub(crate) fn message(&self, chunk: u32) -> Message {
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
    pub(crate) const fn announced_by(&self, chunk: u32) -> u32 {
        chunk + (HANDSHAKE_TRANSFERS as u32 - 1) * self.parts
    }

    /// The transfer a chunk is part of.
    #[inline]
    pub(crate) fn transfer(&self, chunk: &Chunk) -> Transfer {
        self.schedules[chunk.job as usize].transfer(chunk.transfer)
    }

    /// The job of a chunk.
    #[inline]
    pub(crate) fn job_of(&self, chunk: u32) -> u32 {
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

    fn add_job(
        &mut self,
        spec: &RunSpec,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
    ) -> Result<(), SpecError> {
        let schedule = schedule(spec, index, job)?;
        let connections = RankConnections::new(&schedule, spec.transport.qp_mode);
        let pairs = self.add_connections(fabric, index, job, schedule, connections)?;
        if job.arrivals.is_some() {
            self.note_unloaded(spec, fabric, pairs, Parts::new(job.data_bytes, self.parts.into()));
        }
        Ok(())
    }

    /// Adds a job whose transfers take these connections; returns its queue pairs.
    pub(super) fn add_connections(
        &mut self,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        schedule: Schedule,
        connections: RankConnections,
    ) -> Result<Range<u32>, SpecError> {
        let first_queue_pair = self.queue_pair_count();
        self.queue_pairs += connections.count() * self.parts;
        let flows = JobFlows {
            first_chunk: self.chunks,
            first_queue_pair,
            hosts: job.hosts.clone(),
            stream: job.stream,
            rounds_of_a_cycle: job.rounds_of_a_cycle(),
            connections,
        };
        let mut is_reached = Ok(());
        let is_joined = fabric.graph.is_joined_by_switches();
        flows.connections.each_ends(&schedule, |ends| {
            let [src, dst] = flows.hosts_of(ends);
            if !is_joined && is_reached.is_ok() {
                is_reached = check_path(fabric, index, src, dst);
            }
            self.senders_at[src.index()] += self.parts;
            let next = &mut self.receivers_at[dst.index()];
            if self.is_pinned {
                self.receivers.extend(*next..*next + self.parts);
            }
            *next += self.parts;
        });
        is_reached?;
        self.jobs.push(flows);
        self.chunks += schedule.transfers().len() as u32 * self.parts;
        self.schedules.push(schedule);
        Ok(first_queue_pair..self.queue_pair_count())
    }

    /// Notes what a chunk of each of the queue pairs takes on an idle fabric, each message cut into `parts`.
    fn note_unloaded(&mut self, spec: &RunSpec, fabric: &Fabric, pairs: Range<u32>, parts: Parts) {
        let mut known = HashMap::new();
        for pair in pairs {
            let pair = self.queue_pair(pair);
            let ends = self.attachments(&pair, Direction::Forward);
            let bytes = parts.of(pair.part.into());
            let idle = || match pair.is_local() {
                true => copying(spec, bytes),
                false => unloaded(spec, fabric, ends, bytes),
            };
            let span = *known.entry((ends, bytes)).or_insert_with(idle);
            self.unloaded.insert(pair.number, span);
        }
    }
}

/// That there is a path between two hosts of a job.
fn check_path(fabric: &Fabric, job: u32, src: HostId, dst: HostId) -> Result<(), SpecError> {
    let (from, to) = fabric.graph.attachments_between(src, dst);
    let source: &Attachment = fabric.graph.attachment(from);
    if fabric.routes.next_hops(source.switch, to).is_empty() {
        let found = format!("host {src} cannot reach host {dst}");
        return Err(value(format!("jobs[{job}].hosts"), found, "hosts that are joined by switches"));
    }
    Ok(())
}

/// What a message between ranks of one host takes.
fn copying(spec: &RunSpec, bytes: u64) -> Span {
    let memory = spec.fabric.shared_memory;
    Span(Rate::from_bps(memory.rate_bps).span_of(bytes).0 + memory.latency_ps)
}
