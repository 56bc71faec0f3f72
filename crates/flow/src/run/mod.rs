//! Event loop of the flow model: posts transfers that may start, sends their chunks as flows within the
//! window of each queue pair, processes events, and passes rows to the observer.

mod equal_servers;
pub(crate) mod events;
mod job_state;
#[cfg(test)]
mod tests;
mod windows;

use crate::network::paths::{IdleTimes, Path, Paths};
use crate::output::progress::{Progress, ProgressReporter};
use crate::output::recorder::Recorder;
use crate::output::{ChunkTimes, FlowSummary, JobResult, row};
use crate::rings::Rings;
use crate::set_up::{jobs_of, jobs_representing, paths_of};
use crate::sharing::Sharing;
use crate::sharing::queued_flows::FlowProgress;
use crate::sharing::sender_port::NewFlow;
pub(crate) use equal_servers::EqualServers;
use events::{Event, Events};
use job_state::JobState;
use jobs::{ChannelTally, Chunk, Jobs, Observer, QueuePair, RunError};
use record::Batch;
use spec::{ChunksObserved, JobSpec, RunSpec, RunStatus, SpecError};
use std::collections::HashMap;
use units::{Instant, Span};
use windows::{Connection, NextAction};
use workload::Message;

/// Number of queue pairs that are retained even if idle.
const CONNECTIONS_MIN: usize = 1_024;

/// A posted, unacknowledged chunk. Compact, since there may be very many.
#[derive(Clone, Copy)]
struct Active {
    posted: Instant,
    chunk: u32,
    pace: Pace,
}

/// Index of the times of a chunk on an idle path, and whether this is its last burst.
#[derive(Clone, Copy)]
struct Pace(u32);

impl Pace {
    /// It does not enter the network.
    const COPIED: Self = Self(u32::MAX);
    /// Set for a burst that others follow.
    const MORE: u32 = 1 << 31;
    /// The index is not known yet.
    const UNKNOWN: u32 = Self::MORE - 2;

    const fn unknown(is_last: bool) -> Self {
        Self(if is_last { Self::UNKNOWN } else { Self::UNKNOWN | Self::MORE })
    }

    /// Sets the index of [`Paths::idle_times`].
    fn with_index(self, index: u32) -> Self {
        assert!(index < Self::UNKNOWN, "kinds of paths are few");
        Self(self.0 & Self::MORE | index)
    }

    const fn is_last(self) -> bool {
        self.0 & Self::MORE == 0
    }

