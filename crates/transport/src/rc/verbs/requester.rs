//! Requester of a connection with SEND, WRITE and READ: next request, acknowledgements, responses to READs,
//! timeouts; go-back-N.

use super::Verb;
use crate::rc::in_flight::InFlight;
use crate::segment::Cursor;
use crate::{AckOutcome, Config, NextPacket, Position, TimeoutOutcome, Transmit};
use std::collections::VecDeque;
use units::Instant;
use wire::Psn;

/// A posted work request. `first` and `end` are packet sequence numbers counted from the start of the
/// connection.
#[derive(Clone, Copy, Debug)]
struct Work {
    verb: Verb,
    first: u64,
    /// One past its last packet.
    end: u64,
    bytes: u64,
}

/// A READ request that was sent and is not answered completely.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The next expected response.
    next: u64,
    /// One past its last response.
    end: u64,
}

/// A request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbTransmit {
    /// Operation of the request.
    pub verb: Verb,
    /// The packet. For a READ request `message_bytes` is the number of bytes requested, and there is no
    /// payload.
    pub transmit: Transmit,
}

/// The next expected response to a READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) psn: Psn,
    /// Index of its work request among the uncompleted ones; 0 is the oldest.
    pub(crate) work: usize,
    /// Offset of its payload in the work request [bytes].
    pub(crate) offset_bytes: u64,
    /// Its payload [bytes].
    pub(crate) payload_bytes: u32,
    /// Whether it is the last response to its request.
    pub(crate) is_last: bool,
}

/// Effect of a response to a READ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseOutcome {
    /// It was the expected one: its payload is placed.
    pub is_placed: bool,
    /// It arrived before an earlier one.
    pub is_early: bool,
    /// Work completed by it.
    pub completed: AckOutcome,
}

/// The requester. The timer runs while a sent packet is unacknowledged; between going back and the next
/// packet it runs only if a READ is still being answered.
#[derive(Clone, Debug)]
pub struct VerbRequester {
    flight: InFlight,
    /// The oldest uncompleted packet sequence number.
    unacked: u64,
    /// Acknowledged up to here, except READs that are being answered.
    acknowledged: u64,
    /// READs being answered, oldest first.
    readings: VecDeque<Reading>,
    /// Maximum of READs being answered.
    readings_max: usize,
    /// The missing response has been requested again.
    gap_noticed: bool,
    /// Uncompleted work requests, oldest first.
    work: VecDeque<Work>,
    /// Index in `work` of the next packet to send.
    sending: usize,
}

impl VerbRequester {
    /// A connection whose first packet has PSN `initial_psn`, with at most `readings_max` unanswered READ
    /// requests.
    #[must_use]
    pub const fn new(initial_psn: Psn, readings_max: usize) -> Self {
        Self {
            flight: InFlight::new(initial_psn),
            unacked: 0,
            acknowledged: 0,
            readings: VecDeque::new(),
            readings_max,
            gap_noticed: false,
            work: VecDeque::new(),
            sending: 0,
        }
    }

    /// Posts a work request. WRITEs and READs are split into messages; a SEND must fit into one. A request of
    /// 0 bytes is a packet without payload, for a READ its response.
    pub fn post(&mut self, config: &Config, verb: Verb, bytes: u64) {
        let first = self.work.back().map_or_else(|| self.next(), |work| work.end);
        self.work.push_back(Work { verb, first, end: first + config.packets(bytes), bytes });
    }

    /// The next packet sequence number to send.
    fn next(&self) -> u64 {
        self.unacked + u64::from(self.flight.ahead())
    }

    /// One past the highest ever sent.
    fn sent(&self) -> u64 {
        self.unacked + u64::from(self.flight.outstanding())
    }

    /// Whether a packet may be sent: the window limits SENDs and WRITEs, `readings_max` limits READs.
    #[must_use]
    pub fn can_transmit(&self, config: &Config) -> bool {
        self.can_transmit_within(config.window_packets)
    }

