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

/// Kind of a connection: a host has one arena of connections for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConnectionKind {
    /// RoCE reliable connection (RC) of a job's ranks.
    Rc = 0,
    /// RoCE unreliable connection (UC) of a job's ranks.
    Uc = 1,
    Tcp = 2,
    /// RoCE reliable connection between a storage client and a target.
    Storage = 4,
}

impl ConnectionKind {
    /// The kind with a number; a storage connection has the number of its kind and all above.
    const fn of_number(number: u32) -> Self {
        match number {
            0 => Self::Rc,
            1 => Self::Uc,
            2 => Self::Tcp,
            _ => Self::Storage,
        }
    }
}

/// Number of a connection at its host: its kind, and its index in the arena of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) struct ConnectionId(u32);

impl ConnectionId {
    const INDEX_BITS: u32 = 28;
    /// Maximum number of connections of a kind at a host.
    pub(crate) const INDICES: u32 = 1 << Self::INDEX_BITS;
    const INDEX_MASK: u32 = Self::INDICES - 1;

    #[inline]
    pub(crate) const fn new(kind: ConnectionKind, index: u32) -> Self {
        debug_assert!(index < Self::INDICES);
        Self((kind as u32) << Self::INDEX_BITS | index)
    }

    /// The reliable connection with this index.
    #[inline]
    pub(crate) const fn rc(index: u32) -> Self {
        Self::new(ConnectionKind::Rc, index)
    }

    /// Its index, if it is a reliable connection.
    #[inline]
    pub(crate) const fn as_rc(self) -> Option<u32> {
        if self.0 < Self::INDICES { Some(self.0) } else { None }
    }

    pub(crate) const fn kind(self) -> ConnectionKind {
        ConnectionKind::of_number(self.kind_number())
    }

    #[inline]
    const fn kind_number(self) -> u32 {
        self.0 >> Self::INDEX_BITS
    }

    /// Its index in the arena of its kind.
    #[inline]
    pub(crate) const fn index(self) -> u32 {
        self.0 & Self::INDEX_MASK
    }
}

/// Kind of a packet of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Payload of a write of a reliable connection.
    Data(Position),
    /// Payload of a write of an unreliable connection.
    Uc(Position),
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
    /// Part of a message of a storage connection.
    Storage(StorageMessage, Position),
}

/// Message of a storage connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StorageMessage {
    pub(crate) verb: StorageVerb,
    /// Its operation reads from the target.
    pub(crate) is_read: bool,
}

/// Verb of a message of a storage connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageVerb {
    Send,
    Write,
    ReadRequest,
    ReadResponse,
}

// A kind is one byte. Parts of messages, of every kind of connection: position in the lowest two bits, then
// the ACK request. All other packets have bit 3. The highest three bits are the kind of the connection; a
// storage connection, with the highest bit, has the verb in the other two, and bit 4 for reads.
const POSITION_MASK: u32 = 3;
const ACK_REQUEST_CODE: u32 = 1 << 2;
const NO_MESSAGE: u32 = 1 << 3;
const READ_CODE: u32 = 1 << 4;
const CONNECTION_SHIFT: u32 = 5;
const VERB_MASK: u32 = 3;
const STORAGE_CODE: u32 = (ConnectionKind::Storage as u32) << CONNECTION_SHIFT;
const UC_CODE: u32 = (ConnectionKind::Uc as u32) << CONNECTION_SHIFT;
const TCP_CODE: u32 = (ConnectionKind::Tcp as u32) << CONNECTION_SHIFT;
const ACK: u32 = NO_MESSAGE;
const NAK: u32 = NO_MESSAGE | 1;
const CNP: u32 = NO_MESSAGE | 2;
const LINK_CONTROL: u32 = 3 << CONNECTION_SHIFT | NO_MESSAGE;

