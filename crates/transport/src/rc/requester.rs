//! Requester of a reliable connection for bulk WRITEs: segments posted work into packets, processes
//! acknowledgements and timeouts, resends by go-back-N or one by one.

use super::in_flight::{InFlight, Mode};
use super::selective::Resends;
use crate::segment::Cursor;
use crate::{Config, Feedback, NextPacket, Position, Recovery, Transmit};
use units::{Instant, State};
use wire::Psn;

/// Effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Work requests completed by it, oldest first.
    pub completed: u32,
    /// Packets newly acknowledged.
    pub packets: u32,
}

impl AckOutcome {
    /// Whether any packet was newly acknowledged.
    #[must_use]
    pub const fn progressed(&self) -> bool {
        self.packets > 0
    }

    /// Feedback for the rate control from the acknowledgement that arrived at `now`, marked "congestion
    /// experienced" or not.
    #[must_use]
    pub fn feedback(&self, config: &Config, now: Instant, is_marked: bool) -> Feedback<'static> {
        let acknowledged_bytes = u64::from(self.packets) * u64::from(config.mtu_bytes);
        Feedback {
            acknowledged_packets: self.packets,
            acknowledged_bytes,
            marked_bytes: if is_marked { acknowledged_bytes } else { 0 },
            ..Feedback::at(now)
        }
    }
}

/// The rest of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// Bytes from the next packet on.
    pub bytes: u64,
    /// Size of the message of the next packet.
    pub message_bytes: u32,
}

/// Effect of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutOutcome {
    /// The deadline had moved; nothing happened.
    NotDue,
    /// All unacknowledged packets will be resent; with selective recovery only the first, whose
    /// acknowledgement reveals the others to resend.
    Resend,
    /// The retries are exhausted: the queue pair is in error and sends nothing more.
    Failed,
}

/// Value of [`Requester::left`] without a work request.
const NO_WORK: u32 = u32::MAX;
/// Value of [`Requester::message_left_bytes`] without a message; greater than any length.
const NO_MESSAGE: u32 = u32::MAX;

/// State that most queue pairs never need: further work requests, and packets to resend one by one.
#[derive(Clone, Debug, Default, State)]
struct More {
    /// Uncompleted work requests after the oldest.
    later: u32,
    /// Those of them with no packet sent, or all packets to be resent.
    waiting: u32,
    /// Packets from the oldest unacknowledged one to the first of the work request being sent, while that is
    /// not the oldest work request.
    #[state(left = 1)]
    before: u32,
    /// Packets to resend with selective recovery.
    #[state(only_if = Resends::is_idle)]
    resends: Resends,
}

impl More {
    /// Index of the work request being sent, among the uncompleted ones, once the oldest is sent completely.
    const fn sending(&self) -> usize {
        (self.later - self.waiting) as usize
    }
}

/// The requester: segments posted work into packets and resends them until they are acknowledged.
///
/// Packets are counted from the oldest unacknowledged one, at most a window of them. The timer runs exactly
/// while `ahead` is not 0; selective recovery, which never goes back, also stops it from a timeout until the
/// next packet is sent.
///
/// The owner stores the size of each work request and passes it as `bytes_of`: the bytes of a work request
/// that was uncompleted when the call began, by index; 0 is the oldest.
#[derive(Clone, Debug, State)]
pub struct Requester {
    /// Allocated when work is first posted after other work, or packets are first resent one by one.
    more: Option<Box<More>>,
    flight: InFlight,
    /// Unacknowledged packets of the oldest work request; [`NO_WORK`] if there is none.
    #[state(left = 1)]
    left: u32,
    /// Bytes of the current message from the next packet on; [`NO_MESSAGE`] after the last message. The
    /// offset in the work request follows from the number of packets sent.
    message_left_bytes: u32,
}

const _: () = assert!(size_of::<Requester>() == 40, "with what else a sender has it is a cache line");

impl Requester {
    /// Maximum of packets of a work request.
    pub const PACKETS_MAX: u64 = NO_WORK as u64 - 1;

