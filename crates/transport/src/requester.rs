//! The sending side of a reliable connection.

use crate::segment::Cursor;
use crate::selective::Resends;
use crate::{Config, Position, RateControl, Recovery, Transmit};
use std::collections::VecDeque;
use std::mem::offset_of;
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

/// A posted write.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Work {
    bytes: u64,
    /// Packets of it that are not acknowledged.
    left: u64,
}

impl Work {
    /// None at all: no acknowledgement gets to the end of it.
    const NONE: Self = Self { bytes: 0, left: u64::MAX };

    fn new(config: &Config, bytes: u64) -> Self {
        Self { bytes, left: config.packets(bytes) }
    }

    const fn is_none(&self) -> bool {
        self.left == u64::MAX
    }

    /// Packets of it that are acknowledged.
    const fn acknowledged(&self, config: &Config) -> u64 {
        config.packets(self.bytes) - self.left
    }
}

/// What most queue pairs never have: more than one work request at a time, and packets to send again one by one.
#[derive(Clone, Debug, Default)]
struct More {
    /// Posted behind the oldest work request and not completed, oldest first.
    behind: VecDeque<Work>,
    /// How many of them nothing was sent of, or is to be sent again.
    waiting: usize,
    /// With selective recovery.
    resends: Resends,
}

/// The requester: turns posted work into packets and keeps them until they are acknowledged.
///
/// Packets are counted from the oldest that is not acknowledged. At any time `ahead <= outstanding <= window`; `ahead <
/// outstanding` while going back. The timer runs exactly while `ahead > 0`, except that selective recovery, which never
/// goes back, stops it from a timeout until something was sent.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Requester<R> {
    rate: R,
    /// From the first time on that work is posted behind other work, or that packets are sent again one by one.
    more: Option<Box<More>>,
    /// The oldest work request that is not completed, if there is one.
    oldest: Work,
    // From the end of it on there is all that a packet needs that neither begins nor ends a message.
    deadline: Instant,
    /// Place of the packet that is sent next.
    cursor: Cursor,
    /// The oldest packet that is not acknowledged.
    unacked: Psn,
    /// Packets from that one to the one that is sent next.
    ahead: u32,
    /// The same to one past the highest ever sent.
    outstanding: u32,
    /// Timeouts since the last progress.
    retries: u16,
    failed: bool,
    /// There are packets to send again one by one.
    resending: bool,
}

impl<R: RateControl> Requester<R> {
    /// What a packet needs that neither begins nor ends a message lies together, from here on; without a rate controller at
    /// line rate.
    pub const HOT_OFFSET: usize = offset_of!(Self, oldest) + offset_of!(Work, left);

    /// A queue pair whose first packet will carry `initial_psn`.
    #[must_use]
    pub fn new(initial_psn: Psn, rate: R) -> Self {
        Self {
            rate,
            more: None,
            oldest: Work::NONE,
            deadline: Instant::NEVER,
            cursor: Cursor::EXHAUSTED,
            unacked: initial_psn,
            ahead: 0,
            outstanding: 0,
            retries: 0,
            failed: false,
            resending: false,
        }
    }

