//! The packet in transit, with its kinds, priorities and colours (drop precedence): a descriptor of 32 bytes,
//! copied by value from inbox to inbox (the queue of messages in flight on a link).
//!
//! It contains the fields that switches and ports need. Fields of the flow (addresses, UDP ports, message
//! sizes) are stored with the queue pair and added when a frame is captured.

use engine::Message;
use transport::Position;
use units::{AttachmentId, Cycle, Instant, State};
use wire::Psn;
use wire::infiniband::flow_control::BlockCount;
use wire::size::{FLOW_CONTROL_PACKET_BYTES, PFC_FRAME_BYTES};

/// Frames in a queue or on a link that are prefetched.
pub(crate) const FRAMES_AHEAD: usize = 16;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Payload of a write.
    Data(Position),
    /// Acknowledgement.
    Ack,
    /// Negative acknowledgement: PSN sequence error.
    Nak,
    /// Congestion notification.
    Cnp,
    /// Flow control of a link: pause or resume, or credits on an InfiniBand fabric; never routed.
    LinkControl,
    /// TCP segment with payload; the PSN is its number in the stream.
    TcpData,
    /// TCP acknowledgement, with or without an echo of congestion experienced; the PSN is the number of the
    /// next expected segment.
    TcpAck { congestion_echo: bool },
}

impl Kind {
    const fn code(self) -> u32 {
        match self {
            Self::Data(position) => position as u32,
            Self::Ack => 4,
            Self::Nak => 5,
            Self::Cnp => 6,
            Self::LinkControl => 7,
            Self::TcpData => TCP | 4,
            Self::TcpAck { congestion_echo: false } => TCP | 5,
            Self::TcpAck { congestion_echo: true } => TCP | 6,
        }
    }

    const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::Data(Position::First),
            1 => Self::Data(Position::Middle),
            2 => Self::Data(Position::Last),
            3 => Self::Data(Position::Only),
            4 => Self::Ack,
            5 => Self::Nak,
            6 => Self::Cnp,
            7 => Self::LinkControl,
            _ => Self::tcp_from_code(code),
        }
    }
}

impl Kind {
    #[cold]
    const fn tcp_from_code(code: u32) -> Self {
        match code & KIND_MASK {
            4 => Self::TcpData,
            5 => Self::TcpAck { congestion_echo: false },
            _ => Self::TcpAck { congestion_echo: true },
        }
    }
}

/// One of the eight priorities of IEEE 802.1Q; strict scheduling serves higher ones first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) struct Priority(pub(crate) u8);

impl Priority {
    /// Number of priorities.
    pub(crate) const COUNT: usize = 8;

    /// The bit of this priority in a mask.
    #[inline]
    pub(crate) const fn bit(self) -> u8 {
        1 << self.0
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Drop precedence, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
}

impl Colour {
    pub(crate) const COUNT: usize = 3;
}

const PSN_BITS: u32 = 24;
const PSN_MASK: u32 = (1 << PSN_BITS) - 1;
const KIND_SHIFT: u32 = PSN_BITS;
const KIND_MASK: u32 = 7;
/// Packets without payload never request an acknowledgement: with that bit set, their codes are those of TCP.
const TCP: u32 = ACK_REQUEST >> KIND_SHIFT;
const PRIORITY_SHIFT: u32 = KIND_SHIFT + 3;
const PRIORITY_MASK: u32 = 7;
/// Congestion experienced.
const MARK: u32 = 1 << (PRIORITY_SHIFT + 3);
/// An acknowledgement is requested.
const ACK_REQUEST_SHIFT: u32 = PRIORITY_SHIFT + 4;
const ACK_REQUEST: u32 = 1 << ACK_REQUEST_SHIFT;
const SIZE_BITS: u32 = 14;
const SIZE_MASK: u32 = (1 << SIZE_BITS) - 1;
/// Maximum number of host ports that packets can address.
pub(crate) const DESTINATIONS_MAX: usize = 1 << (u32::BITS - SIZE_BITS);

/// Position of the pad count in the departure time of payload: two bits. A TCP segment has no padding, and
/// stores its ECN capability there.
const PAD_SHIFT: u32 = 62;
/// Position of the colour, also of ACK, NAK and CNP: two bits, above 13 days.
const COLOUR_SHIFT: u32 = 60;
const COLOUR_MASK: u64 = 3 << COLOUR_SHIFT;
const SENT_MASK: u64 = (1 << COLOUR_SHIFT) - 1;

/// Bits of a block count; a flow control packet has two of them in its PSN field.
const BLOCK_COUNT_BITS: u32 = 12;

/// A packet in transit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Time at which the next node processes it.
    at: Instant,
    /// Time at which its first bit left the sending NIC, and of payload in the highest bits the pad count of
    /// the BTH. Of ACK and NAK, whose latency is not measured, the message sequence number of the AETH. Also
    /// its colour.
    sent: Instant,
    /// Queue pair at the receiving host.
    pub(crate) queue_pair: u32,
    /// Hash of the 5-tuple.
    pub(crate) entropy: u32,
    /// PSN, kind, priority, mark and ACK request.
    header: u32,
    /// Frame size, then destination.
    size_destination: u32,
}

