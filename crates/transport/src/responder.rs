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
            // IBTA 9.7.5.1.3: a duplicate write is acknowledged again and otherwise dropped.
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
        Some(Reply::Ack(self.expected.add(Psn::WINDOW_MAX * 2 - 1)))
    }

    /// IBTA 9.7.5.2.8: one NAK per gap, until the expected packet arrives.
    #[cold]
    fn report_gap(&mut self) -> Option<Reply> {
        let first = !std::mem::replace(&mut self.gap_reported, true);
        first.then(|| {
            self.unacknowledged = 0;
            Reply::Nak(self.expected)
        })
    }
}
