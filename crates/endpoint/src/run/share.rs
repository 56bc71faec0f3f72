//! The part of the jobs that one agent (a process that acts as one or more hosts) runs: transfers of the
//! ranks on its hosts, their dependencies, and the rounds of each rank. No clock, no network.
//!
//! A rank starts its next phase (a round, or the barrier between two rounds) when everything it sends in the
//! current phase is acknowledged and everything it receives has arrived. Data of a faster rank may arrive
//! before the phase has started here; it is counted when the phase starts. A transfer is posted when its
//! dependencies have arrived and, for algorithms with blocking sends, when the previous transfer is
//! acknowledged; transfers of one queue pair are posted in the order of the schedule. The simulator applies
//! the same rules.
//!
//! # Not modelled
//! The time a rank spends on each message and on copying its own block (`send_overhead_ps`,
//! `receive_overhead_ps`, `copies_own_block`): a real host has these delays itself.

mod build;
mod pairs;
#[cfg(test)]
mod tests;

pub use pairs::LocalPair;
pub(super) use pairs::planned_bytes;

use jobs::Jobs;
use pairs::Order;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use units::{Instant, Span};

/// A chunk that is ready to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// Index in [`Share::senders`].
    pub pair: u32,
    /// Dense identifier for reporting its completion: see [`Share::on_completed`].
    pub send: u32,
    /// Number of the chunk in the run.
    pub chunk: u32,
    /// How many times it was sent before.
    pub pass: u32,
    /// Payload [bytes].
    pub bytes: u64,
}

/// A received chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// How many times it had arrived before.
    pub pass: u32,
    /// Payload [bytes].
    pub bytes: u64,
    /// Whether its job is background traffic, which runs until the other jobs end.
    pub is_background: bool,
}

/// A transfer sent from here.
#[derive(Clone, Debug)]
struct Outgoing {
    process: u32,
    /// Number of its first chunk.
    chunk: u32,
    /// Number of dependencies in each round.
    depends: u32,
    /// Dependencies not yet met in this round.
    waits_for: u32,
    /// Parts not yet acknowledged in this round.
    left: u32,
    /// The transfer that waits for the acknowledgement of this one.
    next: Option<u32>,
    /// Release time relative to the start of the job; `None` if only dependencies apply.
    release: Option<Span>,
}

/// A transfer received here.
#[derive(Clone, Debug)]
struct Inbound {
    process: u32,
    /// Number of its first chunk.
    chunk: u32,
    /// Range in [`Share::successors`] of the transfers that depend on it.
    successors: Range<u32>,
    /// Parts not yet received in this round.
    left: u32,
}

/// State of a rank on one of the agent's hosts.
#[derive(Clone, Debug)]
struct Process {
    times: Times,
    /// Number of completed phases, over all cycles.
    phase: u32,
    /// Parts to be acknowledged or received before the current phase ends.
    left: u64,
    /// Its transfers by phase of a cycle.
    outgoing: Vec<Range<u32>>,
    inbound: Vec<Range<u32>>,
    has_ended: bool,
}

/// Timing of a job.
#[derive(Clone, Copy, Debug)]
struct Times {
    start: Instant,
    /// Software overhead before each post.
    overhead: Span,
    /// Number of phases; `None` for background traffic.
    phases: Option<u32>,
}

/// A timed action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A rank starts.
    Begin(u32),
    /// An outgoing transfer is posted.
    Post(u32),
}

/// The part of the jobs that one agent runs.
///
/// Inputs: [`start`](Self::start), [`advance`](Self::advance), [`on_completed`](Self::on_completed),
/// [`on_arrived`](Self::on_arrived). Outputs: [`next_post`](Self::next_post), [`deadline`](Self::deadline),
/// [`is_done`](Self::is_done).
pub struct Share {
    jobs: Arc<Jobs>,
    outgoing: Vec<Outgoing>,
    inbound: Vec<Inbound>,
    /// Outgoing transfers that depend on inbound ones; see [`Inbound::successors`].
    successors: Vec<u32>,
    processes: Vec<Process>,
    order: Order,
    /// Chunks received here, ascending, each with the index of its part in `arrivals`.
    arriving: Vec<(u32, u32)>,
    /// Arrival count of each part of each inbound transfer.
    arrivals: Vec<u32>,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    posts: VecDeque<Post>,
    /// Ranks that have finished a phase.
    ended: Vec<u32>,
    /// Number of ranks of finite jobs that have not ended.
    open_processes: usize,
    receivers: Vec<LocalPair>,
}

