//! Encodes the operation that a packet of a storage connection belongs to in its queue pair number, and
//! decodes it.
//!
//! Commands and data refer to their operation by an identifier, as commands of NVMe do. Packets without data
//! or commands (ACK, NAK, CNP) have only the connection.

/// Set in the queue pair number of every packet of a storage connection.
const FLAG: u32 = 1 << 31;
const VERB_SHIFT: u32 = 29;
const READ: u32 = 1 << 28;
const COMMAND_SHIFT: u32 = 12;
const CONNECTION_MASK: u32 = (1 << COMMAND_SHIFT) - 1;

/// Whether a queue pair number, of a packet or active at a port, is that of a storage connection.
#[inline]
pub(crate) const fn is_storage(queue_pair: u32) -> bool {
    queue_pair & FLAG != 0
}

/// The number of connection `index` of a host.
pub(crate) const fn connection_number(index: u32) -> u32 {
    FLAG | index
}

/// The connection of a number or a packet.
pub(super) const fn connection_of(queue_pair: u32) -> usize {
    (queue_pair & CONNECTION_MASK) as usize
}

/// Kind of a packet with a position in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    Send,
    Write,
    ReadRequest,
    ReadResponse,
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
    /// Encodes it as the number of a packet to `connection`, which is a number of the other end.
    pub(super) const fn number(self, connection: u32, kind: PacketKind) -> u32 {
        let read = if self.is_read { READ } else { 0 };
        connection | (kind as u32) << VERB_SHIFT | read | (self.command as u32) << COMMAND_SHIFT
    }

    pub(super) const fn of(queue_pair: u32) -> (Self, PacketKind) {
        let kind = match queue_pair >> VERB_SHIFT & 3 {
            0 => PacketKind::Send,
            1 => PacketKind::Write,
            2 => PacketKind::ReadRequest,
            _ => PacketKind::ReadResponse,
        };
        (Self { command: (queue_pair >> COMMAND_SHIFT) as u16, is_read: queue_pair & READ != 0 }, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_keeps_every_field_at_its_limit() {
        let last = CONNECTION_MASK;
        for kind in [PacketKind::Send, PacketKind::Write, PacketKind::ReadRequest, PacketKind::ReadResponse] {
            for tag in [Tag { command: u16::MAX, is_read: false }, Tag { command: 0, is_read: true }] {
                let number = tag.number(connection_number(last), kind);
                assert_eq!(Tag::of(number), (tag, kind));
                assert_eq!((connection_of(number), is_storage(number)), (last as usize, true));
            }
        }
    }
}