const _: () = assert!(size_of::<Packet>() == 32, "the hot path copies 32 bytes per packet");

/// Fields that determine the route of a packet through the fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Destination host port.
    pub(crate) destination: AttachmentId,
    /// Queue pair at the receiving host.
    pub(crate) queue_pair: u32,
    /// Hash of the 5-tuple.
    pub(crate) entropy: u32,
}

impl Packet {
    /// Maximum size of a frame.
    pub(crate) const FRAME_BYTES_MAX: u32 = SIZE_MASK;

    /// A packet that has not been sent.
    #[inline]
    pub(crate) const fn new(kind: Kind, priority: Priority, psn: Psn, frame_bytes: u32, path: Path) -> Self {
        Self {
            at: Instant::ZERO,
            sent: Instant::ZERO,
            queue_pair: path.queue_pair,
            entropy: path.entropy,
            header: psn.value() | (kind.code() << KIND_SHIFT) | ((priority.0 as u32) << PRIORITY_SHIFT),
            size_destination: frame_bytes | (path.destination.0 << SIZE_BITS),
        }
    }

    /// A pause frame for `priority`; 0 quanta end the pause.
    pub(crate) const fn pause(priority: Priority, quanta: u16) -> Self {
        let path = Path { destination: AttachmentId(0), queue_pair: 0, entropy: 0 };
        Self::new(Kind::LinkControl, priority, Psn::new(quanta as u32), PFC_FRAME_BYTES, path)
    }

    /// An InfiniBand flow control packet for the virtual lane of `priority`: FCTBS and FCCL.
    pub(crate) const fn credit(priority: Priority, total_sent: BlockCount, limit: BlockCount) -> Self {
        let path = Path { destination: AttachmentId(0), queue_pair: 0, entropy: 0 };
        let counts = (total_sent.value() as u32) << BLOCK_COUNT_BITS | limit.value() as u32;
        Self::new(Kind::LinkControl, priority, Psn::new(counts), FLOW_CONTROL_PACKET_BYTES, path)
    }

    /// FCTBS and FCCL of a flow control packet.
    pub(crate) fn credit_counts(&self) -> (BlockCount, BlockCount) {
        let counts = u64::from(self.header & PSN_MASK);
        (BlockCount::of(counts >> BLOCK_COUNT_BITS), BlockCount::of(counts))
    }

    /// Pause time of a pause frame [quanta].
    pub(crate) const fn quanta(&self) -> u16 {
        (self.header & PSN_MASK) as u16
    }

    /// The same packet, processed by the next node at `at`.
    #[inline]
    pub(crate) const fn arriving(&self, at: Instant) -> Self {
        Self { at, ..*self }
    }

    /// The same packet, with `payload_bytes` of payload, padded to a multiple of four bytes.
    #[inline]
    pub(crate) const fn padded(mut self, payload_bytes: u32) -> Self {
        let pad_bytes = payload_bytes.wrapping_neg() & 3;
        self.sent = Instant((pad_bytes as u64) << PAD_SHIFT);
        self
    }

    /// Padding of its payload [bytes].
    #[inline]
    pub(crate) const fn pad_bytes(&self) -> u32 {
        (self.sent.0 >> PAD_SHIFT) as u32
    }

    /// The same packet, its first bit leaving the NIC at `sent`.
    #[inline]
    pub(crate) const fn leaving(mut self, sent: Instant) -> Self {
        self.sent = Instant(self.sent.0 | sent.0);
        self
    }

    /// Time at which the first bit of a data packet left the sending NIC.
    #[inline]
    pub(crate) const fn sent(&self) -> Instant {
        Instant(self.sent.0 & SENT_MASK)
    }

    /// The same packet, with or without a request for an acknowledgement.
    #[inline]
    pub(crate) const fn with_ack_request(mut self, ack_request: bool) -> Self {
        self.header |= (ack_request as u32) << ACK_REQUEST_SHIFT;
        self
    }

    /// An acknowledgement is requested.
    #[inline]
    pub(crate) const fn requests_ack(&self) -> bool {
        self.header >> ACK_REQUEST_SHIFT != 0
    }

