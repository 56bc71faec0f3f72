//! The sending side of a reliable connection.

use crate::in_flight::{InFlight, Mode};
use crate::segment::Cursor;
use crate::selective::Resends;
use crate::{Config, NextPacket, Position, Recovery, Transmit};
use units::{Cycle, Instant};
use wire::Psn;

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Work requests completed by it, oldest first.
    pub completed: u32,
    /// Packets newly acknowledged.
    pub packets: u32,
}

impl AckOutcome {
    /// Something was newly acknowledged.
    #[must_use]
    pub const fn progressed(&self) -> bool {
        self.packets > 0
    }
}

/// What a timeout led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutOutcome {
    /// The deadline had moved; nothing happened.
    NotDue,
    /// Everything unacknowledged will be sent again; with selective recovery the first of it, whose
    /// acknowledgement tells the rest.
    Resend,
    /// The retries are used up: the queue pair is in error and sends nothing more.
    Failed,
}

/// In the place of the packets left of a work request: there is none.
const NO_WORK: u32 = u32::MAX;
/// In the place of the bytes left of a message: there is none. Longer than any.
const NO_MESSAGE: u32 = u32::MAX;

/// What most queue pairs never have: more than one work request at a time, and packets to send again one by
/// one.
#[derive(Clone, Debug, Default)]
struct More {
    /// Work requests posted behind the oldest and not completed.
    behind: u32,
    /// How many of them nothing was sent of, or is to be sent again.
    waiting: u32,
    /// Packets from the oldest that is not acknowledged to the first of the work request being sent, while
    /// that is one of those behind the oldest.
    before: u32,
    /// With selective recovery.
    resends: Resends,
}

impl More {
    /// Which of the work requests that are not completed is being sent, once all of the oldest was.
    const fn sending(&self) -> usize {
        (self.behind - self.waiting) as usize
    }
}

/// The requester: turns posted work into packets and keeps them until they are acknowledged.
///
/// Packets are counted from the oldest that is not acknowledged, at most a window of them. The timer runs
/// exactly while something is `ahead`, except that selective recovery, which never goes back, stops it from a
/// timeout until something was sent.
///
/// How many bytes each work request has is known to who posted them, and is asked for where it is needed:
/// `bytes_of` gives the size of one of those that were not completed when the call began, the oldest being 0.
#[derive(Clone, Debug)]
pub struct Requester {
    /// From the first time on that work is posted behind other work, or that packets are sent again one by
    /// one.
    more: Option<Box<More>>,
    flight: InFlight,
    /// Packets of the oldest work request that are not acknowledged; [`NO_WORK`] if there is none.
    left: u32,
    /// Bytes of its message from the next packet on; [`NO_MESSAGE`] behind the last. Where in its work
    /// request that is follows from how many packets were sent.
    message_left_bytes: u32,
}

const _: () = assert!(size_of::<Requester>() == 40, "with what else a sender has it is a cache line");

impl Requester {
    /// The most packets of a work request.
    pub const PACKETS_MAX: u64 = NO_WORK as u64 - 1;

