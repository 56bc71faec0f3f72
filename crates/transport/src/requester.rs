//! The sending side of a reliable connection.

use crate::segment::Cursor;
use crate::selective::Resends;
use crate::{Config, OneOrMore, Position, RateControl, Recovery, Transmit};
use std::mem::offset_of;
use std::num::NonZeroU64;
use units::{Cycle, Instant};
use wire::Psn;

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
    /// Everything unacknowledged will be sent again; with selective recovery the first of it, whose acknowledgement
    /// tells the rest.
    Resend,
    /// The retries are used up: the queue pair is in error and sends nothing more.
    Failed,
}

/// A posted write of a run of bytes, in packets since the queue pair began.
#[derive(Clone, Copy, Debug)]
struct Work {
    first: u64,
    /// One past its last packet.
    end: NonZeroU64,
    bytes: u64,
}

impl Work {
    /// One past its last packet.
    #[inline]
    const fn end(&self) -> u64 {
        self.end.get()
    }
}

/// The requester: turns posted work into packets and keeps them until they are acknowledged.
///
/// Sequences are 64-bit packet counts since the queue pair began; only the low 24 bits plus the initial PSN
/// travel. At any time `ahead <= outstanding <= window`; `ahead < outstanding` while going back. The timer runs exactly
/// while `ahead > 0`, except that selective recovery, which never goes back, stops it from a timeout until something was
/// sent.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Requester<R> {
    // All that a packet needs that neither begins nor ends a work request, so that it lies together.
    /// The oldest packet that is not acknowledged.
    unacked: u64,
    deadline: Instant,
    /// One past the last packet of the oldest work request; [`u64::MAX`] without one. Kept here so that an
    /// acknowledgement which completes nothing does not touch `work`.
    oldest_end: u64,
    /// Place of the packet that is sent next.
    cursor: Cursor,
    /// Packets from the oldest that is not acknowledged to the one that is sent next.
    ahead: u32,
    /// The same to one past the highest ever sent.
    outstanding: u32,
    initial_psn: Psn,
    /// Index in `work` of the request that the next packet belongs to.
    sending: u32,
    /// Requests in `work` behind that one.
    waiting: u32,
    /// Timeouts since the last progress.
    retries: u16,
    failed: bool,
    /// There are packets in `resends`.
    resending: bool,
    rate: R,
    // What is needed of it less often.
    /// With selective recovery.
    resends: Option<Box<Resends>>,
    /// Posted and not completed, oldest first.
    work: OneOrMore<Work>,
}

impl<R: RateControl> Requester<R> {
    /// What a packet needs that neither begins nor ends a work request is in so much of it, from its beginning.
    pub const HOT_BYTES: usize = offset_of!(Self, rate) + size_of::<R>();

    /// A queue pair whose first packet will carry `initial_psn`.
    #[must_use]
    pub fn new(initial_psn: Psn, rate: R) -> Self {
        Self {
            unacked: 0,
            deadline: Instant::NEVER,
            oldest_end: u64::MAX,
            cursor: Cursor::EXHAUSTED,
            ahead: 0,
            outstanding: 0,
            initial_psn,
            sending: 0,
            waiting: 0,
            retries: 0,
            failed: false,
            resending: false,
            rate,
            resends: None,
            work: OneOrMore::default(),
        }
    }

    /// Posts a write of `bytes`, cut into messages; one of no bytes is a packet without payload. A failed queue pair
    /// keeps it and sends nothing.
    ///
    /// # Panics
    /// When `config` is outside the ranges that its fields give.
    pub fn post(&mut self, config: &Config, bytes: u64) {
        config.assert_in_range();
        if config.recovery.is_selective() {
            self.resends.get_or_insert_default();
        }
        // Without work everything was sent and acknowledged.
        let first = self.work.back().map_or(self.next(), Work::end);
        let end = NonZeroU64::new(first + config.packets(bytes)).expect("every write is a packet at least");
        self.work.push_back(Work { first, end, bytes });
        self.oldest_end = self.oldest_end.min(end.get());
        if self.next() == first {
            self.start_work(config, self.work.len() as u32 - 1);
        } else {
            self.waiting += 1;
        }
    }

    /// The rate controller. The caller reports to it what was sent ([`RateControl::on_sent`]): only the caller
    /// knows the bytes on its wire.
    pub const fn rate(&mut self) -> &mut R {
        &mut self.rate
    }