impl Share {
    /// Queue pairs that send from here.
    pub fn senders(&self) -> &[LocalPair] {
        self.order.pairs()
    }

    /// Queue pairs that receive here.
    pub fn receivers(&self) -> &[LocalPair] {
        &self.receivers
    }

    /// Upper bound (exclusive) of [`Post::send`].
    pub fn sends(&self) -> usize {
        self.outgoing.len() * self.jobs.parts as usize
    }

    /// Bytes that the hosts receive in total from finite jobs.
    pub fn total_bytes(&self) -> u64 {
        self.processes.iter().map(|process| self.total_bytes_of(process)).sum()
    }

    fn total_bytes_of(&self, process: &Process) -> u64 {
        let (phases, cycle) = (process.times.phases.unwrap_or(0), process.cycle());
        let of_phase = |phase: u32| {
            let passes = u64::from((phases - phase).div_ceil(cycle));
            passes * self.bytes_of(process.inbound[phase as usize].clone())
        };
        (0..cycle.min(phases)).map(of_phase).sum()
    }

    fn bytes_of(&self, inbound: Range<u32>) -> u64 {
        let chunks = inbound.flat_map(|index| {
            let first = self.inbound[index as usize].chunk;
            first..first + self.jobs.parts
        });
        chunks.map(|chunk| self.jobs.chunk(chunk).bytes).sum()
    }

    /// Whether all ranks of finite jobs have ended.
    pub const fn is_done(&self) -> bool {
        self.open_processes == 0
    }

    /// Starts the jobs; their start times are relative to `now`.
    pub fn start(&mut self, now: Instant) {
        for (process, state) in (0..).zip(&mut self.processes) {
            let start = now + Span(state.times.start.0);
            state.times.start = start;
            self.due.push(Reverse((start, Due::Begin(process))));
        }
        self.advance(now);
    }

