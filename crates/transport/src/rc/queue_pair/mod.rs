//! A queue pair in one object: the complete state of a connection for a driver of real packets. The connection
//! is reliable (RC) or, with [`Recovery::None`](crate::Recovery::None), unreliable (UC).
//!
//! The driver passes packets and the time, and polls for packets and completions, in this order: arrived
//! packets ([`QueuePair::handle`]), the timer once [`QueuePair::deadline`] has passed
//! ([`QueuePair::on_timeout`]), then [`QueuePair::poll_transmit`] and [`QueuePair::poll_completion`] until
//! they return `None`. Any of these may move the deadline, so read it again afterwards. It reports each polled
//! packet that it has sent ([`QueuePair::on_sent`]).

mod cnp;
mod codec;
mod error;
mod notices;
mod reads;
mod receive;
mod send;
mod sender;
mod settings;
mod udp;
mod work;

pub use cnp::CnpLimiter;
pub use codec::{Outgoing, Received};
pub use error::{DecodeError, PostError, SettingsError};
pub use settings::{Reads, Region, Settings};
pub use udp::UdpPath;
pub use work::{Completion, Counters, Origin, Placed, Source, Status, Target, WorkId};

use crate::{Arrival, Config, Disposition, Recovery, TimeoutOutcome, Verb};
use reads::Response;
use receive::{ReceiveQueue, Taken, is_early};
use send::{Acknowledgement, Posted, ResponseEffect, SendQueue};
use std::collections::VecDeque;
use units::Instant;
use wire::aeth::{self, CreditCount, Msn, NakCode, RnrTimer, Syndrome};
use wire::bth::{self, Qpn};
use wire::{Extension, Framing, Opcode, Psn, cnp as notification};

/// Result of a packet for the driver; all other effects are internal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handled {
    /// Payload to be copied before the next packet is handled.
    pub placed: Option<Placed>,
}

/// A queue pair: requester and responder of one connection.
///
/// A reliable one enters the error state when retries are exhausted or either end makes a request that is not
/// allowed. Then posted work is flushed, the last NAK is sent, and nothing more is sent or accepted. An
/// unreliable one drops the message of such a request, as it does one with a gap.
#[derive(Debug)]
pub struct QueuePair {
    config: Config,
    number: Qpn,
    peer: Qpn,
    rnr_timer: RnrTimer,
    sends: SendQueue,
    receives: ReceiveQueue,
    reads: reads::Reads,
    replies: VecDeque<Outgoing>,
    completions: VecDeque<Completion>,
    counters: Counters,
    next_work: u64,
    is_failed: bool,
}