    /// The rate controller, to look at.
    #[must_use]
    pub const fn controller(&self) -> &R {
        &self.rate
    }

    /// Something is posted that the window lets out.
    #[inline]
    #[must_use]
    pub const fn can_transmit(&self, config: &Config) -> bool {
        (self.has_next(config) || self.resending) && !self.failed
    }

    /// The packet that is sent next.
    #[inline]
    const fn next(&self) -> u64 {
        self.unacked + self.ahead as u64
    }

    /// One past the highest packet ever sent.
    #[inline]
    const fn sent(&self) -> u64 {
        self.unacked + self.outstanding as u64
    }

    /// The window lets the next packet out.
    #[inline]
    const fn has_next(&self, config: &Config) -> bool {
        !self.cursor.is_exhausted() && self.ahead < config.window_packets
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
        if config.recovery.is_selective() {
            return Some(self.transmit_alone(config, now));
        }
        let transmit = self.describe(config, &self.cursor, self.next(), self.sending);
        if self.ahead == 0 {
            self.deadline = config.deadline(now);
        }
        self.advance(config);
        Some(transmit)
    }

    /// Place in its message and payload [bytes] of the next packet, at the most: of what is sent again, a full packet.
    #[must_use]
    pub fn next_payload(&self, config: &Config) -> Option<(Position, u32)> {
        if !self.can_transmit(config) {
            return None;
        }
        if self.resending {
            return Some((Position::Only, config.mtu_bytes));
        }
        let position =
            if config.recovery.is_selective() { Position::Only } else { self.cursor.position(config) };
        Some((position, self.cursor.payload_bytes(config)))
    }

    /// What is sent of `sequence`, whose place is `cursor` in `work[index]`.
    #[inline]
    fn describe(&self, config: &Config, cursor: &Cursor, sequence: u64, index: u32) -> Transmit {
        let position = cursor.position(config);
        Transmit {
            psn: self.psn_of(sequence),
            position,
            ack_request: position.ends_message(),
            payload_bytes: cursor.payload_bytes(config),
            message_bytes: u64::from(cursor.message_bytes),
            offset_bytes: cursor.offset_bytes,
            is_retransmission: sequence < self.sent(),
            work: index as usize,
        }
    }

    /// Moves on to the packet after the next one.
    #[inline]
    fn advance(&mut self, config: &Config) {
        self.ahead += 1;
        self.outstanding = self.outstanding.max(self.ahead);
        self.cursor.advance(config);
        if self.cursor.is_exhausted() {
            self.sending += 1;
            if self.waiting > 0 {
                self.start_work(config, self.sending);
            }
        }
    }

    /// The next packet under selective recovery: what is missing first.
    fn transmit_alone(&mut self, config: &Config, now: Instant) -> Transmit {
        if self.deadline == Instant::NEVER {
            self.deadline = config.deadline(now);
        }
        let transmit = match self.take_resend() {
            Some(sequence) => self.describe_resend(config, sequence),
            None => {
                let transmit = self.describe(config, &self.cursor, self.next(), self.sending);
                self.advance(config);
                transmit
            }
        };
        Transmit { position: Position::Only, message_bytes: u64::from(transmit.payload_bytes), ..transmit }
    }

    fn take_resend(&mut self) -> Option<u64> {
        let resends = self.resends.as_mut().filter(|_| self.resending)?;
        let sequence = resends.pop();
        self.resending = !resends.is_empty();
        sequence
    }

    /// A packet sent again asks for an acknowledgement: nothing else may be under way.
    fn describe_resend(&self, config: &Config, sequence: u64) -> Transmit {
        let index = self.work.partition_point(|work| work.end() <= sequence);
        let work = self.work.get(index).expect("only what was posted is missing");
        let cursor = Cursor::at(config, work.bytes, sequence - work.first);
        Transmit { ack_request: true, ..self.describe(config, &cursor, sequence, index as u32) }
    }

    /// When [`Self::on_timeout`] is due; [`Instant::NEVER`] while nothing is under way: nothing was sent since
    /// everything was acknowledged, since the requester went back, or ever again after a failure.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// An ACK for everything up to and with `psn`.
    #[inline]
    pub fn on_ack(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        self.acknowledge(config, now, self.packets_before(psn) + 1)
    }

