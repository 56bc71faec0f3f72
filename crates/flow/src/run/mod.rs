//! Event loop of a run: posts transfers that may start, processes events, passes rows to the observer.

use crate::events::{Events, Kind};
use crate::path::{Idle, Path, Paths};
use crate::queued::Step;
use crate::recorder::Recorder;
use crate::relay::Relays;
use crate::rows::{FlowSummary, JobResult, Times, row};
use crate::set_up::{jobs_of, paths_of};
use crate::sharing::Sharing;
use crate::transfers::JobState;
use crate::watch::{Progress, Watch};
use crate::windows::{Connection, Next};
use jobs::{Jobs, Observer, QueuePair, RunError};
use spec::{ChunksObserved, JobSpec, RunSpec, RunStatus, SpecError};
use std::collections::HashMap;
use units::{Instant, Rate, Span, TransferId};

/// Number of queue pairs that are retained even if idle.
const CONNECTIONS_MIN: usize = 1_024;

/// A posted, unacknowledged chunk. Compact, since there may be very many.
#[derive(Clone, Copy)]
struct Active {
    posted: Instant,
    chunk: u32,
    pace: Pace,
}

/// Number of the times of a chunk on an idle path, and whether this is its last burst.
#[derive(Clone, Copy)]
struct Pace(u32);

impl Pace {
    /// It does not enter the network.
    const COPIED: Self = Self(u32::MAX);
    /// Set for a burst that others follow.
    const MORE: u32 = 1 << 31;
    /// The number is not known yet.
    const UNKNOWN: u32 = Self::MORE - 2;

    const fn unknown(is_last: bool) -> Self {
        Self(if is_last { Self::UNKNOWN } else { Self::UNKNOWN | Self::MORE })
    }

    /// Sets the number of [`Paths::idle`].
    fn known(self, number: u32) -> Self {
        assert!(number < Self::UNKNOWN, "kinds of paths are few");
        Self(self.0 & Self::MORE | number)
    }

    const fn is_last(self) -> bool {
        self.0 & Self::MORE == 0
    }

    /// `None` for a copy.
    fn idle(self, paths: &Paths) -> Option<&Idle> {
        (self.0 != Self::COPIED.0).then(|| paths.idle(self.0 & !Self::MORE))
    }
}

/// A part of a chunk that is sent at once.
#[derive(Clone, Copy)]
struct Burst {
    packets: u64,
    /// Nothing of the chunk is left after it.
    is_last: bool,
    /// Sent at the rate of the window, since it follows others.
    is_paced: bool,
}

struct Run<'a> {
    spec: &'a RunSpec,
    jobs: Jobs,
    paths: Paths,
    sharing: Sharing,
    active: Vec<Active>,
    free: Vec<u32>,
    /// Queue pairs with data to send now or recently, by number.
    connections: HashMap<u32, Connection>,
    /// Number of them above which idle ones are removed.
    connections_max: usize,
    states: Vec<JobState>,
    events: Events,
    recorder: Recorder,
    /// Since the last progress check.
    delivered_bytes: u64,
    /// Path of the chunk being sent.
    path: Path,
}

/// Runs `spec`, passing tables and progress to `observer`.
///
/// # Errors
/// When the spec cannot be run, the model does not cover it, or the observer requests a stop.
pub fn run(spec: &RunSpec, observer: &mut dyn Observer<Progress>) -> Result<FlowSummary, RunError> {
    let mut paths = paths_of(spec)?;
    let relays = Relays::find(spec, &mut paths);
    if let Some(relays) = relays.as_ref().filter(|_| spec.observe.chunks == ChunksObserved::Summary) {
        relays.check_delays(spec, &paths)?;
        return relays.counts(spec, observer);
    }
    let jobs = jobs_of(spec, &paths)?;
    if let Some(relays) = relays {
        return relays.rows(spec, &jobs, observer);
    }
    by_events(spec, paths, jobs, observer)
}

/// Runs a spec event by event.
pub(crate) fn by_events(
    spec: &RunSpec,
    paths: Paths,
    jobs: Jobs,
    observer: &mut dyn Observer<Progress>,
) -> Result<FlowSummary, RunError> {
    let mut run = Run::new(spec, paths, jobs)?;
    run.start();
    run.carry_out(observer)?;
    Ok(run.summary())
}

