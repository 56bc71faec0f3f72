//! Sending half of a queue pair: posted work, its recovery and its pacing.

use super::sender::{Sender, source};
use super::{Completion, Origin, PostError, Received, Settings, Source, Status, WorkId};
use crate::{
    AckOutcome, Config, Controller, Feedback, Position, RateControl, Recovery, Requester, TimeoutOutcome,
    Verb,
};
use std::collections::VecDeque;
use units::{Instant, Span};
use wire::aeth::RnrTimer;
use wire::extension::Immediate;
use wire::{Extension, Framing, Opcode, Psn, reth};

/// A driver in real time polls paced packets late. Packets that became due within this time are sent at once;
/// it covers a few thread wake-ups.
const LATE_MAX: Span = Span::from_us(200);

/// A packet of posted work.
pub(super) struct DataPacket {
    pub(super) opcode: Opcode,
    pub(super) psn: Psn,
    pub(super) ack_request: bool,
    pub(super) extension: Extension,
    pub(super) source: Source,
    pub(super) is_retransmission: bool,
}

/// An ACK, a NAK or a response to a READ.
#[derive(Clone, Copy)]
pub(super) struct Acknowledgement {
    /// Time of arrival.
    pub(super) now: Instant,
    /// The PSN of its BTH.
    pub(super) psn: Psn,
    /// The message sequence number of its AETH.
    pub(super) msn: Psn,
    /// It arrived with congestion experienced.
    pub(super) is_marked: bool,
}

/// Uncompleted work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) work: WorkId,
    pub(super) verb: Verb,
    pub(super) bytes: u64,
    /// Target address of a WRITE, or source address of a READ.
    pub(super) address: u64,
    /// Immediate data of its last packet.
    pub(super) immediate: Option<u32>,
}

/// Result of a response to a READ.
pub(super) enum ResponseEffect {
    /// Dropped: it has no new data.
    Dropped {
        /// It arrived before an earlier one.
        is_early: bool,
    },
    /// Its payload belongs at this offset of the READ.
    Placed { work: WorkId, offset_bytes: u64 },
    /// It does not match the request of the work at this index.
    Mismatched(usize),
}

/// Sending half of a queue pair.
#[derive(Debug)]
pub(super) struct SendQueue {
    requester: Sender,
    rate: Controller,
    /// Uncompleted work, oldest first.
    posted: VecDeque<Posted>,
    remote_key: u32,
    /// More packets were ready when the last one was sent: only the rate delays the next one.
    is_paced: bool,
    /// Arrival of the last congestion notification.
    notified_at: Instant,
    /// End of the wait for a peer that was not ready.
    not_before: Instant,
    rnr_retry_count: u32,
    /// RNR NAKs since the last progress.
    rnr_retries: u32,
}