    /// A NAK "PSN sequence error": everything before `psn` arrived, `psn` did not. Goes back to it.
    pub fn on_nak(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let outcome = self.acknowledge(config, now, self.packets_before(psn));
        // A NAK from before the last progress asks for nothing that is still missing, and one of a packet that
        // was never sent for nothing that there is.
        if config.recovery == Recovery::GoBackN && psn == self.psn_of(self.unacked) {
            self.go_back(config);
        }
        outcome
    }

    /// Selective recovery: everything up to and with `newest` arrived, and nothing beyond `highest`.
    pub fn on_selective_ack(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        highest: Psn,
    ) -> AckOutcome {
        let highest_end = self.sequence_of(highest) + 1;
        let outcome = self.acknowledge(config, now, self.packets_before(newest) + 1);
        if let Some(resends) = self.resends.as_mut().filter(|_| outcome.progressed) {
            resends.on_progress(self.unacked, Some(highest_end.max(0) as u64));
            self.resending = !resends.is_empty();
        }
        outcome
    }

    /// Selective recovery: everything up to and with `newest` arrived, and `missing` did not, although packets far
    /// beyond it did.
    pub fn on_selective_nak(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        missing: Psn,
    ) -> AckOutcome {
        let missing = self.sequence_of(missing);
        let outcome = self.acknowledge(config, now, self.packets_before(newest) + 1);
        let outstanding = self.unacked as i64..self.sent() as i64;
        let Some(resends) = self.resends.as_mut().filter(|_| !self.failed) else { return outcome };
        if outcome.progressed {
            resends.on_progress(self.unacked, None);
        }
        if outstanding.contains(&missing) {
            resends.report(missing as u64);
        }
        self.resending = !resends.is_empty();
        outcome
    }

    /// Fires the timer if it is due at `now`.
    pub fn on_timeout(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        if now < self.deadline {
            return TimeoutOutcome::NotDue;
        }
        if u32::from(self.retries) == config.retry_count {
            self.failed = true;
            self.deadline = Instant::NEVER;
            return TimeoutOutcome::Failed;
        }
        self.retries += 1;
        let sent = self.sent();
        if let Some(resends) = &mut self.resends {
            resends.probe(self.unacked, sent);
            self.resending = true;
            self.deadline = Instant::NEVER;
        } else {
            self.go_back(config);
        }
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
        self.outstanding as u64
    }

    /// Of each work request that is not completed, oldest first: its bytes, and how many of its packets were ever sent.
    pub fn sent_of_each(&self) -> impl Iterator<Item = (u64, u64)> {
        let sent = move |work: &Work| self.sent().clamp(work.first, work.end()) - work.first;
        self.work.iter().map(move |work| (work.bytes, sent(work)))
    }

    #[inline]
    fn psn_of(&self, sequence: u64) -> Psn {
        // Truncation keeps the value modulo 2^24, which is all that `Psn` keeps.
        self.initial_psn.add(sequence as u32)
    }

    /// Packets from the oldest unacknowledged one to `psn`; negative when `psn` lies before it.
    #[inline]
    fn packets_before(&self, psn: Psn) -> i64 {
        i64::from(psn.distance_from(self.psn_of(self.unacked)))
    }

    /// The sequence with that PSN that is closest to the oldest unacknowledged one; negative before the first.
    const fn sequence_of(&self, psn: Psn) -> i64 {
        self.unacked as i64 + psn.distance_from(self.initial_psn.add(self.unacked as u32)) as i64
    }

