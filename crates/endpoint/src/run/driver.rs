//! Interface of drivers, which transport chunks between hosts (chunk: the part of a transfer between two
//! ranks that one queue pair sends): trait [`Driver`], its events, and the statistics of a chunk at sender
//! and receiver.

use super::RunError;
use super::share::{LocalPair, Post};
use std::collections::BTreeMap;
use std::io;
use units::{Instant, Span};

/// Event of a chunk. Times are of the driver's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Every byte of a chunk has arrived.
    Arrived {
        /// Number of the chunk in the run, as sent by the peer.
        chunk: u32,
        /// When the arrival was detected.
        at: Instant,
        /// Statistics of the receiver.
        seen: ReceivedCounts,
    },
    /// Every byte of a chunk has been acknowledged or, on an unreliable connection, sent.
    Completed {
        /// See [`Post::send`].
        send: u32,
        /// When the completion was received.
        at: Instant,
        /// Statistics of the sender.
        seen: SentCounts,
    },
    /// The queue pair of a chunk failed, possibly before the chunk was posted.
    Failed {
        /// See [`Post::send`].
        send: u32,
        /// Statistics of the sender.
        seen: SentCounts,
    },
    /// A chunk that has not arrived whole and will not: an unreliable connection dropped messages of it, or the
    /// run has ended.
    Dropped {
        /// Number of the chunk in the run.
        chunk: u32,
        /// Statistics of the receiver.
        seen: ReceivedCounts,
    },
    /// A chunk that an unreliable connection had not sent completely when the run ended.
    Unsent {
        /// See [`Post::send`].
        send: u32,
        /// Statistics of the sender.
        seen: SentCounts,
    },
}

/// Sender's statistics of a chunk; 0 where the driver does not measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Messages, on unreliable connections.
    pub messages: u64,
    /// Data frames, including retransmissions.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Retransmitted data frames.
    pub retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// NAKs received.
    pub naks: u64,
    /// Congestion notifications received.
    pub cnps: u64,
}

/// Receiver's statistics of a chunk; 0 where the driver does not measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedCounts {
    /// Messages that arrived completely, on unreliable connections.
    pub messages: u64,
    /// Data frames received, including those discarded.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Data frames received out of order (ahead of a missing one).
    pub out_of_order: u64,
    /// Data frames with an ECN mark.
    pub marks: u64,
    /// Congestion notifications sent.
    pub cnps: u64,
    /// Whether every byte is as expected; `None` if not checked.
    pub is_verified: Option<bool>,
}

impl ReceivedCounts {
    /// Adds the statistics of a further part of the chunk.
    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.out_of_order += other.out_of_order;
        self.marks += other.marks;
        self.cnps += other.cnps;
        self.is_verified = match (self.is_verified, other.is_verified) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
    }
}

/// A transport for chunks: queue pairs that deliver in the order of posting.
pub trait Driver: Send {
    /// Creates the resources of local queue pairs that [`Self::addresses`] describes.
    ///
    /// # Errors
    /// A resource that the host lacks.
    fn prepare(&mut self, _senders: &[LocalPair], _receivers: &[LocalPair]) -> Result<(), RunError> {
        Ok(())
    }

    /// Connection data that peers need to reach this host, as JSON.
    fn addresses(&self) -> Vec<u8>;

    /// Connects the queue pairs that start or end at this host, except those within it; `peers` has the
    /// [`Self::addresses`] of each host.
    ///
    /// # Errors
    /// [`RunError`], before anything is sent if a peer is not allowed.
    fn connect(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError>;

    /// Posts a chunk; an [`Event`] reports its end.
    fn post(&mut self, post: &Post);

    /// Makes progress and appends new events to `events`; if there was nothing to do, waits at most
    /// `patience`.
    fn poll(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()>;

    /// Time without a sign of life of a peer after which nothing more is expected from it.
    fn quiet_span(&self) -> Span;

    /// When something last arrived, if senders do not wait for its acknowledgement.
    fn last_arrival(&self) -> Instant {
        Instant::ZERO
    }

    /// Called when nothing more is sent or received: takes a final reading of external counters.
    fn stopped(&mut self) {}

    /// Appends an event for each chunk that an unreliable connection has sent or received in part; called after
    /// [`Self::stopped`].
    fn end_unfinished(&mut self, _events: &mut Vec<Event>) {}

    /// Cause of queue pair failures, if known.
    fn failure(&self) -> &str {
        ""
    }

    /// Counters of the driver, and settings that differ from those of the plan.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
