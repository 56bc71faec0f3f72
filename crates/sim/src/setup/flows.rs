//! The queue pairs of a run and the chunks each of them carries.

use super::Fabric;
use super::entropy::PathHash;
use super::switches::check_pins;
use super::unloaded::unloaded;
use crate::prefetch::{prefetch, prefetch_item};
use spec::{ArrivalProcess, ArrivalsSpec, JobSpec, LoadBalancing, QpMode, RunSpec, SpecError};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use topology::Attachment;
use units::{AttachmentId, HostId, Rank, Rate, Seed, Span, StreamFamily, TransferId};
use wire::Psn;
use workload::{
    Arrivals, HANDSHAKE_TRANSFERS, MAX_TRANSFERS, Message, Parts, Process, Schedule, Shape, Transfer,
    WorkloadError, with_rendezvous,
};

/// First of the UDP source ports a queue pair may draw (RFC 6335: dynamic ports).
const UDP_SOURCE_PORT_MIN: u16 = 49_152;
/// How many there are.
const UDP_SOURCE_PORTS: u64 = 1 << 14;

/// One data chunk on one queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) job: u32,
    pub(crate) transfer: TransferId,
    pub(crate) part: u32,
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
    pub(crate) src_attachment: AttachmentId,
    pub(crate) dst_attachment: AttachmentId,
    pub(crate) udp_source_port: u16,
    pub(crate) initial_psn: Psn,
    /// Its place among the queue pairs whose data ends at `dst_host`: the number its frames carry there.
    pub(crate) receiver: u32,
    /// It carries data of the collective, not the handshake before them.
    pub(crate) carries_payload: bool,
}

impl QueuePair {
    /// Between ranks on one host: nothing of it enters the network.
    pub(crate) fn is_local(&self) -> bool {
        self.src_host == self.dst_host
    }
}

/// Everything the jobs will send.
pub(crate) struct Flows {
    pub(crate) schedules: Vec<Schedule>,
    /// First chunk of each job, and one past the last.
    pub(crate) first_chunk: Vec<u32>,
    chunk_list: Vec<Chunk>,
    pub(super) pair_list: Vec<QueuePair>,
    /// Chunks, queue pair by queue pair, and where those of each begin.
    chunks_by_pair: Vec<u32>,
    first_by_pair: Vec<u32>,
    /// Parts of each transfer.
    pub(crate) parts: u32,
    /// Some chunks are no payload: see [`Flows::message`].
    has_handshakes: bool,
    /// First queue pair of the job that is being added.
    pub(super) first_queue_pair: u32,
    /// What a chunk of each queue pair of open-loop traffic would take on an idle fabric: all of one queue pair are of
    /// one size.
    pub(crate) unloaded: HashMap<u32, Span>,
    /// The same of a storage operation that writes or reads.
    pub(crate) unloaded_operations: HashMap<u32, [Span; 2]>,
    /// Queue pairs so far whose data ends at each host.
    receivers: Vec<u32>,
    udp_source_ports: StreamFamily,
    initial_psns: StreamFamily,
    /// What decides the way of packets wherever there are several.
    pub(crate) path_hash: PathHash,
}

impl Flows {
    /// Schedules every job and gives its transfers to queue pairs.
    ///
    /// # Errors
    /// When a collective is unknown, a size does not suit it, or two ranks cannot reach each other.
    pub(crate) fn new(spec: &RunSpec, fabric: &Fabric) -> Result<Self, SpecError> {
        let mut flows = Self {
            schedules: Vec::new(),
            first_chunk: vec![0],
            chunk_list: Vec::new(),
            pair_list: Vec::new(),
            chunks_by_pair: Vec::new(),
            first_by_pair: Vec::new(),
            parts: spec.transport.qps_per_rank_pair,
            has_handshakes: spec.jobs.iter().any(|job| job.rendezvous.is_some()),
            first_queue_pair: 0,
            unloaded: HashMap::new(),
            unloaded_operations: HashMap::new(),
            receivers: vec![0; fabric.graph.hosts()],
            udp_source_ports: Seed(spec.seed).family("qp.udp_source_port"),
            initial_psns: Seed(spec.seed).family("qp.initial_psn"),
            path_hash: PathHash::new(spec),
        };
        for (index, job) in spec.jobs.iter().enumerate() {
            match &job.storage {
                None => flows.add_job(spec, fabric, index as u32, job)?,
                Some(storage) => flows.add_storage(spec, fabric, index as u32, job, storage)?,
            }
        }
        flows.sort_chunks();
        Ok(flows)
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.chunk_list.len() as u32
    }

