//! Segmentation of a work request into messages, and of a message into packets.

use crate::{Config, Position};

/// Position of the next packet in its work request.
///
/// Message sizes fit 32 bits: a message is at most [`Config::MESSAGE_BYTES_MAX`]. A request of 0 bytes is one
/// message of one packet without payload (IBTA 9.7.2: a write may have a length of zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Bytes of the request before the next packet.
    pub(crate) offset_bytes: u64,
    /// Size of the message of the next packet.
    pub(crate) message_bytes: u32,
    /// Bytes of that message from the next packet on.
    message_left_bytes: u32,
}

impl Cursor {
    /// Packet number `packet` of a request of `bytes`.
    pub(crate) fn at(config: &Config, bytes: u64, packet: u64) -> Self {
        let messages_before = packet / config.packets_per_message();
        let packets_before = packet % config.packets_per_message();
        let message_offset_bytes = messages_before * config.message_bytes;
        let message_bytes = (bytes - message_offset_bytes).min(config.message_bytes) as u32;
        // Less than one message, so it fits.
        let skipped_bytes = packets_before as u32 * config.mtu_bytes;
        Self {
            offset_bytes: message_offset_bytes + u64::from(skipped_bytes),
            message_bytes,
            message_left_bytes: message_bytes - skipped_bytes,
        }
    }

    /// Payload of the next packet [bytes].
    #[inline]
    pub(crate) fn payload_bytes(&self, config: &Config) -> u32 {
        self.message_left_bytes.min(config.mtu_bytes)
    }

    /// Position of the next packet in its message.
    #[inline]
    pub(crate) fn position(&self, config: &Config) -> Position {
        let starts_message = self.message_left_bytes == self.message_bytes;
        Position::new(starts_message, self.message_left_bytes <= config.mtu_bytes)
    }

    /// Bytes of the message from the next packet on.
    pub(crate) const fn message_left(&self) -> u32 {
        self.message_left_bytes
    }

    /// Number of packets of the message from the next one on.
    pub(crate) fn packets_left(&self, config: &Config) -> u64 {
        u64::from(self.message_left_bytes.div_ceil(config.mtu_bytes))
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
        let cursors = (0..config.packets(bytes)).map(|packet| Cursor::at(config, bytes, packet));
        cursors.map(|cursor| (cursor.position(config), cursor.payload_bytes(config))).collect()
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
        fn packets_follow_each_other_to_the_end(
            mtu_bytes in prop::sample::select(vec![256u32, 512, 1024, 2048, 4096]),
            message_bytes in 1u64..20_000,
            bytes in 0u64..200_000,
        ) {
            // Very small messages would make the test long without adding coverage.
            let config = config(mtu_bytes, message_bytes.max(bytes / 100));
            let mut offset_bytes = 0;
            for packet in 0..config.packets(bytes) {
                let cursor = Cursor::at(&config, bytes, packet);
                prop_assert_eq!(cursor.offset_bytes, offset_bytes);
                prop_assert_eq!(cursor.message_bytes == cursor.message_left_bytes, offset_bytes % config.message_bytes == 0);
                offset_bytes += u64::from(cursor.payload_bytes(&config));
                prop_assert_eq!(
                    offset_bytes % config.message_bytes == 0 || offset_bytes == bytes,
                    cursor.position(&config).ends_message()
                );
            }
            prop_assert_eq!(offset_bytes, bytes);
        }
    }
}
