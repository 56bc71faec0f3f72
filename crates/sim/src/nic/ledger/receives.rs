//! What a host receives.

use super::work::{Work, WorkList, WorkMaker};
use std::ops::Range;

/// The work of all receivers of a host.
#[derive(Debug)]
pub(crate) struct Receives {
    list: WorkList,
    /// What a chunk has in addition to the number of its queue pair, where that tells it.
    beyond_queue_pair: Option<u32>,
}

impl From<WorkMaker> for Receives {
    fn from(work: WorkMaker) -> Self {
        Self { list: work.finish(), beyond_queue_pair: None }
    }
}

impl Receives {
    /// Chunks of the same size, each alone of an inbound transfer and with a receiver, all of the same
    /// number.
    pub(crate) fn one_each(chunks: impl Iterator<Item = u32> + Clone, bytes: u64) -> Self {
        Self { list: WorkList::one_each(chunks, bytes), beyond_queue_pair: None }
    }

    /// The same of which each has the number of its queue pair and so many more; they are to be asked for by
    /// queue pair.
    pub(crate) fn of_queue_pairs(beyond: u32, bytes: u64) -> Self {
        Self { beyond_queue_pair: Some(beyond), ..Self::one_each(std::iter::empty(), bytes) }
    }

    /// The work at a place, where its queue pair does not tell the chunk.
    #[inline]
    pub(in crate::nic) fn get(&self, place: u32) -> Work {
        self.list.get(place)
    }

    /// The work of a queue pair at a place.
    #[inline]
    pub(in crate::nic) fn get_of(&self, place: u32, queue_pair: u32) -> Work {
        let listed = self.list.get(place);
        let chunk = self.beyond_queue_pair.map_or(listed.chunk, |beyond| queue_pair.wrapping_add(beyond));
        Work { chunk, ..listed }
    }

    /// Payload [bytes].
    #[inline]
    pub(in crate::nic) fn bytes_of(&self, place: u32) -> u64 {
        self.list.bytes_of(place)
    }

    /// The work of a receiver.
    #[inline]
    pub(in crate::nic) fn of(&self, receiver: u32) -> Range<u32> {
        self.list.of(receiver)
    }

    /// Asks for the memory of the first chunk of a receiver, if each has one.
    #[inline]
    pub(in crate::nic) fn prefetch(&self, receiver: usize) {
        self.list.prefetch(receiver);
    }
}
