//! The congestion window and what moves it.

use super::{CongestionKind, Cubic, Dctcp, NewReno, TcpConfig};
use units::{Instant, Span};

/// In slow start the window grows by at most so many segments for each acknowledgement (RFC 3465, 2.2: L).
const SLOW_START_SEGMENTS: u64 = 2;
/// No reduction goes below so many segments (RFC 5681, equation 4).
const WINDOW_SEGMENTS_MIN: u64 = 2;

/// The congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionWindow {
    /// How much may be under way [bytes].
    pub bytes: u64,
    /// Below it the window grows by slow start [bytes].
    pub slow_start_threshold: u64,
    /// Maximum segment size [bytes].
    pub mss: u64,
}

/// An acknowledgement of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Instant,
    /// Bytes it acknowledges for the first time.
    pub acked: u64,
    /// Everything before it is acknowledged.
    pub acked_until: u64,
    /// Everything before it has been sent.
    pub sent_until: u64,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Span,
    /// The congestion window, and nothing else, held the sender back: the window may grow.
    pub is_window_limited: bool,
    /// It echoes congestion experienced.
    pub congestion_echo: bool,
    /// The sender recovers from a loss, which reduced the window already: it neither grows nor shrinks.
    pub is_recovering: bool,
}

impl CongestionWindow {
    pub(super) const fn new(config: &TcpConfig) -> Self {
        Self {
            bytes: config.initial_window_bytes(),
            slow_start_threshold: u64::MAX,
            mss: config.mss_bytes as u64,
        }
    }

    /// The window grows by slow start.
    #[inline]
    #[must_use]
    pub const fn is_in_slow_start(&self) -> bool {
        self.bytes < self.slow_start_threshold
    }

    /// Slow start: one step for an acknowledgement of `acked` bytes.
    #[inline]
    pub(super) fn grow_in_slow_start(&mut self, acked: u64) {
        self.bytes += acked.min(SLOW_START_SEGMENTS * self.mss);
    }

    /// Sets the window, and the threshold with it, after a loss or a mark.
    pub(super) fn reduce_to(&mut self, bytes: u64) {
        self.slow_start_threshold = bytes.max(WINDOW_SEGMENTS_MIN * self.mss);
        self.bytes = self.slow_start_threshold;
    }

    /// After a timeout one segment is under way (RFC 5681, equation 4 and the loss window).
    pub(super) fn collapse(&mut self, threshold: u64) {
        self.slow_start_threshold = threshold.max(WINDOW_SEGMENTS_MIN * self.mss);
        self.bytes = self.mss;
    }
}

/// Sets the congestion window. `in_flight` is what was under way when the loss was found, without what
/// limited transmit added (RFC 5681, 3.2).
pub trait CongestionControl {
    /// New data was acknowledged.
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent);

    /// A loss was found by selective acknowledgements: once for each window of data.
    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64);

    /// The retransmission timer went off.
    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64);
}

/// One of the algorithms, chosen when a connection is set up. All connections of a host agree as a rule, so
/// the branch is predicted.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// See [`NewReno`].
    NewReno(NewReno),
    /// See [`Cubic`].
    Cubic(Cubic),
    /// See [`Dctcp`].
    Dctcp(Dctcp),
}

impl Congestion {
    /// At the start of a connection.
    #[must_use]
    pub fn new(kind: CongestionKind) -> Self {
        match kind {
            CongestionKind::NewReno => Self::NewReno(NewReno::default()),
            CongestionKind::Cubic => Self::Cubic(Cubic::default()),
            CongestionKind::Dctcp => Self::Dctcp(Dctcp::default()),
        }
    }
}

impl CongestionControl for Congestion {
    #[inline]
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent) {
        match self {
            Self::NewReno(newreno) => newreno.on_ack(window, event),
            Self::Cubic(cubic) => cubic.on_ack(window, event),
            Self::Dctcp(dctcp) => dctcp.on_ack(window, event),
        }
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        match self {
            Self::NewReno(newreno) => newreno.on_loss(window, in_flight),
            Self::Cubic(cubic) => cubic.on_loss(window, in_flight),
            Self::Dctcp(dctcp) => dctcp.on_loss(window, in_flight),
        }
    }

    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        match self {
            Self::NewReno(newreno) => newreno.on_timeout(window, in_flight),
            Self::Cubic(cubic) => cubic.on_timeout(window, in_flight),
            Self::Dctcp(dctcp) => dctcp.on_timeout(window, in_flight),
        }
    }
}
