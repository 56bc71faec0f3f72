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
    /// Size of the message of the next packet; [`NO_MESSAGE`] behind the last.
    pub(crate) message_bytes: u32,
    /// Bytes of that message from the next packet on.
    message_left_bytes: u32,
}

impl Cursor {
    /// The place behind the last packet.
    pub(crate) const EXHAUSTED: Self =
        Self { offset_bytes: 0, message_bytes: NO_MESSAGE, message_left_bytes: 0 };

    /// The first packet of a request of `bytes`.
    #[inline]
    pub(crate) fn start(config: &Config, bytes: u64) -> Self {
        let mut cursor = Self::EXHAUSTED;
        cursor.begin_message(config, bytes);
        cursor
    }

    /// Packet number `packet` of a request of `bytes`.
    #[cold]
    pub(crate) fn at(config: &Config, bytes: u64, packet: u64) -> Self {
        let messages_before = packet / config.packets_per_message();
        let packets_before = packet % config.packets_per_message();
        let offset_bytes = messages_before * config.message_bytes;
        let mut cursor = Self { offset_bytes, ..Self::EXHAUSTED };
        cursor.begin_message(config, bytes);
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

    /// Moves on by one packet; true if it was the last of its message, which [`Self::end_message`] must follow.
    #[inline]
    pub(crate) fn advance(&mut self, config: &Config) -> bool {
        self.skip(self.payload_bytes(config));
        self.message_left_bytes == 0
    }

    /// Moves on to the next message of a request of `bytes`, or behind its last packet.
    #[inline]
    pub(crate) fn end_message(&mut self, config: &Config, bytes: u64) {
        if self.offset_bytes == bytes {
            *self = Self::EXHAUSTED;
        } else {
            self.begin_message(config, bytes);
        }
    }

    #[inline]
    fn begin_message(&mut self, config: &Config, bytes: u64) {
        self.message_bytes = (bytes - self.offset_bytes).min(config.message_bytes) as u32;
        self.message_left_bytes = self.message_bytes;
    }

    /// Moves on within the message.
    #[inline]
    fn skip(&mut self, bytes: u32) {
        self.offset_bytes += u64::from(bytes);
        self.message_left_bytes -= bytes;
    }
}

impl Cursor {
    /// See [`Cycle`], in a request of `bytes`. The size of messages changes in the last of a request only.
    pub(crate) fn visit(&mut self, cycle: &mut Cycle, bytes: u64) {
        let is_exhausted = self.is_exhausted();
        let Self { offset_bytes, message_bytes, message_left_bytes } = self;
        let end_bytes = if is_exhausted { *offset_bytes } else { bytes };
        let mut left_bytes = end_bytes - *offset_bytes;
        cycle.left(&mut left_bytes, 2 * u64::from(*message_bytes));
        *offset_bytes = end_bytes - left_bytes;
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

    /// Moves on by one packet of a request of `bytes`.
    fn advance(cursor: &mut Cursor, config: &Config, bytes: u64) {
        if cursor.advance(config) {
            cursor.end_message(config, bytes);
        }
    }

    /// Position and payload of every packet of a request.
    fn packets(config: &Config, bytes: u64) -> Vec<(Position, u32)> {
        let mut cursor = Cursor::start(config, bytes);
        let mut packets = Vec::new();
        while !cursor.is_exhausted() {
            packets.push((cursor.position(config), cursor.payload_bytes(config)));
            advance(&mut cursor, config, bytes);
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
                prop_assert!(cursor.offset_bytes + u64::from(cursor.message_left_bytes) <= bytes);
                advance(&mut cursor, &config, bytes);
                number += 1;
            }
            prop_assert_eq!(number, config.packets(bytes));
        }
    }
}
