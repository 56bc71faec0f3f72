//! Chunks (parts of transfers between ranks) that a host receives, by queue pair: the list of work items, the
//! receive queue of each queue pair, and lookup of the chunk that it expects.

use super::queues::ReceiveQueue;
use super::work::{Work, WorkList, WorkMaker};
use std::ops::Range;

/// The work of all receivers of a host.
#[derive(Debug)]
pub(crate) struct Receives {
    list: WorkList,
    /// Number of a chunk minus that of its queue pair, if constant.
    beyond_queue_pair: Option<u32>,
}

/// A chunk that a receiver expects.
#[derive(Debug)]
pub(crate) struct Expected {
    /// Round of its job.
    pub(crate) round: u32,
    index: u32,
    /// Range of the receiver's work.
    own: Range<u32>,
}

impl From<WorkMaker> for Receives {
    fn from(work: WorkMaker) -> Self {
        Self { list: work.finish(), beyond_queue_pair: None }
    }
}

impl Receives {
    /// Chunks of equal size, one per inbound transfer and receiver: item, transfer and receiver have the same
    /// index.
    pub(crate) fn one_each(chunks: impl Iterator<Item = u32> + Clone, bytes: u64) -> Self {
        Self { list: WorkList::one_each(chunks, bytes), beyond_queue_pair: None }
    }

    /// Same, with chunk number = queue pair number + `beyond`; to be looked up by queue pair.
    pub(crate) fn of_queue_pairs(beyond: u32, bytes: u64) -> Self {
        Self { beyond_queue_pair: Some(beyond), ..Self::one_each(std::iter::empty(), bytes) }
    }

    /// The receive queue of a receiver that has received nothing.
    #[inline]
    pub(crate) fn queue(&self, receiver: u32) -> ReceiveQueue {
        ReceiveQueue::new(self.list.of(receiver))
    }

    /// The work at an index, unless its chunk follows from the queue pair.
    #[inline]
    pub(super) fn at(&self, index: u32) -> Work {
        self.list.get(index)
    }

    /// Payload of the first chunk of a receiver, if any [bytes].
    #[inline]
    pub(crate) fn first_bytes(&self, receiver: u32) -> Option<u64> {
        self.list.of(receiver).next().map(|first| self.list.bytes_of(first))
    }

    /// The chunk that follows the first `chunks` of a receiver, in all rounds; `None` if it receives nothing.
    #[inline]
    pub(crate) fn after(&self, receiver: u32, chunks: u32) -> Option<Expected> {
        let own = self.list.of(receiver);
        let of_round = own.end - own.start;
        let round = chunks.checked_div(of_round)?;
        Some(Expected { round, index: own.start + chunks % of_round, own })
    }

    #[inline]
    pub(crate) fn work(&self, expected: &Expected, queue_pair: u32) -> Work {
        let listed = self.list.get(expected.index);
        let chunk = self.beyond_queue_pair.map_or(listed.chunk, |beyond| queue_pair.wrapping_add(beyond));
        Work { chunk, ..listed }
    }

    /// Payload of the expected chunk [bytes].
    #[inline]
    pub(crate) fn bytes(&self, expected: &Expected) -> u64 {
        self.list.bytes_of(expected.index)
    }

    /// Payload of the chunk after it [bytes].
    #[inline]
    pub(crate) fn bytes_behind(&self, Expected { index, own, .. }: &Expected) -> u64 {
        self.list.bytes_of(if index + 1 == own.end { own.start } else { index + 1 })
    }

    /// Prefetches the first chunk of a receiver, if each has one.
    #[inline]
    pub(crate) fn prefetch(&self, receiver: usize) {
        self.list.prefetch(receiver);
    }
}
