//! What carries chunks from host to host.

use super::RunError;
use super::share::{LocalPair, Post};
use std::collections::BTreeMap;
use std::io;
use units::{Instant, Span};

/// What became of a chunk. Times are of the driver's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Every byte of a chunk is here.
    Arrived {
        /// Its number in the run, as the peer says.
        chunk: u32,
        /// When that was known.
        at: Instant,
        /// What was seen of it.
        seen: ReceivedCounts,
    },
    /// Every byte of a chunk is acknowledged.
    Completed {
        /// See [`Post::send`].
        send: u32,
        /// When that was known.
        at: Instant,
        /// What was seen of it.
        seen: SentCounts,
    },
    /// The queue pair of a chunk has failed, or had before.
    Failed {
        /// See [`Post::send`].
        send: u32,
        /// What was seen of it.
        seen: SentCounts,
    },
}

/// What the sender saw of a chunk; 0 of what the driver does not measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Data frames, those sent again included.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Data frames sent again.
    pub retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// NAKs received.
    pub naks: u64,
    /// Congestion notifications received.
    pub cnps: u64,
}

/// What the receiver saw of a chunk; 0 of what the driver does not measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedCounts {
    /// Data frames, whatever became of them.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Data frames that came ahead of their turn.
    pub out_of_order: u64,
    /// Data frames that a switch had marked.
    pub marks: u64,
    /// Congestion notifications sent.
    pub cnps: u64,
    /// Every byte is what it was to be; none where nobody looked.
    pub is_verified: Option<bool>,
}

/// One way to carry chunks: queue pairs that keep the order of what is posted to them.
pub trait Driver: Send {
    /// Makes what its addresses tell of the queue pairs that begin and end here.
    ///
    /// # Errors
    /// What the host does not have.
    fn prepare(&mut self, _senders: &[LocalPair], _receivers: &[LocalPair]) -> Result<(), RunError> {
        Ok(())
    }

    /// What peers must know to reach this host, as JSON.
    fn addresses(&self) -> Vec<u8>;

    /// Makes ready the queue pairs that begin and end here, but for those that stay on their host; `peers`
    /// has what the driver of each host says of itself.
    ///
    /// # Errors
    /// [`RunError`], before anything is sent where a peer is not allowed.
    fn connect(
        &mut self,
        peers: &BTreeMap<u32, Vec<u8>>,
        senders: &[LocalPair],
        receivers: &[LocalPair],
    ) -> Result<(), RunError>;

    /// Posts a chunk; its end is told by an event.
    fn post(&mut self, post: &Post);

    /// Carries on, and adds what has happened to `events`; waits for something if there was nothing, but no
    /// longer than `patience`.
    ///
    /// # Errors
    /// What the host says.
    fn poll(&mut self, patience: Span, events: &mut Vec<Event>) -> io::Result<()>;

    /// So long after the last sign of life of a peer nothing more is to be expected of it.
    fn quiet_span(&self) -> Span;

    /// Nothing more is sent or received: what it counts from elsewhere is to be as of now.
    fn stopped(&mut self) {}

    /// Why queue pairs have failed, where it is known.
    fn why_failed(&self) -> &str {
        ""
    }

    /// What it counts, and settings that differ from those of the plan.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
