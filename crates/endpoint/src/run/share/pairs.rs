//! The queue pairs of a share.

use jobs::{Jobs, QueuePair};
use std::ops::Range;

/// A queue pair that begins or ends here.
#[derive(Clone, Copy, Debug)]
pub struct LocalPair {
    /// It, among those of the run.
    pub queue_pair: QueuePair,
    /// Its chunks in a cycle of rounds.
    pub chunks: u32,
    /// Payload of the largest [bytes].
    pub chunk_bytes_max: u64,
}

/// How long a chunk is, if it is of that queue pair [bytes].
pub(in crate::run) fn planned_bytes(jobs: &Jobs, pair: u32, chunk: u32) -> Option<u64> {
    if chunk >= jobs.chunk_count() {
        return None;
    }
    let (chunk, _, queue_pair) = jobs.place(chunk);
    (queue_pair.number == pair).then_some(chunk.bytes)
}

/// The order in which the queue pairs that begin here carry their chunks.
#[derive(Debug, Default)]
pub(super) struct Order {
    pairs: Vec<LocalPair>,
    /// Where the sends of each pair stand in `sends`, and which of them is next.
    ranges: Vec<(Range<u32>, u32)>,
    sends: Vec<u32>,
    /// Of each send, the pair that carries it.
    pair_of: Vec<u32>,
    /// Of each send, that it may go as soon as those before it on its pair have.
    is_ready: Vec<bool>,
}

impl Order {
    /// Of so many sends, without pairs.
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

    /// A send may go, as soon as those before it on its pair have; hands all that go now to `go`, each with
    /// its pair.
    pub(super) fn make_ready(&mut self, send: u32, mut go: impl FnMut(u32, u32)) {
        self.is_ready[send as usize] = true;
        let pair = self.pair_of[send as usize];
        let (range, next) = &mut self.ranges[pair as usize];
        loop {
            let head = self.sends[*next as usize];
            if !std::mem::take(&mut self.is_ready[head as usize]) {
                return;
            }
            // The same again in the next cycle.
            *next = if *next + 1 == range.end { range.start } else { *next + 1 };
            go(pair, head);
        }
    }
}