    pub(crate) fn queue_pair_count(&self) -> u32 {
        self.pair_list.len() as u32
    }

    /// A chunk, by its number.
    #[inline]
    pub(crate) fn chunk(&self, number: u32) -> Chunk {
        self.chunk_list[number as usize]
    }

    /// All chunks, by number: job by job, in the order of its schedule, part by part.
    pub(crate) fn chunks(&self) -> impl ExactSizeIterator<Item = Chunk> + '_ {
        self.chunk_list.iter().copied()
    }

    /// A queue pair, by its number.
    #[inline]
    pub(crate) fn queue_pair(&self, number: u32) -> QueuePair {
        self.pair_list[number as usize]
    }

    /// All queue pairs, by number.
    pub(crate) fn queue_pairs(&self) -> impl ExactSizeIterator<Item = QueuePair> + '_ {
        self.pair_list.iter().copied()
    }

    /// The chunks of a queue pair, in the order of the schedule.
    pub(crate) fn chunks_of(&self, queue_pair: u32) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        let range = &self.first_by_pair[queue_pair as usize..][..2];
        self.chunks_by_pair[range[0] as usize..range[1] as usize].iter().copied()
    }

    /// Deals the chunks out to their queue pairs.
    fn sort_chunks(&mut self) {
        let mut free = vec![0; self.pair_list.len() + 1];
        for chunk in &self.chunk_list {
            free[chunk.queue_pair as usize + 1] += 1;
        }
        for pair in 1..free.len() {
            free[pair] += free[pair - 1];
        }
        self.first_by_pair = free.clone();
        self.chunks_by_pair = vec![0; self.chunk_list.len()];
        for (number, chunk) in (0..).zip(&self.chunk_list) {
            let place = &mut free[chunk.queue_pair as usize];
            self.chunks_by_pair[*place as usize] = number;
            *place += 1;
        }
    }

    fn add_job(
        &mut self,
        spec: &RunSpec,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
    ) -> Result<(), SpecError> {
        let schedule = schedule(spec, index, job)?;
        self.first_queue_pair = self.pair_list.len() as u32;
        let chunks = schedule.transfers().len() * self.parts as usize;
        self.chunk_list.reserve_exact(chunks);
        if spec.transport.qp_mode == QpMode::PerChunk {
            self.pair_list.reserve_exact(chunks);
        }
        let mut pairs = HashMap::new();
        let transfers = (0..).map(TransferId).zip(schedule.transfers());
        if job.rendezvous.is_some() {
            // What carries payload comes first: it draws the same with and without a handshake.
            for (id, transfer) in transfers.clone() {
                if schedule.message(id) == Message::Payload {
                    self.pair_of(fabric, index, job, &transfer, &mut pairs)?;
                }
            }
        }
        let first_of_handshake = self.pair_list.len();
        for (id, transfer) in transfers {
            let first = match spec.transport.qp_mode {
                QpMode::PerChunk => self.open_queue_pairs(fabric, index, job, &transfer)?,
                QpMode::PerPair => self.pair_of(fabric, index, job, &transfer, &mut pairs)?,
            };
            self.add_chunks(index, id, &transfer, first);
        }
        if job.rendezvous.is_some() {
            let of_handshake = &mut self.pair_list[first_of_handshake..];
            of_handshake.iter_mut().for_each(|pair| pair.carries_payload = false);
        }
        if job.arrivals.is_some() {
            self.note_unloaded(spec, fabric, Parts::new(job.data_bytes, self.parts.into()));
        }
        self.schedules.push(schedule);
        self.first_chunk.push(self.chunk_list.len() as u32);
        Ok(())
    }

    /// The queue pairs of a transfer, which all between its ranks on its channel use; returns the first.
    fn pair_of(
        &mut self,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        transfer: &Transfer,
        pairs: &mut HashMap<(Rank, Rank, u32), u32>,
    ) -> Result<u32, SpecError> {
        Ok(match pairs.entry((transfer.src, transfer.dst, transfer.channel)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => *unknown.insert(self.open_queue_pairs(fabric, index, job, transfer)?),
        })
    }

    /// Notes what a chunk of each queue pair of the present job takes on an idle fabric, each message cut into `parts`.
    fn note_unloaded(&mut self, spec: &RunSpec, fabric: &Fabric, parts: Parts) {
        let mut known = HashMap::new();
        for pair in &self.pair_list[self.first_queue_pair as usize..] {
            let ends = (pair.src_attachment, pair.dst_attachment);
            let bytes = parts.of(pair.part.into());
            let idle = || match pair.is_local() {
                true => copying(spec, bytes),
                false => unloaded(&spec.transport, fabric, ends, bytes),
            };
            let span = *known.entry((ends, bytes)).or_insert_with(idle);
            self.unloaded.insert(pair.number, span);
        }
    }

    fn add_chunks(&mut self, job: u32, id: TransferId, transfer: &Transfer, first_queue_pair: u32) {
        let parts = Parts::new(transfer.bytes, self.parts.into());
        for part in 0..self.parts {
            let queue_pair = first_queue_pair + part;
            let bytes = parts.of(part.into());
            self.chunk_list.push(Chunk { job, transfer: id, part, queue_pair, bytes });
        }
    }

    /// Opens a queue pair for each part of a transfer; returns the first.
    pub(super) fn open_queue_pairs(
        &mut self,
        fabric: &Fabric,
        index: u32,
        job: &JobSpec,
        transfer: &Transfer,
    ) -> Result<u32, SpecError> {
        let host = |rank: Rank| HostId(job.hosts[rank.index()]);
        let (src_host, dst_host) = (host(transfer.src), host(transfer.dst));
        let (src_attachment, dst_attachment) = fabric.graph.attachments_between(src_host, dst_host);
        let source: &Attachment = fabric.graph.attachment(src_attachment);
        if fabric.routes.next_hops(source.switch, dst_attachment).is_empty() {
            let found = format!("host {src_host} cannot reach host {dst_host}");
            return Err(value(format!("jobs[{index}].hosts"), found, "hosts that are joined by switches"));
        }
        let first = self.pair_list.len() as u32;
        for part in 0..self.parts {
            let number = self.pair_list.len() as u32;
            let in_job = number - self.first_queue_pair;
            // A job draws the same whichever other jobs there are.
            let id = (u64::from(job.stream) << 32) | u64::from(in_job);
            let receiver = self.receivers[dst_host.index()];
            self.receivers[dst_host.index()] += 1;
            let port = self.udp_source_ports.stream(id).below(UDP_SOURCE_PORTS) as u16;
            self.pair_list.push(QueuePair {
                number,
                identity: ((job.stream << 16) ^ in_job) & 0xff_ffff,
                job: index,
                part,
                channel: transfer.channel,
                src: transfer.src,
                dst: transfer.dst,
                src_host,
                dst_host,
                src_attachment,
                dst_attachment,
                udp_source_port: UDP_SOURCE_PORT_MIN + port,
                initial_psn: Psn::new(self.initial_psns.stream(id).next_u32() & 0xff_ffff),
                receiver,
                carries_payload: true,
            });
        }
        Ok(first)
    }

    /// Asks for what a chunk and its queue pair are told from. The lists have the same order when each chunk has a queue
    /// pair of its own.
    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        prefetch(&self.chunk_list, chunk as usize);
        prefetch(&self.pair_list, chunk as usize);
        if let [only] = &self.schedules[..] {
            only.place(TransferId(chunk)).inspect(|place| prefetch_item(*place));
        }
    }

    /// Chunks of a job in a round, without those of handshakes.
    pub(crate) fn payload_chunks(&self, job: usize) -> u64 {
        let all = self.first_chunk[job]..self.first_chunk[job + 1];
        if !self.schedules[job].has_handshakes() {
            return all.len() as u64;
        }
        all.filter(|&chunk| self.message(chunk) == Message::Payload).count() as u64
    }

    /// What a chunk is part of: data of a collective, or the handshake before them.
    #[inline]
    pub(crate) fn message(&self, chunk: u32) -> Message {
        if !self.has_handshakes {
            return Message::Payload;
        }
        let message = |info: &Chunk| self.schedules[info.job as usize].message(info.transfer);
        self.chunk_list.get(chunk as usize).map_or(Message::Payload, message)
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
}

