//! The sending side of a reliable connection.

use crate::{Config, RateControl};
use std::collections::VecDeque;
use units::Instant;
use wire::Psn;

/// Where a packet stands in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Position {
    /// First of several.
    First,
    /// Neither first nor last.
    Middle,
    /// Last of several.
    Last,
    /// The whole message.
    Only,
}

impl Position {
    /// From the two ends it may stand at.
    #[inline]
    #[must_use]
    pub const fn new(starts_message: bool, ends_message: bool) -> Self {
        match (starts_message, ends_message) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    /// First or only: carries the RETH.
    #[inline]
    #[must_use]
    pub const fn starts_message(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Last or only: asks for an acknowledgement.
    #[inline]
    #[must_use]
    pub const fn ends_message(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Packet sequence number.
    pub psn: Psn,
    /// Place in its message; with `ends_message` the ACK-request bit is set.
    pub position: Position,
    /// Payload, without padding [bytes].
    pub payload_bytes: u32,
    /// Payload of the whole message [bytes], for the RETH.
    pub message_bytes: u64,
    /// Offset of this payload in its work request [bytes].
    pub offset_bytes: u64,
    /// Sent before.
    pub is_retransmission: bool,
    /// Which of the uncompleted work requests it belongs to, the oldest being 0.
    pub work: usize,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Work requests completed by it, oldest first.
    pub completed: u32,
    /// Something was newly acknowledged.
    pub progressed: bool,
}

/// What a timeout led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutOutcome {
    /// The deadline had moved; nothing happened.
    NotDue,
    /// Everything unacknowledged will be sent again.
    Resend,
    /// The retries are used up: the queue pair is in error and sends nothing more.
    Failed,
}

/// A posted write of a run of bytes, in packets since the queue pair began.
#[derive(Clone, Copy, Debug)]
struct Work {
    first: u64,
    end: u64,
    bytes: u64,
}

/// Place of the next packet in its work request.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    /// One past the last packet of the work request being sent.
    work_end: u64,
    /// Bytes of the request before the next packet.
    offset: u64,
    /// Bytes of the request from the next packet on.
    bytes_left: u64,
    /// Payload of the message of the next packet.
    message_bytes: u64,
    /// Of those, not yet sent.
    message_left: u64,
}

/// The requester: turns posted work into packets and keeps them until they are acknowledged.
///
/// Sequences are 64-bit packet counts since the queue pair began; only the low 24 bits plus the initial PSN
/// travel.
#[derive(Clone, Debug)]
pub struct Requester<R> {
    next: u64,
    unacked: u64,
    /// One past the highest packet ever sent.
    sent: u64,
    /// One past the last packet posted.
    posted: u64,
    deadline: Instant,
    cursor: Cursor,
    initial_psn: Psn,
    retries: u32,
    failed: bool,
    /// Index in `work` of the request that `next` belongs to.
    sending: usize,
    work: VecDeque<Work>,
    rate: R,
}

impl<R: RateControl> Requester<R> {
    /// A queue pair whose first packet will carry `initial_psn`.
    #[must_use]
    pub fn new(initial_psn: Psn, rate: R) -> Self {
        Self {
            next: 0,
            unacked: 0,
            sent: 0,
            posted: 0,
            deadline: Instant::NEVER,
            cursor: Cursor::default(),
            initial_psn,
            retries: 0,
            failed: false,
            sending: 0,
            work: VecDeque::new(),
            rate,
        }
    }

    /// Posts a write of `bytes`, cut into messages.
    ///
    /// # Panics
    /// When `bytes` is zero: an empty write has no packet to complete it.
    pub fn post(&mut self, config: &Config, bytes: u64) {
        assert!(bytes > 0, "a work request moves at least one byte");
        let first = self.posted;
        self.posted += config.packets(bytes);
        self.work.push_back(Work { first, end: self.posted, bytes });
        if self.next == first {
            self.seek(config, first);
        }
    }

    /// The rate controller.
    pub const fn rate(&mut self) -> &mut R {
        &mut self.rate
    }

    /// Something is posted that the window lets out.
    #[inline]
    #[must_use]
    pub const fn can_transmit(&self, config: &Config) -> bool {
        self.next < self.posted && self.next - self.unacked < config.window_packets as u64 && !self.failed
    }

    /// The earliest time of the next packet, as far as the rate controller is concerned.
    #[inline]
    #[must_use]
    pub fn ready_at(&self) -> Instant {
        self.rate.ready_at()
    }