impl<'a> Run<'a> {
    fn new(spec: &'a RunSpec, paths: Paths, jobs: Jobs) -> Result<Self, SpecError> {
        let recorder = Recorder::new(spec, jobs.chunk_count().into())?;
        let states = (0..spec.jobs.len()).map(|job| JobState::new(spec, &jobs, job)).collect();
        Ok(Self {
            sharing: Sharing::new(spec, &jobs, &paths),
            active: Vec::new(),
            free: Vec::new(),
            connections: HashMap::new(),
            connections_max: CONNECTIONS_MIN,
            events: Events::default(),
            recorder,
            delivered_bytes: 0,
            path: Path::default(),
            spec,
            jobs,
            paths,
            states,
        })
    }

    /// Offers all transfers without dependencies.
    fn start(&mut self) {
        for (index, job) in self.spec.jobs.iter().enumerate() {
            let count = self.jobs.schedules[index].transfers().len() as u32;
            for transfer in 0..count {
                if self.states[index].is_free(transfer) {
                    let release = self.jobs.schedules[index].releases().get(transfer as usize);
                    let at = Instant(job.start_ps) + release.copied().unwrap_or(Span::ZERO);
                    self.offer(index as u32, transfer, at);
                }
            }
        }
    }

    fn carry_out(&mut self, observer: &mut dyn Observer<Progress>) -> Result<(), RunError> {
        let mut watch = Watch::new(self.jobs.schedules.iter().map(workload::Schedule::total_bytes).sum());
        let mut now = Instant::ZERO;
        while let Some(at) = self.events.next() {
            now = at;
            while let Some((kind, number, place)) = self.events.take_at(now) {
                self.take(now, kind, number, place);
            }
            self.sharing.settle(now, &mut self.events, &self.paths, &self.jobs);
            self.sharing.check_queues(now, &self.paths)?;
            self.recorder.hand_out(observer)?;
            watch.delivered(std::mem::take(&mut self.delivered_bytes));
            watch.look(now, observer)?;
        }
        watch.end(now, observer)?;
        Ok(self.recorder.finish(observer)?)
    }

    fn take(&mut self, now: Instant, kind: Kind, number: u32, place: u32) {
        match kind {
            Kind::Drained => self.drained(now),
            Kind::Emptied => self.sharing.emptied(now, place, &mut self.events),
            Kind::Rested => self.sharing.rested(place),
            Kind::Passed(hop) => self.move_on(now, place, hop),
            Kind::Look(told) => self.look(now, place, told),
            Kind::Delivered => self.delivered(place, now),
            Kind::TakenIn => self.taken_in(place, number, now),
            Kind::Completed => self.completed(place, now),
            Kind::Opened => self.send_next(number, now),
            Kind::Post => self.post(number, place, now),
        }
    }

    /// Handles a transfer that may start: it is posted once its rank has done its work for it.
    fn offer(&mut self, job: u32, transfer: u32, now: Instant) {
        let spec = &self.spec.jobs[job as usize];
        let mut at = now + Span(spec.step_overhead_ps);
        if spec.send_overhead_ps > 0 {
            let rank = self.jobs.schedules[job as usize].transfer(TransferId(transfer)).src;
            let process = &mut self.states[job as usize].processes[rank.index()];
            at = at.max(process.busy_until) + Span(spec.send_overhead_ps);
            process.busy_until = at;
        }
        self.events.push(at, Kind::Post, transfer, job);
    }

    /// Posts all parts of a transfer.
    fn post(&mut self, transfer: u32, job: u32, now: Instant) {
        let first = self.jobs.first_chunk(job as usize) + transfer * self.jobs.parts;
        for chunk in first..first + self.jobs.parts {
            let (_, _, pair) = self.jobs.place(chunk);
            let slot = self.activate(chunk, now);
            if pair.is_local() {
                self.copy(slot, &pair, now);
            } else if self.jobs.has_queue_pairs_of_each_transfer(job as usize) {
                self.send(slot, now, None);
            } else {
                let [packets, ..] = self.paths.frames.of(self.jobs.chunk(chunk).bytes);
                self.connections.entry(pair.number).or_default().post(slot, packets);
                self.send_next(pair.number, now);
            }
        }
    }

    fn activate(&mut self, chunk: u32, now: Instant) -> u32 {
        let active = Active { posted: now, chunk, pace: Pace::COPIED };
        let slot = self.free.pop().unwrap_or(self.active.len() as u32);
        match self.active.get_mut(slot as usize) {
            Some(place) => *place = active,
            None => self.active.push(active),
        }
        slot
    }