    /// A queue pair whose first packet will carry `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { more: None, flight: InFlight::new(initial_psn), left: NO_WORK, message_left_bytes: NO_MESSAGE }
    }

    /// Posts a write of `bytes`, cut into messages; one of no bytes is a packet without payload. A failed
    /// queue pair keeps it and sends nothing.
    ///
    /// # Panics
    /// When `config` is outside the ranges that its fields give, or the write has more packets than
    /// [`Self::PACKETS_MAX`].
    #[inline]
    pub fn post(&mut self, config: &Config, bytes: u64) {
        config.assert_in_range();
        let is_exhausted = self.is_exhausted();
        if self.left == NO_WORK {
            self.left = packets(config, bytes);
        } else {
            let more = self.more.get_or_insert_default();
            more.behind += 1;
            more.waiting += u32::from(!is_exhausted);
            more.before = if is_exhausted { self.flight.ahead() } else { more.before };
        }
        if is_exhausted {
            self.begin_message(config, bytes);
        }
    }

    /// Something is posted that both windows let out: that of `config`, and one of `window_packets`, which is
    /// a rate controller's. What is sent again one by one goes out in any case.
    #[inline]
    #[must_use]
    pub const fn can_transmit(&self, config: &Config, window_packets: u32) -> bool {
        match self.flight.mode {
            Mode::InOrder => self.has_next(config) && self.flight.ahead() < window_packets,
            Mode::OneByOne => true,
            Mode::Failed => false,
        }
    }

    /// The window of `config` lets the next packet out.
    #[inline]
    const fn has_next(&self, config: &Config) -> bool {
        !self.is_exhausted() && self.flight.ahead() < config.window_packets
    }

    /// All that was posted was sent.
    #[inline]
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.message_left_bytes == NO_MESSAGE
    }

    /// The next packet, if there is one that windows and state allow: see [`Self::can_transmit`]. One that
    /// fills the window of the rate controller asks for an acknowledgement, or that window might open after a
    /// timeout only.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        config: &Config,
        now: Instant,
        window_packets: u32,
        bytes_of: impl Fn(usize) -> u64,
    ) -> Option<NextPacket> {
        if !self.can_transmit(config, window_packets) {
            return None;
        }
        let mut packet = if config.recovery.is_selective() {
            self.transmit_alone(config, now, bytes_of)
        } else {
            let packet = self.describe(config);
            if self.flight.ahead() == 0 {
                self.flight.start_timer(config, now);
            }
            self.advance(config, bytes_of);
            packet
        };
        packet.ack_request |= self.flight.ahead() >= window_packets;
        Some(packet)
    }

    /// Place in its message and payload [bytes] of the next packet, at the most: of what is sent again, a
    /// full packet.
    #[must_use]
    pub fn next_payload(&self, config: &Config) -> Option<(Position, u32)> {
        if !self.can_transmit(config, u32::MAX) {
            return None;
        }
        if self.flight.mode == Mode::OneByOne {
            return Some((Position::Only, config.mtu_bytes));
        }
        let position = if config.recovery.is_selective() { Position::Only } else { self.position(config) };
        Some((position, self.payload_bytes(config)))
    }

    /// All that is to be known of a packet that was just sent.
    pub fn transmit(
        &self,
        config: &Config,
        packet: &NextPacket,
        bytes_of: impl Fn(usize) -> u64,
    ) -> Transmit {
        let (_, cursor) = self.place(config, self.flight.packets_before(packet.psn) as u64, bytes_of);
        let NextPacket { psn, position, ack_request, payload_bytes, is_retransmission, work } = *packet;
        let is_alone = config.recovery.is_selective();
        let message_bytes = if is_alone { payload_bytes } else { cursor.message_bytes };
        Transmit {
            psn,
            position,
            ack_request,
            payload_bytes,
            message_bytes: message_bytes.into(),
            offset_bytes: cursor.offset_bytes,
            is_retransmission,
            work,
        }
    }

    /// Index of the work request that the next packet belongs to, among those not completed.
    #[inline]
    fn sending(&self) -> usize {
        if self.flight.ahead() < self.left { 0 } else { self.sending_behind() }
    }

    /// The same, of one that is not the oldest.
    #[cold]
    fn sending_behind(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.sending())
    }

    /// Place of the next packet in its message.
    #[inline]
    fn position(&self, config: &Config) -> Position {
        Position::new(self.flight.starts_message, self.message_left_bytes <= config.mtu_bytes)
    }

    /// Payload of the next packet [bytes].
    #[inline]
    fn payload_bytes(&self, config: &Config) -> u32 {
        self.message_left_bytes.min(config.mtu_bytes)
    }

    /// The next packet.
    #[inline]
    fn describe(&self, config: &Config) -> NextPacket {
        let position = self.position(config);
        NextPacket {
            psn: self.flight.next_psn(),
            position,
            ack_request: position.ends_message(),
            payload_bytes: self.payload_bytes(config),
            is_retransmission: self.flight.is_resending(),
            work: self.sending(),
        }
    }

    /// Moves on to the packet after the next one.
    #[inline]
    fn advance(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        self.flight.advance(1);
        self.message_left_bytes -= self.payload_bytes(config);
        self.flight.starts_message = false;
        if self.message_left_bytes == 0 {
            self.end_message(config, bytes_of);
        }
    }

    /// A message was sent whole: goes on with the next one, of this work request or of one that waits.
    #[inline]
    fn end_message(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        if self.flight.ahead() != self.left || self.more.is_some() {
            return self.begin_next_message(config, bytes_of);
        }
        self.message_left_bytes = NO_MESSAGE;
    }

    #[inline(never)]
    fn begin_next_message(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        if let Some((index, packet)) = self.next_in_work(config, &bytes_of) {
            return self.seek(config, bytes_of(index), packet);
        }
        self.message_left_bytes = NO_MESSAGE;
        if let Some(more) = &mut self.more
            && more.waiting > 0
        {
            more.waiting -= 1;
            more.before = self.flight.ahead();
            let next = more.sending();
            self.begin_message(config, bytes_of(next));
        }
    }

    /// The work request that is being sent, and which of its packets is next; none if all of it was sent.
    fn next_in_work(&self, config: &Config, bytes_of: &impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        let index = self.sending();
        let packets = config.packets(bytes_of(index));
        let packet = match &self.more {
            Some(more) if index > 0 => u64::from(self.flight.ahead() - more.before),
            _ => packets - u64::from(self.left - self.flight.ahead()),
        };
        (packet < packets).then_some((index, packet))
    }

    /// A message begins, of a work request of which so much is left.
    #[inline]
    fn begin_message(&mut self, config: &Config, rest_bytes: u64) {
        self.message_left_bytes = rest_bytes.min(config.message_bytes) as u32;
        self.flight.starts_message = true;
    }

    /// Goes on with packet number `packet` of a work request of `bytes`.
    fn seek(&mut self, config: &Config, bytes: u64, packet: u64) {
        let cursor = Cursor::at(config, bytes, packet);
        self.message_left_bytes = cursor.message_left();
        self.flight.starts_message = cursor.message_left() == cursor.message_bytes;
    }

    /// The next packet under selective recovery: what is missing first.
    fn transmit_alone(
        &mut self,
        config: &Config,
        now: Instant,
        bytes_of: impl Fn(usize) -> u64,
    ) -> NextPacket {
        if self.flight.deadline == Instant::NEVER {
            self.flight.start_timer(config, now);
        }
        let resend = if self.flight.mode == Mode::OneByOne { self.take_resend() } else { None };
        let packet = match resend {
            Some(beyond) => self.describe_resend(config, beyond, bytes_of),
            None => {
                let packet = self.describe(config);
                self.advance(config, bytes_of);
                packet
            }
        };
        NextPacket { position: Position::Only, ..packet }
    }

    #[cold]
    fn take_resend(&mut self) -> Option<u64> {
        let resends = &mut self.more.as_mut()?.resends;
        let beyond = resends.pop();
        self.flight.mode = if resends.is_empty() { Mode::InOrder } else { Mode::OneByOne };
        beyond
    }

    /// A packet sent again asks for an acknowledgement: nothing else may be under way.
    #[cold]
    fn describe_resend(&self, config: &Config, beyond: u64, bytes_of: impl Fn(usize) -> u64) -> NextPacket {
        let (work, cursor) = self.place(config, beyond, bytes_of);
        NextPacket {
            psn: self.flight.unacked().add(beyond as u32),
            position: cursor.position(config),
            ack_request: true,
            payload_bytes: cursor.payload_bytes(config),
            is_retransmission: beyond < u64::from(self.flight.outstanding()),
            work,
        }
    }

    /// The work request of the packet that is so many `beyond` the oldest, and its place there.
    #[cold]
    fn place(&self, config: &Config, beyond: u64, bytes_of: impl Fn(usize) -> u64) -> (usize, Cursor) {
        let (mut index, mut packet) = (0, self.acknowledged(config, bytes_of(0)) + beyond);
        while packet >= config.packets(bytes_of(index)) {
            packet -= config.packets(bytes_of(index));
            index += 1;
        }
        (index, Cursor::at(config, bytes_of(index), packet))
    }

    /// Packets of the oldest work request, of `bytes`, that are acknowledged.
    const fn acknowledged(&self, config: &Config, bytes: u64) -> u64 {
        config.packets(bytes) - self.left as u64
    }

    /// When [`Self::on_timeout`] is due; [`Instant::NEVER`] while nothing is under way: nothing was sent
    /// since everything was acknowledged, since the requester went back, or ever again after a failure.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.flight.deadline
    }

    /// An ACK for everything up to and with `psn`.
    #[inline]
    pub fn on_ack(
        &mut self,
        config: &Config,
        now: Instant,
        psn: Psn,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        self.acknowledge(config, now, self.flight.packets_before(psn) + 1, bytes_of)
    }

    /// A NAK "PSN sequence error": everything before `psn` arrived, `psn` did not. Goes back to it.
    pub fn on_nak(
        &mut self,
        config: &Config,
        now: Instant,
        psn: Psn,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let outcome = self.acknowledge(config, now, self.flight.packets_before(psn), &bytes_of);
        // A NAK from before the last progress asks for nothing that is still missing, and one of a packet
        // that was never sent for nothing that there is.
        if config.recovery == Recovery::GoBackN && psn == self.flight.unacked() {
            self.seek_unacked(config, |index| bytes_of(index + outcome.completed as usize));
        }
        outcome
    }

    /// Selective recovery: everything up to and with `newest` arrived, and nothing beyond `highest`.
    pub fn on_selective_ack(
        &mut self,
        config: &Config,
        now: Instant,
        (newest, highest): (Psn, Psn),
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let (outstanding, highest_end) = (self.flight.outstanding(), self.flight.packets_before(highest) + 1);
        let outcome = self.acknowledge(config, now, self.flight.packets_before(newest) + 1, bytes_of);
        if let Some(more) = self.more.as_mut().filter(|_| outcome.progressed()) {
            let acknowledged = outstanding - self.flight.outstanding();
            let highest_end = (highest_end - i64::from(acknowledged)).max(0) as u64;
            more.resends.on_progress(acknowledged, Some(highest_end));
            self.look_at_resends();
        }
        outcome
    }

    /// Selective recovery: everything up to and with `newest` arrived, and `missing` did not, although
    /// packets far beyond it did.
    pub fn on_selective_nak(
        &mut self,
        config: &Config,
        now: Instant,
        (newest, missing): (Psn, Psn),
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let (outstanding, missing) = (self.flight.outstanding(), self.flight.packets_before(missing));
        let outcome = self.acknowledge(config, now, self.flight.packets_before(newest) + 1, bytes_of);
        if self.is_failed() {
            return outcome;
        }
        let acknowledged = outstanding - self.flight.outstanding();
        let missing = missing - i64::from(acknowledged);
        let resends = &mut self.more.get_or_insert_default().resends;
        if outcome.progressed() {
            resends.on_progress(acknowledged, None);
        }
        if (0..i64::from(self.flight.outstanding())).contains(&missing) {
            resends.report(missing as u64);
        }
        self.look_at_resends();
        outcome
    }

    /// Selective recovery: everything up to and with `newest` arrived, and `refused` did, too, but found the
    /// peer not ready: it is sent again by itself, as often as that happens.
    pub fn on_selective_not_ready(
        &mut self,
        config: &Config,
        now: Instant,
        (newest, refused): (Psn, Psn),
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        if let Some(more) = &mut self.more
            && let Ok(refused) = u64::try_from(self.flight.packets_before(refused))
        {
            more.resends.forget(refused);
        }
        let outcome = self.on_selective_nak(config, now, (newest, refused), bytes_of);
        // The timer waits for it to leave, unless one before it is missing.
        if refused == self.flight.unacked() {
            self.flight.deadline = Instant::NEVER;
        }
        outcome
    }

    /// Packets are sent again one by one as long as there are any; a failed queue pair does not get here.
    fn look_at_resends(&mut self) {
        let has_any = self.more.as_ref().is_some_and(|more| !more.resends.is_empty());
        self.flight.mode = if has_any { Mode::OneByOne } else { Mode::InOrder };
    }

    /// Fires the timer if it is due at `now`.
    pub fn on_timeout(
        &mut self,
        config: &Config,
        now: Instant,
        bytes_of: impl Fn(usize) -> u64,
    ) -> TimeoutOutcome {
        let outcome = self.flight.expire(config, now);
        if outcome != TimeoutOutcome::Resend {
            return outcome;
        }
        if config.recovery.is_selective() {
            self.more.get_or_insert_default().resends.probe(self.flight.outstanding());
            self.flight.mode = Mode::OneByOne;
            self.flight.deadline = Instant::NEVER;
        } else {
            self.seek_unacked(config, bytes_of);
        }
        outcome
    }

    /// The next timeout finds the retries used up.
    #[must_use]
    pub const fn is_at_last_retry(&self, config: &Config) -> bool {
        self.flight.is_at_last_retry(config)
    }

    /// The retries are used up.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.flight.is_failed()
    }

    /// Packets sent and not acknowledged.
    #[must_use]
    pub const fn outstanding_packets(&self) -> u64 {
        self.flight.outstanding() as u64
    }

    /// The same without those that will be sent again in order.
    #[must_use]
    pub const fn in_flight_packets(&self) -> u32 {
        self.flight.ahead()
    }

    /// Packets are to be sent again one by one.
    #[must_use]
    pub const fn is_resending(&self) -> bool {
        matches!(self.flight.mode, Mode::OneByOne)
    }

    /// The first packet of the oldest work request that is not completed; the next packet of all if there is
    /// none.
    pub fn first_open_psn(&self, config: &Config, bytes_of: impl Fn(usize) -> u64) -> Psn {
        let acknowledged = if self.open() == 0 { 0 } else { self.acknowledged(config, bytes_of(0)) };
        // Modulo 2^24.
        self.flight.unacked().add((acknowledged as u32).wrapping_neg())
    }

    /// Work requests that are not completed.
    fn open(&self) -> usize {
        let behind = self.more.as_ref().map_or(0, |more| more.behind as usize);
        if self.left == NO_WORK { 0 } else { 1 + behind }
    }

    /// Of each work request that is not completed, oldest first: its bytes, and how many of its packets were
    /// ever sent.
    pub fn sent_of_each(
        &self,
        config: &Config,
        bytes_of: impl Fn(usize) -> u64,
    ) -> impl Iterator<Item = (u64, u64)> {
        let open = self.open();
        let acknowledged = if open == 0 { 0 } else { self.acknowledged(config, bytes_of(0)) };
        let mut sent = acknowledged + u64::from(self.flight.outstanding());
        (0..open).map(move |index| {
            let bytes = bytes_of(index);
            let of_work = sent.min(config.packets(bytes));
            sent -= of_work;
            (bytes, of_work)
        })
    }

    /// Acknowledges `count` packets from the oldest on; ignores what is stale or was never sent.
    #[inline]
    fn acknowledge(
        &mut self,
        config: &Config,
        now: Instant,
        count: i64,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let Some(progress) = self.flight.acknowledge(config, now, count) else {
            return AckOutcome::default();
        };
        let completed = self.retire(config, progress.packets, &bytes_of);
        if progress.overtook {
            self.seek_unacked(config, |index| bytes_of(index + completed as usize));
        }
        AckOutcome { completed, packets: progress.packets }
    }

    /// Takes `count` acknowledged packets off the oldest work, and drops what is completed.
    #[inline]
    fn retire(&mut self, config: &Config, count: u32, bytes_of: &impl Fn(usize) -> u64) -> u32 {
        if let Some(more) = &mut self.more {
            more.before = more.before.saturating_sub(count);
        }
        let (mut count, mut completed) = (count, 0);
        while self.left <= count {
            count -= self.left;
            completed += 1;
            self.left = match &mut self.more {
                Some(more) if more.behind > 0 => {
                    more.behind -= 1;
                    packets(config, bytes_of(completed as usize))
                }
                _ => NO_WORK,
            };
        }
        self.left -= count;
        completed
    }

    /// Makes the oldest packet that is not acknowledged the next one to send; the timer waits for it to
    /// leave.
    #[cold]
    fn seek_unacked(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        self.flight.go_back(0);
        if let Some(more) = &mut self.more {
            more.waiting = more.behind;
        }
        if self.left == NO_WORK {
            self.message_left_bytes = NO_MESSAGE;
        } else {
            let bytes = bytes_of(0);
            self.seek(config, bytes, self.acknowledged(config, bytes));
        }
    }
}