    /// The next packet, if there is one that window and state allow.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if !self.can_transmit(config) {
            return None;
        }
        let cursor = self.cursor;
        let payload = cursor.message_left.min(u64::from(config.mtu_bytes));
        let starts_message = cursor.message_left == cursor.message_bytes;
        let transmit = Transmit {
            psn: self.initial_psn.add(self.next as u32),
            position: Position::new(starts_message, payload == cursor.message_left),
            payload_bytes: payload as u32,
            message_bytes: cursor.message_bytes,
            offset_bytes: cursor.offset,
            is_retransmission: self.next < self.sent,
            work: self.sending,
        };
        if self.next == self.unacked {
            self.deadline = now + config.timeout;
        }
        self.next += 1;
        self.sent = self.sent.max(self.next);
        self.advance(config, payload);
        Some(transmit)
    }

    /// When [`Self::on_timeout`] is due; [`Instant::NEVER`] while nothing is outstanding.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// An ACK for everything up to and with `psn`.
    #[inline]
    pub fn on_ack(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        self.acknowledge(config, now, i64::from(psn.distance_from(self.psn_of(self.unacked))) + 1)
    }

    /// A NAK "PSN sequence error": everything before `psn` arrived, `psn` did not. Goes back to it.
    pub fn on_nak(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let distance = i64::from(psn.distance_from(self.psn_of(self.unacked)));
        let outcome = self.acknowledge(config, now, distance);
        // A NAK from before the last progress asks for nothing that is still missing.
        if distance >= 0 && self.psn_of(self.unacked) == psn && self.next > self.unacked {
            self.seek(config, self.unacked);
            self.deadline = now + config.timeout;
        }
        outcome
    }

    /// Fires the timer if it is due at `now`.
    pub fn on_timeout(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        if now < self.deadline || self.failed {
            return TimeoutOutcome::NotDue;
        }
        if self.retries == config.retry_count {
            self.failed = true;
            self.deadline = Instant::NEVER;
            return TimeoutOutcome::Failed;
        }
        self.retries += 1;
        self.seek(config, self.unacked);
        self.deadline = now + config.timeout;
        TimeoutOutcome::Resend
    }

    /// The retries are used up.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.failed
    }

    /// Packets sent and not acknowledged.
    #[must_use]
    pub const fn outstanding_packets(&self) -> u64 {
        self.sent - self.unacked
    }

    fn psn_of(&self, sequence: u64) -> Psn {
        self.initial_psn.add(sequence as u32)
    }

    /// Acknowledges `count` packets beyond `unacked`; ignores what is stale or was never sent.
    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Instant, count: i64) -> AckOutcome {
        if count <= 0 || count as u64 > self.sent - self.unacked || self.failed {
            return AckOutcome::default();
        }
        self.unacked += count as u64;
        self.retries = 0;
        if self.next < self.unacked {
            // A late ACK overtook the resending.
            self.seek(config, self.unacked);
        }
        self.deadline = if self.next == self.unacked { Instant::NEVER } else { now + config.timeout };
        AckOutcome { completed: self.retire(), progressed: true }
    }

    /// Drops completed work from the front.
    #[inline]
    fn retire(&mut self) -> u32 {
        let mut completed = 0;
        while self.work.front().is_some_and(|work| work.end <= self.unacked) {
            self.work.pop_front();
            self.sending = self.sending.saturating_sub(1);
            completed += 1;
        }
        completed
    }

    /// Moves the cursor past a payload that was just sent.
    #[inline]
    fn advance(&mut self, config: &Config, payload: u64) {
        let cursor = &mut self.cursor;
        cursor.offset += payload;
        cursor.bytes_left -= payload;
        cursor.message_left -= payload;
        if cursor.message_left == 0 {
            if self.next == cursor.work_end {
                self.start_work(config, self.sending + 1);
            } else {
                cursor.message_bytes = cursor.bytes_left.min(config.message_bytes);
                cursor.message_left = cursor.message_bytes;
            }
        }
    }

    /// Places the cursor at the first packet of `work[index]`, if it is posted.
    fn start_work(&mut self, config: &Config, index: usize) {
        self.sending = index;
        if let Some(work) = self.work.get(index) {
            let message_bytes = work.bytes.min(config.message_bytes);
            self.cursor = Cursor {
                work_end: work.end,
                offset: 0,
                bytes_left: work.bytes,
                message_bytes,
                message_left: message_bytes,
            };
        }
    }

    /// Makes `sequence` the next packet to send.
    #[cold]
    fn seek(&mut self, config: &Config, sequence: u64) {
        self.next = sequence;
        let index = self.work.partition_point(|work| work.end <= sequence);
        self.start_work(config, index);
        let Some(work) = self.work.get(index) else { return };
        let packet = sequence - work.first;
        let message = packet / config.packets_per_message();
        let message_start = message * config.message_bytes;
        let within = packet % config.packets_per_message() * u64::from(config.mtu_bytes);
        let message_bytes = (work.bytes - message_start).min(config.message_bytes);
        self.cursor = Cursor {
            work_end: work.end,
            offset: message_start + within,
            bytes_left: work.bytes - message_start - within,
            message_bytes,
            message_left: message_bytes - within,
        };
    }
}
