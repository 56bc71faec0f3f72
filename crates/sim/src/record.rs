//! What hosts report while running. The two ends of a chunk report apart and are joined outside.

use spec::ChunkStatus;
use transport::Position;
use units::{Instant, Span};
use wire::Psn;

/// A report of a host.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// A chunk arrived whole at its responder.
    Delivered(ReceiveReport),
    /// A chunk ended at its requester.
    Sent(SendReport),
    /// A queue pair ran out of retries.
    QueuePairFailed {
        /// Which.
        queue_pair: u32,
        /// When.
        at: Instant,
    },
    /// A captured queue pair sent a frame.
    Frame(Frame),
}

/// A chunk as its requester saw it.
#[derive(Clone, Debug)]
pub(crate) struct SendReport {
    pub(crate) chunk: u32,
    pub(crate) round: u32,
    pub(crate) status: ChunkStatus,
    pub(crate) posted: Instant,
    pub(crate) completed: Option<Instant>,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) retransmits: u64,
    pub(crate) naks: u64,
    pub(crate) timeouts: u64,
    /// Congestion notifications received.
    pub(crate) cnps: u64,
}

impl SendReport {
    pub(crate) const fn new(chunk: u32, round: u32, posted: Instant) -> Self {
        Self {
            chunk,
            round,
            status: ChunkStatus::Unfinished,
            posted,
            completed: None,
            frames: 0,
            bytes: 0,
            retransmits: 0,
            naks: 0,
            timeouts: 0,
            cnps: 0,
        }
    }

    pub(crate) const fn ended(mut self, status: ChunkStatus, completed: Option<Instant>) -> Self {
        self.status = status;
        self.completed = completed;
        self
    }
}

/// A chunk as its responder saw it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveReport {
    pub(crate) chunk: u32,
    pub(crate) round: u32,
    pub(crate) delivered: Option<Instant>,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) out_of_order: u64,
    /// Frames that arrived marked.
    pub(crate) marks: u64,
    /// Congestion notifications sent.
    pub(crate) cnps: u64,
    pub(crate) latency: Latency,
}

/// Latency of accepted frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) frames: u64,
    pub(crate) sum_ps: u64,
    pub(crate) min: Option<Span>,
    pub(crate) max: Span,
}

impl Latency {
    #[inline]
    pub(crate) fn add(&mut self, latency: Span) {
        self.frames += 1;
        self.sum_ps += latency.0;
        self.min = Some(self.min.map_or(latency, |min| min.min(latency)));
        self.max = self.max.max(latency);
    }
}

/// A frame as it leaves a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) sent: Instant,
    pub(crate) queue_pair: u32,
    pub(crate) psn: Psn,
    pub(crate) kind: FrameKind,
}

/// What a captured frame carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FrameKind {
    Data { position: Position, ack_request: bool, payload_bytes: u32, message_bytes: u64, offset_bytes: u64 },
    Ack { message_sequence: u32 },
    Nak { message_sequence: u32 },
    Cnp,
}