    /// `None` for a copy.
    fn idle_times(self, paths: &Paths) -> Option<&IdleTimes> {
        (self.0 != Self::COPIED.0).then(|| paths.idle_times(self.0 & !Self::MORE))
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
    /// Active chunks by slot, and slots to reuse.
    active: Vec<Active>,
    free_slots: Vec<u32>,
    /// Queue pairs with data to send now or recently, by number.
    connections: HashMap<u32, Connection>,
    /// Number of them above which idle ones are removed.
    connections_max: usize,
    states: Vec<JobState>,
    events: Events,
    recorder: Recorder,
    /// Sums by channel, if NCCL runs a job.
    channels: Option<ChannelTally>,
    /// Since the last progress check.
    delivered_bytes: u64,
    /// Path of the chunk being sent.
    path: Path,
    /// Time on an idle path of the clearances of NCCL, by queue pair.
    clearance_spans: HashMap<u32, Span>,
    /// Servers for which those of the run stand.
    servers: EqualServers,
    /// Scratch space: transfers that may start now.
    started: Vec<u32>,
}

/// Runs `spec`, passing tables and progress to `observer`.
///
/// # Errors
/// When the spec cannot be run, the model does not cover it, or the observer requests a stop.
pub fn run(spec: &RunSpec, observer: &mut dyn Observer<Progress>) -> Result<FlowSummary, RunError> {
    let mut paths = paths_of(spec)?;
    if let Some(servers) = EqualServers::find(spec, &paths) {
        let spec = EqualServers::first_two(spec);
        let jobs = jobs_representing(servers.count(), &spec, &paths)?;
        if servers.are_exact(|| Sharing::is_fair(&spec, &jobs, &paths)) {
            return by_events(&spec, paths, jobs, servers, observer);
        }
    }
    let rings = Rings::find(spec, &mut paths);
    if let Some(rings) = rings.as_ref().filter(|_| spec.observe.chunks == ChunksObserved::Summary) {
        rings.check_delays(spec, &paths)?;
        return rings.counts(spec, observer);
    }
    let jobs = jobs_of(spec, &paths)?;
    if let Some(rings) = rings {
        return rings.rows(spec, &jobs, observer);
    }
    by_events(spec, paths, jobs, EqualServers::default(), observer)
}

/// Runs a spec event by event.
pub(crate) fn by_events(
    spec: &RunSpec,
    paths: Paths,
    jobs: Jobs,
    servers: EqualServers,
    observer: &mut dyn Observer<Progress>,
) -> Result<FlowSummary, RunError> {
    let mut run = Run::new(spec, paths, jobs, servers)?;
    run.start();
    run.process_events(observer)?;
    Ok(run.summary())
}

impl<'a> Run<'a> {
    fn new(spec: &'a RunSpec, paths: Paths, jobs: Jobs, servers: EqualServers) -> Result<Self, SpecError> {
        let recorder = Recorder::new(spec, jobs.chunk_count().into())?;
        let stops = paths.stops(&jobs).into_iter().enumerate();
        let states = stops.map(|(job, stop)| JobState::new(spec, &jobs, job, &servers, stop)).collect();
        Ok(Self {
            sharing: Sharing::new(spec, &jobs, &paths),
            active: Vec::new(),
            free_slots: Vec::new(),
            connections: HashMap::new(),
            connections_max: CONNECTIONS_MIN,
            events: Events::default(),
            recorder,
            channels: ChannelTally::new(&spec.jobs),
            delivered_bytes: 0,
            path: Path::default(),
            clearance_spans: HashMap::new(),
            servers,
            started: Vec::new(),
            spec,
            jobs,
            paths,
            states,
        })
    }

    /// Schedules all transfers without dependencies, except those of jobs that stop.
    fn start(&mut self) {
        for (index, job) in self.spec.jobs.iter().enumerate() {
            if self.states[index].stops.is_some() {
                continue;
            }
            let count = self.jobs.schedules[index].transfers().len() as u32;
            for transfer in 0..count {
                if self.states[index].progress.waits_for_nothing(transfer) {
                    let release = self.jobs.schedules[index].releases().get(transfer as usize);
                    let at = Instant(job.start_ps) + release.copied().unwrap_or(Span::ZERO);
                    self.schedule_post(index as u32, transfer, at);
                }
            }
        }
    }

    fn process_events(&mut self, observer: &mut dyn Observer<Progress>) -> Result<(), RunError> {
        let total_bytes = self.servers.total_bytes(&self.jobs);
        let mut reporter = ProgressReporter::new(total_bytes);
        let mut now = Instant::ZERO;
        while let Some(at) = self.events.next_at() {
            now = at;
            while let Some(event) = self.events.pop_at(now) {
                self.process(now, event);
            }
            self.sharing.recompute(now, &mut self.events, &self.paths, &self.jobs);
            self.sharing.check_queues(now, &self.paths)?;
            self.recorder.pass_rows(observer)?;
            reporter.delivered(std::mem::take(&mut self.delivered_bytes));
            reporter.step(now, observer)?;
        }
        reporter.end(now, observer)?;
        self.recorder.finish(observer)?;
        let rows = self.channels.take().map(ChannelTally::rows).unwrap_or_default();
        Ok(observer.batch(Batch::Channels(self.servers.rows_of_all(rows)))?)
    }

    fn process(&mut self, now: Instant, event: Event) {
        match event {
            Event::FlowEnded => self.flows_ended(now),
            Event::QueueEmpty { link } => self.sharing.queue_may_be_empty(now, link, &mut self.events),
            Event::RestOver { link } => self.sharing.rest_over(link),
            Event::LinkPassed { hop, slot } => self.advance(now, slot, hop),
            Event::PortDue { version, port } => self.port_due(now, port, version),
            Event::Delivered { slot, .. } => self.delivered(slot, now),
            Event::Processed { transfer, job } => self.processed(job, transfer, now),
            Event::Finished { transfer, job } => self.finished(job, transfer, now),
            Event::Acknowledged { slot, .. } => self.acknowledged(slot, now),
            Event::WindowOpen { queue_pair } => self.send_next(queue_pair, now),
            Event::Post { transfer, job } => self.post(transfer, job, now),
        }
    }

