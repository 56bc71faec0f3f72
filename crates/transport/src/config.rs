//! What every queue pair of a host agrees on.

use units::Span;

/// Parameters of a reliable connection. All values come from the run spec; nothing here has a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// RoCE MTU: payload of a full packet [bytes].
    pub mtu_bytes: u32,
    /// Size of a full RDMA message [bytes].
    pub message_bytes: u64,
    /// The responder acknowledges at least every so many packets.
    pub ack_every: u32,
    /// At most this many packets unacknowledged; at most 2^23 (IBTA 9.7.2).
    pub window_packets: u32,
    /// Time without progress after which the requester resends.
    pub timeout: Span,
    /// Timeouts in a row after which the queue pair fails.
    pub retry_count: u32,
}

impl Config {
    /// Packets of a full message.
    #[must_use]
    pub const fn packets_per_message(&self) -> u64 {
        self.message_bytes.div_ceil(self.mtu_bytes as u64)
    }

    /// Packets of a work request of `bytes`, cut into messages.
    #[must_use]
    pub const fn packets(&self, bytes: u64) -> u64 {
        let full_messages = bytes / self.message_bytes;
        let rest = bytes % self.message_bytes;
        full_messages * self.packets_per_message() + rest.div_ceil(self.mtu_bytes as u64)
    }

    /// Messages of a work request of `bytes`.
    #[must_use]
    pub const fn messages(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.message_bytes)
    }
}