    /// Posts a write of `bytes`, cut into messages; one of no bytes is a packet without payload. A failed queue pair
    /// keeps it and sends nothing.
    ///
    /// # Panics
    /// When `config` is outside the ranges that its fields give.
    pub fn post(&mut self, config: &Config, bytes: u64) {
        config.assert_in_range();
        let work = Work::new(config, bytes);
        if self.oldest.is_none() {
            self.oldest = work;
        } else {
            let more = self.more.get_or_insert_default();
            more.behind.push_back(work);
            more.waiting += usize::from(!self.cursor.is_exhausted());
        }
        if self.cursor.is_exhausted() {
            self.cursor = Cursor::start(config, bytes);
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
        !self.failed && (self.has_next(config) || self.resending)
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
        let transmit = self.describe(config, &self.cursor, self.ahead, self.sending());
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

    /// Index of the work request that the next packet belongs to, among those not completed.
    #[inline]
    fn sending(&self) -> usize {
        if u64::from(self.ahead) < self.oldest.left { 0 } else { self.sending_behind() }
    }

    /// The same, of one that is not the oldest.
    #[cold]
    fn sending_behind(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.behind.len() - more.waiting)
    }

    /// The work request that `index` are older than.
    #[inline]
    fn work(&self, index: usize) -> &Work {
        match &self.more {
            Some(more) if index > 0 => &more.behind[index - 1],
            _ => &self.oldest,
        }
    }

    /// What is sent of the packet that is so many `beyond` the oldest, whose place is `cursor` in work request `index`.
    #[inline]
    fn describe(&self, config: &Config, cursor: &Cursor, beyond: u32, index: usize) -> Transmit {
        let position = cursor.position(config);
        Transmit {
            psn: self.unacked.add(beyond),
            position,
            ack_request: position.ends_message(),
            payload_bytes: cursor.payload_bytes(config),
            message_bytes: u64::from(cursor.message_bytes),
            offset_bytes: cursor.offset_bytes,
            is_retransmission: beyond < self.outstanding,
            work: index,
        }
    }

    /// Moves on to the packet after the next one.
    #[inline]
    fn advance(&mut self, config: &Config) {
        self.ahead += 1;
        self.outstanding = self.outstanding.max(self.ahead);
        if self.cursor.advance(config) {
            self.end_message(config);
        }
    }

    /// A message was sent whole: goes on with the next one, of this work request or of one that waits.
    #[inline(never)]
    fn end_message(&mut self, config: &Config) {
        let bytes = self.work(self.sending()).bytes;
        self.cursor.end_message(config, bytes);
        if let Some(more) = &mut self.more
            && self.cursor.is_exhausted()
            && more.waiting > 0
        {
            let next = more.behind[more.behind.len() - more.waiting];
            more.waiting -= 1;
            self.cursor = Cursor::start(config, next.bytes);
        }
    }

    /// The next packet under selective recovery: what is missing first.
    fn transmit_alone(&mut self, config: &Config, now: Instant) -> Transmit {
        if self.deadline == Instant::NEVER {
            self.deadline = config.deadline(now);
        }
        let resend = if self.resending { self.take_resend() } else { None };
        let transmit = match resend {
            Some(beyond) => self.describe_resend(config, beyond),
            None => {
                let transmit = self.describe(config, &self.cursor, self.ahead, self.sending());
                self.advance(config);
                transmit
            }
        };
        Transmit { position: Position::Only, message_bytes: u64::from(transmit.payload_bytes), ..transmit }
    }

    #[cold]
    fn take_resend(&mut self) -> Option<u64> {
        let more = self.more.as_mut()?;
        let beyond = more.resends.pop();
        self.resending = !more.resends.is_empty();
        beyond
    }

    /// A packet sent again asks for an acknowledgement: nothing else may be under way.
    fn describe_resend(&self, config: &Config, beyond: u64) -> Transmit {
        let (mut index, mut packet) = (0, self.oldest.acknowledged(config) + beyond);
        while packet >= config.packets(self.work(index).bytes) {
            packet -= config.packets(self.work(index).bytes);
            index += 1;
        }
        let cursor = Cursor::at(config, self.work(index).bytes, packet);
        Transmit { ack_request: true, ..self.describe(config, &cursor, beyond as u32, index) }
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
        if config.recovery == Recovery::GoBackN && psn == self.unacked {
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
        let (outstanding, highest_end) = (self.outstanding, self.packets_before(highest) + 1);
        let outcome = self.acknowledge(config, now, self.packets_before(newest) + 1);
        if let Some(more) = self.more.as_mut().filter(|_| outcome.progressed) {
            let acknowledged = outstanding - self.outstanding;
            let highest_end = (highest_end - i64::from(acknowledged)).max(0) as u64;
            more.resends.on_progress(acknowledged, Some(highest_end));
            self.resending = !more.resends.is_empty();
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
        let (outstanding, missing) = (self.outstanding, self.packets_before(missing));
        let outcome = self.acknowledge(config, now, self.packets_before(newest) + 1);
        if self.failed {
            return outcome;
        }
        let acknowledged = outstanding - self.outstanding;
        let missing = missing - i64::from(acknowledged);
        let resends = &mut self.more.get_or_insert_default().resends;
        if outcome.progressed {
            resends.on_progress(acknowledged, None);
        }
        if (0..i64::from(self.outstanding)).contains(&missing) {
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
        if config.recovery.is_selective() {
            self.more.get_or_insert_default().resends.probe(self.outstanding);
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
    pub fn sent_of_each(&self, config: &Config) -> impl Iterator<Item = (u64, u64)> {
        let oldest = Some(self.oldest).filter(|work| !work.is_none());
        let acknowledged = oldest.map_or(0, |work| work.acknowledged(config));
        let behind = self.more.iter().flat_map(|more| more.behind.iter().copied());
        let mut sent = acknowledged + u64::from(self.outstanding);
        oldest.into_iter().chain(behind).map(move |work| {
            let of_work = sent.min(config.packets(work.bytes));
            sent -= of_work;
            (work.bytes, of_work)
        })
    }

    /// Packets from the oldest unacknowledged one to `psn`; negative when `psn` lies before it.
    #[inline]
    fn packets_before(&self, psn: Psn) -> i64 {
        i64::from(psn.distance_from(self.unacked))
    }

    /// Acknowledges `count` packets beyond `unacked`; ignores what is stale or was never sent.
    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Instant, count: i64) -> AckOutcome {
        if count <= 0 || count > i64::from(self.outstanding) || self.failed {
            return AckOutcome::default();
        }
        let count = count as u32;
        self.unacked = self.unacked.add(count);
        self.outstanding -= count;
        self.retries = 0;
        let completed = self.retire(count);
        if count > self.ahead {
            // A late ACK overtook the resending.
            self.seek_unacked(config);
        } else {
            self.ahead -= count;
        }
        // IBTA 9.7.6.1.3: progress restarts the timer, and stops it when nothing is left to wait for.
        self.deadline = if self.ahead == 0 { Instant::NEVER } else { config.deadline(now) };
        AckOutcome { completed, progressed: true }
    }

    /// Takes `count` acknowledged packets off the oldest work, and drops what is completed.
    #[inline]
    fn retire(&mut self, count: u32) -> u32 {
        let (mut count, mut completed) = (u64::from(count), 0);
        while self.oldest.left <= count {
            count -= self.oldest.left;
            let next = self.more.as_mut().and_then(|more| more.behind.pop_front());
            self.oldest = next.unwrap_or(Work::NONE);
            completed += 1;
        }
        self.oldest.left -= count;
        completed
    }

    /// Everything unacknowledged is to be sent again; the timer waits for the first of it to leave.
    #[cold]
    fn go_back(&mut self, config: &Config) {
        self.seek_unacked(config);
        self.deadline = Instant::NEVER;
    }

    /// Makes the oldest packet that is not acknowledged the next one to send.
    #[cold]
    fn seek_unacked(&mut self, config: &Config) {
        self.ahead = 0;
        if let Some(more) = &mut self.more {
            more.waiting = more.behind.len();
        }
        let oldest = &self.oldest;
        self.cursor = if oldest.is_none() {
            Cursor::EXHAUSTED
        } else {
            Cursor::at(config, oldest.bytes, oldest.acknowledged(config))
        };
    }
}

impl<R: RateControl> Requester<R> {
    /// See [`Cycle`].
    pub fn visit(&mut self, cycle: &mut Cycle) {
        let bytes = self.work(self.sending()).bytes;
        let Self {
            deadline,
            cursor,
            oldest,
            more,
            unacked,
            ahead,
            outstanding,
            retries,
            failed,
            resending,
            rate,
        } = self;
        // What is sent again is so only until it has caught up.
        cycle.same_list([*ahead, *outstanding].into_iter().map(u64::from));
        cycle.time(deadline);
        cursor.visit(cycle, bytes);
        // Its end stands still: it is the same work request.
        let end = unacked.add(oldest.left as u32);
        cycle.same_list([u64::from(end.value()), oldest.bytes].into_iter());
        if !oldest.is_none() {
            cycle.left(&mut oldest.left, 1);
            *unacked = end.add((oldest.left as u32).wrapping_neg());
        }
        cycle.same_list(
            [u32::from(*retries), u32::from(*failed), u32::from(*resending)].map(u64::from).into_iter(),
        );
        if let Some(more) = more {
            more.visit(cycle);
        }
        rate.visit(cycle);
    }
}

impl More {
    /// See [`Cycle`].
    fn visit(&self, cycle: &mut Cycle) {
        let Self { behind, waiting, resends } = self;
        if !resends.is_idle() {
            cycle.never_repeats();
        }
        cycle.same(*waiting as u64);
        cycle.same_list(behind.iter().map(|work| work.left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineRate;
    use units::Span;

    #[test]
    fn it_is_a_line_of_the_cache_and_most_packets_need_three_quarters_of_it() {
        // The simulator slows down when it grows; what a rate controller needs comes on top of this.
        let bytes = size_of::<Requester<LineRate>>();
        assert!(bytes <= 64, "{bytes} bytes");
        assert!(bytes - Requester::<LineRate>::HOT_OFFSET <= 48);
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
