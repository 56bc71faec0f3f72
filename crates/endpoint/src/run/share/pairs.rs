//! Queue pairs with an end on hosts of this agent, and the order in which those that send must post their
//! chunks (parts of transfers).

use jobs::{Jobs, QueuePair};
use std::ops::Range;

/// A queue pair with an end on a host of this agent.
#[derive(Clone, Copy, Debug)]
pub struct LocalPair {
    /// The queue pair of the run.
    pub queue_pair: QueuePair,
    /// Number of its chunks per cycle of rounds.
    pub chunks: u32,
    /// Payload of its largest chunk [bytes].
    pub chunk_bytes_max: u64,
}

/// Size of a chunk; `None` if it does not belong to the queue pair [bytes].
pub(in crate::run) fn planned_bytes(jobs: &Jobs, pair: u32, chunk: u32) -> Option<u64> {
    if chunk >= jobs.chunk_count() {
        return None;
    }
    let (chunk, _, queue_pair) = jobs.chunk_with_pair(chunk);
    (queue_pair.number == pair).then_some(chunk.bytes)
}

/// Enforces the chunk order of each local sending queue pair.
#[derive(Debug, Default)]
pub(super) struct Order {
    pairs: Vec<LocalPair>,
    /// Per pair: its range in `sends`, and the index of the next send.
    ranges: Vec<(Range<u32>, u32)>,
    sends: Vec<u32>,
    /// Queue pair of each send.
    pair_of: Vec<u32>,
    /// Whether each send is ready, but may have to wait for earlier sends of its pair.
    is_ready: Vec<bool>,
}

impl Order {
    /// An order of `sends` sends, without pairs.
    pub(super) fn new(sends: usize) -> Self {
        Self { pair_of: vec![0; sends], is_ready: vec![false; sends], ..Self::default() }
    }

    /// Adds a pair with its sends, in the order of the schedule.
    pub(super) fn add(&mut self, pair: LocalPair, sends: impl Iterator<Item = u32>) {
        let (number, first) = (self.pairs.len() as u32, self.sends.len() as u32);
        for send in sends {
            self.pair_of[send as usize] = number;
            self.sends.push(send);
        }
        self.ranges.push((first..self.sends.len() as u32, first));
        self.pairs.push(pair);
    }

    pub(super) fn pairs(&self) -> &[LocalPair] {
        &self.pairs
    }

    /// Marks a send as ready; calls `go` with pair and send for each send that has no unready send before it.
    pub(super) fn make_ready(&mut self, send: u32, mut go: impl FnMut(u32, u32)) {
        self.is_ready[send as usize] = true;
        let pair = self.pair_of[send as usize];
        let (range, next) = &mut self.ranges[pair as usize];
        loop {
            let head = self.sends[*next as usize];
            if !std::mem::take(&mut self.is_ready[head as usize]) {
                return;
            }
            // Wraps around: the next cycle has the same order.
            *next = if *next + 1 == range.end { range.start } else { *next + 1 };
            go(pair, head);
        }
    }
}