impl SendQueue {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            requester: Sender::new(settings),
            rate: settings.rate.clone(),
            posted: VecDeque::new(),
            remote_key: settings.peer_remote_key,
            is_paced: false,
            notified_at: Instant::ZERO,
            not_before: Instant::ZERO,
            rnr_retry_count: settings.rnr_retry_count,
            rnr_retries: 0,
        }
    }

    /// Accepts work, unless it is invalid.
    pub(super) fn post(&mut self, config: &Config, posted: Posted) -> Result<(), PostError> {
        match posted.verb {
            Verb::Send => check_send(config, &posted)?,
            Verb::Read if !self.requester.reads() => return Err(PostError::NoReads),
            Verb::Write | Verb::Read => check_write(config, &posted)?,
        }
        self.posted.push_back(posted);
        self.requester.post(config, posted.verb, posted.bytes);
        Ok(())
    }

    /// The next packet, if window, pacing and the readiness of the peer allow one.
    pub(super) fn poll(&mut self, config: &Config, now: Instant) -> Option<DataPacket> {
        if now < self.ready_at() {
            return None;
        }
        let (window_packets, paced_at) = (self.rate.window_packets(), self.paced_at(now));
        let transmit = self.requester.poll(config, now, window_packets, &self.posted)?;
        let packet = transmit.packet;
        let posted = self.posted[packet.work];
        let Posted { verb, bytes, address, immediate, .. } = posted;
        let is_last = transmit.offset_bytes + u64::from(packet.payload_bytes) == bytes;
        let immediate = immediate.filter(|_| is_last);
        let opcode = opcode(config, verb, packet.position, immediate);
        let reth = reth::Repr {
            virtual_address: address + transmit.offset_bytes,
            remote_key: self.remote_key,
            dma_bytes: transmit.message_bytes as u32,
        };
        self.rate.on_sent(paced_at, packet.psn, occupied_bytes(opcode, packet.payload_bytes));
        self.is_paced = self.requester.can_transmit(config, window_packets);
        // A packet that closes the window requests the ACK that reopens it, since other responders
        // acknowledge only packets that request it. Except a READ, which is always answered.
        let closes = !self.is_paced && verb != Verb::Read && config.recovery == Recovery::GoBackN;
        Some(DataPacket {
            opcode,
            psn: packet.psn,
            ack_request: packet.ack_request || closes,
            extension: extension(opcode, reth, immediate),
            source: source(&posted, &transmit),
            is_retransmission: packet.is_retransmission,
        })
    }

    /// A packet with this payload was sent: without acknowledgements, the last one of a work request completes
    /// it.
    pub(super) fn on_sent(&mut self, sent: Source, done: &mut VecDeque<Completion>) {
        let Some(&Posted { work, bytes, .. }) = self.posted.front() else { return };
        let end_bytes = |offset_bytes| offset_bytes + u64::from(sent.bytes);
        let is_last = matches!(sent.origin, Origin::Work { work: of, offset_bytes }
            if of == work && end_bytes(offset_bytes) == bytes);
        if is_last && self.requester.on_last_sent() {
            self.posted.pop_front();
            done.push_back(Completion::new(work, Status::Success, bytes));
        }
    }

    /// A response to a READ of the peer is sent at `now`.
    pub(super) fn on_response_sent(&mut self, now: Instant, psn: Psn, opcode: Opcode, payload_bytes: u32) {
        self.rate.on_sent(self.paced_at(now), psn, occupied_bytes(opcode, payload_bytes));
    }

    /// Earliest time of the next response to a READ of the peer.
    pub(super) fn response_ready_at(&self) -> Instant {
        self.rate.ready_at()
    }

    /// Send time that pacing assumes for a packet sent at `now`: the time at which it was due, if only the
    /// rate delayed it and the driver is late. Controllers that measure round trips need the actual time.
    fn paced_at(&self, now: Instant) -> Instant {
        if !self.is_paced || self.rate.uses_acks() {
            return now;
        }
        let earliest = Instant(now.0.saturating_sub(LATE_MAX.0));
        self.rate.ready_at().max(earliest).max(self.notified_at).min(now)
    }

    /// Earliest time of the next packet.
    fn ready_at(&self) -> Instant {
        self.rate.ready_at().max(self.not_before)
    }

    /// Packets in flight.
    pub(super) fn in_flight_packets(&self) -> u32 {
        self.requester.in_flight_packets()
    }

    /// Whether packets are to be resent one by one.
    pub(super) const fn is_resending(&self) -> bool {
        self.requester.is_resending()
    }

    /// Time of the next action.
    pub(super) fn deadline(&self, config: &Config) -> Instant {
        let may_send = self.requester.can_transmit(config, self.rate.window_packets());
        let next = if may_send { self.ready_at() } else { Instant::NEVER };
        next.min(self.retransmission_deadline())
    }

    /// Time at which [`Self::on_timeout`] is due.
    pub(super) fn retransmission_deadline(&self) -> Instant {
        // No timeout while waiting for a peer that is not ready.
        self.requester.deadline().max(self.not_before)
    }

    pub(super) fn on_timeout(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        if now < self.not_before {
            return TimeoutOutcome::NotDue;
        }
        let outcome = self.requester.on_timeout(config, now, &self.posted);
        if outcome == TimeoutOutcome::Resend {
            self.rate.on_feedback(&Feedback { is_timeout: true, ..Feedback::at(now) });
        }
        outcome
    }

    pub(super) fn on_cnp(&mut self, now: Instant) {
        self.notified_at = now;
        self.rate.on_feedback(&Feedback { is_cnp: true, ..Feedback::at(now) });
    }

    /// Processes an ACK.
    pub(super) fn on_ack(&mut self, config: &Config, ack: Acknowledgement, done: &mut VecDeque<Completion>) {
        let outcome = self.requester.on_ack(config, ack, &self.posted);
        self.complete(config, outcome, ack, done);
    }

    /// Processes a NAK "PSN sequence error".
    pub(super) fn on_missing(
        &mut self,
        config: &Config,
        ack: Acknowledgement,
        done: &mut VecDeque<Completion>,
    ) {
        let outcome = self.requester.on_missing(config, ack, &self.posted);
        self.complete(config, outcome, ack, done);
        self.rate.on_feedback(&Feedback { is_nak: true, ..Feedback::at(ack.now) });
    }

    /// Processes a response to a READ.
    pub(super) fn on_response(
        &mut self,
        config: &Config,
        response: &Received<'_>,
        ack: Acknowledgement,
        done: &mut VecDeque<Completion>,
    ) -> ResponseEffect {
        let Some(awaited) = self.requester.awaited(config) else {
            return ResponseEffect::Dropped { is_early: false };
        };
        let is_next = awaited.psn == ack.psn;
        let is_right = response.payload().len() == awaited.payload_bytes as usize
            && response.bth().opcode.ends_message() == awaited.is_last;
        if is_next && !is_right {
            return ResponseEffect::Mismatched(awaited.work);
        }
        let work = self.posted[awaited.work].work;
        let outcome = self.requester.on_response(config, ack.now, ack.psn);
        self.complete(config, outcome.completed, ack, done);
        if outcome.is_placed {
            ResponseEffect::Placed { work, offset_bytes: awaited.offset_bytes }
        } else {
            ResponseEffect::Dropped { is_early: outcome.is_early }
        }
    }

    /// Processes an RNR NAK (IBTA 9.7.5.2): waits, then goes back to its packet; under selective recovery,
    /// resends only that packet. False if the retries are exhausted.
    pub(super) fn on_not_ready(
        &mut self,
        config: &Config,
        ack: Acknowledgement,
        timer: RnrTimer,
        done: &mut VecDeque<Completion>,
    ) -> bool {
        let Acknowledgement { now, psn, .. } = ack;
        let is_waiting = now < self.not_before;
        if self.requester.work_at(config, psn, &self.posted).is_none() {
            return true;
        }
        if let Some(outcome) = self.requester.on_not_ready(config, ack, is_waiting, &self.posted) {
            self.complete(config, outcome, ack, done);
            if !config.recovery.is_selective() {
                self.rate.on_feedback(&Feedback { is_nak: true, ..Feedback::at(now) });
            }
        }
        // A copy, or the NAK of another packet sent before the first RNR NAK arrived.
        if is_waiting {
            return true;
        }
        if self.rnr_retries == self.rnr_retry_count {
            return false;
        }
        self.rnr_retries += 1;
        self.not_before = now + timer.span();
        true
    }

    /// Processes a NAK that refuses a packet permanently; everything up to `newest` has arrived. Returns the
    /// index of its work request among the remaining ones; `None` if the packet is not in flight.
    pub(super) fn on_refused(
        &mut self,
        config: &Config,
        ack: Acknowledgement,
        newest: Psn,
        done: &mut VecDeque<Completion>,
    ) -> Option<usize> {
        let Acknowledgement { now, psn, .. } = ack;
        self.requester.work_at(config, psn, &self.posted)?;
        let outcome = self.requester.on_newest(config, now, newest, &self.posted);
        self.complete(config, outcome, ack, done);
        self.requester.work_at(config, psn, &self.posted)
    }

    fn complete(
        &mut self,
        config: &Config,
        outcome: AckOutcome,
        ack: Acknowledgement,
        done: &mut VecDeque<Completion>,
    ) {
        if outcome.progressed() {
            self.rnr_retries = 0;
            if self.rate.uses_acks() {
                self.rate.on_feedback(&outcome.feedback(config, ack.now, ack.is_marked));
            }
        }
        let completed = self.posted.drain(..outcome.completed as usize);
        done.extend(
            completed.map(|Posted { work, bytes, .. }| Completion::new(work, Status::Success, bytes)),
        );
    }

    /// Flushes posted work; the work at the index in `failed` gets its own status.
    pub(super) fn flush(&mut self, failed: Option<(usize, Status)>, done: &mut VecDeque<Completion>) {
        done.extend(self.posted.drain(..).enumerate().map(|(index, posted)| {
            let status = match failed {
                Some((failed_index, status)) if failed_index == index => status,
                _ => Status::Flushed,
            };
            Completion::new(posted.work, status, 0)
        }));
    }
}

