//! List of the work items of all queue pairs of a host in compressed columns, and its builder. An item is a
//! chunk: number in the run, the transfer it is part of, bytes.

use super::columns::{ChunkBytes, ChunkBytesMaker, Numbers, NumbersMaker, Shares, SharesMaker};
use super::queues::WorkId;
use std::ops::Range;

/// A chunk that a queue pair sends or receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The transfer it is part of: an index into the outgoing or the inbound transfers of its host.
    pub(crate) transfer: u32,
    /// Payload [bytes].
    pub(crate) bytes: u64,
}

/// The work of all queue pairs, grouped by queue pair in the order of its schedule.
#[derive(Debug)]
pub(super) struct WorkList {
    chunks: Numbers,
    transfers: Numbers,
    bytes: ChunkBytes,
    shares: Shares,
}

/// Builder of [`WorkList`].
#[derive(Debug, Default)]
pub(crate) struct WorkMaker {
    count: u32,
    chunks: NumbersMaker,
    transfers: NumbersMaker,
    bytes: ChunkBytesMaker,
    shares: SharesMaker,
}

impl WorkMaker {
    /// Number of items so far.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Adds an item of the next queue pair.
    #[inline]
    pub(crate) fn push(&mut self, Work { chunk, transfer, bytes }: Work) -> WorkId {
        self.chunks.push(self.count, chunk);
        self.transfers.push(self.count, transfer);
        self.bytes.push(self.count, bytes);
        self.count += 1;
        WorkId(self.count - 1)
    }

    /// Assigns the items since the last call to the next queue pair.
    #[inline]
    pub(crate) fn end_share(&mut self) {
        self.shares.push(self.count);
    }

    pub(super) fn finish(self) -> WorkList {
        WorkList {
            chunks: self.chunks.finish(),
            transfers: self.transfers.finish(),
            bytes: self.bytes.finish(),
            shares: self.shares.finish(),
        }
    }
}

impl WorkList {
    /// Items of equal size, one per transfer and queue pair: item, transfer and queue pair have the same
    /// index.
    pub(super) fn one_each(chunks: impl Iterator<Item = u32> + Clone, bytes: u64) -> Self {
        Self {
            chunks: Numbers::of_all(chunks),
            transfers: Numbers::from(0),
            bytes: ChunkBytes::same(bytes),
            shares: Shares::of_one(),
        }
    }

    /// The item at an index.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Work {
        let (chunk, transfer) = (self.chunk_of(index), self.transfer_of(index));
        Work { chunk, transfer, bytes: self.bytes_of(index) }
    }

    #[inline]
    pub(super) fn chunk_of(&self, index: u32) -> u32 {
        self.chunks.of(index)
    }

    #[inline]
    pub(super) fn transfer_of(&self, index: u32) -> u32 {
        self.transfers.of(index)
    }

    #[inline]
    pub(super) fn bytes_of(&self, index: u32) -> u64 {
        self.bytes.of(index)
    }

    /// Range of a queue pair's work.
    #[inline]
    pub(super) fn of(&self, queue_pair: u32) -> Range<u32> {
        self.shares.of(queue_pair)
    }

    /// One past the last item of a queue pair.
    #[inline]
    pub(super) fn end_of(&self, queue_pair: u32) -> u32 {
        self.shares.end_of(queue_pair)
    }

    /// Prefetches the first item of a queue pair, if each has one.
    #[inline]
    pub(super) fn prefetch(&self, queue_pair: usize) {
        self.chunks.prefetch(queue_pair);
        self.transfers.prefetch(queue_pair);
    }
}