    /// The same TCP acknowledgement, with this digest of its SACK option; see [`crate::nic::tcp::sack`].
    #[inline]
    pub(crate) const fn with_sack(mut self, digest: u64) -> Self {
        self.sent = Instant(digest);
        self
    }

    /// The digest of the SACK option of a TCP acknowledgement.
    #[inline]
    pub(crate) const fn sack(&self) -> u64 {
        self.sent.0
    }

    /// The same ACK or NAK, with this message sequence number of 24 bits.
    #[inline]
    pub(crate) const fn with_message_sequence(mut self, message_sequence: u32) -> Self {
        self.sent = Instant(message_sequence as u64);
        self
    }

    /// Message sequence number of an ACK or NAK; with selective recovery, a PSN.
    #[inline]
    pub(crate) const fn message_sequence(&self) -> u32 {
        self.sent.0 as u32
    }

    /// The same TCP segment, with or without ECN capability.
    #[inline]
    pub(crate) const fn ecn_capable(mut self, is_capable: bool) -> Self {
        self.sent.0 |= (is_capable as u64) << PAD_SHIFT;
        self
    }

    /// It may be marked: its IP header has ECT(0), as have all frames of RDMA.
    pub(crate) const fn is_ecn_capable(&self) -> bool {
        match self.kind() {
            Kind::Data(_) | Kind::Ack | Kind::Nak | Kind::Cnp => true,
            Kind::TcpData => self.pad_bytes() != 0,
            Kind::TcpAck { .. } | Kind::LinkControl => false,
        }
    }

    /// Sets its colour; a TCP acknowledgement has no field for it.
    pub(crate) const fn set_colour(&mut self, colour: Colour) {
        self.sent.0 = self.sent.0 & !COLOUR_MASK | (colour as u64) << COLOUR_SHIFT;
    }

    /// Its colour; green unless set.
    pub(crate) const fn colour(&self) -> Colour {
        match (self.kind(), self.sent.0 & COLOUR_MASK) {
            (Kind::TcpAck { .. }, _) | (_, 0) => Colour::Green,
            (_, colour) if colour == (Colour::Yellow as u64) << COLOUR_SHIFT => Colour::Yellow,
            _ => Colour::Red,
        }
    }

    /// Marks the packet with congestion experienced.
    #[inline]
    pub(crate) const fn mark(&mut self) {
        self.header |= MARK;
    }

    /// Congestion was experienced.
    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.header & MARK != 0
    }

    #[inline]
    pub(crate) const fn kind(&self) -> Kind {
        let code = self.header >> KIND_SHIFT & KIND_MASK;
        // Only payload, codes 0 to 3, may request an acknowledgement.
        let tcp = if code > 3 { (self.header & ACK_REQUEST) >> KIND_SHIFT } else { 0 };
        Kind::from_code(code | tcp)
    }

    /// Position of payload in its message; `None` without payload.
    #[inline]
    pub(crate) const fn position(&self) -> Option<Position> {
        match self.header >> KIND_SHIFT & KIND_MASK {
            0 => Some(Position::First),
            1 => Some(Position::Middle),
            2 => Some(Position::Last),
            3 => Some(Position::Only),
            _ => None,
        }
    }

    #[inline]
    pub(crate) const fn is_ack(&self) -> bool {
        self.header >> KIND_SHIFT & (KIND_MASK | TCP) == Kind::Ack.code()
    }

    #[inline]
    pub(crate) const fn is_link_control(&self) -> bool {
        self.header >> KIND_SHIFT & KIND_MASK == Kind::LinkControl.code()
    }

    #[inline]
    pub(crate) const fn priority(&self) -> Priority {
        Priority((self.header >> PRIORITY_SHIFT & PRIORITY_MASK) as u8)
    }

    #[inline]
    pub(crate) const fn psn(&self) -> Psn {
        Psn::new(self.header & PSN_MASK)
    }

    /// Frame bytes, including the FCS, without preamble and gap.
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

