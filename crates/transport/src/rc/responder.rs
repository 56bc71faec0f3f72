//! Responder of a reliable connection: accepts packets in order, acknowledges them in groups and reports
//! gaps. Also the types of verdicts and replies, which the responder of selective recovery (`placement`) uses
//! too.

use crate::{Config, Position, Recovery};
use units::State;
use wire::Psn;

/// Verdict on an arrived packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// In order: its payload is placed.
    Accepted,
    /// Out of order: its payload is placed nevertheless.
    Placed,
    /// Already placed; dropped.
    Duplicate,
    /// Beyond a gap, or with selective recovery beyond the window; dropped.
    OutOfOrder,
}

/// An acknowledgement to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Everything up to and including this PSN arrived.
    Ack(Psn),
    /// Everything before this PSN arrived, this PSN did not (NAK "PSN sequence error").
    Nak(Psn),
    /// Selective recovery: an ACK with the highest packet placed. On the wire an ACK with `newest` in the BTH
    /// and, specific to this implementation, `highest` instead of the message sequence number.
    SelectiveAck {
        /// Everything up to and including this PSN arrived.
        newest: Psn,
        /// Nothing beyond this PSN did.
        highest: Psn,
    },
    /// Selective recovery: a NAK that reports nothing about packets after the missing one. On the wire a NAK
    /// "PSN sequence error" with `missing` in the BTH and, specific to this implementation, `newest` instead
    /// of the message sequence number.
    SelectiveNak {
        /// Everything up to and including this PSN arrived.
        newest: Psn,
        /// This PSN did not arrive, although packets far beyond it did.
        missing: Psn,
    },
}

impl Reply {
    /// Fields on the wire: whether it is an ACK, the PSN of the BTH, and the message sequence number of the
    /// AETH, which is `message_sequence` except with selective recovery.
    #[inline]
    #[must_use]
    pub const fn header(self, message_sequence: u32) -> (bool, Psn, u32) {
        match self {
            Self::Ack(psn) => (true, psn, message_sequence),
            Self::Nak(psn) => (false, psn, message_sequence),
            Self::SelectiveAck { newest, highest } => (true, newest, highest.value()),
            Self::SelectiveNak { newest, missing } => (false, missing, newest.value()),
        }
    }
}

/// Result of processing one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Verdict on the packet.
    pub disposition: Disposition,
    /// Answer to send, if one is due.
    pub reply: Option<Reply>,
}

/// The lowest bit of [`Responder::messages`].
const GAP_REPORTED: u32 = 1;
/// One message in [`Responder::messages`].
const MESSAGE: u32 = 2;

/// The responder: accepts packets in order, acknowledges them in groups and reports each gap once. Without
/// recovery it accepts every packet. Selective recovery uses [`crate::Placement`] instead.
#[derive(Clone, Debug, State)]
#[state(equal = Self::has_reported_gap)]
pub struct Responder {
    expected: Psn,
    /// Packets since the last acknowledgement.
    unacknowledged: u32,
    /// Completed messages, modulo 2^31, above the bit [`GAP_REPORTED`]. Packed because a million responders
    /// are accessed one after another.
    #[state(count)]
    messages: u32,
}

