//! Parameters common to both ends of a TCP connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

/// Congestion control algorithm: it sets the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TcpCongestion")]
pub enum CongestionKind {
    /// RFC 5681 and 6675.
    #[serde(rename = "newreno")]
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: reduces the window by the fraction of marked bytes; frames are ECN-capable.
    Dctcp,
}

/// Parameters of a connection. All values come from the caller; nothing here has a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Payload of a full segment, without options [bytes].
    pub mss_bytes: u32,
    /// First congestion window [segments].
    pub initial_window_segments: u32,
    /// Maximum of unacknowledged bytes: the smaller of the send buffer and the receive window.
    pub window_bytes: u64,
    /// Segments in order that one acknowledgement covers, 1 or 2.
    pub ack_every: u32,
    /// Longest delay of an acknowledgement.
    pub delayed_ack: Span,
    /// Retransmission timeout before a round-trip time is measured.
    pub rto_initial: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Largest retransmission timeout.
    pub rto_max: Span,
    /// Congestion control algorithm.
    pub congestion: CongestionKind,
}

impl TcpConfig {
    /// The first congestion window [bytes].
    #[must_use]
    pub const fn initial_window_bytes(&self) -> u64 {
        self.initial_window_segments as u64 * self.mss_bytes as u64
    }

    /// Panics if a field is invalid; the run spec is validated before.
    pub(crate) fn assert_in_range(&self) {
        assert!(self.mss_bytes > 0, "the MSS is positive");
        assert!(self.initial_window_segments > 0, "the first window is positive");
        assert!(self.window_bytes >= u64::from(self.mss_bytes), "the window holds a segment");
        assert!(self.ack_every > 0, "some segments are acknowledged");
        assert!(self.rto_min <= self.rto_max, "the timeouts are in order");
    }
}