    /// Acknowledges `count` packets beyond `unacked`; ignores what is stale or was never sent.
    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Instant, count: i64) -> AckOutcome {
        if count <= 0 || count > i64::from(self.outstanding) || self.failed {
            return AckOutcome::default();
        }
        let count = count as u32;
        self.unacked += u64::from(count);
        self.outstanding -= count;
        self.retries = 0;
        if count > self.ahead {
            // A late ACK overtook the resending.
            self.seek_unacked(config);
        } else {
            self.ahead -= count;
        }
        // IBTA 9.7.6.1.3: progress restarts the timer, and stops it when nothing is left to wait for.
        self.deadline = if self.ahead == 0 { Instant::NEVER } else { config.deadline(now) };
        AckOutcome { completed: self.retire(), progressed: true }
    }

    /// Drops completed work from the front.
    #[inline]
    fn retire(&mut self) -> u32 {
        let mut completed = 0;
        while self.oldest_end <= self.unacked {
            self.work.pop_front();
            self.oldest_end = self.work.front().map_or(u64::MAX, Work::end);
            self.sending -= 1;
            completed += 1;
        }
        completed
    }

    /// Everything unacknowledged is to be sent again; the timer waits for the first of it to leave.
    #[cold]
    fn go_back(&mut self, config: &Config) {
        self.seek_unacked(config);
        self.deadline = Instant::NEVER;
    }

    /// Places the cursor at the first packet of `work[index]`, if it is posted.
    fn start_work(&mut self, config: &Config, index: u32) {
        self.sending = index;
        self.waiting = (self.work.len() as u32).saturating_sub(index + 1);
        let work = self.work.get(index as usize);
        self.cursor = work.map_or(Cursor::EXHAUSTED, |work| Cursor::start(config, work.bytes));
    }

    /// Makes the oldest packet that is not acknowledged the next one to send.
    #[cold]
    fn seek_unacked(&mut self, config: &Config) {
        self.ahead = 0;
        let unacked = self.unacked;
        let index = self.work.partition_point(|work| work.end() <= unacked);
        self.sending = index as u32;
        self.waiting = self.work.len().saturating_sub(index + 1) as u32;
        let work = self.work.get(index);
        self.cursor =
            work.map_or(Cursor::EXHAUSTED, |work| Cursor::at(config, work.bytes, unacked - work.first));
    }
}

impl<R: RateControl> Requester<R> {
    /// See [`Cycle`].
    pub fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            unacked,
            deadline,
            oldest_end,
            cursor,
            ahead,
            outstanding,
            initial_psn: _,
            sending,
            waiting,
            retries,
            failed,
            resending,
            rate,
            resends,
            work,
        } = self;
        // What is sent again is so only until it has caught up.
        cycle.same_list([*ahead, *outstanding].into_iter().map(u64::from));
        cycle.count(unacked);
        cycle.time(deadline);
        cycle.same(*oldest_end);
        cursor.visit(cycle);
        cycle.same_list([*sending, *waiting, u32::from(*retries)].into_iter().map(u64::from));
        cycle.same_list([*failed, *resending].into_iter().map(u64::from));
        if resends.as_ref().is_some_and(|resends| !resends.is_idle()) {
            cycle.never_repeats();
        }
        cycle.same(work.len() as u64);
        work.change_all(|work| cycle.same(work.end()));
        rate.visit(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineRate;
    use units::Span;

    #[test]
    fn what_most_packets_need_is_a_line_of_the_cache_and_an_eighth() {
        // The simulator slows down when it grows; what a rate controller needs comes on top of this.
        let bytes = Requester::<LineRate>::HOT_BYTES;
        assert!(bytes <= 72, "{bytes} bytes");
    }

    /// Sends `count` packets and has them acknowledged.
    fn exchange(requester: &mut Requester<LineRate>, config: &Config, now: Instant, count: u32) {
        for _ in 0..count {
            let sent = requester.poll_transmit(config, now).expect("the window is open");
            assert!(requester.on_ack(config, now, sent.psn).progressed);
        }
    }

    #[test]
    fn what_is_sent_again_does_not_repeat() {
        let config = Config {
            mtu_bytes: 1_000,
            message_bytes: 10_000,
            ack_every: 1,
            window_packets: 64,
            timeout: Span::from_us(1),
            retry_count: 7,
            recovery: Recovery::GoBackN,
        };
        let mut requester = Requester::new(Psn::new(0xff_fff0), LineRate);
        requester.post(&config, 1_000_000_000);
        for lost in [0, 60] {
            (0..lost).for_each(|_| _ = requester.poll_transmit(&config, Instant::ZERO));
            let late = requester.deadline();
            if lost > 0 {
                assert_eq!(requester.on_timeout(&config, late), TimeoutOutcome::Resend);
            }
            exchange(&mut requester, &config, Instant(1_000), 10);
            let mut cycle = Cycle::record(Instant(1_000));
            requester.visit(&mut cycle);
            exchange(&mut requester, &config, Instant(1_100), 10);
            cycle.compare(Instant(1_000) + Span(100));
            requester.visit(&mut cycle);
            assert_eq!(cycle.room() > 0, lost == 0, "{lost} lost");
        }
    }
}
