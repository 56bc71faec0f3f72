//! RoCEv2 unreliable connection (UC): a sender that segments WRITEs into packets and sends each once, and a
//! receiver that drops messages with a gap.
//!
//! Nothing is acknowledged, so there is no window, timer or recovery. A work request completes at the sender
//! when its last packet is sent. The receiver accepts a message whose packets arrive one after the other,
//! from First or Only to Last; a missing, overtaken or duplicate packet drops the rest of its message
//! silently, and the next First or Only starts anew (IBTA Volume 1 release 1.7, 9.8). Leaves out immediate
//! data, memory keys and packets with errors.
//!
//! Messages and packets have the sizes of a [`Config`]; the rest of it has no effect.

use crate::segment::Cursor;
use crate::{Config, NextPacket, Position, Transmit};
use wire::Psn;

/// The sender: posted work requests, sent one after the other.
///
/// The owner stores the size of each work request and passes it as `bytes_of`: the bytes of a work request
/// that was not sent completely when the call began, by index; 0 is the oldest.
#[derive(Clone, Debug)]
pub struct UcSender {
    next_psn: Psn,
    /// Work requests not sent completely.
    open: u32,
    /// Packets sent of the oldest of them.
    sent: u64,
}

/// A packet of a [`UcSender`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UcTransmit {
    /// All its fields.
    pub transmit: Transmit,
    /// It is the last of its work request, which is complete.
    pub completes: bool,
}

impl UcSender {
    /// A queue pair whose first packet has PSN `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { next_psn: initial_psn, open: 0, sent: 0 }
    }

    /// Posts a write, which is split into messages; one of 0 bytes is one packet without payload.
    pub const fn post(&mut self) {
        self.open += 1;
    }

    /// Whether there is a packet to send.
    #[inline]
    #[must_use]
    pub const fn can_transmit(&self) -> bool {
        self.open > 0
    }

    /// Packets sent of the oldest work request that is not sent completely.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// The next packet, if any.
    pub fn poll_transmit(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) -> Option<UcTransmit> {
        if self.open == 0 {
            return None;
        }
        let bytes = bytes_of(0);
        let cursor = Cursor::at(config, bytes, self.sent);
        let packet = NextPacket {
            psn: self.next_psn,
            position: cursor.position(config),
            ack_request: false,
            payload_bytes: cursor.payload_bytes(config),
            is_retransmission: false,
            work: 0,
        };
        self.next_psn = self.next_psn.add(1);
        self.sent += 1;
        let completes = self.sent == config.packets(bytes);
        if completes {
            self.open -= 1;
            self.sent = 0;
        }
        let Cursor { message_bytes, offset_bytes, .. } = cursor;
        Some(UcTransmit {
            transmit: Transmit { packet, message_bytes: message_bytes.into(), offset_bytes },
            completes,
        })
    }
}

/// Verdict of a [`UcReceiver`] on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UcDisposition {
    /// Its payload is placed.
    Accepted,
    /// Its payload is placed, and its message is complete.
    CompletesMessage,
    /// Its message has a gap before it: dropped.
    Dropped,
}

/// The receiver.
#[derive(Clone, Debug)]
pub struct UcReceiver {
    /// The packet after the last one that arrived.
    expected: Psn,
    /// A message has started and all its packets so far have arrived.
    is_in_message: bool,
}