    /// A queue pair whose first packet has PSN `initial_psn`.
    #[must_use]
    pub const fn new(initial_psn: Psn) -> Self {
        Self { more: None, flight: InFlight::new(initial_psn), left: NO_WORK, message_left_bytes: NO_MESSAGE }
    }

    /// Posts a write of `bytes`, split into messages; a write of 0 bytes is one packet without payload. A
    /// failed queue pair stores it and sends nothing.
    ///
    /// # Panics
    /// If `config` is outside its documented ranges, or the write has more packets than
    /// [`Self::PACKETS_MAX`].
    #[inline]
    pub fn post(&mut self, config: &Config, bytes: u64) {
        config.assert_in_range();
        let is_exhausted = self.is_exhausted();
        if self.left == NO_WORK {
            self.left = packets(config, bytes);
        } else {
            let more = self.more.get_or_insert_default();
            more.later += 1;
            more.waiting += u32::from(!is_exhausted);
            more.before = if is_exhausted { self.flight.ahead() } else { more.before };
        }
        if is_exhausted {
            self.begin_message(config, bytes);
        }
    }

    /// Whether a packet may be sent within both windows: that of `config`, and `window_packets` of the rate
    /// controller. Packets resent one by one may always be sent.
    #[inline]
    #[must_use]
    pub const fn can_transmit(&self, config: &Config, window_packets: u32) -> bool {
        match self.flight.mode {
            Mode::InOrder => self.has_next(config) && self.flight.ahead() < window_packets,
            Mode::OneByOne => true,
            Mode::Failed => false,
        }
    }

    /// Whether the window of `config` allows the next packet.
    #[inline]
    const fn has_next(&self, config: &Config) -> bool {
        !self.is_exhausted() && self.flight.ahead() < config.window_packets
    }

