//! The chunks that a host receives.

use super::chunk_bytes::{ChunkBytes, ChunkBytesMaker};
use super::numbers::{Numbers, NumbersMaker};
use super::shares::{Shares, SharesMaker};
use std::ops::Range;

/// A chunk to be received by a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveChunk {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The inbound transfer it is part of.
    pub(crate) inbound: u32,
    /// Payload [bytes].
    pub(crate) bytes: u64,
}

/// The chunks of all receivers of a host, those of each together in the order of its schedule.
#[derive(Debug)]
pub(crate) struct Receives {
    /// Chunk of the run, and inbound transfer.
    chunks: Numbers,
    inbound: Numbers,
    bytes: ChunkBytes,
    shares: Shares,
    /// What a chunk has in addition to the number of its queue pair, where that tells it.
    beyond_queue_pair: Option<u32>,
}

/// The same in the making.
#[derive(Debug, Default)]
pub(crate) struct ReceivesMaker {
    count: u32,
    chunks: NumbersMaker,
    inbound: NumbersMaker,
    bytes: ChunkBytesMaker,
    shares: SharesMaker,
}

impl ReceivesMaker {
    /// Adds a chunk of the next receiver.
    #[inline]
    pub(crate) fn push(&mut self, ReceiveChunk { chunk, inbound, bytes }: ReceiveChunk) {
        self.chunks.push(self.count, chunk);
        self.inbound.push(self.count, inbound);
        self.bytes.push(self.count, bytes);
        self.count += 1;
    }

    /// The next receiver has the chunks since the one before it.
    #[inline]
    pub(crate) fn end_share(&mut self) {
        self.shares.push(self.count);
    }

    pub(crate) fn finish(self) -> Receives {
        Receives {
            chunks: self.chunks.finish(),
            inbound: self.inbound.finish(),
            bytes: self.bytes.finish(),
            shares: self.shares.finish(),
            beyond_queue_pair: None,
        }
    }
}

impl Receives {
    /// Chunks of the same size, each alone of an inbound transfer and with a receiver, all of the same
    /// number.
    pub(crate) fn one_each(chunks: impl Iterator<Item = u32> + Clone, bytes: u64) -> Self {
        Self {
            chunks: Numbers::of_all(chunks),
            inbound: Numbers::from(0),
            bytes: ChunkBytes::same(bytes),
            shares: Shares::of_one(),
            beyond_queue_pair: None,
        }
    }

    /// The same of which each has the number of its queue pair and so many more; they are to be asked for by
    /// queue pair.
    pub(crate) fn of_queue_pairs(beyond: u32, bytes: u64) -> Self {
        Self { beyond_queue_pair: Some(beyond), ..Self::one_each(std::iter::empty(), bytes) }
    }

    /// A chunk, by its place, where its queue pair does not tell its number.
    #[inline]
    pub(super) fn get(&self, place: u32) -> ReceiveChunk {
        let (chunk, inbound) = (self.chunks.of(place), self.inbound.of(place));
        ReceiveChunk { chunk, inbound, bytes: self.bytes.of(place) }
    }

    /// A chunk of a queue pair, by its place.
    #[inline]
    pub(super) fn get_of(&self, place: u32, queue_pair: u32) -> ReceiveChunk {
        let listed = self.get(place);
        let chunk = self.beyond_queue_pair.map_or(listed.chunk, |beyond| queue_pair.wrapping_add(beyond));
        ReceiveChunk { chunk, ..listed }
    }

    /// Payload of a chunk [bytes].
    #[inline]
    pub(super) fn bytes_of(&self, place: u32) -> u64 {
        self.bytes.of(place)
    }

    /// The chunks of a receiver.
    #[inline]
    pub(super) fn of(&self, receiver: u32) -> Range<u32> {
        self.shares.of(receiver)
    }

    /// Asks for the memory of the first chunk of a receiver, if each has one.
    #[inline]
    pub(super) fn prefetch(&self, receiver: usize) {
        self.chunks.prefetch(receiver);
        self.inbound.prefetch(receiver);
    }
}