impl UcReceiver {
    /// A queue pair whose first packet has PSN `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { expected: initial_psn, is_in_message: false }
    }

    /// Whether [`Self::on_packet`] will accept a packet.
    #[must_use]
    pub fn accepts(&self, psn: Psn, position: Position) -> bool {
        position.starts_message() || self.is_in_message && psn == self.expected
    }

    /// Processes an arrived packet.
    pub fn on_packet(&mut self, psn: Psn, position: Position) -> UcDisposition {
        let is_accepted = self.accepts(psn, position);
        self.expected = psn.add(1);
        self.is_in_message = is_accepted && !position.ends_message();
        match (is_accepted, position.ends_message()) {
            (true, true) => UcDisposition::CompletesMessage,
            (true, false) => UcDisposition::Accepted,
            (false, _) => UcDisposition::Dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recovery, Requester};
    use proptest::prelude::*;
    use units::{Instant, Span};

    fn config(mtu_bytes: u32, message_bytes: u64) -> Config {
        Config {
            mtu_bytes,
            message_bytes,
            ack_every: 1,
            window_packets: 1 << 23,
            timeout: Span::from_us(1),
            retry_count: 7,
            recovery: Recovery::None,
        }
    }

    /// Packets of work requests of these sizes, with whether each completes its request.
    fn sent(config: &Config, requests: &[u64]) -> Vec<(Transmit, bool)> {
        let (mut sender, mut done) = (UcSender::new(Psn::new(0xff_fffe)), 0);
        requests.iter().for_each(|_| sender.post());
        let mut packets = Vec::new();
        while let Some(packet) = sender.poll_transmit(config, |index| requests[done + index]) {
            packets.push((packet.transmit, packet.completes));
            done += usize::from(packet.completes);
        }
        assert!(!sender.can_transmit() && done == requests.len());
        packets
    }

    /// Sequence of the messages that are accepted of those packets of messages of 4 that arrive.
    fn accepted(arrivals: &[u32]) -> Vec<u32> {
        use Position::{First, Last, Middle};
        let mut receiver = UcReceiver::new(Psn::new(0));
        let position = |packet: u32| [First, Middle, Middle, Last][packet as usize % 4];
        let completes = |packet: &&u32| {
            receiver.on_packet(Psn::new(**packet), position(**packet)) == UcDisposition::CompletesMessage
        };
        arrivals.iter().filter(completes).map(|packet| packet / 4).collect()
    }

    proptest! {
        /// A requester of a reliable connection sends the same packets while nothing is lost.
        #[test]
        fn packets_are_those_of_a_reliable_connection_without_ack_requests(
            mtu_bytes in prop::sample::select(vec![256_u32, 1_024, 4_096]),
            message_bytes in 300_u64..20_000,
            requests in prop::collection::vec(0_u64..50_000, 1..5),
        ) {
            let config = config(mtu_bytes, message_bytes);
            let mut requester = Requester::new(Psn::new(0xff_fffe));
            requests.iter().for_each(|&bytes| requester.post(&config, bytes));
            for (transmit, _) in sent(&config, &requests) {
                let next = requester.poll_transmit(&config, Instant::ZERO, u32::MAX, |work| requests[work]);
                let expected = requester.transmit(&config, &next.unwrap(), |work| requests[work]);
                let packet = NextPacket { ack_request: false, work: 0, ..expected.packet };
                prop_assert_eq!(transmit, Transmit { packet, ..expected });
            }
            prop_assert!(requester.is_exhausted());
        }

        /// Without reordering a message arrives if and only if all its packets do.
        #[test]
        fn a_message_with_a_gap_is_dropped_and_no_other(is_lost in prop::collection::vec(any::<bool>(), 40)) {
            let arrivals: Vec<u32> = (0..40).filter(|&packet| !is_lost[packet as usize]).collect();
            let whole: Vec<u32> = (0..10).filter(|message| (0..4).all(|packet| !is_lost[4 * message + packet]))
                .map(|message| message as u32).collect();
            prop_assert_eq!(accepted(&arrivals), whole);
        }
    }

    #[test]
    fn a_work_request_completes_with_its_last_packet() {
        let packets = sent(&config(256, 600), &[0, 610]);
        let expected = [(0, true), (256, false), (256, false), (88, false), (10, true)];
        let found: Vec<_> =
            packets.iter().map(|(each, completes)| (each.packet.payload_bytes, *completes)).collect();
        assert_eq!(found, expected);
        assert_eq!(packets[4].0.packet.psn, Psn::new(2), "numbers wrap");
        assert_eq!((packets[3].0.message_bytes, packets[3].0.offset_bytes), (600, 512));
    }

    #[test]
    fn packets_that_overtake_others_drop_the_messages_of_both() {
        assert_eq!(accepted(&[0, 1, 2, 3, 4, 5, 6, 7]), [0, 1]);
        assert_eq!(accepted(&[0, 1, 3, 2, 4, 5, 6, 7]), [1], "within a message");
        assert_eq!(accepted(&[0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11]), [2], "of two messages");
        assert!(accepted(&[0, 1, 2, 2, 3]).is_empty(), "a duplicate");
    }
}
