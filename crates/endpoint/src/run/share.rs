//! What of the jobs is an agent's: the transfers of the ranks on its hosts, which of them wait for which, and
//! the rounds of each rank. No clock, no network.
//!
//! A rank begins its next round, or the barrier between two, when everything that it sends in the present one
//! is acknowledged and everything that it receives in it has arrived. What a rank that is ahead sends may
//! arrive before its round has begun here; it counts from then on. Each transfer is posted once what it
//! depends on has arrived and, by algorithms that are programs of blocking sends, once the one before it is
//! acknowledged; on one queue pair in the order of the schedule. That is what the simulator does.
//!
//! # What is left out
//! The busy times of a rank for each message and for the copy of its own block (`send_overhead_ps`,
//! `receive_overhead_ps`, `copies_own_block`): those stand for what a real host does by itself.

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

/// A chunk whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// Which of [`Share::senders`] carries it.
    pub pair: u32,
    /// By which number the share is told of its end; those are dense.
    pub send: u32,
    /// Its number in the run.
    pub chunk: u32,
    /// How often it was sent before.
    pub pass: u32,
    /// Payload [bytes].
    pub bytes: u64,
}

/// A chunk that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// How often it had arrived before.
    pub pass: u32,
    /// Payload [bytes].
    pub bytes: u64,
    /// Its job goes on until others end.
    pub is_background: bool,
}

/// A transfer that begins here.
#[derive(Clone, Debug)]
struct Outgoing {
    process: u32,
    /// Number of its first part.
    chunk: u32,
    /// What must happen before it in each round.
    depends: u32,
    /// What of that has not happened yet in this one.
    waits_for: u32,
    /// Parts to be acknowledged in this round.
    left: u32,
    /// The transfer that waits for its acknowledgement.
    next: Option<u32>,
    /// When it is offered, from the start of the job; by its dependencies without.
    release: Option<Span>,
}

/// A transfer that ends here.
#[derive(Clone, Debug)]
struct Inbound {
    process: u32,
    /// Number of its first part.
    chunk: u32,
    /// What waits for it, in [`Share::successors`].
    successors: Range<u32>,
    /// Parts to arrive in this round.
    left: u32,
}

/// A rank on one of the hosts.
#[derive(Clone, Debug)]
struct Process {
    times: Times,
    /// Phases before the present one, in all cycles.
    phase: u32,
    /// Parts to be acknowledged and to arrive before that ends.
    left: u64,
    /// Its transfers in each phase of a cycle.
    outgoing: Vec<Range<u32>>,
    inbound: Vec<Range<u32>>,
    has_ended: bool,
}

/// When and how often a job runs.
#[derive(Clone, Copy, Debug)]
struct Times {
    start: Instant,
    /// Software overhead before each post.
    overhead: Span,
    /// Phases to run; none when others end the job.
    phases: Option<u32>,
}

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A rank begins.
    Begin(u32),
    /// An outgoing transfer is posted.
    Post(u32),
}

/// The share of an agent.
pub struct Share {
    jobs: Arc<Jobs>,
    outgoing: Vec<Outgoing>,
    inbound: Vec<Inbound>,
    /// Outgoing transfers that wait for inbound ones.
    successors: Vec<u32>,
    processes: Vec<Process>,
    order: Order,
    /// Chunks that arrive here, ascending, each with its place: inbound transfer and part.
    arriving: Vec<(u32, u32)>,
    /// How often each part of each inbound transfer has arrived.
    arrivals: Vec<u32>,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    posts: VecDeque<Post>,
    /// Ranks that are done with a phase.
    ended: Vec<u32>,
    /// Ranks of jobs that end by themselves, and have not.
    open_processes: usize,
    receivers: Vec<LocalPair>,
}

impl Share {
    /// Queue pairs whose data begins here.
    #[must_use]
    pub fn senders(&self) -> &[LocalPair] {
        self.order.pairs()
    }

    /// Queue pairs whose data ends here.
    #[must_use]
    pub fn receivers(&self) -> &[LocalPair] {
        &self.receivers
    }

    /// One past the largest [`Post::send`].
    #[must_use]
    pub fn sends(&self) -> usize {
        self.outgoing.len() * self.jobs.parts as usize
    }

    /// All that the jobs that end by themselves have for the hosts to receive [bytes].
    #[must_use]
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

    /// Everything that jobs that end by themselves have for these ranks is done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.open_processes == 0
    }

    /// The jobs start, at times from `now` on.
    pub fn start(&mut self, now: Instant) {
        for (process, state) in (0..).zip(&mut self.processes) {
            let start = now + Span(state.times.start.0);
            state.times.start = start;
            self.due.push(Reverse((start, Due::Begin(process))));
        }
        self.advance(now);
    }

    /// When there is something to do, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Does what is due by `now`.
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

    /// A chunk is acknowledged whole.
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

    /// A chunk has arrived whole; none if there is no such chunk here.
    pub fn on_arrived(&mut self, chunk: u32, now: Instant) -> Option<Arrival> {
        let place = self.arriving.binary_search_by_key(&chunk, |&(chunk, _)| chunk).ok()?;
        let part = self.arriving[place].1;
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

    /// A part of an inbound transfer counts in the present phase of its rank.
    fn deliver(&mut self, inbound: u32, now: Instant) {
        let transfer = &mut self.inbound[inbound as usize];
        transfer.left -= 1;
        let (process, is_whole) = (transfer.process, transfer.left == 0);
        if is_whole {
            for place in transfer.successors.clone() {
                self.release(self.successors[place as usize], now);
            }
        }
        self.count(process);
    }

    /// One thing that a transfer waits for has happened.
    fn release(&mut self, outgoing: u32, now: Instant) {
        let transfer = &mut self.outgoing[outgoing as usize];
        transfer.waits_for -= 1;
        if transfer.waits_for == 0 {
            self.start_transfer(outgoing, now);
        }
    }

    /// A part of the phase of a rank is done.
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

    /// A rank begins its present phase, or the next in which it has something to do.
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

    /// A transfer that waits for nothing is posted at once, or when it is to be offered.
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

    /// A transfer is posted once the software overhead has passed.
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
    /// Phases of a cycle.
    const fn cycle(&self) -> u32 {
        self.inbound.len() as u32
    }

    /// Cycles before the present one.
    const fn pass(&self) -> u32 {
        self.phase / self.cycle()
    }

    /// Its transfers in the present phase.
    fn transfers(&self) -> [Range<u32>; 2] {
        let place = (self.phase % self.cycle()) as usize;
        [self.outgoing[place].clone(), self.inbound[place].clone()]
    }

    /// The phase in which an inbound transfer comes for the `pass`-th time, from 0.
    fn phase_of(&self, inbound: u32, pass: u32) -> u32 {
        let place = self.inbound.partition_point(|range| range.end <= inbound) as u32;
        pass * self.cycle() + place
    }

    /// Nothing of it is sent or received.
    fn is_idle(&self) -> bool {
        self.outgoing.iter().chain(&self.inbound).all(Range::is_empty)
    }
}
