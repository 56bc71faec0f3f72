//! The packet as it travels: a descriptor of 32 bytes, copied by value from inbox to inbox.
//!
//! It carries what switches and ports need. What belongs to the flow (addresses, UDP ports, message sizes) lives
//! with the queue pair and is joined again when a frame is written out in full.

use crate::kernel::Message;
use transport::Position;
use units::{AttachmentId, Instant};
use wire::Psn;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Payload of a write.
    Data(Position),
    /// Acknowledgement.
    Ack,
    /// Negative acknowledgement: PSN sequence error.
    Nak,
}

impl Kind {
    const fn code(self) -> u32 {
        match self {
            Self::Data(position) => position as u32,
            Self::Ack => 4,
            Self::Nak => 5,
        }
    }

    const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::Data(Position::First),
            1 => Self::Data(Position::Middle),
            2 => Self::Data(Position::Last),
            3 => Self::Data(Position::Only),
            4 => Self::Ack,
            _ => Self::Nak,
        }
    }

    /// Traffic class: control packets overtake data.
    #[inline]
    pub(crate) const fn priority(self) -> Priority {
        match self {
            Self::Data(_) => Priority::DATA,
            Self::Ack | Self::Nak => Priority::CONTROL,
        }
    }
}

/// One of the eight priorities of IEEE 802.1Q; higher goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Priority(pub(crate) u8);

impl Priority {
    /// How many there are.
    pub(crate) const COUNT: usize = 8;
    /// Payload.
    pub(crate) const DATA: Self = Self(3);
    /// ACK and NAK.
    pub(crate) const CONTROL: Self = Self(6);
}

const PSN_BITS: u32 = 24;
const PSN_MASK: u32 = (1 << PSN_BITS) - 1;
const KIND_MASK: u32 = 7;
const SIZE_BITS: u32 = 14;
const SIZE_MASK: u32 = (1 << SIZE_BITS) - 1;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When the node it travels to acts on it.
    at: Instant,
    /// When its first bit left the sending NIC.
    pub(crate) sent: Instant,
    /// Queue pair at the receiving host.
    pub(crate) queue_pair: u32,
    /// Hash of the 5-tuple.
    pub(crate) entropy: u32,
    /// PSN, then kind.
    psn_kind: u32,
    /// Frame size, then destination.
    size_destination: u32,
}

const _: () = assert!(size_of::<Packet>() == 32, "the hot path copies 32 bytes per packet");

impl Packet {
    /// A packet that has not left yet.
    #[inline]
    pub(crate) const fn new(
        kind: Kind,
        psn: Psn,
        frame_bytes: u32,
        destination: AttachmentId,
        queue_pair: u32,
        entropy: u32,
    ) -> Self {
        Self {
            at: Instant::ZERO,
            sent: Instant::ZERO,
            queue_pair,
            entropy,
            psn_kind: psn.value() | kind.code() << PSN_BITS,
            size_destination: frame_bytes | destination.0 << SIZE_BITS,
        }
    }

    /// The same packet, acted on by the next node at `at`.
    #[inline]
    pub(crate) const fn arriving(mut self, at: Instant) -> Self {
        self.at = at;
        self
    }

    /// The same packet, its first bit leaving the NIC at `sent`.
    #[inline]
    pub(crate) const fn leaving(mut self, sent: Instant) -> Self {
        self.sent = sent;
        self
    }

    #[inline]
    pub(crate) const fn kind(&self) -> Kind {
        Kind::from_code(self.psn_kind >> PSN_BITS & KIND_MASK)
    }

    #[inline]
    pub(crate) const fn psn(&self) -> Psn {
        Psn::new(self.psn_kind & PSN_MASK)
    }

    /// Frame bytes, FCS included, preamble and gap not.
    #[inline]
    pub(crate) const fn frame_bytes(&self) -> u32 {
        self.size_destination & SIZE_MASK
    }

    #[inline]
    pub(crate) const fn destination(&self) -> AttachmentId {
        AttachmentId(self.size_destination >> SIZE_BITS)
    }
}

impl Message for Packet {
    #[inline]
    fn at(&self) -> Instant {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_every_field_at_its_limit() {
        for kind in [Kind::Data(Position::First), Kind::Data(Position::Only), Kind::Ack, Kind::Nak] {
            let packet = Packet::new(kind, Psn::new(0xff_ffff), 9_216, AttachmentId((1 << 18) - 1), 7, 9);
            assert_eq!(packet.kind(), kind);
            assert_eq!(packet.psn(), Psn::new(0xff_ffff));
            assert_eq!(packet.frame_bytes(), 9_216);
            assert_eq!(packet.destination(), AttachmentId((1 << 18) - 1));
        }
    }
}