impl State for Packet {
    fn visit(&mut self, cycle: &mut Cycle) {
        let kind = self.kind();
        let Self { at, sent, queue_pair, entropy, header, size_destination } = self;
        at.visit(cycle);
        match kind {
            Kind::Ack | Kind::Nak => {
                let (mut colour, mut message_sequence) = (sent.0 & COLOUR_MASK, Psn::new(sent.0 as u32));
                colour.visit(cycle);
                message_sequence.visit(cycle);
                sent.0 = u64::from(message_sequence.value()) | colour;
            }
            Kind::Data(_) | Kind::Cnp | Kind::LinkControl => {
                let (mut pad, mut left) = (sent.0 & !SENT_MASK, Instant(sent.0 & SENT_MASK));
                pad.visit(cycle);
                left.visit(cycle);
                *sent = Instant(left.0 | pad);
            }
            Kind::TcpData | Kind::TcpAck { .. } => cycle.never_repeats(),
        }
        // The quanta of link control are where other packets have their PSN.
        if kind != Kind::LinkControl {
            let (fixed, mut psn) = (*header & !PSN_MASK, Psn::new(*header & PSN_MASK));
            psn.visit(cycle);
            *header = fixed | psn.value();
            cycle.same(fixed.into());
        } else {
            header.visit(cycle);
        }
        queue_pair.visit(cycle);
        entropy.visit(cycle);
        size_destination.visit(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_every_field_at_its_limit() {
        let path = Path { destination: AttachmentId((1 << 18) - 1), queue_pair: u32::MAX, entropy: u32::MAX };
        for code in 0..8 {
            let kind = Kind::from_code(code);
            let mut packet = Packet::new(kind, Priority(7), Psn::new(0xff_ffff), 9_216, path);
            assert!(!packet.is_marked());
            assert!(!packet.requests_ack() && !packet.with_ack_request(false).requests_ack());
            packet.mark();
            packet = packet.with_ack_request(code < 4).with_message_sequence(0xff_ffff);
            assert!(packet.is_marked() && packet.requests_ack() == (code < 4));
            assert_eq!(packet.message_sequence(), 0xff_ffff);
            assert_eq!((packet.kind(), packet.priority()), (kind, Priority(7)));
            assert_eq!(packet.position().map(Kind::Data), Some(kind).filter(|_| code < 4));
            assert_eq!(packet.is_ack(), kind == Kind::Ack);
            assert_eq!((packet.psn(), packet.frame_bytes()), (Psn::new(0xff_ffff), 9_216));
            assert_eq!(packet.destination(), AttachmentId((1 << 18) - 1));
        }
    }

    #[test]
    fn a_colour_moves_nothing_else() {
        let path = Path { destination: AttachmentId(1), queue_pair: 2, entropy: 3 };
        let sent = Instant(SENT_MASK);
        let data = Packet::new(Kind::Data(Position::Only), Priority(3), Psn::new(1), 1_000, path);
        let data = data.padded(1).leaving(sent);
        let ack = Packet::new(Kind::Ack, Priority(3), Psn::new(1), 64, path).with_message_sequence(0xff_ffff);
        let tcp = Packet::new(Kind::TcpData, Priority(3), Psn::new(1), 1_000, path).leaving(sent);
        assert!(data.is_ecn_capable() && ack.is_ecn_capable() && !tcp.is_ecn_capable());
        assert!(tcp.ecn_capable(true).is_ecn_capable());
        for mut packet in [data, ack, tcp.ecn_capable(true)] {
            assert_eq!(packet.colour(), Colour::Green);
            for colour in [Colour::Red, Colour::Yellow, Colour::Green] {
                let before = (packet.sent(), packet.pad_bytes(), packet.message_sequence());
                packet.set_colour(colour);
                assert_eq!(packet.colour(), colour);
                assert_eq!((packet.sent(), packet.pad_bytes(), packet.message_sequence()), before);
            }
        }
        assert_eq!((data.sent(), data.pad_bytes()), (sent, 3));
    }

    #[test]
    fn tcp_has_codes_of_its_own() {
        let path = Path { destination: AttachmentId(1), queue_pair: 2, entropy: 3 };
        for kind in
            [Kind::TcpData, Kind::TcpAck { congestion_echo: false }, Kind::TcpAck { congestion_echo: true }]
        {
            let packet = Packet::new(kind, Priority(7), Psn::new(0xff_ffff), 9_216, path).with_sack(u64::MAX);
            assert_eq!((packet.kind(), packet.priority()), (kind, Priority(7)));
            assert_eq!((packet.psn(), packet.sack()), (Psn::new(0xff_ffff), u64::MAX));
            assert!(!packet.is_link_control() && !packet.is_ack() && !packet.is_marked());
        }
    }

    #[test]
    fn a_pause_frame_carries_priority_and_quanta() {
        let pause = Packet::pause(Priority(3), u16::MAX);
        assert!(pause.is_link_control());
        assert_eq!((pause.priority(), pause.quanta(), pause.frame_bytes()), (Priority(3), u16::MAX, 64));
    }

    #[test]
    fn a_credit_carries_its_lane_and_both_counts() {
        let (sent, limit) = (BlockCount::MAX, BlockCount::of(0x1abc));
        let credit = Packet::credit(Priority(7), sent, limit);
        assert!(credit.is_link_control());
        assert_eq!((credit.priority(), credit.credit_counts()), (Priority(7), (sent, limit)));
        assert_eq!((credit.frame_bytes(), limit.value()), (6, 0xabc));
    }
}
