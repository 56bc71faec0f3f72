//! Computes number and total size of the frames of a chunk (part of a transfer that one queue pair sends);
//! caches the result for the last size.

use crate::nic::write_opcode;
use transport::{Config, Position};
use units::State;
use wire::Framing;

/// Number of frames, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub(crate) struct Frames {
    #[state(count)]
    pub(crate) frames: u32,
    #[state(count)]
    pub(crate) bytes: u64,
}

/// The frames of a whole chunk, each sent once. Caches the result for the last size.
#[derive(Debug)]
pub(crate) struct ChunkFrames {
    framing: Framing,
    chunk_bytes: u64,
    known: Frames,
}

impl ChunkFrames {
    pub(crate) fn new(framing: Framing, config: &Config) -> Self {
        Self { framing, chunk_bytes: 0, known: frames_of(framing, config, 0, 1) }
    }

    #[inline]
    pub(crate) fn of(&mut self, config: &Config, bytes: u64) -> Frames {
        if bytes != self.chunk_bytes {
            self.chunk_bytes = bytes;
            self.known = frames_of(self.framing, config, bytes, config.packets(bytes));
        }
        self.known
    }
}

/// The frames of the first `packets` of a chunk of `bytes`; none of no packets.
pub(crate) fn frames_of(framing: Framing, config: &Config, bytes: u64, packets: u64) -> Frames {
    let message_packets = config.packets_per_message();
    let (messages, rest) = (packets / message_packets, packets % message_packets);
    let of_message = |message: u64, packets: u64| {
        let message_bytes = config.message_bytes.min(bytes - message * config.message_bytes);
        message_frame_bytes(framing, config, message_bytes, packets)
    };
    // All messages of a chunk but the last are equal.
    let whole = match messages {
        0 => 0,
        _ => (messages - 1) * of_message(0, message_packets) + of_message(messages - 1, message_packets),
    };
    let part = if rest == 0 { 0 } else { of_message(messages, rest) };
    Frames { frames: packets as u32, bytes: whole + part }
}

/// Bytes of the frames of the first `packets` of a message of `bytes`; `packets` is at least one.
fn message_frame_bytes(framing: Framing, config: &Config, bytes: u64, packets: u64) -> u64 {
    let mtu = u64::from(config.mtu_bytes);
    let all = bytes.div_ceil(mtu).max(1);
    let frame = |position, payload: u64| {
        let position = if config.recovery.is_selective() { Position::Only } else { position };
        u64::from(framing.frame_bytes(write_opcode(position), payload as u32))
    };
    if all == 1 {
        return frame(Position::Only, bytes);
    }
    let last = if packets == all { frame(Position::Last, bytes - (all - 1) * mtu) } else { 0 };
    let middle = packets.min(all - 1) - 1;
    frame(Position::First, mtu) + middle * frame(Position::Middle, mtu) + last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use transport::{Recovery, Requester};
    use units::{Instant, Span};
    use wire::Psn;

    proptest! {
        #[test]
        fn they_equal_the_frames_of_a_requester(
            mtu_bytes in prop::sample::select(vec![256_u32, 1_024, 4_096]),
            message_bytes in 1_u64..20_000,
            bytes in 0_u64..100_000,
            sent in 1_u64..200,
            is_selective: bool,
        ) {
            let recovery = match is_selective {
                true => Recovery::Selective { ooo_window_packets: 1_000_000 },
                false => Recovery::GoBackN,
            };
            let message_bytes = message_bytes.max(bytes / 100);
            let (ack_every, window_packets, retry_count) = (1, 1_000_000, 7);
            let timeout = Span::from_us(1);
            let config =
                Config { mtu_bytes, message_bytes, ack_every, window_packets, timeout, retry_count, recovery };
            let mut requester = Requester::new(Psn::new(0));
            requester.post(&config, bytes);
            let mut expected = Frames::default();
            while u64::from(expected.frames) < sent
                && let Some(packet) = requester.poll_transmit(&config, Instant::ZERO, u32::MAX, |_| bytes)
            {
                let opcode = write_opcode(packet.position);
                expected.frames += 1;
                expected.bytes += u64::from(Framing::Ethernet.frame_bytes(opcode, packet.payload_bytes));
            }
            let packets = sent.min(config.packets(bytes));
            prop_assert_eq!(frames_of(Framing::Ethernet, &config, bytes, packets), expected);
            prop_assert_eq!(requester.sent_of_each(&config, |_| bytes).next(), Some((bytes, packets)));
        }
    }
}