impl Kind {
    /// The byte of a packet of a connection whose kind has number `connection`.
    #[inline]
    const fn code(self, connection: u32) -> u32 {
        let connection = connection << CONNECTION_SHIFT;
        match self {
            Self::Data(position) => position as u32,
            Self::Uc(position) => UC_CODE | position as u32,
            Self::Ack => connection | ACK,
            Self::Nak => connection | NAK,
            Self::Cnp => connection | CNP,
            Self::LinkControl => LINK_CONTROL,
            Self::TcpData => TCP_CODE | NO_MESSAGE,
            Self::TcpAck { congestion_echo } => TCP_CODE | NO_MESSAGE | 1 << congestion_echo as u32,
            Self::Storage(StorageMessage { verb, is_read }, position) => {
                let read = if is_read { READ_CODE } else { 0 };
                STORAGE_CODE | (verb as u32) << CONNECTION_SHIFT | read | position as u32
            }
        }
    }

    #[inline]
    const fn from_code(code: u32) -> Self {
        match code {
            0..NO_MESSAGE => Self::Data(position_of(code)),
            ACK => Self::Ack,
            NAK => Self::Nak,
            CNP => Self::Cnp,
            LINK_CONTROL => Self::LinkControl,
            _ => Self::other_from_code(code),
        }
    }

    #[cold]
    const fn other_from_code(code: u32) -> Self {
        if code < TCP_CODE {
            return Self::Uc(position_of(code));
        }
        if code < STORAGE_CODE {
            return match code & POSITION_MASK {
                0 => Self::TcpData,
                echo => Self::TcpAck { congestion_echo: echo == 2 },
            };
        }
        if code & NO_MESSAGE != 0 {
            return match code & !STORAGE_CODE {
                ACK => Self::Ack,
                NAK => Self::Nak,
                _ => Self::Cnp,
            };
        }
        let verb = match code >> CONNECTION_SHIFT & VERB_MASK {
            0 => StorageVerb::Send,
            1 => StorageVerb::Write,
            2 => StorageVerb::ReadRequest,
            _ => StorageVerb::ReadResponse,
        };
        let message = StorageMessage { verb, is_read: code & READ_CODE != 0 };
        Self::Storage(message, position_of(code))
    }
}