    /// Time of the next timed action.
    pub fn deadline(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Runs timed actions that are due by `now`.
    pub fn advance(&mut self, now: Instant) {
        while let Some(&Reverse((at, due))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            match due {
                Due::Begin(process) => self.begin_phase(process, now),
                Due::Post(outgoing) => self.post(outgoing),
            }
        }
        self.end_phases(now);
    }

    /// The next chunk to post.
    pub fn next_post(&mut self) -> Option<Post> {
        self.posts.pop_front()
    }

    /// A chunk was completely acknowledged.
    pub fn on_completed(&mut self, send: u32, now: Instant) {
        let outgoing = &mut self.outgoing[(send / self.jobs.parts) as usize];
        outgoing.left -= 1;
        let (process, next) = (outgoing.process, outgoing.next.filter(|_| outgoing.left == 0));
        if let Some(next) = next {
            self.release(next, now);
        }
        self.count(process);
        self.end_phases(now);
    }

    /// A chunk has completely arrived; returns `None` for a chunk that is not received here.
    pub fn on_arrived(&mut self, chunk: u32, now: Instant) -> Option<Arrival> {
        let index = self.arriving.binary_search_by_key(&chunk, |&(chunk, _)| chunk).ok()?;
        let part = self.arriving[index].1;
        let pass = self.arrivals[part as usize];
        self.arrivals[part as usize] += 1;
        let inbound = part / self.jobs.parts;
        let process = &self.processes[self.inbound[inbound as usize].process as usize];
        let is_background = process.times.phases.is_none();
        if process.phase == process.phase_of(inbound, pass) && process.left > 0 {
            self.deliver(inbound, now);
            self.end_phases(now);
        }
        Some(Arrival { pass, bytes: self.jobs.chunk(chunk).bytes, is_background })
    }

    /// Counts a received part in the current phase of its rank.
    fn deliver(&mut self, inbound: u32, now: Instant) {
        let transfer = &mut self.inbound[inbound as usize];
        transfer.left -= 1;
        let (process, is_whole) = (transfer.process, transfer.left == 0);
        if is_whole {
            for index in transfer.successors.clone() {
                self.release(self.successors[index as usize], now);
            }
        }
        self.count(process);
    }

    /// Counts one met dependency of a transfer.
    fn release(&mut self, outgoing: u32, now: Instant) {
        let transfer = &mut self.outgoing[outgoing as usize];
        transfer.waits_for -= 1;
        if transfer.waits_for == 0 {
            self.start_transfer(outgoing, now);
        }
    }

    /// Counts one finished part in the phase of a rank.
    fn count(&mut self, process: u32) {
        let left = &mut self.processes[process as usize].left;
        *left -= 1;
        if *left == 0 {
            self.ended.push(process);
        }
    }

    fn end_phases(&mut self, now: Instant) {
        while let Some(process) = self.ended.pop() {
            let state = &mut self.processes[process as usize];
            if state.times.phases.is_none_or(|phases| state.phase + 1 < phases) {
                state.phase += 1;
                self.begin_phase(process, now);
            } else if !state.has_ended {
                state.has_ended = true;
                self.open_processes -= 1;
            }
        }
    }

    /// Starts the current phase of a rank; a phase without work ends immediately.
    fn begin_phase(&mut self, process: u32, now: Instant) {
        let parts = self.jobs.parts;
        let state = &self.processes[process as usize];
        let [sent, received] = state.transfers();
        for transfer in &mut self.outgoing[sent.start as usize..sent.end as usize] {
            (transfer.left, transfer.waits_for) = (parts, transfer.depends);
        }
        for transfer in &mut self.inbound[received.start as usize..received.end as usize] {
            transfer.left = parts;
        }
        let pass = state.pass();
        let left = (sent.len() + received.len()) as u64 * u64::from(parts);
        self.processes[process as usize].left = left;
        if left == 0 {
            self.ended.push(process);
            return;
        }
        for outgoing in sent {
            if self.outgoing[outgoing as usize].depends == 0 {
                self.offer(outgoing, now);
            }
        }
        for part in received.start * parts..received.end * parts {
            if self.arrivals[part as usize] > pass {
                self.deliver(part / parts, now);
            }
        }
    }

    /// Posts a transfer without dependencies immediately, or at its release time.
    fn offer(&mut self, outgoing: u32, now: Instant) {
        let transfer = &self.outgoing[outgoing as usize];
        match transfer.release {
            None => self.start_transfer(outgoing, now),
            Some(release) => {
                let Times { start, overhead, .. } = self.processes[transfer.process as usize].times;
                self.due.push(Reverse((start + release + overhead, Due::Post(outgoing))));
            }
        }
    }

    /// Posts a transfer after the software overhead.
    fn start_transfer(&mut self, outgoing: u32, now: Instant) {
        let process = self.outgoing[outgoing as usize].process;
        let overhead = self.processes[process as usize].times.overhead;
        if overhead == Span::ZERO {
            self.post(outgoing);
        } else {
            self.due.push(Reverse((now + overhead, Due::Post(outgoing))));
        }
    }

    fn post(&mut self, outgoing: u32) {
        let Self { jobs, order, processes, outgoing: transfers, posts, .. } = self;
        for send in outgoing * jobs.parts..(outgoing + 1) * jobs.parts {
            order.make_ready(send, |pair, send| {
                let transfer = &transfers[(send / jobs.parts) as usize];
                let chunk = transfer.chunk + send % jobs.parts;
                let pass = processes[transfer.process as usize].pass();
                posts.push_back(Post { pair, send, chunk, pass, bytes: jobs.chunk(chunk).bytes });
            });
        }
    }
}

impl Process {
    /// Number of phases per cycle.
    const fn cycle(&self) -> u32 {
        self.inbound.len() as u32
    }

    /// Number of completed cycles.
    const fn pass(&self) -> u32 {
        self.phase / self.cycle()
    }

    /// Its transfers in the current phase.
    fn transfers(&self) -> [Range<u32>; 2] {
        let index = (self.phase % self.cycle()) as usize;
        [self.outgoing[index].clone(), self.inbound[index].clone()]
    }

    /// Phase in which an inbound transfer arrives for the `pass`-th time, from 0.
    fn phase_of(&self, inbound: u32, pass: u32) -> u32 {
        let index = self.inbound.partition_point(|range| range.end <= inbound) as u32;
        pass * self.cycle() + index
    }

    /// Whether it sends and receives nothing.
    fn is_idle(&self) -> bool {
        self.outgoing.iter().chain(&self.inbound).all(Range::is_empty)
    }
}
