//! What a requester sends.

use wire::Psn;

/// Where a packet stands in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Position {
    /// First of several.
    First,
    /// Neither first nor last.
    Middle,
    /// Last of several.
    Last,
    /// The whole message.
    Only,
}

impl Position {
    /// From the two ends it may stand at.
    #[inline]
    #[must_use]
    pub const fn new(starts_message: bool, ends_message: bool) -> Self {
        match (starts_message, ends_message) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    /// First or only: carries the RETH.
    #[inline]
    #[must_use]
    pub const fn starts_message(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Last or only.
    #[inline]
    #[must_use]
    pub const fn ends_message(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// A packet to send, as a switch and the other end need it; [`Transmit`] is all that there is to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextPacket {
    /// Packet sequence number.
    pub psn: Psn,
    /// Place in its message. With selective recovery every packet is a message of its own.
    pub position: Position,
    /// It asks for an acknowledgement: it is the last of a full message, or resent by selective recovery.
    pub ack_request: bool,
    /// Payload, without padding [bytes].
    pub payload_bytes: u32,
    /// Sent before.
    pub is_retransmission: bool,
    /// Which of the uncompleted work requests it belongs to, the oldest being 0.
    pub work: usize,
}

/// A packet to send, with what is written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Packet sequence number.
    pub psn: Psn,
    /// Place in its message. With selective recovery every packet is a message of its own.
    pub position: Position,
    /// It asks for an acknowledgement: it is the last of a full message, or resent by selective recovery.
    pub ack_request: bool,
    /// Payload, without padding [bytes].
    pub payload_bytes: u32,
    /// Payload of its message [bytes], for the RETH.
    pub message_bytes: u64,
    /// Offset of this payload in its work request [bytes].
    pub offset_bytes: u64,
    /// Sent before.
    pub is_retransmission: bool,
    /// Which of the uncompleted work requests it belongs to, the oldest being 0.
    pub work: usize,
}
