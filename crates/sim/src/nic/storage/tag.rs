//! The operation that a packet of a storage connection belongs to: encoded in the packet, and decoded.
//!
//! Commands and data refer to their operation by an identifier, as commands of NVMe do; it is stored with the
//! index of the connection. Packets without data or commands (ACK, NAK, CNP) have only the connection.

use crate::packet::{ConnectionId, ConnectionKind, Kind, Packet, Path, StorageMessage, StorageVerb};
use transport::Position;

const COMMAND_SHIFT: u32 = 12;
const CONNECTION_MASK: u32 = (1 << COMMAND_SHIFT) - 1;

/// Index of the storage connection of a packet.
pub(super) const fn connection_of(packet: &Packet) -> usize {
    (packet.connection() & CONNECTION_MASK) as usize
}

/// The operation of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Identifier of the command at its client.
    pub(super) command: u16,
    /// It reads from the target.
    pub(super) is_read: bool,
}

impl Tag {
    /// Path of the operation's packets, given that of the connection.
    pub(super) const fn path(self, path: Path) -> Path {
        let index = path.connection.index() | (self.command as u32) << COMMAND_SHIFT;
        Path { connection: ConnectionId::new(ConnectionKind::Storage, index), ..path }
    }

    /// Kind of a packet of the operation.
    pub(super) const fn kind(self, verb: StorageVerb, position: Position) -> Kind {
        Kind::Storage(StorageMessage { verb, is_read: self.is_read }, position)
    }

    /// The operation of a packet, given its message.
    pub(super) const fn of(packet: &Packet, message: StorageMessage) -> Self {
        Self { command: (packet.connection() >> COMMAND_SHIFT) as u16, is_read: message.is_read }
    }

    /// Encodes it as a number.
    pub(super) const fn number(self) -> u32 {
        self.command as u32 | (self.is_read as u32) << 16
    }

    /// Decodes a number.
    pub(super) const fn of_number(number: u32) -> Self {
        Self { command: number as u16, is_read: number >> 16 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Priority;
    use units::AttachmentId;
    use wire::Psn;

    #[test]
    fn a_tag_keeps_every_field_at_its_limit() {
        let connection = ConnectionId::new(ConnectionKind::Storage, CONNECTION_MASK);
        let path = Path { destination: AttachmentId(0), connection, entropy: 0 };
        for verb in
            [StorageVerb::Send, StorageVerb::Write, StorageVerb::ReadRequest, StorageVerb::ReadResponse]
        {
            for tag in [Tag { command: u16::MAX, is_read: false }, Tag { command: 0, is_read: true }] {
                let kind = tag.kind(verb, Position::Only);
                let packet = Packet::new(kind, Priority(7), Psn::new(0), 64, tag.path(path));
                let Kind::Storage(message, _) = packet.kind() else { panic!("{:?}", packet.kind()) };
                assert_eq!((Tag::of(&packet, message), message.verb), (tag, verb));
                assert_eq!(
                    (connection_of(&packet), Tag::of_number(tag.number())),
                    (CONNECTION_MASK as usize, tag)
                );
            }
        }
    }
}