    /// Whether a packet may be sent within another window, such as a rate controller's.
    #[must_use]
    pub fn can_transmit_within(&self, window_packets: u32) -> bool {
        !self.flight.is_failed()
            && self.work.get(self.sending).is_some_and(|work| match work.verb {
                Verb::Read => self.readings.len() < self.readings_max,
                Verb::Send | Verb::Write => self.outstanding_packets() < u64::from(window_packets),
            })
    }

    /// Packets sent and not acknowledged, without responses to READs.
    pub(crate) fn outstanding_packets(&self) -> u64 {
        let responses = self.readings.iter().map(|reading| reading.end - reading.next.max(self.unacked));
        u64::from(self.flight.ahead()) - responses.sum::<u64>()
    }

    /// The next request, if one may be sent.
    pub fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<VerbTransmit> {
        if !self.can_transmit(config) {
            return None;
        }
        let work = self.work[self.sending];
        let cursor = Cursor::at(config, work.bytes, self.next() - work.first);
        let transmit = self.describe(config, work.verb, &cursor);
        let packets = match work.verb {
            // A READ of 0 bytes has one response.
            Verb::Read => (cursor.packets_left(config) as u32).max(1),
            Verb::Send | Verb::Write => 1,
        };
        if work.verb == Verb::Read {
            self.readings.push_back(Reading { next: self.next(), end: self.next() + u64::from(packets) });
        }
        self.flight.advance(packets);
        self.sending += usize::from(self.next() == work.end);
        if self.flight.deadline == Instant::NEVER {
            self.flight.start_timer(config, now);
        }
        Some(transmit)
    }

    fn describe(&self, config: &Config, verb: Verb, cursor: &Cursor) -> VerbTransmit {
        let is_read = verb == Verb::Read;
        let position = if is_read { Position::Only } else { cursor.position(config) };
        let packet = NextPacket {
            psn: self.flight.next_psn(),
            position,
            // The response acknowledges the READ.
            ack_request: !is_read && position.ends_message(),
            payload_bytes: if is_read { 0 } else { cursor.payload_bytes(config) },
            is_retransmission: self.flight.is_resending(),
            work: self.sending,
        };
        let message_bytes = if is_read { cursor.message_left() } else { cursor.message_bytes };
        let offset_bytes = cursor.offset_bytes;
        VerbTransmit {
            verb,
            transmit: Transmit { packet, message_bytes: message_bytes.into(), offset_bytes },
        }
    }

    /// Processes an ACK for everything up to and including `psn`.
    pub fn on_ack(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        self.acknowledge(config, now, self.sequence_of(psn) + 1)
    }

    /// Processes a NAK "PSN sequence error": everything before `psn` arrived, `psn` did not. Goes back to it.
    pub fn on_nak(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let missing = self.sequence_of(psn);
        let outcome = self.acknowledge(config, now, missing);
        if (self.unacked as i64..self.next() as i64).contains(&missing) {
            self.go_back(config, now, missing as u64);
        }
        outcome
    }

    /// Processes a response to a READ.
    pub fn on_read_response(&mut self, config: &Config, now: Instant, psn: Psn) -> ResponseOutcome {
        let sequence = self.sequence_of(psn);
        let sent = self.sent();
        let Some(reading) = self.readings.front_mut().filter(|_| !self.flight.is_failed()) else {
            return ResponseOutcome::default();
        };
        let expected = reading.next;
        if sequence != expected as i64 {
            let is_early = sequence > expected as i64 && sequence < sent as i64;
            // IBTA 9.7.5.2.8: an early response implies that those before it are lost; acted on once per gap.
            if is_early && !std::mem::replace(&mut self.gap_noticed, true) {
                self.go_back(config, now, expected);
            }
            return ResponseOutcome { is_early, ..ResponseOutcome::default() };
        }
        reading.next += 1;
        if reading.next == reading.end {
            self.readings.pop_front();
        }
        self.gap_noticed = false;
        let completed = self.acknowledge(config, now, expected as i64 + 1);
        ResponseOutcome { is_placed: true, is_early: false, completed }
    }

