//! The part of the jobs that one agent (a process that acts as one or more hosts) runs: the ranks on its
//! hosts with their progress ([`jobs::Progress`], as in the simulator), chunks to post in the order of their
//! queue pairs, and timed actions. No clock, no network.
//!
//! Data of a faster rank may arrive before the job has started here: transfers that depend on it wait for the
//! start.
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

use jobs::{Jobs, Progress};
use pairs::Order;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
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

/// A rank on one of the agent's hosts.
struct LocalRank {
    progress: Progress,
    has_begun: bool,
    /// Numbers of its first transfers among those of the agent.
    first_outgoing: u32,
    first_inbound: u32,
}

/// One end of a transfer, at a rank on one of the agent's hosts.
#[derive(Clone, Copy)]
struct TransferEnd {
    rank: u32,
    /// Number of its first chunk.
    chunk: u32,
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
/// [`on_arrived`](Self::on_arrived), [`on_dropped`](Self::on_dropped). Outputs:
/// [`next_post`](Self::next_post), [`deadline`](Self::deadline),
/// [`is_done`](Self::is_done).
pub struct Share {
    jobs: Arc<Jobs>,
    ranks: Vec<LocalRank>,
    /// Transfers sent from here, and received here.
    outgoing: Vec<TransferEnd>,
    inbound: Vec<TransferEnd>,
    order: Order,
    /// Chunks received here, ascending, each with the index of its part in `arrivals`.
    arriving: Vec<(u32, u32)>,
    /// How many times each part of each inbound transfer has arrived or been dropped.
    arrivals: Vec<u32>,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    posts: VecDeque<Post>,
    /// Number of ranks of finite jobs that have not ended.
    open_ranks: usize,
    /// Scratch space: transfers that may start now.
    started: Vec<u32>,
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
        let ends = (0..).zip(&self.inbound);
        ends.map(|(inbound, end)| {
            let rank = &self.ranks[end.rank as usize];
            let chunks = end.chunk..end.chunk + self.jobs.parts;
            let bytes: u64 = chunks.map(|chunk| self.jobs.chunk(chunk).bytes).sum();
            u64::from(rank.progress.passes_of(inbound - rank.first_inbound)) * bytes
        })
        .sum()
    }

    /// Whether all ranks of finite jobs have ended.
    pub const fn is_done(&self) -> bool {
        self.open_ranks == 0
    }

