//! Carries a spec out: posts what may start, moves on from event to event, hands rows out.

use crate::check::check;
use crate::fluid::Fluid;
use crate::network::{Network, RATE_BITS};
use crate::rows::{FlowSummary, JobResult, Times, row};
use crate::train::{Frames, Hop};
use jobs::{Jobs, QueuePair};
use paths::PathHash;
use record::{Batch, ChunkRow};
use spec::{RunSpec, RunStatus, SpecError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant as WallInstant};
use thiserror::Error;
use units::{Instant, Rate, Span, TransferId};

/// Rows of one batch.
const BATCH_ROWS: usize = 4_096;
/// Events between two looks at the wall clock.
const EVENTS_PER_LOOK: u64 = 1_024;
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Picoseconds of a second.
const PS_PER_S: u128 = 1_000_000_000_000;
/// No transfer.
const NONE: u32 = u32::MAX;

/// The observer wants the run to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Payload delivered [bytes].
    pub delivered_bytes: u64,
    /// Payload to deliver in all [bytes].
    pub total_bytes: u64,
    /// Time of the run.
    pub simulated: Instant,
}

/// Receives what a run produces.
pub trait Observer {
    /// Takes rows in.
    ///
    /// # Errors
    /// [`Stopped`] ends the run.
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped>;

    /// Told about ten times a second of wall time, and at the end.
    ///
    /// # Errors
    /// [`Stopped`] ends the run.
    fn progress(&mut self, progress: Progress) -> Result<(), Stopped>;
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The spec cannot be carried out.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The observer asked to stop.
    #[error("stopped by its observer")]
    Stopped,
}

/// What happens, in the order in which it does at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The last bit has left what limits the flow; the number is that of the rate it was told for.
    Drained(u32),
    Delivered,
    TakenIn,
    Completed,
    Post,
}

/// (time, what, chunk or transfer, job or slot).
type Event = (Instant, Kind, u32, u32);

/// A chunk that was posted and is not acknowledged.
#[derive(Clone)]
struct Active {
    chunk: u32,
    posted: Instant,
    delivered: Instant,
    /// Its number among flows; none while it waits for its queue pair.
    flow: u32,
    /// What is left at `since` [2^-16 bit/s x ps].
    left: u128,
    since: Instant,
    /// How often its rate was told.
    told: u32,
    /// From the last bit at what limits it to its delivery, and from there to its acknowledgement.
    tail: Span,
    back: Span,
    unloaded: Span,
}

/// A rank's processor.
#[derive(Clone, Copy, Default)]
struct Process {
    busy_until: Instant,
    copying_until: Instant,
}

/// What is left to do of each job.
struct JobState {
    /// What each transfer waits for; empty where none waits.
    waits: Vec<u32>,
    /// Parts of each transfer to be delivered, and acknowledged; empty where it has one.
    parts_left: [Vec<u32>; 2],
    /// The next transfer of the same rank, where one is under way at a time.
    next: Vec<u32>,
    processes: Vec<Process>,
    chunks: u64,
    complete: u64,
    end: Instant,
}

struct Run<'a> {
    spec: &'a RunSpec,
    jobs: Jobs,
    network: Network,
    hash: PathHash,
    frames: Frames,
    fluid: Fluid,
    /// Slot of each flow.
    owners: Vec<u32>,
    active: Vec<Active>,
    free: Vec<u32>,
    fresh: Vec<u32>,
    /// Queue pairs with several chunks that are sending: what waits for them.
    queues: HashMap<u32, VecDeque<u32>>,
    known: HashMap<(Vec<Hop>, u64), Span>,
    states: Vec<JobState>,
    events: BinaryHeap<Reverse<Event>>,
    rows: Vec<ChunkRow>,
    delivered_bytes: u64,
    rate_changes: u64,
    events_done: u64,
}

