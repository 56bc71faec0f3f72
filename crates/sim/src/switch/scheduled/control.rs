//! Requests and grants of credits, encoded as messages between leaves; never sent to a host.
//!
//! Fabric links have no pause frames, so these messages use the packet kind of pause frames.

use crate::packet::{ConnectionId, Kind, Packet, Path, Priority};
use units::AttachmentId;
use wire::Psn;

/// Bit of the PSN that marks a grant.
const GRANT: u32 = 1 << 16;

/// Maximum number of leaves of a fabric.
pub(crate) const LEAVES_MAX: u32 = 1 << 16;

/// Request or grant of credits of an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) is_grant: bool,
    /// Egress port and priority of the VOQ.
    pub(super) port: AttachmentId,
    pub(super) priority: Priority,
    /// The leaf of the VOQ.
    pub(super) source: u16,
    pub(super) bytes: u32,
}

impl Control {
    /// The message to leaf `to`.
    pub(super) const fn message(self, to: u16, frame_bytes: u32) -> Packet {
        let psn = self.source as u32 | if self.is_grant { GRANT } else { 0 };
        let entropy = (to as u32) << 16;
        let path = Path { destination: self.port, connection: ConnectionId::rc(0), entropy };
        Packet::new(Kind::LinkControl, self.priority, Psn::new(psn), frame_bytes, path).with_bytes(self.bytes)
    }

    /// The same message, with the fabric link to use.
    pub(super) const fn on_link(mut message: Packet, link: u32) -> Packet {
        message.entropy |= link;
        message
    }

    /// Decodes a message.
    pub(super) const fn of(message: &Packet) -> Self {
        let psn = message.psn().value();
        Self {
            is_grant: psn & GRANT != 0,
            port: message.destination(),
            priority: message.priority(),
            source: psn as u16,
            bytes: message.bytes(),
        }
    }

    /// Destination leaf of a message, and the fabric link it uses.
    pub(super) const fn route(message: &Packet) -> (usize, u32) {
        ((message.entropy >> 16) as usize, message.entropy & 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_decoded_as_encoded() {
        for is_grant in [false, true] {
            let control = Control {
                is_grant,
                port: AttachmentId((1 << 18) - 1),
                priority: Priority(7),
                source: u16::MAX,
                bytes: u32::MAX,
            };
            let message = Control::on_link(control.message(65_000, 16), 1_023);
            assert!(message.is_link_control());
            assert_eq!((Control::of(&message), Control::route(&message)), (control, (65_000, 1_023)));
        }
    }
}
