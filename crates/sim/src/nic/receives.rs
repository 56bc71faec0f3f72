//! The chunks that a host receives.

use super::chunk_bytes::ChunkBytes;
use super::numbers::Numbers;
use super::receiver::ReceiverPlan;
use super::shares::Shares;
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
pub(super) struct Receives {
    /// Chunk of the run, and inbound transfer.
    chunks: Numbers,
    inbound: Numbers,
    bytes: ChunkBytes,
    shares: Shares,
}

impl Receives {
    pub(super) fn new(chunks: &[ReceiveChunk], receivers: &[ReceiverPlan]) -> Self {
        Self {
            chunks: Numbers::new(chunks.iter().map(|receive| receive.chunk)),
            inbound: Numbers::new(chunks.iter().map(|receive| receive.inbound)),
            bytes: ChunkBytes::new(chunks.iter().map(|receive| receive.bytes)),
            shares: Shares::new(receivers.iter().map(|receiver| receiver.chunks.end)),
        }
    }

    /// A chunk, by its place.
    #[inline]
    pub(super) fn get(&self, place: u32) -> ReceiveChunk {
        let (chunk, inbound) = (self.chunks.of(place), self.inbound.of(place));
        ReceiveChunk { chunk, inbound, bytes: self.bytes.of(place) }
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