    /// Processes an ACK of a responder that sends everything in order: earlier responses that have not
    /// arrived are lost, and are requested again, once per gap (IBTA 9.7.5.1.1, implied NAK).
    pub(crate) fn on_ordered_ack(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let sequence = self.sequence_of(psn);
        let outcome = self.on_ack(config, now, psn);
        let was_sent = sequence < self.next() as i64 && !self.flight.is_failed();
        if let Some(reading) = self.readings.front().filter(|_| was_sent)
            && (reading.next as i64) <= sequence
        {
            let missing = reading.next;
            if !std::mem::replace(&mut self.gap_noticed, true) {
                self.go_back(config, now, missing);
            }
        }
        outcome
    }

    /// The next expected response.
    pub(crate) fn awaited(&self, config: &Config) -> Option<Awaited> {
        let reading = self.readings.front()?;
        let index = self.work.partition_point(|work| work.end <= reading.next);
        let work = self.work.get(index)?;
        let cursor = Cursor::at(config, work.bytes, reading.next - work.first);
        Some(Awaited {
            psn: self.flight.unacked().add((reading.next - self.unacked) as u32),
            work: index,
            offset_bytes: cursor.offset_bytes,
            payload_bytes: cursor.payload_bytes(config),
            is_last: reading.next + 1 == reading.end,
        })
    }

    /// Index among the uncompleted work requests of the packet or response `psn`; `None` if it is not in
    /// flight.
    pub(crate) fn work_at(&self, psn: Psn) -> Option<usize> {
        let sequence = u64::try_from(self.sequence_of(psn)).ok()?;
        let is_in_flight = (self.unacked..self.sent()).contains(&sequence);
        is_in_flight.then(|| self.work.partition_point(|work| work.end <= sequence))
    }

    /// Time at which [`Self::on_timeout`] is due.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.flight.deadline
    }

    /// Fires the timer if it is due at `now`.
    pub fn on_timeout(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        let outcome = self.flight.expire(config, now);
        if outcome == TimeoutOutcome::Resend {
            self.go_back(config, now, self.unacked);
        }
        outcome
    }

    /// Whether the retries are exhausted.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.flight.is_failed()
    }

    /// The packet sequence number, counted from the start, with this PSN that is closest to the oldest
    /// uncompleted one; negative before the first.
    fn sequence_of(&self, psn: Psn) -> i64 {
        self.unacked as i64 + self.flight.packets_before(psn)
    }

    /// Everything before `end` has arrived, except READs that are being answered.
    fn acknowledge(&mut self, config: &Config, now: Instant, end: i64) -> AckOutcome {
        if end > self.sent() as i64 || self.flight.is_failed() {
            return AckOutcome::default();
        }
        self.acknowledged = self.acknowledged.max(end.max(0) as u64);
        // Packets to be resent will be acknowledged again.
        let limit = self.readings.front().map_or_else(|| self.next(), |reading| reading.next);
        let reached = self.acknowledged.min(limit);
        let count = reached.saturating_sub(self.unacked) as i64;
        let Some(progress) = self.flight.acknowledge(config, now, count) else {
            return AckOutcome::default();
        };
        self.unacked += u64::from(progress.packets);
        AckOutcome { completed: self.retire(), packets: progress.packets }
    }

    /// Removes completed work from the front.
    fn retire(&mut self) -> u32 {
        let mut completed = 0;
        while self.work.front().is_some_and(|work| work.end <= self.unacked) {
            self.work.pop_front();
            self.sending -= 1;
            completed += 1;
        }
        completed
    }

    /// Resends from `sequence` on; READs before it continue.
    fn go_back(&mut self, config: &Config, now: Instant, sequence: u64) {
        self.flight.go_back((sequence - self.unacked) as u32);
        self.acknowledged = self.acknowledged.min(sequence);
        self.sending = self.work.partition_point(|work| work.end <= sequence);
        self.readings.retain(|reading| reading.end <= sequence);
        if !self.readings.is_empty() {
            self.flight.start_timer(config, now);
        }
    }
}
