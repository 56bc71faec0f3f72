//! Types of the progress reports of a run: payload delivered, simulated time, open chunks (parts of
//! transfers), and samples of the ports for a live view.

use units::{Instant, Span};

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Payload delivered in order [bytes].
    pub delivered_bytes: u64,
    /// Total payload to deliver [bytes].
    pub total_bytes: u64,
    /// Simulated time.
    pub simulated: Instant,
    /// Frames that crossed a link.
    pub packet_hops: u64,
    /// Simulated time since the last delivery of payload of a job that ends by itself; the run is ended when
    /// it exceeds `patience`.
    pub waiting: Span,
    /// See `waiting`.
    pub patience: Span,
    /// Open chunks of the jobs that end by themselves.
    pub open_chunks: u64,
    /// Samples since the last report, in order of time: at most 128. If more were taken, adjacent ones are
    /// merged.
    pub samples: Vec<Sample>,
}

/// Events between two samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the sample.
    pub at: Instant,
    /// Time since the previous sample, never zero.
    pub span: Span,
    /// Payload delivered in that time, of all jobs [bytes].
    pub delivered_bytes: u64,
    /// State of the ports; `None` if no port is sampled.
    pub ports: Option<PortSample>,
}

/// State of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// Deepest egress queue of all ports of switches at the time of the sample [bytes].
    pub queue_max_bytes: u64,
    /// Frames marked with congestion experienced at the sampled ports (`series_ports` of the spec) since the
    /// previous sample.
    pub marked_frames: u64,
    /// Time for which the sampled ports were paused since then, summed over ports and priorities.
    pub paused: Span,
}