    /// Schedules the post of a transfer that may start, once its rank has done its work for it.
    fn schedule_post(&mut self, job: u32, transfer: u32, now: Instant) {
        let at = self.states[job as usize].progress.post_at(transfer, now);
        self.events.push(at, Event::Post { transfer, job });
    }

    /// Posts all parts of a transfer.
    fn post(&mut self, transfer: u32, job: u32, now: Instant) {
        let first = self.jobs.first_chunk(job as usize) + transfer * self.jobs.parts;
        for chunk in first..first + self.jobs.parts {
            let (_, _, pair) = self.jobs.chunk_with_pair(chunk);
            let slot = self.activate(chunk, now);
            if pair.is_local() {
                self.copy(slot, now);
            } else if self.is_clearance(job, chunk) {
                self.clear(slot, &pair, now);
            } else if self.jobs.has_queue_pairs_of_each_transfer(job as usize) {
                self.send(slot, now, None);
            } else {
                let packets = self.packets_of(chunk);
                self.connections.entry(pair.number).or_default().post(slot, packets);
                self.send_next(pair.number, now);
            }
        }
    }

    fn activate(&mut self, chunk: u32, now: Instant) -> u32 {
        let active = Active { posted: now, chunk, pace: Pace::COPIED };
        let slot = self.free_slots.pop().unwrap_or(self.active.len() as u32);
        match self.active.get_mut(slot as usize) {
            Some(entry) => *entry = active,
            None => self.active.push(active),
        }
        slot
    }

    fn packets_of(&self, chunk: u32) -> u64 {
        self.paths.frames.count(self.jobs.chunk(chunk).bytes).frames
    }

    /// Copies between ranks of one host in shared memory, one message after the other.
    fn copy(&mut self, slot: u32, now: Instant) {
        let number = self.active[slot as usize].chunk;
        let Chunk { job, transfer, bytes, .. } = self.jobs.chunk(number);
        let arrival = self.states[job as usize].progress.copy(transfer.0, now, bytes);
        self.events.push(arrival, Event::Delivered { chunk: number, slot });
    }

    /// Whether a chunk is a message of NCCL that clears a buffer.
    fn is_clearance(&self, job: u32, chunk: u32) -> bool {
        self.states[job as usize].is_nccl && self.jobs.message(chunk) == Message::Cts
    }

    /// Sends a clearance: a packet that arrives as on an idle path. As a flow it would take a share of the
    /// links, while it is hardly more than a header.
    fn clear(&mut self, slot: u32, pair: &QueuePair, now: Instant) {
        let chunk = self.active[slot as usize].chunk;
        let paths = &mut self.paths;
        let span = *self.clearance_spans.entry(pair.number).or_insert_with(|| {
            let mut path = paths.of(&self.jobs, chunk);
            paths.find_ack_legs(&mut path);
            let index = paths.idle_times_index(&path, self.jobs.chunk(chunk).bytes);
            let IdleTimes { unloaded, ack_delay, .. } = *paths.idle_times(index);
            Span(unloaded.0 - ack_delay.0)
        });
        self.events.push(now + span, Event::Delivered { chunk, slot });
    }

    /// Sends the packets of a queue pair that its window has room for.
    fn send_next(&mut self, queue_pair: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(&queue_pair) else { return };
        let (paths, jobs, active) = (&self.paths, &self.jobs, &self.active);
        let packet_time = |slot: u32| paths.packet_time(jobs, active[slot as usize].chunk);
        match connection.next(now, paths.window_packets, packet_time) {
            NextAction::Burst { slot, packets, is_last, is_paced } => {
                let mut burst_slot = slot;
                if !is_last {
                    let Active { chunk, posted, .. } = self.active[slot as usize];
                    burst_slot = self.activate(chunk, posted);
                    self.connections.entry(queue_pair).or_default().set_last_slot(burst_slot);
                }
                self.send(burst_slot, now, Some(Burst { packets, is_last, is_paced }));
            }
            NextAction::Closed(Some(at)) => self.events.push(at, Event::WindowOpen { queue_pair }),
            NextAction::Closed(None) | NextAction::Nothing => {}
        }
    }