/// Carries `spec` out, handing tables and progress to `observer`.
///
/// # Errors
/// When the spec cannot be carried out, the model does not cover it, or the observer asks to stop.
pub fn run(spec: &RunSpec, observer: &mut dyn Observer) -> Result<FlowSummary, RunError> {
    spec::check(spec)?;
    check(spec)?;
    let mut run = Run::new(spec)?;
    run.start();
    run.carry_out(observer).map_err(|Stopped| RunError::Stopped)?;
    Ok(run.summary())
}

impl<'a> Run<'a> {
    fn new(spec: &'a RunSpec) -> Result<Self, SpecError> {
        let network = Network::new(spec)?;
        let mut jobs = Jobs::new(spec);
        for (index, job) in spec.jobs.iter().enumerate() {
            jobs.add_collective(spec, index as u32, job)?;
        }
        let states = (0..spec.jobs.len()).map(|job| JobState::new(spec, &jobs, job)).collect();
        let run = Self {
            hash: PathHash::new(spec, &network.graph),
            frames: Frames::new(&spec.transport, network.framing),
            fluid: Fluid::new(network.capacities()),
            owners: Vec::new(),
            active: Vec::new(),
            free: Vec::new(),
            fresh: Vec::new(),
            queues: HashMap::new(),
            known: HashMap::new(),
            events: BinaryHeap::new(),
            rows: Vec::new(),
            delivered_bytes: 0,
            rate_changes: 0,
            events_done: 0,
            spec,
            jobs,
            network,
            states,
        };
        run.check_paths()?;
        Ok(run)
    }

