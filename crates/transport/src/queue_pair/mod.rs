//! A queue pair as one object: all that a driver holds of a reliable connection.
//!
//! The driver tells it of packets and of the time, and asks it for packets and completions, in this order:
//! what arrived ([`QueuePair::handle`]), the timer once [`QueuePair::deadline`] is past
//! ([`QueuePair::on_timeout`]), then [`QueuePair::poll_transmit`] and [`QueuePair::poll_completion`] until
//! they return `None`. Any of these may move the deadline; look at it again afterwards.

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

use crate::{Arrival, Config, Disposition, TimeoutOutcome, Verb};
use reads::Response;
use receive::{ReceiveQueue, Taken, is_early};
use send::{Heard, Posted, Responded, SendQueue};
use std::collections::VecDeque;
use units::Instant;
use wire::aeth::{self, CreditCount, Msn, NakCode, RnrTimer, Syndrome};
use wire::bth::{self, Qpn};
use wire::{Extension, Framing, Opcode, Psn, cnp as notification};

/// What a packet led to; everything else of it stays inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handled {
    /// Its payload, to be copied before the next packet is handled.
    pub placed: Option<Placed>,
}

/// A queue pair: requester and responder of one reliable connection.
///
/// It works until something ends it: retries that are used up, or a request that may not do what it asks for,
/// of either end. Then it is in error: what was posted is flushed, the last NAK goes out, and nothing more is
/// sent or taken.
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
    /// One that is ready to send and to receive.
    ///
    /// # Errors
    /// What [`Settings::check`] finds.
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

    /// Posts a WRITE of `bytes` to the peer's memory from `remote_address` on, in as many messages as it
    /// takes.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_write(&mut self, remote_address: u64, bytes: u64) -> Result<WorkId, PostError> {
        self.post(Verb::Write, bytes, remote_address, None)
    }

    /// The same, of which the peer learns: the last packet brings `immediate` and takes a receive of the
    /// peer's, of which only the completion counts. That tells that every byte of this WRITE and of all work
    /// before it is in the peer's memory.
    ///
    /// Under selective recovery, of which the standard knows nothing, packets are placed as they come, and
    /// receives complete in the order in which the WRITEs were posted, each once all packets before its own
    /// have come. Where none is posted the last packet is refused by an RNR NAK and sent again by itself.
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

    /// Posts a SEND of `bytes`, at most a full message, into the receive that the peer posts for it.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_send(&mut self, bytes: u64) -> Result<WorkId, PostError> {
        self.post(Verb::Send, bytes, 0, None)
    }

    /// The same, and the completion of the receive tells `immediate`.
    ///
    /// # Errors
    /// [`PostError`], without side effect.
    pub fn post_send_with_immediate(&mut self, bytes: u64, immediate: u32) -> Result<WorkId, PostError> {
        self.post(Verb::Send, bytes, 0, Some(immediate))
    }

    /// Posts a READ of `bytes` of the peer's memory from `remote_address` on, in as many messages as it takes.
    /// What comes is told by [`Target::Read`]; when the READ completes all of it has come.
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

    /// Posts a receive for one SEND of the peer, of `capacity_bytes` at the most, or for one WRITE with
    /// immediate, which puts nothing into it.
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

    /// Takes in a packet that arrived at `now`.
    pub fn handle(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        // IBTA 9.6.1: what is for another queue pair or partition is dropped without a word.
        let is_ours =
            packet.destination() == self.number && packet.partition_key() == bth::DEFAULT_PARTITION_KEY;
        match (packet.opcode(), *packet.extension()) {
            _ if self.is_failed || !is_ours => self.counters.ignored += 1,
            (Opcode::CongestionNotification, _) => {
                self.counters.cnps_received += 1;
                self.sends.on_cnp(now);
            }
            (Opcode::Acknowledge, Extension::Aeth(aeth)) => {
                let (psn, msn) = (packet.psn(), Psn::new(aeth.msn.value()));
                let heard = Heard { now, psn, msn, is_marked: packet.is_marked() };
                self.on_acknowledge(heard, aeth.syndrome);
            }
            (opcode, _) if opcode.is_request() => return self.on_request(packet, now),
            (opcode, _) if opcode.is_data() => return self.on_response(packet, now),
            _ => self.counters.ignored += 1,
        }
        Handled::default()
    }

    fn on_request(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        self.counters.data_received += 1;
        self.counters.data_received_bytes += frame_bytes(packet.opcode(), packet.payload().len() as u32);
        self.look_at_mark(packet, now);
        let taken = if packet.opcode() == Opcode::ReadRequest {
            self.receives.take_read(&self.config, packet, self.reads.len())
        } else {
            self.receives.take(&self.config, packet, &mut self.completions)
        };
        match taken {
            Taken::Judged(arrival, placed) => {
                self.answer(&arrival);
                return Handled { placed };
            }
            Taken::Read(arrival, request) => {
                self.counters.duplicates += u64::from(arrival.disposition == Disposition::Duplicate);
                self.reads.answer(request);
            }
            Taken::NotReady => self.refuse(packet.psn(), Syndrome::RnrNak(self.rnr_timer)),
            Taken::Refused(code) => {
                self.refuse(packet.psn(), Syndrome::Nak(code));
                self.fail(None);
            }
        }
        Handled::default()
    }

    /// Tells the peer of a mark on data that came from it.
    fn look_at_mark(&mut self, packet: &Received<'_>, now: Instant) {
        if packet.is_marked() {
            self.counters.marks += 1;
            if self.receives.on_mark(now) {
                self.notify();
            }
        }
    }

    /// A response to a READ.
    fn on_response(&mut self, packet: &Received<'_>, now: Instant) -> Handled {
        self.counters.responses_received += 1;
        self.look_at_mark(packet, now);
        let heard = Heard { now, psn: packet.psn(), msn: packet.psn(), is_marked: packet.is_marked() };
        let placed = match self.sends.on_response(&self.config, packet, heard, &mut self.completions) {
            Responded::Dropped { is_early } => {
                self.counters.out_of_order += u64::from(is_early);
                None
            }
            Responded::Placed { work, offset_bytes } => {
                let (target, bytes) = (Target::Read { work, offset_bytes }, packet.payload().len() as u32);
                (bytes > 0).then_some(Placed { target, bytes })
            }
            Responded::Bad(place) => {
                self.fail(Some((place, Status::BadResponse)));
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

    /// An ACK that has not left when the next one is made need not leave: the next one says more.
    fn forget_last_ack(&mut self) {
        if self.replies.back().is_some_and(is_ack) {
            self.replies.pop_back();
            self.counters.acks_sent -= 1;
        }
    }

    /// Refuses the request with that PSN.
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
        let replaced = self.reads.wait(reply);
        self.counters.acks_sent -= u64::from(replaced.as_ref().is_some_and(is_ack));
    }

    /// Tells the peer of a mark.
    fn notify(&mut self) {
        self.counters.cnps_sent += 1;
        let (destination_qp, partition_key) = (self.peer, bth::DEFAULT_PARTITION_KEY);
        self.reply(notification::Repr { destination_qp, partition_key }.bth(), Extension::Notification);
    }

    fn reply(&mut self, bth: bth::Repr, extension: Extension) {
        self.replies.push_back(Outgoing { bth, extension, source: None, is_retransmission: false });
    }

    /// A header to the peer. Hardware sets "migrated" where nothing migrates, and drops what has it not.
    const fn bth(&self, opcode: Opcode, psn: Psn) -> bth::Repr {
        bth::Repr { migrated: true, ..bth::Repr::new(opcode, self.peer, psn) }
    }

    fn on_acknowledge(&mut self, heard: Heard, syndrome: Syndrome) {
        let Self { config, sends, completions: done, .. } = self;
        self.counters.naks_received += u64::from(!matches!(syndrome, Syndrome::Ack(_)));
        match syndrome {
            Syndrome::Ack(_) => sends.on_ack(config, heard, done),
            Syndrome::Nak(NakCode::PsnSequenceError) => sends.on_missing(config, heard, done),
            Syndrome::RnrNak(timer) => {
                if !sends.on_not_ready(config, heard, timer, done) {
                    self.fail(Some((0, Status::RnrRetryExceeded)));
                }
            }
            Syndrome::Nak(code) => {
                // One less, modulo 2^24: in order, everything before the refused packet has arrived.
                let in_order = heard.psn.add(u32::MAX);
                let newest = if config.recovery.is_selective() { heard.msn } else { in_order };
                if let Some(place) = sends.on_refused(config, heard, newest, done) {
                    self.fail(Some((place, status_of(code))));
                }
            }
        }
    }

    /// The next reply to send; responses to READs are none.
    pub fn poll_reply(&mut self) -> Option<Outgoing> {
        self.replies.pop_front()
    }

    /// The next response to a READ, if pacing allows one.
    fn poll_response(&mut self, now: Instant) -> Option<Outgoing> {
        if self.reads.is_empty() || now < self.sends.response_ready_at() {
            return None;
        }
        let Response { psn, opcode, extension, source } = self.reads.poll(&self.config)?;
        self.sends.on_response_sent(now, psn, (opcode, source.bytes));
        self.counters.responses_sent += 1;
        self.replies.extend(self.reads.take_behind());
        Some(Outgoing {
            bth: self.bth(opcode, psn),
            extension,
            source: Some(source),
            is_retransmission: false,
        })
    }

    /// The next packet to send at `now`: replies first, then what the peer reads, then posted work, as window
    /// and pacing allow.
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

    /// Replies wait to be sent: they come before any payload.
    #[must_use]
    pub fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// When there is something to do, if nothing arrives before: a packet to send, as soon as pacing or the
    /// wait for a peer that was not ready allows, or [`Self::on_timeout`]. [`Instant::ZERO`] while replies
    /// wait.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let responses = if self.reads.is_empty() { Instant::NEVER } else { self.sends.response_ready_at() };
        match (self.replies.is_empty(), self.is_failed) {
            (false, _) => Instant::ZERO,
            (true, true) => responses,
            (true, false) => self.sends.deadline(&self.config).min(responses),
        }
    }

    /// When [`Self::on_timeout`] is due, whether or not there is a packet to send before; [`Instant::NEVER`]
    /// while nothing is under way.
    #[must_use]
    pub fn retransmission_deadline(&self) -> Instant {
        if self.is_failed { Instant::NEVER } else { self.sends.retransmission_deadline() }
    }

    /// Packets of posted work that are under way, as far as is known: those to be sent again are not.
    #[must_use]
    pub fn in_flight_packets(&self) -> u32 {
        if self.is_failed { 0 } else { self.sends.in_flight_packets() }
    }

    /// It has something to send that adds nothing to what is under way: replies, or packets sent again one by
    /// one under selective recovery.
    #[must_use]
    pub fn has_urgent(&self) -> bool {
        !self.replies.is_empty() || self.is_resending()
    }

    /// It has packets to send again one by one, under selective recovery.
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

    /// The next end of a work request: what was sent in the order in which it was posted, and likewise what
    /// was received.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// What it has seen.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// It is in error.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.is_failed
    }

    /// Goes to error; the posted work at that place has a status of its own (IBTA 10.3.1: what is posted is
    /// flushed).
    fn fail(&mut self, failed: Option<(usize, Status)>) {
        self.is_failed = true;
        self.sends.flush(failed, &mut self.completions);
        self.receives.flush(&mut self.completions);
    }
}

/// It acknowledges.
const fn is_ack(reply: &Outgoing) -> bool {
    matches!(reply.extension, Extension::Aeth(aeth::Repr { syndrome: Syndrome::Ack(_), .. }))
}

/// The Ethernet frame of a packet.
fn frame_bytes(opcode: Opcode, payload_bytes: u32) -> u64 {
    Framing::Ethernet.frame_bytes(opcode, payload_bytes).into()
}

/// How work ends that the peer refused.
const fn status_of(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccessError => Status::RemoteAccess,
        NakCode::RemoteOperationalError => Status::RemoteOperational,
        NakCode::PsnSequenceError | NakCode::InvalidRequest | NakCode::InvalidRdRequest => {
            Status::RemoteInvalidRequest
        }
    }
}