#[inline]
const fn position_of(code: u32) -> Position {
    match code & POSITION_MASK {
        0 => Position::First,
        1 => Position::Middle,
        2 => Position::Last,
        _ => Position::Only,
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
const PRIORITY_SHIFT: u32 = ConnectionId::INDEX_BITS;
const PRIORITY_MASK: u32 = 7;
/// Congestion experienced.
const MARK: u32 = 1 << 31;
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
    /// the BTH. Of ACK and NAK, whose latency is not measured, the message sequence number of the AETH; of
    /// link control in a scheduled fabric, its bytes. Also its colour.
    sent: Instant,
    /// Index of the connection at the receiving host; then priority and mark.
    connection: u32,
    /// Hash of the 5-tuple.
    pub(crate) entropy: u32,
    /// PSN, then kind.
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
    /// Connection at the receiving host.
    pub(crate) connection: ConnectionId,
    /// Hash of the 5-tuple.
    pub(crate) entropy: u32,
}

impl Path {
    /// To no host: of link control.
    const NONE: Self = Self { destination: AttachmentId(0), connection: ConnectionId(0), entropy: 0 };
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
            connection: path.connection.index() | (priority.0 as u32) << PRIORITY_SHIFT,
            entropy: path.entropy,
            header: psn.value() | kind.code(path.connection.kind_number()) << KIND_SHIFT,
            size_destination: frame_bytes | (path.destination.0 << SIZE_BITS),
        }
    }

    /// A pause frame for `priority`; 0 quanta end the pause.
    pub(crate) const fn pause(priority: Priority, quanta: u16) -> Self {
        Self::new(Kind::LinkControl, priority, Psn::new(quanta as u32), PFC_FRAME_BYTES, Path::NONE)
    }

    /// An InfiniBand flow control packet for the virtual lane of `priority`: FCTBS and FCCL.
    pub(crate) const fn credit(priority: Priority, total_sent: BlockCount, limit: BlockCount) -> Self {
        let counts = (total_sent.value() as u32) << BLOCK_COUNT_BITS | limit.value() as u32;
        Self::new(Kind::LinkControl, priority, Psn::new(counts), FLOW_CONTROL_PACKET_BYTES, Path::NONE)
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
        self.header |= if ack_request { ACK_REQUEST_CODE << KIND_SHIFT } else { 0 };
        self
    }

    /// An acknowledgement is requested.
    #[inline]
    pub(crate) const fn requests_ack(&self) -> bool {
        self.header & ACK_REQUEST_CODE << KIND_SHIFT != 0
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

    /// The same link control in a scheduled fabric, about this many bytes.
    pub(crate) const fn with_bytes(mut self, bytes: u32) -> Self {
        self.sent = Instant(bytes as u64);
        self
    }

    /// See [`Self::with_bytes`].
    pub(crate) const fn bytes(&self) -> u32 {
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
            Kind::Data(_) | Kind::Uc(_) | Kind::Ack | Kind::Nak | Kind::Cnp | Kind::Storage(..) => true,
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
        self.connection |= MARK;
    }

    /// Congestion was experienced.
    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.connection & MARK != 0
    }

    /// Index of its connection at the receiving host.
    #[inline]
    pub(crate) const fn connection(&self) -> u32 {
        self.connection & ConnectionId::INDEX_MASK
    }

    /// Kind of its connection; not of link control.
    pub(crate) const fn connection_kind(&self) -> ConnectionKind {
        ConnectionKind::of_number(self.code() >> CONNECTION_SHIFT)
    }

    #[inline]
    const fn code(&self) -> u32 {
        self.header >> KIND_SHIFT
    }

    #[inline]
    pub(crate) const fn kind(&self) -> Kind {
        Kind::from_code(self.code())
    }

    /// Position of payload of a reliable connection in its message; `None` of all other packets.
    #[inline]
    pub(crate) const fn rc_position(&self) -> Option<Position> {
        if self.code() < NO_MESSAGE { Some(position_of(self.code())) } else { None }
    }

    /// Position of a packet in its message; `None` if it is no part of one.
    #[inline]
    pub(crate) const fn position(&self) -> Option<Position> {
        if self.code() & NO_MESSAGE == 0 { Some(position_of(self.code())) } else { None }
    }

    /// An acknowledgement of a reliable connection.
    #[inline]
    pub(crate) const fn is_rc_ack(&self) -> bool {
        self.code() == ACK
    }

    #[inline]
    pub(crate) const fn is_link_control(&self) -> bool {
        self.code() == LINK_CONTROL
    }

    #[inline]
    pub(crate) const fn priority(&self) -> Priority {
        Priority((self.connection >> PRIORITY_SHIFT & PRIORITY_MASK) as u8)
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
        let Self { at, sent, connection, entropy, header, size_destination } = self;
        at.visit(cycle);
        match kind {
            Kind::Ack | Kind::Nak => {
                let (mut colour, mut message_sequence) = (sent.0 & COLOUR_MASK, Psn::new(sent.0 as u32));
                colour.visit(cycle);
                message_sequence.visit(cycle);
                sent.0 = u64::from(message_sequence.value()) | colour;
            }
            Kind::LinkControl => sent.0.visit(cycle),
            Kind::Data(_) | Kind::Cnp => {
                let (mut pad, mut left) = (sent.0 & !SENT_MASK, Instant(sent.0 & SENT_MASK));
                pad.visit(cycle);
                left.visit(cycle);
                *sent = Instant(left.0 | pad);
            }
            Kind::Uc(_) | Kind::TcpData | Kind::TcpAck { .. } | Kind::Storage(..) => cycle.never_repeats(),
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
        connection.visit(cycle);
        entropy.visit(cycle);
        size_destination.visit(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIONS: [Position; 4] = [Position::First, Position::Middle, Position::Last, Position::Only];

    fn path(kind: ConnectionKind) -> Path {
        let connection = ConnectionId::new(kind, ConnectionId::INDICES - 1);
        Path { destination: AttachmentId((1 << 18) - 1), connection, entropy: u32::MAX }
    }

    /// All kinds of packets, by the kind of their connection, with their positions in a message.
    fn kinds() -> Vec<(ConnectionKind, Kind, Option<Position>)> {
        let (rc, tcp, storage) = (ConnectionKind::Rc, ConnectionKind::Tcp, ConnectionKind::Storage);
        let mut kinds = vec![(tcp, Kind::TcpData, None)];
        kinds.extend([false, true].map(|congestion_echo| (tcp, Kind::TcpAck { congestion_echo }, None)));
        for connection in [rc, storage] {
            kinds.extend([Kind::Ack, Kind::Nak, Kind::Cnp].map(|kind| (connection, kind, None)));
        }
        for position in POSITIONS {
            kinds.push((rc, Kind::Data(position), Some(position)));
            kinds.push((ConnectionKind::Uc, Kind::Uc(position), Some(position)));
            let verbs =
                [StorageVerb::Send, StorageVerb::Write, StorageVerb::ReadRequest, StorageVerb::ReadResponse];
            for (verb, is_read) in verbs.into_iter().flat_map(|verb| [(verb, false), (verb, true)]) {
                let kind = Kind::Storage(StorageMessage { verb, is_read }, position);
                kinds.push((storage, kind, Some(position)));
            }
        }
        kinds
    }

    #[test]
    fn a_packet_keeps_every_field_at_its_limit() {
        for (connection, kind, position) in kinds() {
            let is_part = position.is_some();
            let mut packet = Packet::new(kind, Priority(7), Psn::new(0xff_ffff), 9_216, path(connection));
            assert!(!packet.is_marked() && !packet.is_link_control());
            assert!(!packet.requests_ack() && !packet.with_ack_request(false).requests_ack());
            packet.mark();
            packet = packet.with_ack_request(is_part).with_message_sequence(0xff_ffff);
            assert!(packet.is_marked() && packet.requests_ack() == is_part);
            assert_eq!(packet.message_sequence(), 0xff_ffff);
            assert_eq!((packet.kind(), packet.priority(), packet.position()), (kind, Priority(7), position));
            assert_eq!(packet.connection_kind(), connection);
            let is_rc = connection == ConnectionKind::Rc;
            assert_eq!(packet.rc_position(), position.filter(|_| is_rc));
            assert_eq!(packet.is_rc_ack(), is_rc && kind == Kind::Ack);
            assert_eq!((packet.psn(), packet.frame_bytes()), (Psn::new(0xff_ffff), 9_216));
            let to = (packet.destination(), packet.connection());
            assert_eq!(to, (AttachmentId((1 << 18) - 1), ConnectionId::INDICES - 1));
        }
    }

    #[test]
    fn no_two_kinds_have_the_same_code() {
        let codes = kinds().into_iter().map(|(connection, kind, _)| kind.code(connection as u32));
        let codes: std::collections::BTreeSet<u32> = codes.chain([LINK_CONTROL]).collect();
        assert_eq!((codes.len(), codes.last().is_some_and(|last| *last < 256)), (kinds().len() + 1, true));
    }

    #[test]
    fn the_number_of_a_connection_is_its_kind_and_index() {
        for kind in [ConnectionKind::Rc, ConnectionKind::Uc, ConnectionKind::Tcp, ConnectionKind::Storage] {
            for index in [0, 1, ConnectionId::INDICES - 1] {
                let id = ConnectionId::new(kind, index);
                assert_eq!((id.kind(), id.index()), (kind, index));
                assert_eq!(id.as_rc(), Some(index).filter(|_| kind == ConnectionKind::Rc));
            }
        }
    }

    #[test]
    fn a_colour_moves_nothing_else() {
        let path = Path { destination: AttachmentId(1), connection: ConnectionId::rc(2), entropy: 3 };
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
    fn a_digest_of_tcp_leaves_all_other_fields() {
        let kind = Kind::TcpAck { congestion_echo: true };
        let packet = Packet::new(kind, Priority(7), Psn::new(0xff_ffff), 9_216, path(ConnectionKind::Tcp));
        let packet = packet.with_sack(u64::MAX);
        assert_eq!((packet.kind(), packet.priority()), (kind, Priority(7)));
        assert_eq!((packet.psn(), packet.sack()), (Psn::new(0xff_ffff), u64::MAX));
        assert!(!packet.is_marked());
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