    /// Sends packets of a chunk: all of them, or `burst`, at the rate of the window if they follow others.
    fn send(&mut self, slot: u32, now: Instant, burst: Option<Burst>) {
        let chunk = self.active[slot as usize].chunk;
        let (host_link, chunk_wire_bytes) = self.paths.host_link_and_bytes(&self.jobs, chunk);
        let wire_bytes = burst.map_or(chunk_wire_bytes, |burst| {
            let packets = self.packets_of(chunk);
            (u128::from(chunk_wire_bytes) * u128::from(burst.packets) / u128::from(packets)) as u64
        });
        let pace = &mut self.active[slot as usize].pace;
        *pace = Pace::unknown(burst.is_none_or(|burst| burst.is_last));
        if self.sharing.path().is_some() {
            return self.sharing.begin_queued(now, NewFlow { chunk, slot, wire_bytes }, host_link);
        }
        self.paths.find(&self.jobs, chunk, &mut self.path);
        self.paths.find_ack_legs(&mut self.path);
        let index = self.paths.idle_times_index(&self.path, self.jobs.chunk(chunk).bytes);
        *pace = pace.with_index(index);
        let bound = self.paths.idle_times(index).bound(burst.is_some_and(|burst| burst.is_paced));
        self.sharing.begin_fair(now, slot, &self.path, bound, wire_bytes, &self.paths);
    }

    /// Times on an idle path for the chunk of a burst that has passed all queues.
    fn idle_times_of(&mut self, slot: u32) -> IdleTimes {
        let Active { chunk, ref mut pace, .. } = self.active[slot as usize];
        if let Some(path) = self.sharing.path() {
            *pace = pace.with_index(self.paths.idle_times_index(path, self.jobs.chunk(chunk).bytes));
        }
        *pace.idle_times(&self.paths).expect("a copied chunk is not sent")
    }

    fn flows_ended(&mut self, now: Instant) {
        while let Some(slot) = self.sharing.pop_ended(now) {
            let chunk = self.active[slot as usize].chunk;
            self.passed_all(now, slot);
            self.burst_sent(now, chunk);
        }
    }

    fn port_due(&mut self, now: Instant, port: u32, version: u32) {
        while let Some(slot) = self.sharing.pop_sent(now, port, version) {
            let chunk = self.active[slot as usize].chunk;
            self.advance(now, slot, 0);
            self.burst_sent(now, chunk);
        }
    }

    fn advance(&mut self, now: Instant, slot: u32, hop: u8) {
        match self.sharing.advance(now, slot, hop, &self.paths, &self.jobs) {
            FlowProgress::PassedAll => self.passed_all(now, slot),
            FlowProgress::Waits { hop, until } => self.events.push(until, Event::LinkPassed { hop, slot }),
        }
    }

    /// Handles a burst whose last bit has passed everything that limits it.
    fn passed_all(&mut self, now: Instant, slot: u32) {
        let IdleTimes { tail, ack_delay, .. } = self.idle_times_of(slot);
        let Active { chunk, pace, .. } = self.active[slot as usize];
        let queue_pair = self.jobs.chunk(chunk).queue_pair;
        if let Some(connection) = self.connections.get_mut(&queue_pair) {
            connection.acknowledged(slot, now + tail + ack_delay);
            self.send_next(queue_pair, now);
        }
        if !pace.is_last() {
            self.free_slots.push(slot);
        } else if self.states[self.jobs.job_of(chunk) as usize].is_independent {
            self.delivered(slot, now + tail);
        } else {
            self.events.push(now + tail, Event::Delivered { chunk, slot });
        }
    }

    /// Handles a burst whose last bit has left its sender: the next one of its queue pair may be sent.
    fn burst_sent(&mut self, now: Instant, chunk: u32) {
        let queue_pair = self.jobs.chunk(chunk).queue_pair;
        let Some(connection) = self.connections.get_mut(&queue_pair) else { return };
        connection.burst_sent();
        self.send_next(queue_pair, now);
        if self.connections.len() > self.connections_max {
            self.connections.retain(|_, connection| !connection.is_idle(now));
            self.connections_max = CONNECTIONS_MIN.max(2 * self.connections.len());
        }
    }

