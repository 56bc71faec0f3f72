//! Records that hosts emit during a run: reports of both ends of each chunk (part of a transfer), which
//! `report::assemble` joins; starts and ends of rounds, failures, captured frames.
//!
//! `plain` is the compact form of reports; `totals` the counters of all nodes of a partition (the nodes that
//! one thread simulates).

mod plain;
mod totals;

pub(crate) use plain::{PlainReceive, PlainSend};
pub(crate) use totals::{Context, Totals};

use record::ChunkStatus;
use transport::Position;
use transport::tcp::Acknowledgement;
use units::{Instant, Span, State};
use wire::{Opcode, Psn};

/// A chunk in a round of its job.
pub(crate) type Key = (u32, u32);

/// A record of a host. Nearly all are plain reports of chunks; everything larger is boxed.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// A chunk arrived completely at its responder.
    Delivered(PlainReceive),
    /// The same for a report that has no plain form.
    DeliveredFull(Box<ReceiveReport>),
    /// A chunk ended at its requester.
    Sent(PlainSend),
    /// The same for a report that has no plain form.
    SentFull(Box<SendReport>),
    /// A target sent the completion of a storage operation: report of the frames it sent.
    Served(Box<SendReport>),
    /// A storage client has ended its last operation.
    ClientDone { job: u32 },
    /// A rank started a round after a barrier.
    RoundStarted {
        job: u32,
        /// From 0.
        round: u32,
        at: Instant,
    },
    /// A rank ended one of several rounds back to back.
    RoundEnded {
        job: u32,
        /// From 0.
        round: u32,
        /// Duration of the round at the rank.
        duration: Span,
    },
    /// A queue pair ran out of retries.
    QueuePairFailed { queue_pair: u32, at: Instant },
    /// A captured queue pair sent a frame.
    Frame(Box<Frame>),
    /// All data of a TCP connection that ends by itself was acknowledged.
    TcpClosed,
    /// A captured TCP connection sent a frame.
    TcpFrame(Box<TcpFrame>),
    /// A watched queue pair started a message.
    MessageStarted(Instant),
}

const _: () = assert!(size_of::<Record>() == 40, "the records of a window should fit into the cache");

impl Record {
    /// Record of a chunk that arrived completely at its responder.
    #[inline]
    pub(crate) fn delivered(report: &ReceiveReport) -> Self {
        match PlainReceive::of(report) {
            Some(plain) => Self::Delivered(plain),
            None => Self::DeliveredFull(Box::new(*report)),
        }
    }

    /// Record of a chunk that ended at its requester.
    #[inline]
    pub(crate) fn sent(report: &SendReport) -> Self {
        match PlainSend::of(report) {
            Some(plain) => Self::Sent(plain),
            None => Self::SentFull(Box::new(*report)),
        }
    }
}

/// Report of a chunk at its requester.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendReport {
    pub(crate) chunk: u32,
    pub(crate) round: u32,
    pub(crate) frames: u32,
    pub(crate) retransmits: u32,
    pub(crate) naks: u32,
    pub(crate) timeouts: u32,
    /// Congestion notifications received.
    pub(crate) cnps: u32,
    pub(crate) bytes: u64,
    /// `NEVER` until it is posted.
    pub(crate) posted: Instant,
    /// `NEVER` until it is acknowledged.
    completed: Instant,
    pub(crate) status: ChunkStatus,
}

impl SendReport {
    /// Report of a chunk before its first frame.
    pub(crate) const fn new(chunk: u32, round: u32, posted: Instant) -> Self {
        Self {
            chunk,
            round,
            frames: 0,
            retransmits: 0,
            naks: 0,
            timeouts: 0,
            cnps: 0,
            bytes: 0,
            posted,
            completed: Instant::NEVER,
            status: ChunkStatus::Unfinished,
        }
    }

    pub(crate) const fn ended(mut self, status: ChunkStatus, completed: Option<Instant>) -> Self {
        self.status = status;
        self.completed = match completed {
            Some(at) => at,
            None => Instant::NEVER,
        };
        self
    }

    /// Whether the chunk is complete without retransmissions, NAKs or timeouts.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        let is_complete = matches!(self.status, ChunkStatus::Complete);
        is_complete && self.retransmits | self.naks | self.timeouts == 0
    }

    /// Time at which all of it was acknowledged.
    pub(crate) fn completed(&self) -> Option<Instant> {
        self.completed.if_ever()
    }
}