    /// Copies between ranks of one host in shared memory, one message after the other.
    fn copy(&mut self, slot: u32, pair: &QueuePair, now: Instant) {
        let memory = self.spec.fabric.shared_memory;
        let chunk = self.active[slot as usize].chunk;
        let bytes = self.jobs.chunk(chunk).bytes;
        let process = &mut self.states[pair.job as usize].processes[pair.src.index()];
        process.copying_until =
            now.max(process.copying_until) + Rate::from_bps(memory.rate_bps).span_of(bytes);
        let at = process.copying_until + Span(memory.latency_ps);
        self.events.push(at, Kind::Delivered, chunk, slot);
    }

    /// Sends the packets of a queue pair that its window has room for.
    fn send_next(&mut self, number: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let (paths, jobs, active) = (&self.paths, &self.jobs, &self.active);
        let packet_time = |slot: u32| paths.packet_time(jobs, active[slot as usize].chunk);
        match connection.next(now, paths.window_packets, packet_time) {
            Next::Burst { slot, packets, is_last, is_paced } => {
                let mut burst = slot;
                if !is_last {
                    let Active { chunk, posted, .. } = self.active[slot as usize];
                    burst = self.activate(chunk, posted);
                    self.connections.entry(number).or_default().moved(burst);
                }
                self.send(burst, now, Some(Burst { packets, is_last, is_paced }));
            }
            Next::Closed(Some(at)) => self.events.push(at, Kind::Opened, number, 0),
            Next::Closed(None) | Next::Nothing => {}
        }
    }

    /// Sends packets of a chunk: all of them, or `burst`, at the rate of the window if they follow others.
    fn send(&mut self, slot: u32, now: Instant, burst: Option<Burst>) {
        let Active { chunk, ref mut pace, .. } = self.active[slot as usize];
        *pace = Pace::unknown(burst.is_none_or(|burst| burst.is_last));
        let (link, all) = self.paths.start(&self.jobs, chunk);
        let wire_bytes = burst.map_or(all, |burst| {
            let [packets, ..] = self.paths.frames.of(self.jobs.chunk(chunk).bytes);
            (u128::from(all) * u128::from(burst.packets) / u128::from(packets)) as u64
        });
        if self.sharing.path().is_some() {
            return self.sharing.begin_queued(now, slot, chunk, link, wire_bytes);
        }
        self.paths.find(&self.jobs, chunk, &mut self.path);
        self.paths.find_back(&mut self.path);
        let number = self.paths.number_idle(&self.path, self.jobs.chunk(chunk).bytes);
        *pace = pace.known(number);
        let idle = (self.paths.idle(number), burst.is_some_and(|burst| burst.is_paced));
        self.sharing.begin_fair((now, slot), &self.path, idle, wire_bytes, &self.paths.network);
    }

    /// Times on an idle path for the chunk of a burst that has passed all queues.
    fn idle_of(&mut self, slot: u32) -> Idle {
        let Active { chunk, ref mut pace, .. } = self.active[slot as usize];
        if let Some(path) = self.sharing.path() {
            *pace = pace.known(self.paths.number_idle(path, self.jobs.chunk(chunk).bytes));
        }
        *pace.idle(&self.paths).expect("what is copied is not sent")
    }

    fn drained(&mut self, now: Instant) {
        while let Some(slot) = self.sharing.take_ended(now) {
            let chunk = self.active[slot as usize].chunk;
            self.through(now, slot);
            self.sent(now, chunk);
        }
    }

    fn look(&mut self, now: Instant, port: u32, told: u32) {
        while let Some(slot) = self.sharing.take_sent(now, port, told) {
            let chunk = self.active[slot as usize].chunk;
            self.move_on(now, slot, 0);
            self.sent(now, chunk);
        }
    }

    fn move_on(&mut self, now: Instant, slot: u32, hop: u8) {
        match self.sharing.move_on(now, (slot, hop), &self.paths, &self.jobs) {
            Step::Through => self.through(now, slot),
            Step::Waits(hop, at) => self.events.push(at, Kind::Passed(hop), 0, slot),
        }
    }

    /// Handles a burst whose last bit has passed everything that limits it.
    fn through(&mut self, now: Instant, slot: u32) {
        let idle = self.idle_of(slot);
        let tail = idle.tail;
        let Active { chunk, pace, .. } = self.active[slot as usize];
        let pair = self.jobs.chunk(chunk).queue_pair;
        if let Some(connection) = self.connections.get_mut(&pair) {
            connection.acknowledged(slot, now + tail + idle.back);
            self.send_next(pair, now);
        }
        if !pace.is_last() {
            self.free.push(slot);
        } else if self.states[self.jobs.job_of(chunk) as usize].is_independent() {
            self.delivered(slot, now + tail);
        } else {
            self.events.push(now + tail, Kind::Delivered, chunk, slot);
        }
    }

