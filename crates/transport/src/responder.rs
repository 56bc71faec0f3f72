//! The receiving side of a reliable connection.

use crate::{Config, Position};
use wire::Psn;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// In order: its payload is placed.
    Accepted,
    /// Already placed; dropped.
    Duplicate,
    /// Ahead of a gap; dropped.
    OutOfOrder,
}

/// A packet to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Everything up to and with this PSN arrived.
    Ack(Psn),
    /// Everything before this PSN arrived, it did not (NAK "PSN sequence error").
    Nak(Psn),
}

/// The judgement on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What becomes of it.
    pub disposition: Disposition,
    /// The answer, if one is due.
    pub reply: Option<Reply>,
}

/// The responder: accepts packets in order, acknowledges them in groups and reports each gap once.
#[derive(Clone, Debug)]
pub struct Responder {
    expected: Psn,
    /// Packets since the last acknowledgement.
    unacknowledged: u32,
    /// Messages completed, modulo 2^24.
    message_sequence: u32,
    gap_reported: bool,
}

impl Responder {
    /// A queue pair whose first packet will carry `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { expected: initial_psn, unacknowledged: 0, message_sequence: 0, gap_reported: false }
    }

    /// Message sequence number for the AETH: messages completed, modulo 2^24.
    #[must_use]
    pub const fn message_sequence(&self) -> u32 {
        self.message_sequence & 0xff_ffff
    }

    /// Judges a packet.
    #[inline]
    pub fn on_packet(&mut self, config: &Config, psn: Psn, position: Position) -> Arrival {
        let distance = psn.distance_from(self.expected);
        if distance == 0 {
            self.expected = self.expected.add(1);
            self.gap_reported = false;
            self.message_sequence = self.message_sequence.wrapping_add(u32::from(position.ends_message()));
            return Arrival { disposition: Disposition::Accepted, reply: self.coalesce(config, position) };
        }
        if distance < 0 {
            // IBTA 9.7.5.1: a duplicate write is acknowledged again, with the newest packet placed, and otherwise
            // dropped.
            return Arrival { disposition: Disposition::Duplicate, reply: self.coalesce(config, position) };
        }
        Arrival { disposition: Disposition::OutOfOrder, reply: self.report_gap() }
    }

    #[inline]
    fn coalesce(&mut self, config: &Config, position: Position) -> Option<Reply> {
        self.unacknowledged += 1;
        if !position.ends_message() && self.unacknowledged < config.ack_every {
            return None;
        }
        self.unacknowledged = 0;
        Some(Reply::Ack(self.newest()))
    }

    /// The packet before the expected one.
    #[inline]
    const fn newest(&self) -> Psn {
        // One less, modulo 2^24.
        self.expected.add(u32::MAX)
    }

    /// IBTA 9.7.5.2: one NAK per gap, until the expected packet arrives. It also acknowledges what came before.
    #[cold]
    fn report_gap(&mut self) -> Option<Reply> {
        let first = !std::mem::replace(&mut self.gap_reported, true);
        first.then(|| {
            self.unacknowledged = 0;
            Reply::Nak(self.expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Disposition::{Accepted, Duplicate, OutOfOrder};
    use Position::{First, Last, Middle, Only};
    use units::Span;

    const START: u32 = 100;

    fn config(ack_every: u32) -> Config {
        Config {
            mtu_bytes: 1024,
            message_bytes: 4096,
            ack_every,
            window_packets: 64,
            timeout: Span::from_us(1),
            retry_count: 7,
        }
    }

    fn ack(packet: u32) -> Option<Reply> {
        Some(Reply::Ack(Psn::new(START + packet)))
    }

    fn nak(packet: u32) -> Option<Reply> {
        Some(Reply::Nak(Psn::new(START + packet)))
    }

    /// Feeds packets one after the other and compares each judgement.
    fn expect(config: &Config, packets: &[(u32, Position, Disposition, Option<Reply>)]) -> Responder {
        let mut responder = Responder::new(Psn::new(START));
        for &(packet, position, disposition, reply) in packets {
            let arrival = responder.on_packet(config, Psn::new(START + packet), position);
            assert_eq!(arrival, Arrival { disposition, reply }, "packet {packet}");
        }
        responder
    }

    #[test]
    fn a_group_ends_when_it_is_full_and_with_its_message() {
        expect(
            &config(2),
            &[
                (0, First, Accepted, None),
                (1, Middle, Accepted, ack(1)),
                (2, Last, Accepted, ack(2)),
                (3, First, Accepted, None),
                (4, Last, Accepted, ack(4)),
            ],
        );
    }

    #[test]
    fn a_gap_is_reported_once_and_the_next_gap_again() {
        expect(
            &config(8),
            &[
                (0, First, Accepted, None),
                (2, Middle, OutOfOrder, nak(1)),
                (3, Middle, OutOfOrder, None),
                (1, Middle, Accepted, None),
                (3, Middle, OutOfOrder, nak(2)),
            ],
        );
    }

    #[test]
    fn a_nak_acknowledges_what_came_before_so_a_new_group_begins() {
        expect(
            &config(2),
            &[
                (0, First, Accepted, None),
                (2, Middle, OutOfOrder, nak(1)),
                (1, Middle, Accepted, None),
                (2, Middle, Accepted, ack(2)),
            ],
        );
    }

    #[test]
    fn duplicates_are_acknowledged_in_groups_with_the_newest_packet() {
        expect(
            &config(2),
            &[
                (0, First, Accepted, None),
                (1, Middle, Accepted, ack(1)),
                (2, Last, Accepted, ack(2)),
                (0, First, Duplicate, None),
                (1, Middle, Duplicate, ack(2)),
                (2, Last, Duplicate, ack(2)),
            ],
        );
    }

    #[test]
    fn the_message_sequence_counts_each_message_once() {
        let responder = expect(
            &config(1),
            &[
                (0, Only, Accepted, ack(0)),
                (1, First, Accepted, ack(1)),
                (3, Only, OutOfOrder, nak(2)),
                (2, Last, Accepted, ack(2)),
                (2, Last, Duplicate, ack(2)),
                (0, Only, Duplicate, ack(2)),
            ],
        );
        assert_eq!(responder.message_sequence(), 2);
    }

    #[test]
    fn half_the_number_space_back_is_a_duplicate_and_the_rest_lies_ahead() {
        let config = config(1);
        let judge = |ahead| {
            let mut responder = Responder::new(Psn::new(START));
            responder.on_packet(&config, Psn::new(START).add(ahead), Only).disposition
        };
        assert_eq!(judge(Psn::WINDOW_MAX - 1), OutOfOrder);
        assert_eq!(judge(Psn::WINDOW_MAX), Duplicate);
        assert_eq!(judge(Psn::WINDOW_MAX * 2 - 1), Duplicate);
    }

    #[test]
    fn a_queue_pair_stays_within_a_quarter_of_a_cache_line() {
        assert_eq!(size_of::<Responder>(), 16);
    }
}
