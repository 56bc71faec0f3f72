//! What every queue pair of a host agrees on.

use units::{Instant, Span};
use wire::Psn;

/// What is done about packets that the network loses or reorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The responder takes packets in order only, and the requester resends everything from the first missing one.
    GoBackN,
    /// Each packet places itself: the responder takes packets in any order and names those that it misses.
    Selective {
        /// The responder takes packets of a window so long, from the first missing one on; at most 2^23.
        ooo_window_packets: u32,
    },
    /// Nothing: a traffic generator that counts what is lost. The requester never resends and never times out.
    None,
}

impl Recovery {
    /// Each packet places itself.
    #[inline]
    #[must_use]
    pub const fn is_selective(self) -> bool {
        matches!(self, Self::Selective { .. })
    }
}

/// Parameters of a reliable connection. All values come from the run spec; nothing here has a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// RoCE MTU: payload of a full packet [bytes].
    pub mtu_bytes: u32,
    /// Size of a full RDMA message [bytes]; at most [`Self::MESSAGE_BYTES_MAX`].
    pub message_bytes: u64,
    /// The responder acknowledges at least every so many packets; at most the window, or the window would
    /// only reopen after a timeout.
    pub ack_every: u32,
    /// At most this many packets unacknowledged; at most 2^23 (IBTA 9.7.2).
    pub window_packets: u32,
    /// Time without progress after which the requester resends.
    pub timeout: Span,
    /// Resends after a timeout, without progress in between, before the queue pair fails: it fails on timeout
    /// number `retry_count + 1`; at most 65,535 (3 bits in IBTA 11.2.5.2).
    pub retry_count: u32,
    /// What is done about loss.
    pub recovery: Recovery,
}

impl Config {
    /// The longest RDMA message: 2^31 bytes (IBTA 9.3.3, the DMA length of the RETH).
    pub const MESSAGE_BYTES_MAX: u64 = 1 << 31;

    /// Packets of a full message.
    #[must_use]
    pub const fn packets_per_message(&self) -> u64 {
        self.message_bytes.div_ceil(self.mtu_bytes as u64)
    }

    /// Packets of a work request of `bytes`, cut into messages; a request of no bytes is a packet without payload.
    #[must_use]
    pub const fn packets(&self, bytes: u64) -> u64 {
        if bytes <= self.mtu_bytes as u64 && bytes <= self.message_bytes {
            return 1;
        }
        let full_messages = bytes / self.message_bytes;
        let rest = bytes % self.message_bytes;
        full_messages * self.packets_per_message() + rest.div_ceil(self.mtu_bytes as u64)
    }

    /// Messages of a work request of `bytes`.
    #[must_use]
    pub const fn messages(&self, bytes: u64) -> u64 {
        if bytes == 0 { 1 } else { bytes.div_ceil(self.message_bytes) }
    }

    /// When the timer that starts at `now` goes off.
    #[inline]
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        if self.recovery == Recovery::None { Instant::NEVER } else { now + self.timeout }
    }

    /// Panics when a field is outside its range: the run spec is checked before it gets here.
    pub(crate) fn assert_in_range(&self) {
        assert!(self.mtu_bytes > 0, "the MTU is positive");
        assert!(
            (1..=Self::MESSAGE_BYTES_MAX).contains(&self.message_bytes),
            "a message of {} bytes is outside 1..=2^31",
            self.message_bytes
        );
        assert!(
            (1..=Psn::WINDOW_MAX).contains(&self.window_packets),
            "a window of {} packets is outside 1..=2^23",
            self.window_packets
        );
        assert!(self.retry_count <= u16::MAX.into(), "{} retries are more than 65,535", self.retry_count);
        if let Recovery::Selective { ooo_window_packets } = self.recovery {
            assert!(
                (1..=Psn::WINDOW_MAX).contains(&ooo_window_packets),
                "an out-of-order window of {ooo_window_packets} packets is outside 1..=2^23"
            );
        }
    }
}