/// Packets of a work request.
#[inline]
fn packets(config: &Config, bytes: u64) -> u32 {
    let packets = config.packets(bytes);
    assert!(packets <= Requester::PACKETS_MAX, "a work request of {packets} packets is too long");
    packets as u32
}

impl Requester {
    /// See [`Cycle`].
    pub fn visit(&mut self, cycle: &mut Cycle, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        // The owner of a failed queue pair has given its work up: nothing of it is asked for, and nothing of
        // it moves.
        let open = if self.is_failed() { 0 } else { self.open() };
        let has_next = open > 0 && !self.is_exhausted();
        let next = if has_next { self.next_in_work(config, &bytes_of) } else { None };
        let (mut cursor, cursor_bytes) = match next {
            Some((index, packet)) => (Cursor::at(config, bytes_of(index), packet), bytes_of(index)),
            None => (Cursor::EXHAUSTED, 0),
        };
        // The bytes left of the message are where the cursor is.
        let Self { flight, message_left_bytes: _, left, more } = self;
        // Its end stands still: it is the same work request.
        let end = flight.unacked().add(*left);
        let mut packets = (open > 0).then_some(u64::from(*left));
        flight.visit(cycle);
        cursor.visit(cycle, cursor_bytes);
        cycle.same_list((0..open).map(&bytes_of));
        cycle.same(u64::from(end.value()));
        if let Some(packets) = &mut packets {
            cycle.left(packets, 1);
            *left = *packets as u32;
            flight.set_unacked(end.add(left.wrapping_neg()));
        }
        if let Some(more) = more {
            more.visit(cycle);
        }
    }
}