    /// Handles a burst whose last bit has left its sender: the next one of its queue pair may be sent.
    fn sent(&mut self, now: Instant, chunk: u32) {
        let pair = self.jobs.chunk(chunk).queue_pair;
        let Some(connection) = self.connections.get_mut(&pair) else { return };
        connection.has_sent();
        self.send_next(pair, now);
        if self.connections.len() > self.connections_max {
            self.connections.retain(|_, connection| !connection.is_idle(now));
            self.connections_max = CONNECTIONS_MIN.max(2 * self.connections.len());
        }
    }

    fn delivered(&mut self, slot: u32, now: Instant) {
        let Active { chunk, pace, .. } = self.active[slot as usize];
        let back = pace.idle(&self.paths).map_or(Span::ZERO, |idle| idle.back);
        let acknowledged = now + back;
        let place = self.jobs.chunk(chunk);
        self.delivered_bytes += place.bytes;
        if self.states[place.job as usize].is_independent() {
            return self.completed(slot, acknowledged);
        }
        self.events.push(acknowledged, Kind::Completed, chunk, slot);
        if !self.states[place.job as usize].is_delivered(place.transfer) {
            return;
        }
        let overhead = Span(self.spec.jobs[place.job as usize].receive_overhead_ps);
        if overhead == Span::ZERO {
            return self.taken_in(place.job, place.transfer.0, now);
        }
        let rank = self.jobs.transfer(&place).dst;
        let process = &mut self.states[place.job as usize].processes[rank.index()];
        process.busy_until = now.max(process.busy_until) + overhead;
        self.events.push(process.busy_until, Kind::TakenIn, place.transfer.0, place.job);
    }

    /// Handles a transfer that its receiver has processed: dependent transfers may start.
    fn taken_in(&mut self, job: u32, transfer: u32, now: Instant) {
        let (schedule, state) = (&self.jobs.schedules[job as usize], &mut self.states[job as usize]);
        let after = schedule.successors(TransferId(transfer)).map(|id| id.0);
        let ready: Vec<u32> = after.filter(|&id| state.is_ready(id)).collect();
        ready.into_iter().for_each(|id| self.offer(job, id, now));
    }

    fn completed(&mut self, slot: u32, now: Instant) {
        let Active { chunk, posted, pace } = self.active[slot as usize];
        self.free.push(slot);
        let (delivered, unloaded) = match pace.idle(&self.paths) {
            Some(idle) => (Instant(now.0 - idle.back.0), idle.unloaded),
            None => (now, now.since(posted)),
        };
        let place = self.jobs.chunk(chunk);
        let is_open_loop = self.spec.jobs[place.job as usize].arrivals.is_some();
        let unloaded = is_open_loop.then_some(unloaded);
        let [frames, frame_bytes, _] = self.paths.frames.of(place.bytes);
        let is_local = self.jobs.queue_pair(place.queue_pair).is_local();
        let sent = if is_local { [0, 0] } else { [frames, frame_bytes] };
        let times = Times { posted, delivered, completed: now, unloaded };
        self.recorder.push(chunk, row(&self.jobs, chunk, sent, &times));
        let state = &mut self.states[place.job as usize];
        state.complete += 1;
        state.end = state.end.max(now);
        if !state.is_acknowledged(place.transfer) {
            return;
        }
        if let Some(next) = state.after(place.transfer) {
            self.offer(place.job, next, now);
        }
    }

    fn summary(&self) -> FlowSummary {
        let each = self.spec.jobs.iter().zip(&self.states);
        let result = |(job, state): (&JobSpec, &JobState)| {
            JobResult::new(job, state.chunks, state.complete, state.end)
        };
        let jobs: Vec<JobResult> = each.map(result).collect();
        let is_complete = jobs.iter().all(|job| job.status == RunStatus::Complete);
        FlowSummary {
            status: if is_complete { RunStatus::Complete } else { RunStatus::Incomplete },
            end_ps: self.states.iter().map(|state| state.end.0).max().unwrap_or(0),
            jobs,
            rate_changes: self.sharing.rate_changes(),
            events: self.events.done(),
        }
    }
}