    /// That there is a path wherever data go.
    fn check_paths(&self) -> Result<(), SpecError> {
        if self.network.graph.is_joined_by_switches() {
            return Ok(());
        }
        let pairs = self.jobs.queue_pairs().filter(|pair| !pair.is_local());
        for pair in pairs {
            let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host);
            if self.network.ports([from, to], 0).is_empty() {
                return Err(SpecError::Value {
                    field: format!("jobs[{}].hosts", pair.job),
                    found: format!("host {} cannot reach host {}", pair.src_host, pair.dst_host),
                    allowed: "hosts that are joined by switches".into(),
                });
            }
        }
        Ok(())
    }

    /// Offers what waits for nothing.
    fn start(&mut self) {
        for (index, job) in self.spec.jobs.iter().enumerate() {
            let start = Instant(job.start_ps);
            let releases = self.jobs.schedules[index].releases().to_vec();
            let count = self.jobs.schedules[index].transfers().len() as u32;
            for transfer in 0..count {
                if self.states[index].waits.get(transfer as usize).is_none_or(|&waits| waits == 0) {
                    let release = releases.get(transfer as usize).copied().unwrap_or(Span::ZERO);
                    self.offer(index as u32, transfer, start + release);
                }
            }
        }
    }

    fn carry_out(&mut self, observer: &mut dyn Observer) -> Result<(), Stopped> {
        let total_bytes = self.jobs.schedules.iter().map(workload::Schedule::total_bytes).sum();
        let (mut told, mut now) = (WallInstant::now(), Instant::ZERO);
        while let Some(&Reverse((at, ..))) = self.events.peek() {
            now = at;
            while let Some(&Reverse(event)) = self.events.peek()
                && event.0 == now
            {
                self.events.pop();
                self.events_done += 1;
                self.take(event);
            }
            self.settle(now);
            if self.rows.len() >= BATCH_ROWS {
                observer.batch(Batch::Chunks(std::mem::take(&mut self.rows)))?;
            }
            if self.events_done.is_multiple_of(EVENTS_PER_LOOK) && told.elapsed() >= PROGRESS_INTERVAL {
                told = WallInstant::now();
                let delivered_bytes = self.delivered_bytes;
                observer.progress(Progress { delivered_bytes, total_bytes, simulated: now })?;
            }
        }
        observer.progress(Progress { delivered_bytes: self.delivered_bytes, total_bytes, simulated: now })?;
        observer.batch(Batch::Chunks(std::mem::take(&mut self.rows)))
    }

    fn take(&mut self, (now, kind, number, place): Event) {
        match kind {
            Kind::Drained(told) => self.drained(place, told, now),
            Kind::Delivered => self.delivered(place, now),
            Kind::TakenIn => self.taken_in(place, number, now),
            Kind::Completed => self.completed(place, now),
            Kind::Post => self.post(number, place, now),
        }
    }

    /// A transfer may start: it is posted once its rank has done its work for it.
    fn offer(&mut self, job: u32, transfer: u32, now: Instant) {
        let spec = &self.spec.jobs[job as usize];
        let mut at = now + Span(spec.step_overhead_ps);
        if spec.send_overhead_ps > 0 {
            let rank = self.jobs.schedules[job as usize].transfer(TransferId(transfer)).src;
            let process = &mut self.states[job as usize].processes[rank.index()];
            at = at.max(process.busy_until) + Span(spec.send_overhead_ps);
            process.busy_until = at;
        }
        self.events.push(Reverse((at, Kind::Post, transfer, job)));
    }

    /// All parts of a transfer are posted.
    fn post(&mut self, transfer: u32, job: u32, now: Instant) {
        let first = self.jobs.first_chunk(job as usize) + transfer * self.jobs.parts;
        for chunk in first..first + self.jobs.parts {
            let (_, _, pair) = self.jobs.place(chunk);
            let slot = self.activate(chunk, now);
            if pair.is_local() {
                self.copy(slot, &pair, now);
            } else if self.jobs.has_queue_pairs_of_each_transfer(job as usize) {
                self.send(slot, now);
            } else if let Some(queue) = self.queues.get_mut(&pair.number) {
                queue.push_back(slot);
            } else {
                self.queues.insert(pair.number, VecDeque::new());
                self.send(slot, now);
            }
        }
    }

    fn activate(&mut self, chunk: u32, now: Instant) -> u32 {
        let (zero, never) = (Span::ZERO, Instant::NEVER);
        let slot = self.free.pop().unwrap_or(self.active.len() as u32);
        let active = Active {
            chunk,
            posted: now,
            delivered: never,
            flow: NONE,
            left: 0,
            since: now,
            told: self.active.get(slot as usize).map_or(0, |before| before.told),
            tail: zero,
            back: zero,
            unloaded: zero,
        };
        match self.active.get_mut(slot as usize) {
            Some(place) => *place = active,
            None => self.active.push(active),
        }
        slot
    }

    /// Ranks of one host copy in shared memory, one message after the other.
    fn copy(&mut self, slot: u32, pair: &QueuePair, now: Instant) {
        let memory = self.spec.fabric.shared_memory;
        let chunk = self.active[slot as usize].chunk;
        let bytes = self.jobs.chunk(chunk).bytes;
        let process = &mut self.states[pair.job as usize].processes[pair.src.index()];
        process.copying_until =
            now.max(process.copying_until) + Rate::from_bps(memory.rate_bps).span_of(bytes);
        let at = process.copying_until + Span(memory.latency_ps);
        self.active[slot as usize].unloaded = at.since(now);
        self.events.push(Reverse((at, Kind::Delivered, chunk, slot)));
    }

    /// It is the turn of a chunk on its queue pair.
    fn send(&mut self, slot: u32, now: Instant) {
        let chunk = self.active[slot as usize].chunk;
        let (part, _, pair) = self.jobs.place(chunk);
        let (from, to) = self.network.graph.attachments_between(pair.src_host, pair.dst_host);
        let entropy = |ends| self.hash.of(ends, pair.udp_source_port(), pair.identity);
        let ports = self.network.ports([from, to], entropy([from, to]));
        let hops = self.network.hops(&ports);
        let back_hops = self.network.hops(&self.network.ports([to, from], entropy([to, from])));
        let shares = self.network.shares(&ports, to);
        let back = self.frames.acknowledged(&back_hops);
        let slowest = hops.iter().map(|hop| hop.bps).min().unwrap_or(1) << RATE_BITS;
        let bound = slowest.min(self.window_rate(&hops, back, part.bytes));
        let [_, _, wire_bytes] = self.frames.of(part.bytes);
        let left = (u128::from(wire_bytes) * 8 * PS_PER_S) << RATE_BITS;
        let frames = self.frames;
        let arrives = *self
            .known
            .entry((hops, part.bytes))
            .or_insert_with_key(|(hops, bytes)| frames.unloaded(hops, *bytes));
        let flow = self.fluid.begin(shares, bound);
        let active = &mut self.active[slot as usize];
        active.tail = Span(arrives.0.saturating_sub(span_of(left, slowest).0));
        (active.back, active.unloaded) = (back, arrives + back);
        (active.flow, active.left, active.since) = (flow, left, now);
        if flow as usize == self.owners.len() {
            self.owners.push(slot);
        }
        self.owners[flow as usize] = slot;
        self.fresh.push(slot);
    }

    /// What the window of a queue pair lets through [2^-16 bit/s], for a chunk that is longer.
    fn window_rate(&self, hops: &[Hop], back: Span, bytes: u64) -> u64 {
        let window = u64::from(self.spec.transport.window_packets);
        if bytes <= window * self.frames.mtu_bytes() {
            return u64::MAX;
        }
        let round_trip = self.frames.unloaded(hops, self.frames.mtu_bytes()) + back;
        let bits = (u128::from(self.frames.full_frames(window)) * 8 * PS_PER_S) << RATE_BITS;
        u64::try_from(bits / u128::from(round_trip.0.max(1))).unwrap_or(u64::MAX)
    }

    /// Computes rates after what happened at `now`.
    fn settle(&mut self, now: Instant) {
        let Self { fluid, owners, active, fresh, .. } = self;
        let changes = &mut self.rate_changes;
        fluid.settle(|flow, before| {
            let slot = owners[flow as usize];
            let each = &mut active[slot as usize];
            let sent = u128::from(before) * u128::from(now.since(each.since).0);
            each.left = each.left.saturating_sub(sent);
            each.since = now;
            fresh.push(slot);
            *changes += 1;
        });
        for slot in fresh.drain(..) {
            let each = &mut active[slot as usize];
            each.told += 1;
            let end = now + span_of(each.left, fluid.rate(each.flow));
            self.events.push(Reverse((end, Kind::Drained(each.told), each.chunk, slot)));
        }
    }

    fn drained(&mut self, slot: u32, told: u32, now: Instant) {
        let active = &mut self.active[slot as usize];
        if active.told != told || active.flow == NONE {
            return;
        }
        let flow = std::mem::replace(&mut active.flow, NONE);
        let (chunk, at) = (active.chunk, now + active.tail);
        self.fluid.end(flow);
        self.events.push(Reverse((at, Kind::Delivered, chunk, slot)));
        let pair = self.jobs.chunk(chunk).queue_pair;
        if let Some(queue) = self.queues.get_mut(&pair) {
            match queue.pop_front() {
                Some(next) => self.send(next, now),
                None => _ = self.queues.remove(&pair),
            }
        }
    }

    fn delivered(&mut self, slot: u32, now: Instant) {
        let active = &mut self.active[slot as usize];
        active.delivered = now;
        let (chunk, back) = (active.chunk, active.back);
        self.events.push(Reverse((now + back, Kind::Completed, chunk, slot)));
        let place = self.jobs.chunk(chunk);
        self.delivered_bytes += place.bytes;
        if !self.states[place.job as usize].is_last_part(0, place.transfer) {
            return;
        }
        let overhead = Span(self.spec.jobs[place.job as usize].receive_overhead_ps);
        if overhead == Span::ZERO {
            return self.taken_in(place.job, place.transfer.0, now);
        }
        let rank = self.jobs.transfer(&place).dst;
        let process = &mut self.states[place.job as usize].processes[rank.index()];
        process.busy_until = now.max(process.busy_until) + overhead;
        self.events.push(Reverse((process.busy_until, Kind::TakenIn, place.transfer.0, place.job)));
    }

    /// A transfer is there for its receiver: what waits for it may start.
    fn taken_in(&mut self, job: u32, transfer: u32, now: Instant) {
        let ready: Vec<u32> = {
            let schedule = &self.jobs.schedules[job as usize];
            let waits = &mut self.states[job as usize].waits;
            let after = schedule.successors(TransferId(transfer)).map(|id| id.0);
            after.filter(|&id| is_ready(waits, id)).collect()
        };
        ready.into_iter().for_each(|id| self.offer(job, id, now));
    }

    fn completed(&mut self, slot: u32, now: Instant) {
        let Active { chunk, posted, delivered, unloaded, .. } = self.active[slot as usize];
        self.free.push(slot);
        let place = self.jobs.chunk(chunk);
        let is_open_loop = self.spec.jobs[place.job as usize].arrivals.is_some();
        let unloaded = is_open_loop.then_some(unloaded);
        let [frames, frame_bytes, _] = self.frames.of(place.bytes);
        let is_local = self.jobs.queue_pair(place.queue_pair).is_local();
        let sent = if is_local { [0, 0] } else { [frames, frame_bytes] };
        self.rows.push(row(&self.jobs, chunk, sent, &Times { posted, delivered, completed: now, unloaded }));
        let state = &mut self.states[place.job as usize];
        state.complete += 1;
        state.end = now;
        if !state.is_last_part(1, place.transfer) {
            return;
        }
        let next = state.next.get(place.transfer.index()).copied().unwrap_or(NONE);
        if next != NONE && is_ready(&mut state.waits, next) {
            self.offer(place.job, next, now);
        }
    }

    fn summary(&self) -> FlowSummary {
        let each = self.spec.jobs.iter().zip(&self.states);
        let jobs: Vec<JobResult> =
            each.map(|(job, state)| JobResult::new(job, state.chunks, state.complete, state.end)).collect();
        let is_complete = jobs.iter().all(|job| job.status == RunStatus::Complete);
        FlowSummary {
            status: if is_complete { RunStatus::Complete } else { RunStatus::Incomplete },
            end_ps: self.states.iter().map(|state| state.end.0).max().unwrap_or(0),
            jobs,
            rate_changes: self.rate_changes,
            events: self.events_done,
        }
    }
}