impl More {
    /// See [`Cycle`].
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { behind, waiting, before, resends } = self;
        if !resends.is_idle() {
            cycle.never_repeats();
        }
        cycle.same_list([*behind, *waiting].into_iter().map(u64::from));
        if behind > waiting {
            let mut packets = u64::from(*before);
            cycle.left(&mut packets, 1);
            *before = packets as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    const BYTES: u64 = 1_000_000_000;

    fn config(retry_count: u32) -> Config {
        Config {
            mtu_bytes: 1_000,
            message_bytes: 10_000,
            ack_every: 1,
            window_packets: 64,
            timeout: Span::from_us(1),
            retry_count,
            recovery: Recovery::GoBackN,
        }
    }

    /// Sends `count` packets and has them acknowledged.
    fn exchange(requester: &mut Requester, config: &Config, now: Instant, count: u32) {
        for _ in 0..count {
            let sent = requester.poll_transmit(config, now, u32::MAX, |_| BYTES).expect("the window is open");
            assert!(requester.on_ack(config, now, sent.psn, |_| BYTES).progressed());
        }
    }

    #[test]
    fn what_is_sent_again_does_not_repeat() {
        let config = config(7);
        let mut requester = Requester::new(Psn::new(0xff_fff0));
        requester.post(&config, BYTES);
        for lost in [0, 60] {
            (0..lost).for_each(|_| _ = requester.poll_transmit(&config, Instant::ZERO, u32::MAX, |_| BYTES));
            let late = requester.deadline();
            if lost > 0 {
                assert_eq!(requester.on_timeout(&config, late, |_| BYTES), TimeoutOutcome::Resend);
            }
            exchange(&mut requester, &config, Instant(1_000), 10);
            let mut cycle = Cycle::record(Instant(1_000));
            requester.visit(&mut cycle, &config, |_| BYTES);
            exchange(&mut requester, &config, Instant(1_100), 10);
            cycle.compare(Instant(1_000) + Span(100));
            requester.visit(&mut cycle, &config, |_| BYTES);
            assert_eq!(cycle.room() > 0, lost == 0, "{lost} lost");
        }
    }

    #[test]
    fn a_failed_queue_pair_asks_for_no_work() {
        let config = config(0);
        let mut requester = Requester::new(Psn::new(0));
        requester.post(&config, BYTES);
        assert!(requester.poll_transmit(&config, Instant::ZERO, u32::MAX, |_| BYTES).is_some());
        assert_eq!(requester.on_timeout(&config, requester.deadline(), |_| BYTES), TimeoutOutcome::Failed);
        let mut cycle = Cycle::record(Instant(1_000));
        requester.visit(&mut cycle, &config, |_| panic!("its owner has forgotten it"));
    }
}