impl Responder {
    /// A queue pair whose first packet has PSN `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { expected: initial_psn, unacknowledged: 0, messages: 0 }
    }

    /// A responder that has received `packets` packets of `messages` messages and has acknowledged the last
    /// one.
    #[must_use]
    pub const fn after(initial_psn: Psn, packets: u32, messages: u32) -> Self {
        Self {
            expected: initial_psn.add(packets),
            unacknowledged: 0,
            messages: messages.wrapping_mul(MESSAGE),
        }
    }

    /// Message sequence number for the AETH: completed messages, modulo 2^24. Selective recovery sends
    /// another value there; see [`Reply`].
    #[inline]
    #[must_use]
    pub const fn message_sequence(&self) -> u32 {
        (self.messages / MESSAGE) & 0xff_ffff
    }

    /// Whether the gap before the next packet has been reported.
    const fn has_reported_gap(&self) -> bool {
        self.messages & GAP_REPORTED != 0
    }

    /// The next packet, if packets arrive in order.
    #[inline]
    #[must_use]
    pub const fn expected(&self) -> Psn {
        self.expected
    }

    /// Processes an arrived packet.
    #[inline]
    pub fn on_packet(&mut self, config: &Config, psn: Psn, position: Position, ack_request: bool) -> Arrival {
        if config.recovery == Recovery::None {
            return self.take_any(config, psn, position, ack_request);
        }
        self.take_in_order(config, psn, position, ack_request)
    }

    /// Processes a READ request whose responses take `packets` packet sequence numbers. In order or a
    /// duplicate, it must be answered (IBTA 9.7.5.1.2). Its responses acknowledge it. With go-back-N recovery
    /// only.
    pub fn on_read_request(&mut self, psn: Psn, packets: u32) -> Arrival {
        let distance = psn.distance_from(self.expected);
        if distance > 0 {
            return Arrival { disposition: Disposition::OutOfOrder, reply: self.report_gap() };
        }
        if distance < 0 {
            return Arrival { disposition: Disposition::Duplicate, reply: None };
        }
        self.expected = self.expected.add(packets);
        self.unacknowledged = 0;
        self.close_gap();
        self.count_message(true);
        Arrival { disposition: Disposition::Accepted, reply: None }
    }

    /// The expected packet arrived, but there is no receive for its payload: it is refused by an RNR NAK,
    /// which acknowledges the packets before it (IBTA 9.7.5.2). Packets after it are dropped silently until
    /// it is resent.
    pub const fn on_not_ready(&mut self) {
        self.messages |= GAP_REPORTED;
        self.unacknowledged = 0;
    }

    #[inline]
    fn take_in_order(&mut self, config: &Config, psn: Psn, position: Position, ack_request: bool) -> Arrival {
        let distance = psn.distance_from(self.expected);
        if distance == 0 {
            self.expected = self.expected.add(1);
            self.close_gap();
            self.count_message(position.ends_message());
            return Arrival { disposition: Disposition::Accepted, reply: self.coalesce(config, ack_request) };
        }
        if distance < 0 {
            // IBTA 9.7.5.1: a duplicate write is acknowledged again, with the newest packet placed, and
            // otherwise dropped.
            return Arrival {
                disposition: Disposition::Duplicate,
                reply: self.coalesce(config, ack_request),
            };
        }
        Arrival { disposition: Disposition::OutOfOrder, reply: self.report_gap() }
    }

    /// Without recovery: every packet is placed, and acknowledged with the highest PSN seen.
    fn take_any(&mut self, config: &Config, psn: Psn, position: Position, ack_request: bool) -> Arrival {
        let disposition = if psn.distance_from(self.expected) < 0 {
            Disposition::Placed
        } else {
            self.expected = psn.add(1);
            Disposition::Accepted
        };
        self.count_message(position.ends_message());
        Arrival { disposition, reply: self.coalesce(config, ack_request) }
    }

    #[inline]
    const fn close_gap(&mut self) {
        self.messages &= !GAP_REPORTED;
    }

    #[inline]
    const fn count_message(&mut self, ends: bool) {
        self.messages = self.messages.wrapping_add(MESSAGE * ends as u32);
    }

    #[inline]
    fn coalesce(&mut self, config: &Config, ack_request: bool) -> Option<Reply> {
        self.unacknowledged += 1;
        if !ack_request && self.unacknowledged < config.ack_every {
            return None;
        }
        self.unacknowledged = 0;
        Some(Reply::Ack(self.newest()))
    }

    /// The packet before the expected one.
    #[inline]
    const fn newest(&self) -> Psn {
        // Minus one, modulo 2^24.
        self.expected.add(u32::MAX)
    }

    /// IBTA 9.7.5.2: one NAK per gap, until the expected packet arrives. It also acknowledges the packets
    /// before the gap.
    #[cold]
    fn report_gap(&mut self) -> Option<Reply> {
        if self.has_reported_gap() {
            return None;
        }
        self.messages |= GAP_REPORTED;
        self.unacknowledged = 0;
        Some(Reply::Nak(self.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Disposition::{Accepted, Duplicate, OutOfOrder, Placed};
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
            recovery: Recovery::GoBackN,
        }
    }

    fn ack(packet: u32) -> Option<Reply> {
        Some(Reply::Ack(Psn::new(START + packet)))
    }

    fn nak(packet: u32) -> Option<Reply> {
        Some(Reply::Nak(Psn::new(START + packet)))
    }

    /// Processes packets one by one and compares each verdict.
    fn expect(config: &Config, packets: &[(u32, Position, Disposition, Option<Reply>)]) -> Responder {
        let mut responder = Responder::new(Psn::new(START));
        for &(packet, position, disposition, reply) in packets {
            let arrival =
                responder.on_packet(config, Psn::new(START + packet), position, position.ends_message());
            assert_eq!(arrival, Arrival { disposition, reply }, "packet {packet}");
        }
        responder
    }

    #[test]
    fn one_that_has_received_all_answers_as_after_each_packet() {
        let packets = [(0, First, Accepted, None), (1, Last, Accepted, ack(1)), (2, Only, Accepted, ack(2))];
        let mut received = expect(&config(4), &packets);
        let mut after = Responder::after(Psn::new(START), 3, 2);
        assert_eq!(after.message_sequence(), received.message_sequence());
        for packet in [0, 1, 2, 0, 3, 4] {
            let psn = Psn::new(START + packet);
            let judge = |responder: &mut Responder| responder.on_packet(&config(4), psn, Only, packet == 2);
            assert_eq!(judge(&mut after), judge(&mut received));
        }
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
    fn without_recovery_everything_is_placed() {
        let config = Config { recovery: Recovery::None, ..config(2) };
        let steps = [
            (0, First, Accepted, None),
            (3, Middle, Accepted, ack(3)),
            (2, Middle, Placed, None),
            (7, Last, Accepted, ack(7)),
        ];
        expect(&config, &steps);
    }

    #[test]
    fn half_the_number_space_back_is_a_duplicate_and_the_rest_lies_ahead() {
        let config = config(1);
        let judge = |ahead| {
            let mut responder = Responder::new(Psn::new(START));
            responder.on_packet(&config, Psn::new(START).add(ahead), Only, true).disposition
        };
        assert_eq!(judge(Psn::WINDOW_MAX - 1), OutOfOrder);
        assert_eq!(judge(Psn::WINDOW_MAX), Duplicate);
        assert_eq!(judge(Psn::WINDOW_MAX * 2 - 1), Duplicate);
    }

    #[test]
    fn what_follows_a_packet_that_was_not_ready_is_dropped_without_a_word() {
        let config = config(1);
        let mut responder = Responder::new(Psn::new(START));
        let judge = |responder: &mut Responder, packet| {
            let arrival = responder.on_packet(&config, Psn::new(START + packet), Only, true);
            (arrival.disposition, arrival.reply)
        };
        responder.on_not_ready();
        assert_eq!(judge(&mut responder, 1), (OutOfOrder, None));
        assert_eq!(judge(&mut responder, 0), (Accepted, ack(0)));
        assert_eq!(judge(&mut responder, 2), (OutOfOrder, nak(1)));
    }

    #[test]
    fn it_takes_a_fifth_of_a_cache_line() {
        assert_eq!(size_of::<Responder>(), 12);
    }
}
