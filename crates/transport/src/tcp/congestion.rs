//! TCP congestion window, the interface of congestion control, and the algorithm of a connection.

use super::{CongestionKind, Cubic, Dctcp, NewReno, TcpConfig};
use units::{Instant, Span};

/// Maximum growth of the window per acknowledgement in slow start [segments] (RFC 3465, 2.2: L).
const SLOW_START_SEGMENTS: u64 = 2;
/// Smallest window after a reduction [segments] (RFC 5681, equation 4).
const WINDOW_SEGMENTS_MIN: u64 = 2;

/// The congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionWindow {
    /// Maximum of bytes in flight.
    pub bytes: u64,
    /// The window grows by slow start below this [bytes].
    pub slow_start_threshold: u64,
    /// Maximum segment size [bytes].
    pub mss: u64,
}

/// An acknowledgement of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Time of arrival.
    pub now: Instant,
    /// Bytes it acknowledges for the first time.
    pub acked: u64,
    /// Offset before which everything is acknowledged.
    pub acked_until: u64,
    /// Offset before which everything has been sent.
    pub sent_until: u64,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Span,
    /// Only the congestion window limited the sender: the window may grow.
    pub is_window_limited: bool,
    /// It echoes "congestion experienced".
    pub congestion_echo: bool,
    /// The sender recovers from a loss, which has already reduced the window: the window does not change.
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

    /// Whether the window grows by slow start.
    #[inline]
    #[must_use]
    pub const fn is_in_slow_start(&self) -> bool {
        self.bytes < self.slow_start_threshold
    }

    /// Slow start: growth for an acknowledgement of `acked` bytes.
    #[inline]
    pub(super) fn grow_in_slow_start(&mut self, acked: u64) {
        self.bytes += acked.min(SLOW_START_SEGMENTS * self.mss);
    }

    /// Sets the window, and the threshold with it, after a loss or a mark.
    pub(super) fn reduce_to(&mut self, bytes: u64) {
        self.slow_start_threshold = bytes.max(WINDOW_SEGMENTS_MIN * self.mss);
        self.bytes = self.slow_start_threshold;
    }

    /// Sets the window to one segment after a timeout (RFC 5681, equation 4 and the loss window).
    pub(super) fn collapse(&mut self, threshold: u64) {
        self.slow_start_threshold = threshold.max(WINDOW_SEGMENTS_MIN * self.mss);
        self.bytes = self.mss;
    }
}

/// Adjusts the congestion window. `in_flight` is the number of bytes in flight when the loss was detected,
/// without those added by limited transmit (RFC 5681, 3.2).
pub trait CongestionControl {
    /// New data was acknowledged.
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent);

    /// A loss was detected by selective acknowledgements: once per window of data.
    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64);

    /// The retransmission timer expired.
    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64);
}

/// Congestion control of a connection, chosen when it is set up. Usually all connections of a host use the
/// same variant, so the branch is predicted.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// NewReno; see [`NewReno`].
    NewReno(NewReno),
    /// CUBIC; see [`Cubic`].
    Cubic(Cubic),
    /// DCTCP; see [`Dctcp`].
    Dctcp(Dctcp),
}

impl Congestion {
    /// State at the start of a connection.
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