/// Report of a chunk at its responder. Fields updated by each frame are at the start.
#[derive(Clone, Copy, Debug, State)]
#[state(equal = Self::dropped_frames)]
#[repr(C)]
pub(crate) struct ReceiveReport {
    #[state(count)]
    pub(crate) bytes: u64,
    /// Accepted frames, and their latency.
    #[state(count)]
    pub(crate) latency_sum_ps: u64,
    latency_min: Span,
    latency_max: Span,
    #[state(count)]
    pub(crate) latency_frames: u32,
    #[state(count)]
    pub(crate) frames: u32,
    /// Frames that arrived marked.
    #[state(count)]
    pub(crate) marks: u32,
    /// Congestion notifications sent.
    #[state(count)]
    pub(crate) cnps: u32,
    #[state(count)]
    pub(crate) out_of_order: u32,
    pub(crate) chunk: u32,
    pub(crate) round: u32,
    delivered: Instant,
}

impl ReceiveReport {
    /// Report of a chunk before its first frame.
    pub(crate) const fn new(chunk: u32, round: u32) -> Self {
        Self {
            chunk,
            round,
            frames: 0,
            out_of_order: 0,
            marks: 0,
            cnps: 0,
            latency_frames: 0,
            latency_sum_ps: 0,
            latency_min: Span(u64::MAX),
            latency_max: Span::ZERO,
            bytes: 0,
            delivered: Instant::NEVER,
        }
    }

    /// The same report with the latencies of `frames` accepted frames: sum, minimum, maximum.
    pub(crate) const fn with_latencies(mut self, frames: u32, sum_ps: u64, min: Span, max: Span) -> Self {
        (self.latency_frames, self.latency_sum_ps) = (frames, sum_ps);
        (self.latency_min, self.latency_max) = (min, max);
        self
    }

    pub(crate) const fn delivered_at(mut self, at: Instant) -> Self {
        self.delivered = at;
        self
    }

    /// Frames that were dropped as duplicates or beyond a gap.
    const fn dropped_frames(&self) -> u32 {
        self.frames.wrapping_sub(self.latency_frames)
    }

    /// Whether each frame was accepted, in order.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.out_of_order | (self.frames ^ self.latency_frames) == 0
    }

    /// Time at which all of it had arrived.
    pub(crate) fn delivered(&self) -> Option<Instant> {
        self.delivered.if_ever()
    }

    /// Smallest and largest latency of accepted frames.
    pub(crate) fn latency_range(&self) -> Option<(Span, Span)> {
        (self.latency_frames > 0).then_some((self.latency_min, self.latency_max))
    }

    /// Counts an accepted frame.
    #[inline]
    pub(crate) fn add_latency(&mut self, latency: Span) {
        self.latency_frames += 1;
        self.latency_sum_ps += latency.0;
        self.latency_min = self.latency_min.min(latency);
        self.latency_max = self.latency_max.max(latency);
    }
}

/// A frame as it leaves a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) sent: Instant,
    pub(crate) queue_pair: u32,
    pub(crate) psn: Psn,
    /// It is sent from the destination of the queue pair to its source.
    pub(crate) is_backward: bool,
    pub(crate) kind: FrameKind,
}

/// Contents of a captured frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FrameKind {
    Data {
        position: Position,
        ack_request: bool,
        payload_bytes: u32,
        message_bytes: u64,
        offset_bytes: u64,
    },
    /// Of a storage connection: a request, or the response to a READ.
    Verb {
        opcode: Opcode,
        ack_request: bool,
        payload_bytes: u32,
        /// Of the RETH.
        message_bytes: u64,
        offset_bytes: u64,
        /// Of the AETH.
        message_sequence: u32,
    },
    Ack {
        message_sequence: u32,
    },
    Nak {
        message_sequence: u32,
    },
    Cnp,
}

/// A TCP frame as it leaves a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpFrame {
    pub(crate) sent: Instant,
    pub(crate) connection: u32,
    pub(crate) kind: TcpFrameKind,
}

/// Contents of a captured TCP frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TcpFrameKind {
    Data {
        offset: u64,
        bytes: u32,
    },
    /// `echo` is the time at which the first bit of the acknowledged segment was sent.
    Ack {
        ack: Acknowledgement,
        echo: Instant,
    },
}