    /// Starts the jobs; their start times are relative to `now`.
    pub fn start(&mut self, now: Instant) {
        for (rank, state) in (0..).zip(&mut self.ranks) {
            state.progress.delay_start(Span(now.0));
            self.due.push(Reverse((state.progress.start(), Due::Begin(rank))));
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
                Due::Begin(rank) => self.begin(rank, now),
                Due::Post(outgoing) => {
                    self.await_release(self.outgoing[outgoing as usize].rank, outgoing + 1);
                    self.post(outgoing);
                }
            }
        }
    }

    /// The next chunk to post.
    pub fn next_post(&mut self) -> Option<Post> {
        self.posts.pop_front()
    }

    /// A chunk was completely acknowledged.
    pub fn on_completed(&mut self, send: u32, now: Instant) {
        let outgoing = send / self.jobs.parts;
        let rank = self.outgoing[outgoing as usize].rank;
        let LocalRank { progress, first_outgoing, .. } = &mut self.ranks[rank as usize];
        if let Some(next) = progress.acknowledge_part(outgoing - *first_outgoing) {
            let next = *first_outgoing + next;
            self.start_transfer(next, now);
        }
        self.start_phases(rank, now);
    }

    /// A chunk has completely arrived; returns `None` for a chunk that is not received here.
    pub fn on_arrived(&mut self, chunk: u32, now: Instant) -> Option<Arrival> {
        let index = self.arriving.binary_search_by_key(&chunk, |&(chunk, _)| chunk).ok()?;
        let part = self.arriving[index].1;
        let pass = self.arrivals[part as usize];
        self.arrivals[part as usize] += 1;
        let inbound = part / self.jobs.parts;
        let rank = self.inbound[inbound as usize].rank;
        let LocalRank { progress, first_inbound, has_begun, .. } = &mut self.ranks[rank as usize];
        progress.deliver_part(inbound - *first_inbound, pass, &mut self.started);
        let is_background = progress.is_background();
        if !*has_begun {
            self.started.clear();
        }
        self.start_transfers(rank, now);
        self.start_phases(rank, now);
        Some(Arrival { pass, bytes: self.jobs.chunk(chunk).bytes, is_background })
    }

    /// A chunk will not arrive whole; returns how many times it had arrived or been dropped before, or `None`
    /// for a chunk that is not received here.
    pub fn on_dropped(&mut self, chunk: u32) -> Option<u32> {
        let index = self.arriving.binary_search_by_key(&chunk, |&(chunk, _)| chunk).ok()?;
        let pass = &mut self.arrivals[self.arriving[index].1 as usize];
        *pass += 1;
        Some(*pass - 1)
    }

    /// Starts the job of a rank.
    fn begin(&mut self, rank: u32, now: Instant) {
        let LocalRank { progress, has_begun, first_outgoing, .. } = &mut self.ranks[rank as usize];
        let first_outgoing = *first_outgoing;
        *has_begun = true;
        if progress.is_released() {
            self.await_release(rank, first_outgoing);
        } else {
            self.started.extend(progress.initial());
            self.start_transfers(rank, now);
        }
        self.start_phases(rank, now);
    }

    /// Schedules the post of an open-loop transfer of a rank, if the rank has it.
    fn await_release(&mut self, rank: u32, outgoing: u32) {
        let LocalRank { progress, first_outgoing, .. } = &mut self.ranks[rank as usize];
        let outgoing_at_rank = outgoing - *first_outgoing;
        if let Some(release) = progress.release_of(outgoing_at_rank) {
            let at = progress.post_at(outgoing_at_rank, release);
            self.due.push(Reverse((at, Due::Post(outgoing))));
        }
    }

    /// Starts the next phase of a rank, and those after it, if the one before has ended.
    fn start_phases(&mut self, rank: u32, now: Instant) {
        let state = &mut self.ranks[rank as usize];
        if !state.has_begun || !state.progress.has_ended_phases() {
            return;
        }
        let was_open = !state.progress.has_ended();
        while self.ranks[rank as usize].progress.next_phase(now, &mut self.started).is_some() {
            self.start_transfers(rank, now);
        }
        self.open_ranks -= usize::from(was_open && self.ranks[rank as usize].progress.has_ended());
    }

    /// Starts the transfers of `started`, which are numbered by rank, and clears it.
    fn start_transfers(&mut self, rank: u32, now: Instant) {
        let mut started = std::mem::take(&mut self.started);
        let first = self.ranks[rank as usize].first_outgoing;
        started.drain(..).for_each(|outgoing| self.start_transfer(first + outgoing, now));
        self.started = started;
    }

    /// Posts a transfer after the software overhead.
    fn start_transfer(&mut self, outgoing: u32, now: Instant) {
        let rank = &mut self.ranks[self.outgoing[outgoing as usize].rank as usize];
        let at = rank.progress.post_at(outgoing - rank.first_outgoing, now);
        if at == now {
            self.post(outgoing);
        } else {
            self.due.push(Reverse((at, Due::Post(outgoing))));
        }
    }

    fn post(&mut self, outgoing: u32) {
        let Self { jobs, order, ranks, outgoing: transfers, posts, .. } = self;
        for send in outgoing * jobs.parts..(outgoing + 1) * jobs.parts {
            order.make_ready(send, |pair, send| {
                let outgoing = send / jobs.parts;
                let TransferEnd { rank, chunk } = transfers[outgoing as usize];
                let LocalRank { progress, first_outgoing, .. } = &ranks[rank as usize];
                let (chunk, pass) = (chunk + send % jobs.parts, progress.pass_of(outgoing - first_outgoing));
                posts.push_back(Post { pair, send, chunk, pass, bytes: jobs.chunk(chunk).bytes });
            });
        }
    }
}
