//! What is told while a run goes on.

use units::{Instant, Span};

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Payload delivered in order [bytes].
    pub delivered_bytes: u64,
    /// Payload to deliver in all [bytes].
    pub total_bytes: u64,
    /// Simulated time.
    pub simulated: Instant,
    /// Frames that crossed a link.
    pub packet_hops: u64,
    /// Simulated time since payload was last delivered of a job that ends by itself, and how long that may be
    /// before the run is ended.
    pub waiting: Span,
    /// See `waiting`.
    pub patience: Span,
    /// Chunks of the jobs that end by themselves that have not ended.
    pub open_chunks: u64,
    /// What was sampled since the last report, in order of time: 128 at the most. Where more were taken,
    /// neighbours are joined.
    pub samples: Vec<Sample>,
}

/// What happened between two samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at: Instant,
    /// Time since the one before, never zero.
    pub span: Span,
    /// Payload delivered in that time, of all jobs [bytes].
    pub delivered_bytes: u64,
    /// What the ports say; none where no port is sampled.
    pub ports: Option<PortSample>,
}

/// What was seen at ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// Deepest egress queue of all ports of switches at the time of the sample [bytes].
    pub queue_max_bytes: u64,
    /// Frames marked with congestion experienced at the sampled ports (`series_ports` of the spec) since the
    /// sample before.
    pub marked_frames: u64,
    /// Time that the sampled ports spent paused since then, the sum of ports and priorities.
    pub paused: Span,
}