impl JobState {
    fn new(spec: &RunSpec, jobs: &Jobs, job: usize) -> Self {
        let schedule = &jobs.schedules[job];
        let count = schedule.transfers().len();
        let ids = || (0..count).map(TransferId::from_index);
        let is_free = schedule.independent_bytes().is_some();
        let mut waits: Vec<u32> =
            if is_free { Vec::new() } else { ids().map(|id| schedule.dependencies(id)).collect() };
        let ranks = spec.jobs[job].hosts.len();
        let mut next = Vec::new();
        if schedule.is_blocking() {
            next = vec![NONE; count];
            let mut last = vec![NONE; ranks];
            for (id, transfer) in ids().zip(schedule.transfers()) {
                let before = std::mem::replace(&mut last[transfer.src.index()], id.0);
                if before != NONE {
                    next[before as usize] = id.0;
                    waits[id.index()] += 1;
                }
            }
        }
        let parts = if jobs.parts > 1 { vec![jobs.parts; count] } else { Vec::new() };
        Self {
            waits,
            parts_left: [parts.clone(), parts],
            next,
            processes: vec![Process::default(); ranks],
            chunks: count as u64 * u64::from(jobs.parts),
            complete: 0,
            end: Instant(spec.jobs[job].start_ps),
        }
    }

    /// One part fewer is to be delivered (0) or acknowledged (1): whether it was the last.
    fn is_last_part(&mut self, which: usize, transfer: TransferId) -> bool {
        self.parts_left[which].get_mut(transfer.index()).is_none_or(|left| {
            *left -= 1;
            *left == 0
        })
    }
}

/// A transfer waits for one less: whether it may start.
fn is_ready(waits: &mut [u32], transfer: u32) -> bool {
    let left = &mut waits[transfer as usize];
    *left -= 1;
    *left == 0
}

/// The time for work [2^-16 bit/s x ps] at a rate [2^-16 bit/s], to the nearest picosecond.
fn span_of(left: u128, rate: u64) -> Span {
    let rate = u128::from(rate.max(1));
    Span(u64::try_from((left + rate / 2) / rate).unwrap_or(u64::MAX))
}
