//! What both ends of a connection agree on.

use units::Span;

/// Which algorithm sets the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681 with SACK.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: marks are echoed and weighed.
    Dctcp,
}

/// Parameters of a connection. All values come from the caller; nothing here has a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Payload of a full segment, options taken off [bytes].
    pub mss_bytes: u32,
    /// First congestion window [segments].
    pub initial_window_segments: u32,
    /// At most so much unacknowledged: the smaller of the send buffer and the receive window [bytes].
    pub window_bytes: u64,
    /// Segments in order that one acknowledgement covers, 1 or 2.
    pub ack_every: u32,
    /// After this time it is sent at the latest.
    pub delayed_ack: Span,
    /// Retransmission timeout before a round-trip time is known.
    pub rto_initial: Span,
    /// Smallest one.
    pub rto_min: Span,
    /// Largest one.
    pub rto_max: Span,
    /// What sets the congestion window.
    pub congestion: CongestionKind,
}

impl TcpConfig {
    /// The first congestion window [bytes].
    #[must_use]
    pub const fn initial_window_bytes(&self) -> u64 {
        self.initial_window_segments as u64 * self.mss_bytes as u64
    }

    /// Panics when a field makes no sense: the run spec is checked before it gets here.
    pub(crate) fn assert_in_range(&self) {
        assert!(self.mss_bytes > 0, "the MSS is positive");
        assert!(self.initial_window_segments > 0, "the first window is positive");
        assert!(self.window_bytes >= u64::from(self.mss_bytes), "the window holds a segment");
        assert!(self.ack_every > 0, "some segments are acknowledged");
        assert!(self.rto_min <= self.rto_max, "the timeouts are in order");
    }
}