impl QueuePair {
    /// A queue pair that is ready to send and to receive.
    ///
    /// # Errors
    /// As for [`Settings::check`].
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            config: settings.config.clone(),
            number: settings.number,
            peer: settings.peer,
            rnr_timer: settings.rnr_timer,
            sends: SendQueue::new(settings),
            receives: ReceiveQueue::new(settings),
            reads: reads::Reads::default(),
            replies: VecDeque::new(),
            completions: VecDeque::new(),
            counters: Counters::default(),
            next_work: 0,
            is_failed: false,
        })
    }

    /// Posts a WRITE of `bytes` to the peer's memory from `remote_address` on, in as many messages as needed.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_write(&mut self, remote_address: u64, bytes: u64) -> Result<WorkId, PostError> {
        self.post(Verb::Write, bytes, remote_address, None)
    }

    /// Posts a WRITE that notifies the peer: the last packet has `immediate` and consumes a receive of the
    /// peer without writing to its buffer. The completion signals that every byte of this WRITE and of all
    /// work before it is in the peer's memory.
    ///
    /// Under selective recovery, which is not part of the standard, packets are placed as they arrive.
    /// Receives complete in the order in which the WRITEs were posted, each once all packets before the last
    /// one of its WRITE have arrived. If no receive is posted, the last packet is refused by an RNR NAK and
    /// resent by itself.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_write_with_immediate(
        &mut self,
        remote_address: u64,
        bytes: u64,
        immediate: u32,
    ) -> Result<WorkId, PostError> {
        self.post(Verb::Write, bytes, remote_address, Some(immediate))
    }

    /// Posts a SEND of `bytes`, at most a full message, into the next receive that the peer posts.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_send(&mut self, bytes: u64) -> Result<WorkId, PostError> {
        self.post(Verb::Send, bytes, 0, None)
    }

    /// Posts a SEND whose `immediate` is returned in the completion of the receive.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_send_with_immediate(&mut self, bytes: u64, immediate: u32) -> Result<WorkId, PostError> {
        self.post(Verb::Send, bytes, 0, Some(immediate))
    }

    /// Posts a READ of `bytes` of the peer's memory from `remote_address` on, in as many messages as needed.
    /// Arriving payload has [`Target::Read`]; when the READ completes, all of it has arrived.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_read(&mut self, remote_address: u64, bytes: u64) -> Result<WorkId, PostError> {
        self.post(Verb::Read, bytes, remote_address, None)
    }

    fn post(
        &mut self,
        verb: Verb,
        bytes: u64,
        address: u64,
        immediate: Option<u32>,
    ) -> Result<WorkId, PostError> {
        let work = self.next_work()?;
        self.sends.post(&self.config, Posted { work, verb, bytes, address, immediate })?;
        self.next_work += 1;
        Ok(work)
    }

    /// Posts a receive for one SEND of the peer, of at most `capacity_bytes`, or for one WRITE with
    /// immediate, which does not write to it.
    ///
    /// # Errors
    /// [`PostError::Failed`].
    pub fn post_receive(&mut self, capacity_bytes: u64) -> Result<WorkId, PostError> {
        let work = self.next_work()?;
        self.receives.post(work, capacity_bytes, &mut self.completions);
        self.next_work += 1;
        Ok(work)
    }

    const fn next_work(&self) -> Result<WorkId, PostError> {
        if self.is_failed { Err(PostError::Failed) } else { Ok(WorkId(self.next_work)) }
    }

    /// Processes a packet that arrived at `now`.
    pub fn handle(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        // IBTA 9.6.1: packets for another queue pair, partition or kind of connection are dropped silently.
        let is_ours = packet.bth().destination_qp == self.number
            && packet.bth().partition_key == bth::DEFAULT_PARTITION_KEY
            && (packet.bth().opcode == Opcode::CongestionNotification
                || packet.bth().opcode.is_unreliable() == (self.config.recovery == Recovery::None));
        match (packet.bth().opcode, *packet.extension()) {
            _ if self.is_failed || !is_ours => self.counters.ignored += 1,
            (Opcode::CongestionNotification, _) => {
                self.counters.cnps_received += 1;
                self.sends.on_cnp(now);
            }
            (Opcode::Acknowledge, Extension::Aeth(aeth)) => {
                let (psn, msn) = (packet.bth().psn, Psn::new(aeth.msn.value()));
                let ack = Acknowledgement { now, psn, msn, is_marked: packet.is_marked() };
                self.on_acknowledge(ack, aeth.syndrome);
            }
            (opcode, _) if opcode.is_request() => return self.on_request(packet, now),
            (opcode, _) if opcode.is_data() => return self.on_response(packet, now),
            _ => self.counters.ignored += 1,
        }
        Handled::default()
    }

    fn on_request(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        self.counters.data_received += 1;
        self.counters.data_received_bytes += frame_bytes(packet.bth().opcode, packet.payload().len() as u32);
        self.process_mark(packet, now);
        let taken = if packet.bth().opcode == Opcode::ReadRequest {
            self.receives.take_read(&self.config, packet, self.reads.len())
        } else {
            self.receives.take(&self.config, packet, &mut self.completions)
        };
        match taken {
            Taken::Checked(arrival, placed) => {
                self.answer(&arrival);
                return Handled { placed };
            }
            Taken::Read(arrival, request) => {
                self.counters.duplicates += u64::from(arrival.disposition == Disposition::Duplicate);
                self.reads.answer(request);
            }
            Taken::NotReady => self.refuse(packet.bth().psn, Syndrome::RnrNak(self.rnr_timer)),
            Taken::Refused(code) => {
                self.refuse(packet.bth().psn, Syndrome::Nak(code));
                self.fail(None);
            }
            Taken::Dropped => self.counters.ignored += 1,
        }
        Handled::default()
    }

    /// Notifies the peer of a congestion mark on its data.
    fn process_mark(&mut self, packet: &Received<'_>, now: Instant) {
        if packet.is_marked() {
            self.counters.marks += 1;
            if self.receives.on_mark(now) {
                self.notify();
            }
        }
    }

    /// Processes a response to a READ.
    fn on_response(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        self.counters.responses_received += 1;
        self.process_mark(packet, now);
        let ack = Acknowledgement {
            now,
            psn: packet.bth().psn,
            msn: packet.bth().psn,
            is_marked: packet.is_marked(),
        };
        let placed = match self.sends.on_response(&self.config, packet, ack, &mut self.completions) {
            ResponseEffect::Dropped { is_early } => {
                self.counters.out_of_order += u64::from(is_early);
                None
            }
            ResponseEffect::Placed { work, offset_bytes } => {
                let (target, bytes) = (Target::Read { work, offset_bytes }, packet.payload().len() as u32);
                (bytes > 0).then_some(Placed { target, bytes })
            }
            ResponseEffect::Mismatched(index) => {
                self.fail(Some((index, Status::BadResponse)));
                None
            }
        };
        Handled { placed }
    }

    fn answer(&mut self, arrival: &Arrival) {
        self.counters.duplicates += u64::from(arrival.disposition == Disposition::Duplicate);
        self.counters.out_of_order += u64::from(is_early(arrival.disposition));
        let Some(reply) = arrival.reply else { return };
        let (is_ack, psn, msn) = reply.header(self.receives.message_sequence());
        if is_ack {
            self.forget_last_ack();
            self.counters.acks_sent += 1;
            self.acknowledge(psn, Syndrome::Ack(CreditCount::UNLIMITED), msn);
        } else {
            self.counters.naks_sent += 1;
            self.acknowledge(psn, Syndrome::Nak(NakCode::PsnSequenceError), msn);
        }
    }

    /// Removes an unsent ACK: the next one acknowledges more.
    fn forget_last_ack(&mut self) {
        if self.replies.back().is_some_and(is_ack) {
            self.replies.pop_back();
            self.counters.acks_sent -= 1;
        }
    }

    /// Refuses the request with this PSN.
    fn refuse(&mut self, psn: Psn, syndrome: Syndrome) {
        self.counters.naks_sent += 1;
        self.acknowledge(psn, syndrome, self.receives.message_sequence());
    }

    fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome, msn: u32) {
        let msn = Msn::new(msn).unwrap_or_default();
        let extension = Extension::Aeth(aeth::Repr { syndrome, msn });
        let bth = self.bth(Opcode::Acknowledge, psn);
        if self.reads.is_empty() {
            return self.reply(bth, extension);
        }
        let reply = Outgoing { bth, extension, source: None, is_retransmission: false };
        let replaced = self.reads.defer(reply);
        self.counters.acks_sent -= u64::from(replaced.as_ref().is_some_and(is_ack));
    }

    /// Sends a congestion notification to the peer.
    fn notify(&mut self) {
        self.counters.cnps_sent += 1;
        let (destination_qp, partition_key) = (self.peer, bth::DEFAULT_PARTITION_KEY);
        self.reply(notification::Repr { destination_qp, partition_key }.bth(), Extension::Notification);
    }

    fn reply(&mut self, bth: bth::Repr, extension: Extension) {
        self.replies.push_back(Outgoing { bth, extension, source: None, is_retransmission: false });
    }

    /// A header to the peer. Hardware sets "migrated" when there is no migration, and drops packets without
    /// it.
    const fn bth(&self, opcode: Opcode, psn: Psn) -> bth::Repr {
        bth::Repr { migrated: true, ..bth::Repr::new(opcode, self.peer, psn) }
    }

    fn on_acknowledge(&mut self, ack: Acknowledgement, syndrome: Syndrome) {
        let Self { config, sends, completions: done, .. } = self;
        self.counters.naks_received += u64::from(!matches!(syndrome, Syndrome::Ack(_)));
        match syndrome {
            Syndrome::Ack(_) => sends.on_ack(config, ack, done),
            Syndrome::Nak(NakCode::PsnSequenceError) => sends.on_missing(config, ack, done),
            Syndrome::RnrNak(timer) => {
                if !sends.on_not_ready(config, ack, timer, done) {
                    self.fail(Some((0, Status::RnrRetryExceeded)));
                }
            }
            Syndrome::Nak(code) => {
                // Minus one, modulo 2^24: in order, everything before the refused packet has arrived.
                let in_order = ack.psn.add(u32::MAX);
                let newest = if config.recovery.is_selective() { ack.msn } else { in_order };
                if let Some(index) = sends.on_refused(config, ack, newest, done) {
                    self.fail(Some((index, status_of(code))));
                }
            }
        }
    }

    /// The next reply to send; replies do not include responses to READs.
    pub fn poll_reply(&mut self) -> Option<Outgoing> {
        self.replies.pop_front()
    }

    /// The next response to a READ, if pacing allows one.
    fn poll_response(&mut self, now: Instant) -> Option<Outgoing> {
        if self.reads.is_empty() || now < self.sends.response_ready_at() {
            return None;
        }
        let Response { psn, opcode, extension, source } = self.reads.poll(&self.config)?;
        self.sends.on_response_sent(now, psn, opcode, source.bytes);
        self.counters.responses_sent += 1;
        self.replies.extend(self.reads.take_deferred());
        Some(Outgoing {
            bth: self.bth(opcode, psn),
            extension,
            source: Some(source),
            is_retransmission: false,
        })
    }

    /// The next packet to send at `now`: replies first, then responses to READs of the peer, then posted
    /// work, as window and pacing allow.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(reply) = self.poll_reply() {
            return Some(reply);
        }
        if let Some(response) = self.poll_response(now) {
            return Some(response);
        }
        if self.is_failed {
            return None;
        }
        let packet = self.sends.poll(&self.config, now)?;
        self.counters.data_sent += 1;
        self.counters.data_sent_bytes += frame_bytes(packet.opcode, packet.source.bytes);
        self.counters.retransmits += u64::from(packet.is_retransmission);
        Some(Outgoing {
            bth: bth::Repr { ack_request: packet.ack_request, ..self.bth(packet.opcode, packet.psn) },
            extension: packet.extension,
            source: Some(packet.source),
            is_retransmission: packet.is_retransmission,
        })
    }

    /// A packet of [`Self::poll_transmit`] was sent: on an unreliable connection, the last one of a work request
    /// completes it.
    pub fn on_sent(&mut self, packet: &Outgoing) {
        if let (Recovery::None, Some(source)) = (self.config.recovery, packet.source) {
            self.sends.on_sent(source, &mut self.completions);
        }
    }

    /// Time of the next action if nothing arrives before: a packet to send, once pacing or the wait for a
    /// peer that was not ready permits, or [`Self::on_timeout`]. [`Instant::ZERO`] while replies wait.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let responses = if self.reads.is_empty() { Instant::NEVER } else { self.sends.response_ready_at() };
        match (self.replies.is_empty(), self.is_failed) {
            (false, _) => Instant::ZERO,
            (true, true) => responses,
            (true, false) => self.sends.deadline(&self.config).min(responses),
        }
    }

    /// Time at which [`Self::on_timeout`] is due, even if a packet can be sent before; [`Instant::NEVER`]
    /// while nothing is in flight.
    #[must_use]
    pub fn retransmission_deadline(&self) -> Instant {
        if self.is_failed { Instant::NEVER } else { self.sends.retransmission_deadline() }
    }

    /// Estimated number of packets of posted work in flight, without those to be resent.
    #[must_use]
    pub fn in_flight_packets(&self) -> u32 {
        if self.is_failed { 0 } else { self.sends.in_flight_packets() }
    }

    /// Whether it has packets that do not add to the packets in flight: replies, or resends one by one under
    /// selective recovery.
    #[must_use]
    pub fn has_urgent(&self) -> bool {
        !self.replies.is_empty() || self.is_resending()
    }

    /// Whether it has packets to resend one by one, under selective recovery.
    #[must_use]
    pub const fn is_resending(&self) -> bool {
        !self.is_failed && self.sends.is_resending()
    }

    /// Fires the retransmission timer if it is due at `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.is_failed {
            return;
        }
        match self.sends.on_timeout(&self.config, now) {
            TimeoutOutcome::NotDue => {}
            TimeoutOutcome::Resend => self.counters.timeouts += 1,
            TimeoutOutcome::Failed => {
                self.counters.timeouts += 1;
                self.fail(Some((0, Status::RetryExceeded)));
            }
        }
    }

    /// The next completion. Send work completes in the order of posting, and so do receives.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Statistics of the queue pair.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether it is in error.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.is_failed
    }

    /// Enters the error state. `failed` is the index of the failed work and its status; all other posted work
    /// is flushed (IBTA 10.3.1).
    fn fail(&mut self, failed: Option<(usize, Status)>) {
        self.is_failed = true;
        self.sends.flush(failed, &mut self.completions);
        self.receives.flush(&mut self.completions);
    }
}

/// Whether it is an ACK.
const fn is_ack(reply: &Outgoing) -> bool {
    matches!(reply.extension, Extension::Aeth(aeth::Repr { syndrome: Syndrome::Ack(_), .. }))
}

/// Size of the Ethernet frame of a packet.
fn frame_bytes(opcode: Opcode, payload_bytes: u32) -> u64 {
    Framing::Ethernet.frame_bytes(opcode, payload_bytes).into()
}

/// Status of work that the peer refused.
const fn status_of(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccessError => Status::RemoteAccess,
        NakCode::RemoteOperationalError => Status::RemoteOperational,
        NakCode::PsnSequenceError | NakCode::InvalidRequest | NakCode::InvalidRdRequest => {
            Status::RemoteInvalidRequest
        }
    }
}
