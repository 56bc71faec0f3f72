//! How a work request is cut into messages, and a message into packets.

use crate::{Config, Position};
use units::Cycle;

/// Longer than any message.
const NO_MESSAGE: u32 = u32::MAX;

/// Place of the next packet in its work request.
///
/// Message sizes fit 32 bits: a message is at most [`Config::MESSAGE_BYTES_MAX`]. A request of no bytes is one message
/// of one packet without payload (IBTA 9.7.2: a write may have a length of zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Bytes of the request before the next packet.
    pub(crate) offset_bytes: u64,
    /// Bytes of the request from the next packet on.
    left_bytes: u64,
    /// Size of the message of the next packet; [`NO_MESSAGE`] behind the last.
    pub(crate) message_bytes: u32,
    /// Bytes of that message from the next packet on.
    message_left_bytes: u32,
}

impl Cursor {
    /// The place behind the last packet.
    pub(crate) const EXHAUSTED: Self =
        Self { offset_bytes: 0, left_bytes: 0, message_bytes: NO_MESSAGE, message_left_bytes: 0 };

    /// The first packet of a request of `bytes`.
    #[inline]
    pub(crate) fn start(config: &Config, bytes: u64) -> Self {
        let mut cursor = Self { left_bytes: bytes, ..Self::EXHAUSTED };
        cursor.begin_message(config);
        cursor
    }

    /// Packet number `packet` of a request of `bytes`.
    #[cold]
    pub(crate) fn at(config: &Config, bytes: u64, packet: u64) -> Self {
        let messages_before = packet / config.packets_per_message();
        let packets_before = packet % config.packets_per_message();
        let message_offset = messages_before * config.message_bytes;
        let mut cursor =
            Self { offset_bytes: message_offset, left_bytes: bytes - message_offset, ..Self::EXHAUSTED };
        cursor.begin_message(config);
        // Less than one message, so it fits.
        cursor.skip(packets_before as u32 * config.mtu_bytes);
        cursor
    }

    /// There is no next packet.
    #[inline]
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.message_bytes == NO_MESSAGE
    }

    /// Payload of the next packet [bytes].
    #[inline]
    pub(crate) fn payload_bytes(&self, config: &Config) -> u32 {
        self.message_left_bytes.min(config.mtu_bytes)
    }

    /// Place of the next packet in its message.
    #[inline]
    pub(crate) fn position(&self, config: &Config) -> Position {
        let starts_message = self.message_left_bytes == self.message_bytes;
        Position::new(starts_message, self.message_left_bytes <= config.mtu_bytes)
    }

    /// Bytes of the message from the next packet on.
    pub(crate) const fn message_left(&self) -> u32 {
        self.message_left_bytes
    }

    /// Packets of the message from the next one on.
    pub(crate) fn packets_left(&self, config: &Config) -> u64 {
        u64::from(self.message_left_bytes.div_ceil(config.mtu_bytes))
    }

    /// Moves on by one packet.
    #[inline]
    pub(crate) fn advance(&mut self, config: &Config) {
        self.skip(self.payload_bytes(config));
        if self.left_bytes == 0 {
            self.message_bytes = NO_MESSAGE;
        } else if self.message_left_bytes == 0 {
            self.begin_message(config);
        }
    }

    #[inline]
    fn begin_message(&mut self, config: &Config) {
        self.message_bytes = self.left_bytes.min(config.message_bytes) as u32;
        self.message_left_bytes = self.message_bytes;
    }

    /// Moves on within the message.
    #[inline]
    fn skip(&mut self, bytes: u32) {
        self.offset_bytes += u64::from(bytes);
        self.left_bytes -= u64::from(bytes);
        self.message_left_bytes -= bytes;
    }
}

impl Cursor {
    /// See [`Cycle`]. The size of messages changes in the last of a request only.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        let Self { offset_bytes, left_bytes, message_bytes, message_left_bytes } = self;
        cycle.count(offset_bytes);
        cycle.left(left_bytes, 2 * u64::from(*message_bytes));
        cycle.same(u64::from(*message_bytes));
        cycle.same(u64::from(*message_left_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Span;

    fn config(mtu_bytes: u32, message_bytes: u64) -> Config {
        Config {
            mtu_bytes,
            message_bytes,
            ack_every: 1,
            window_packets: 1,
            timeout: Span::from_us(1),
            retry_count: 7,
            recovery: crate::Recovery::GoBackN,
        }
    }

    /// Position and payload of every packet of a request.
    fn packets(config: &Config, bytes: u64) -> Vec<(Position, u32)> {
        let mut cursor = Cursor::start(config, bytes);
        let mut packets = Vec::new();
        while !cursor.is_exhausted() {
            packets.push((cursor.position(config), cursor.payload_bytes(config)));
            cursor.advance(config);
        }
        packets
    }

    #[test]
    fn a_request_ends_with_a_short_message_that_ends_with_a_short_packet() {
        use Position::{First, Last, Middle, Only};
        let config = config(256, 600);
        assert_eq!(packets(&config, 0), [(Only, 0)]);
        assert_eq!(packets(&config, 1), [(Only, 1)]);
        assert_eq!(packets(&config, 256), [(Only, 256)]);
        assert_eq!(packets(&config, 257), [(First, 256), (Last, 1)]);
        assert_eq!(packets(&config, 600 + 10), [(First, 256), (Middle, 256), (Last, 88), (Only, 10)]);
    }

    #[test]
    fn the_largest_message_fits() {
        let config = config(4096, Config::MESSAGE_BYTES_MAX);
        let packets = config.packets_per_message();
        let last = Cursor::at(&config, Config::MESSAGE_BYTES_MAX, packets - 1);
        assert_eq!(
            (packets, last.message_left_bytes, last.position(&config)),
            (1 << 19, 4096, Position::Last)
        );
    }

    proptest! {
        #[test]
        fn every_place_is_reached_by_advancing_and_by_its_number(
            mtu_bytes in prop::sample::select(vec![256u32, 512, 1024, 2048, 4096]),
            message_bytes in 1u64..20_000,
            bytes in 0u64..200_000,
        ) {
            // Tiny messages would make this long without making it harder.
            let config = config(mtu_bytes, message_bytes.max(bytes / 100));
            let mut cursor = Cursor::start(&config, bytes);
            let mut number = 0;
            while !cursor.is_exhausted() {
                prop_assert_eq!(cursor, Cursor::at(&config, bytes, number));
                prop_assert_eq!(cursor.offset_bytes + cursor.left_bytes, bytes);
                cursor.advance(&config);
                number += 1;
            }
            prop_assert_eq!(number, config.packets(bytes));
            prop_assert_eq!(cursor.left_bytes, 0);
        }
    }
}