/// What the schedule of a job is made for.
pub(crate) fn shape(spec: &RunSpec, job: &JobSpec) -> Shape {
    Shape {
        ranks: job.hosts.len() as u32,
        data_bytes: job.data_bytes,
        root: Rank(job.root),
        stream: Seed(spec.seed).stream("workload.pattern", u64::from(job.stream)),
    }
}

/// Checks what the jobs will send, without making their chunks unless only those show whether it can be sent.
///
/// # Errors
/// Those of [`Flows::new`], and of pins that name what is not there.
pub(crate) fn check_flows(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    let is_pinned = matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. });
    let is_storage = spec.jobs.iter().any(|job| job.storage.is_some());
    if is_pinned || is_storage || !fabric.graph.is_joined_by_switches() {
        return check_pins(spec, fabric, &Flows::new(spec, fabric)?);
    }
    spec.jobs.iter().zip(0..).try_for_each(|(job, index)| check_job(spec, index, job))
}

/// Checks that a job has a schedule; when open-loop messages are offered is drawn to know.
fn check_job(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<(), SpecError> {
    if job.arrivals.is_some() || job.rendezvous.is_some() {
        return schedule(spec, index, job).map(drop);
    }
    workload::check_schedule(&job.collective, &job.algorithm, &shape(spec, job))
        .map(drop)
        .map_err(|error| job_refusal(index, job, &error))
}

fn schedule(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<Schedule, SpecError> {
    let shape = shape(spec, job);
    let schedule = match job.arrivals {
        None => workload::schedule_for(&job.collective, &job.algorithm, &shape),
        Some(given) => {
            let given = arrivals(given);
            workload::open_loop_for(
                &job.collective,
                &job.algorithm,
                &shape,
                given,
                Seed(spec.seed),
                job.stream,
            )
        }
    };
    let schedule = schedule.map_err(|error| job_refusal(index, job, &error))?;
    let Some(rendezvous) = job.rendezvous else { return Ok(schedule) };
    check_handshakes(schedule.transfers().len() as u64).map_err(|error| job_refusal(index, job, &error))?;
    // Ranks of one host do not announce what they copy.
    let is_large = |transfer: &Transfer| {
        let is_local = job.hosts[transfer.src.index()] == job.hosts[transfer.dst.index()];
        transfer.bytes >= rendezvous.threshold_bytes && !is_local
    };
    Ok(with_rendezvous(&schedule, rendezvous.control_bytes, is_large))
}

/// That a schedule with a handshake before each of its transfers is not too long.
fn check_handshakes(transfers: u64) -> Result<(), WorkloadError> {
    let transfers = transfers * HANDSHAKE_TRANSFERS;
    if transfers > MAX_TRANSFERS {
        return Err(WorkloadError::TooManyTransfers { transfers, limit: MAX_TRANSFERS });
    }
    Ok(())
}

/// Why a job has no schedule, for the field that says so.
fn job_refusal(index: u32, job: &JobSpec, error: &WorkloadError) -> SpecError {
    let field = match error {
        WorkloadError::Indivisible { .. } => "data_bytes",
        WorkloadError::ClosedLoop { .. } => "collective",
        WorkloadError::NoMessages => "arrivals.duration_ps",
        WorkloadError::TooManyTransfers { .. } if job.arrivals.is_some() => "arrivals.duration_ps",
        WorkloadError::NotPowerOfTwo { .. } | WorkloadError::OddRanks { .. } => "hosts",
        _ => "algorithm",
    };
    refusal(&format!("jobs[{index}].{field}"), error)
}

/// What a message between ranks of one host takes.
fn copying(spec: &RunSpec, bytes: u64) -> Span {
    let memory = spec.fabric.shared_memory;
    Span(Rate::from_bps(memory.rate_bps).span_of(bytes).0 + memory.latency_ps)
}

/// When the messages of a job are offered.
pub(crate) const fn arrivals(spec: ArrivalsSpec) -> Arrivals {
    let process = match spec.process {
        ArrivalProcess::Poisson => Process::Poisson,
        ArrivalProcess::Constant => Process::Constant,
    };
    Arrivals { process, rate_bps: spec.rate_bps, duration: Span(spec.duration_ps) }
}

/// Why a collective cannot be carried out, for the field that says so.
pub(crate) fn refusal(field: &str, error: &WorkloadError) -> SpecError {
    let (found, allowed) = match *error {
        WorkloadError::NotPowerOfTwo { ranks, below, above } => {
            (format!("{ranks} ranks"), format!("a power of two, such as {below} or {above}"))
        }
        WorkloadError::ClosedLoop { ref collective, ref open } => {
            (format!("{collective} with arrivals"), open.clone())
        }
        WorkloadError::Indivisible { data_bytes, shares } => {
            (format!("{data_bytes} bytes"), format!("a multiple of {shares}, one equal share for each rank"))
        }
        WorkloadError::NoMessages => (error.to_string(), "a longer one, or a higher rate".into()),
        WorkloadError::TooManyTransfers { transfers, limit } => {
            (format!("{transfers} transfers"), format!("at most {limit}"))
        }
        WorkloadError::OddRanks { ranks } => (format!("{ranks} ranks"), "an even number of ranks".into()),
        _ => (error.to_string(), "see the collectives of the registry".into()),
    };
    value(field.into(), found, &allowed)
}

pub(super) fn value(field: String, found: String, allowed: &str) -> SpecError {
    SpecError::Value { field, found, allowed: allowed.into() }
}