/// Bytes of an Ethernet link that a packet occupies.
const fn occupied_bytes(opcode: Opcode, payload_bytes: u32) -> u32 {
    Framing::Ethernet.frame_bytes(opcode, payload_bytes) + Framing::Ethernet.link_overhead_bytes()
}

/// A SEND is one message, and its packets have no address, only an order.
const fn check_send(config: &Config, posted: &Posted) -> Result<(), PostError> {
    if config.recovery.is_selective() {
        return Err(PostError::NeedsOrder);
    }
    if posted.bytes > config.message_bytes {
        return Err(PostError::TooLong { bytes: posted.bytes, max: config.message_bytes });
    }
    Ok(())
}

const fn check_write(config: &Config, posted: &Posted) -> Result<(), PostError> {
    let Posted { bytes, address, .. } = *posted;
    let max = Requester::PACKETS_MAX.saturating_mul(config.mtu_bytes as u64);
    if bytes > max || config.packets(bytes) > Requester::PACKETS_MAX {
        return Err(PostError::TooLong { bytes, max });
    }
    if address.checked_add(bytes).is_none() {
        return Err(PostError::Address { address, bytes });
    }
    Ok(())
}

/// Operation code; only the last packet has immediate data.
fn opcode(config: &Config, verb: Verb, position: Position, immediate: Option<u32>) -> Opcode {
    let opcode = verb.opcode(position);
    let opcode = if immediate.is_some() { opcode.with_immediate() } else { opcode };
    match config.recovery {
        Recovery::None => opcode.unreliable().unwrap_or(opcode),
        Recovery::GoBackN | Recovery::Selective { .. } => opcode,
    }
}

/// Headers after the base transport header.
const fn extension(opcode: Opcode, reth: reth::Repr, immediate: Option<u32>) -> Extension {
    match (opcode.has_reth(), immediate) {
        (true, Some(value)) => Extension::RethWithImmediate(reth, Immediate(value.to_be_bytes())),
        (true, None) => Extension::Reth(reth),
        (false, Some(value)) => Extension::Immediate(Immediate(value.to_be_bytes())),
        (false, None) => Extension::None,
    }
}