    fn delivered(&mut self, slot: u32, now: Instant) {
        let Active { chunk, pace, .. } = self.active[slot as usize];
        let acknowledged_at = now + pace.idle_times(&self.paths).map_or(Span::ZERO, |times| times.ack_delay);
        let parts = self.jobs.chunk(chunk);
        self.delivered_bytes += parts.bytes * self.servers.represented_by(&self.jobs, chunk);
        if self.states[parts.job as usize].is_independent {
            return self.acknowledged(slot, acknowledged_at);
        }
        self.events.push(acknowledged_at, Event::Acknowledged { chunk, slot });
        let (job, mut started) = (parts.job, std::mem::take(&mut self.started));
        let progress = &mut self.states[job as usize].progress;
        progress.deliver_part(parts.transfer.0, 0, &mut started);
        while let Some((at, transfer)) = progress.next_taken_in(now) {
            self.events.push(at, Event::Processed { transfer, job });
        }
        self.schedule_posts(job, started, now);
    }

    /// Handles a transfer that its receiver has processed: dependent transfers may start.
    fn processed(&mut self, job: u32, transfer: u32, now: Instant) {
        let mut started = std::mem::take(&mut self.started);
        let state = &mut self.states[job as usize];
        if let Some(ended) = state.progress.finish_inbound(transfer, now, &mut started) {
            self.events.push(ended, Event::Finished { transfer, job });
        }
        self.schedule_posts(job, started, now);
    }

    fn finished(&mut self, job: u32, transfer: u32, now: Instant) {
        let state = &mut self.states[job as usize];
        state.progress.end_inbound(transfer);
        state.end = state.end.max(now);
    }

    /// Schedules the posts of transfers and recycles the list.
    fn schedule_posts(&mut self, job: u32, mut transfers: Vec<u32>, now: Instant) {
        transfers.drain(..).for_each(|transfer| self.schedule_post(job, transfer, now));
        self.started = transfers;
    }

    fn acknowledged(&mut self, slot: u32, now: Instant) {
        let Active { chunk: number, posted, pace } = self.active[slot as usize];
        self.free_slots.push(slot);
        let (delivered, unloaded) = match pace.idle_times(&self.paths) {
            Some(times) => (Instant(now.0 - times.ack_delay.0), times.unloaded),
            None => (now, now.since(posted)),
        };
        let chunk = self.jobs.chunk(number);
        let is_open_loop = self.spec.jobs[chunk.job as usize].work.open_loop().is_some();
        let unloaded = is_open_loop.then_some(unloaded);
        let pair = self.jobs.queue_pair(chunk.queue_pair);
        let sent = if pair.is_local() { [0, 0] } else { self.paths.frames.count(chunk.bytes).on_links() };
        let times = ChunkTimes { posted, delivered, completed: now, unloaded };
        let count = self.servers.represented_by(&self.jobs, number);
        let row = self.servers.among_all(row(&self.jobs, number, sent, &times));
        if let Some(channels) = &mut self.channels
            && self.jobs.message(number) == Message::Payload
        {
            channels.add(&row, pair.ports);
        }
        self.recorder.push(number, row, count);
        let state = &mut self.states[chunk.job as usize];
        state.complete += count;
        state.end = state.end.max(now);
        if state.is_independent {
            return;
        }
        if let Some(next) = state.progress.acknowledge_part(chunk.transfer.0) {
            self.schedule_post(chunk.job, next, now);
        }
    }

    fn summary(&self) -> FlowSummary {
        let each = self.spec.jobs.iter().zip(&self.states);
        let result = |(job, state): (&JobSpec, &JobState)| {
            let result = JobResult::new(job, state.chunks, state.complete, state.end);
            let reason = state.stops.clone().unwrap_or(result.reason);
            JobResult { reason, ..result }
        };
        let jobs: Vec<JobResult> = each.map(result).collect();
        let is_complete = jobs.iter().all(|job| job.status == RunStatus::Complete);
        FlowSummary {
            status: if is_complete { RunStatus::Complete } else { RunStatus::Incomplete },
            end_ps: self.states.iter().map(|state| state.end.0).max().unwrap_or(0),
            jobs,
            rate_changes: self.sharing.rate_changes(),
            events: self.events.processed(),
        }
    }
}
