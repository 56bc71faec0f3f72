//! Types of packets that a requester sends: position in the message, fields that switches and the peer need,
//! all fields on the wire.

use wire::Psn;

/// Position of a packet in its message.
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
    /// Position of a packet that does or does not start and end its message.
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

    /// Whether it is first or only: has the RETH.
    #[inline]
    #[must_use]
    pub const fn starts_message(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether it is last or only.
    #[inline]
    #[must_use]
    pub const fn ends_message(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// A packet to send, with the fields that switches and the peer need; [`Transmit`] has all fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextPacket {
    /// Packet sequence number.
    pub psn: Psn,
    /// Position in its message. With selective recovery every packet is a message of its own.
    pub position: Position,
    /// It requests an acknowledgement: the last packet of a full message, or one resent by selective
    /// recovery.
    pub ack_request: bool,
    /// Payload, without padding [bytes].
    pub payload_bytes: u32,
    /// It was sent before.
    pub is_retransmission: bool,
    /// Index of its work request among the uncompleted ones; 0 is the oldest.
    pub work: usize,
}

/// A packet to send, with all fields that are written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Fields for the network.
    pub packet: NextPacket,
    /// Payload of its message [bytes], for the RETH.
    pub message_bytes: u64,
    /// Offset of this payload in its work request [bytes].
    pub offset_bytes: u64,
}