    /// Whether all posted work was sent.
    #[inline]
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.message_left_bytes == NO_MESSAGE
    }

    /// The next packet, if windows and state allow one; see [`Self::can_transmit`]. A packet that fills the
    /// window of the rate controller requests an acknowledgement, since that window might otherwise open only
    /// after a timeout.
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
            self.transmit_selective(config, now, bytes_of)
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

    /// Position in its message and payload [bytes] of the next packet; a full packet (an upper bound) for
    /// resends.
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

    /// All fields of a packet that was just sent.
    pub fn transmit(
        &self,
        config: &Config,
        packet: &NextPacket,
        bytes_of: impl Fn(usize) -> u64,
    ) -> Transmit {
        let (_, cursor) = self.locate(config, self.flight.packets_before(packet.psn) as u64, bytes_of);
        let is_selective = config.recovery.is_selective();
        let message_bytes = if is_selective { packet.payload_bytes } else { cursor.message_bytes };
        Transmit { packet: *packet, message_bytes: message_bytes.into(), offset_bytes: cursor.offset_bytes }
    }

    /// Index of the work request of the next packet, among the uncompleted ones.
    #[inline]
    fn sending(&self) -> usize {
        if self.flight.ahead() < self.left { 0 } else { self.sending_later() }
    }

    /// The index if it is not the oldest work request.
    #[cold]
    fn sending_later(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.sending())
    }

    /// Position of the next packet in its message.
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

    /// Advances past the next packet.
    #[inline]
    fn advance(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        self.flight.advance(1);
        self.message_left_bytes -= self.payload_bytes(config);
        self.flight.starts_message = false;
        if self.message_left_bytes == 0 {
            self.end_message(config, bytes_of);
        }
    }

    /// The message was sent completely: continues with the next one, of this work request or of a waiting
    /// one.
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

    /// The work request being sent, and the index of its next packet; `None` if it was sent completely.
    fn next_in_work(&self, config: &Config, bytes_of: &impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        let index = self.sending();
        let packets = config.packets(bytes_of(index));
        let packet = match &self.more {
            Some(more) if index > 0 => u64::from(self.flight.ahead() - more.before),
            _ => packets - u64::from(self.left - self.flight.ahead()),
        };
        (packet < packets).then_some((index, packet))
    }

    /// Starts a message of a work request with `rest_bytes` left.
    #[inline]
    fn begin_message(&mut self, config: &Config, rest_bytes: u64) {
        self.message_left_bytes = rest_bytes.min(config.message_bytes) as u32;
        self.flight.starts_message = true;
    }

    /// Continues at packet number `packet` of a work request of `bytes`.
    fn seek(&mut self, config: &Config, bytes: u64, packet: u64) {
        let cursor = Cursor::at(config, bytes, packet);
        self.message_left_bytes = cursor.message_left();
        self.flight.starts_message = cursor.message_left() == cursor.message_bytes;
    }

    /// The next packet under selective recovery: resends first.
    fn transmit_selective(
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

    /// A resent packet requests an acknowledgement, as no other packet may be in flight.
    #[cold]
    fn describe_resend(&self, config: &Config, beyond: u64, bytes_of: impl Fn(usize) -> u64) -> NextPacket {
        let (work, cursor) = self.locate(config, beyond, bytes_of);
        NextPacket {
            psn: self.flight.unacked().add(beyond as u32),
            position: cursor.position(config),
            ack_request: true,
            payload_bytes: cursor.payload_bytes(config),
            is_retransmission: beyond < u64::from(self.flight.outstanding()),
            work,
        }
    }

    /// Index of the work request of the packet `beyond` the oldest one, and its position there.
    #[cold]
    fn locate(&self, config: &Config, beyond: u64, bytes_of: impl Fn(usize) -> u64) -> (usize, Cursor) {
        let (mut index, mut packet) = (0, self.acknowledged(config, bytes_of(0)) + beyond);
        while packet >= config.packets(bytes_of(index)) {
            packet -= config.packets(bytes_of(index));
            index += 1;
        }
        (index, Cursor::at(config, bytes_of(index), packet))
    }

    /// Acknowledged packets of the oldest work request, which has `bytes`.
    const fn acknowledged(&self, config: &Config, bytes: u64) -> u64 {
        config.packets(bytes) - self.left as u64
    }

    /// Time at which [`Self::on_timeout`] is due; [`Instant::NEVER`] while nothing is in flight: no packet
    /// was sent since everything was acknowledged or since the requester went back, or the queue pair failed.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.flight.deadline
    }

    /// Processes an ACK for everything up to and including `psn`.
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

    /// Processes a NAK "PSN sequence error": everything before `psn` arrived, `psn` did not. Goes back to it.
    pub fn on_nak(
        &mut self,
        config: &Config,
        now: Instant,
        psn: Psn,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let outcome = self.acknowledge(config, now, self.flight.packets_before(psn), &bytes_of);
        // Ignored: a NAK older than the last progress, whose packet has arrived since, and a NAK for a packet
        // that was never sent.
        if config.recovery == Recovery::GoBackN && psn == self.flight.unacked() {
            self.seek_unacked(config, |index| bytes_of(index + outcome.completed as usize));
        }
        outcome
    }

    /// Selective recovery: everything up to and including `newest` arrived, and nothing beyond `highest`.
    pub fn on_selective_ack(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        highest: Psn,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        let (outstanding, highest_end) = (self.flight.outstanding(), self.flight.packets_before(highest) + 1);
        let outcome = self.acknowledge(config, now, self.flight.packets_before(newest) + 1, bytes_of);
        if let Some(more) = self.more.as_mut().filter(|_| outcome.progressed()) {
            let acknowledged = outstanding - self.flight.outstanding();
            let highest_end = (highest_end - i64::from(acknowledged)).max(0) as u64;
            more.resends.on_progress(acknowledged, Some(highest_end));
            self.update_mode();
        }
        outcome
    }

    /// Selective recovery: everything up to and including `newest` arrived, and `missing` did not, although
    /// packets far beyond it did.
    pub fn on_selective_nak(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        missing: Psn,
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
        self.update_mode();
        outcome
    }

    /// Selective recovery: everything up to and including `newest` arrived; `refused` arrived too, but the
    /// peer was not ready (RNR). It is resent by itself, each time this happens.
    pub fn on_selective_not_ready(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        refused: Psn,
        bytes_of: impl Fn(usize) -> u64,
    ) -> AckOutcome {
        if let Some(more) = &mut self.more
            && let Ok(refused) = u64::try_from(self.flight.packets_before(refused))
        {
            more.resends.forget(refused);
        }
        let outcome = self.on_selective_nak(config, now, newest, refused, bytes_of);
        // The timer waits until it is resent, unless an earlier packet is missing.
        if refused == self.flight.unacked() {
            self.flight.deadline = Instant::NEVER;
        }
        outcome
    }

    /// Resends one by one while there are any; not called on a failed queue pair.
    fn update_mode(&mut self) {
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

    /// Whether the next timeout exhausts the retries.
    #[must_use]
    pub const fn is_at_last_retry(&self, config: &Config) -> bool {
        self.flight.is_at_last_retry(config)
    }

    /// Whether the retries are exhausted.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.flight.is_failed()
    }

    /// Packets sent and not acknowledged.
    #[must_use]
    pub const fn outstanding_packets(&self) -> u64 {
        self.flight.outstanding() as u64
    }

    /// Packets sent and not acknowledged, without those that will be resent in order.
    #[must_use]
    pub const fn in_flight_packets(&self) -> u32 {
        self.flight.ahead()
    }

    /// Whether packets are to be resent one by one.
    #[must_use]
    pub const fn is_resending(&self) -> bool {
        matches!(self.flight.mode, Mode::OneByOne)
    }

    /// The rest of the work request being sent; `None` if all posted work was sent, or the queue pair failed.
    pub fn unsent(&self, config: &Config, bytes_of: impl Fn(usize) -> u64) -> Option<Unsent> {
        if self.is_failed() || self.is_exhausted() {
            return None;
        }
        let (index, packet) = self.next_in_work(config, &bytes_of)?;
        let bytes = bytes_of(index);
        let Cursor { offset_bytes, message_bytes, .. } = Cursor::at(config, bytes, packet);
        Some(Unsent { bytes: bytes - offset_bytes, message_bytes })
    }

    /// The first packet of the oldest uncompleted work request; the next packet to send if there is none.
    pub fn first_open_psn(&self, config: &Config, bytes_of: impl Fn(usize) -> u64) -> Psn {
        let acknowledged = if self.open() == 0 { 0 } else { self.acknowledged(config, bytes_of(0)) };
        // Modulo 2^24.
        self.flight.unacked().add((acknowledged as u32).wrapping_neg())
    }

    /// Number of uncompleted work requests.
    fn open(&self) -> usize {
        let later = self.more.as_ref().map_or(0, |more| more.later as usize);
        if self.left == NO_WORK { 0 } else { 1 + later }
    }

    /// For each uncompleted work request, oldest first: its bytes, and the number of its packets ever sent.
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

    /// Acknowledges the `count` oldest packets; ignores stale acknowledgements and packets never sent.
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

    /// Subtracts `count` acknowledged packets from the oldest work, and removes completed work requests.
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
                Some(more) if more.later > 0 => {
                    more.later -= 1;
                    packets(config, bytes_of(completed as usize))
                }
                _ => NO_WORK,
            };
        }
        self.left -= count;
        completed
    }

    /// Makes the oldest unacknowledged packet the next one to send; stops the timer until it is sent.
    #[cold]
    fn seek_unacked(&mut self, config: &Config, bytes_of: impl Fn(usize) -> u64) {
        self.flight.go_back(0);
        if let Some(more) = &mut self.more {
            more.waiting = more.later;
        }
        if self.left == NO_WORK {
            self.message_left_bytes = NO_MESSAGE;
        } else {
            let bytes = bytes_of(0);
            self.seek(config, bytes, self.acknowledged(config, bytes));
        }
    }
}

/// Number of packets of a work request.
#[inline]
fn packets(config: &Config, bytes: u64) -> u32 {
    let packets = config.packets(bytes);
    assert!(packets <= Requester::PACKETS_MAX, "a work request of {packets} packets is too long");
    packets as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Cycle, Span};

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

    /// Sends and acknowledges `count` packets.
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
            requester.visit(&mut cycle);
            exchange(&mut requester, &config, Instant(1_100), 10);
            cycle.compare(Instant(1_000) + Span(100));
            requester.visit(&mut cycle);
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
        assert_eq!(requester.unsent(&config, |_| panic!("its owner has forgotten it")), None);
    }
}
