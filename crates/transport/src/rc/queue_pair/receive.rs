//! Receiving half of a queue pair: validates requests and determines the target of their payload.

use super::notices::{Notice, Notices};
use super::reads::Request;
use super::{Completion, Placed, Received, Region, Settings, Status, Target, WorkId};
use crate::{
    Arrival, CnpLimiter, Config, Disposition, Placement, Position, Recovery, Responder, UcDisposition,
    UcReceiver,
};
use std::collections::VecDeque;
use units::{Instant, Span};
use wire::aeth::NakCode;
use wire::{Opcode, reth};

/// Result of a request.
pub(super) enum Taken {
    /// It was accepted or dropped, depending on its PSN.
    Checked(Arrival, Option<Placed>),
    /// A READ to be answered.
    Read(Arrival, Request),
    /// No receive is posted for it.
    NotReady,
    /// It is not allowed: the connection ends.
    Refused(NakCode),
    /// Dropped without an answer: on an unreliable connection, it is not allowed or no receive is posted.
    Dropped,
}

/// Reason why the payload of a request has no target.
enum NoTarget {
    NotReady,
    Refused(NakCode),
}

/// IBTA 9.7.5.2 (invalid request).
const INVALID: NoTarget = NoTarget::Refused(NakCode::InvalidRequest);
/// IBTA 9.7.5.2 (remote access error).
const NO_ACCESS: NoTarget = NoTarget::Refused(NakCode::RemoteAccessError);

/// State machine that checks the PSN of requests.
#[derive(Debug)]
enum PsnCheck {
    InOrder(Responder),
    AnyOrder(Placement),
    /// By message: one with a gap is dropped.
    Unreliable(UcReceiver),
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
struct Receive {
    work: WorkId,
    capacity_bytes: u64,
}

/// A WRITE, between two packets.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// Address of its next byte.
    address: u64,
    left_bytes: u64,
    message_bytes: u64,
}

/// A message whose next packet must be Middle or Last.
#[derive(Clone, Copy, Debug)]
enum Message {
    Write(Write),
    /// Bytes received.
    Send {
        received_bytes: u64,
    },
}

/// Target of the payload of a request.
struct PayloadTarget {
    target: Target,
    /// State of its message after this packet.
    message: Option<Message>,
    /// Size of the message up to and including this packet.
    message_bytes: u64,
}

/// Receiving half of a queue pair.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    psn_check: PsnCheck,
    memory: Option<Region>,
    /// Posted receives, oldest first; a SEND in progress fills the first.
    receives: VecDeque<Receive>,
    message: Option<Message>,
    notices: Notices,
    cnp: CnpLimiter,
    cnp_interval: Option<Span>,
    /// Maximum of unanswered READs of the peer.
    reads_max: u32,
}

impl ReceiveQueue {
    pub(super) fn new(settings: &Settings) -> Self {
        let first = settings.peer_first_psn;
        Self {
            psn_check: match settings.config.recovery {
                Recovery::Selective { ooo_window_packets } => {
                    PsnCheck::AnyOrder(Placement::new(first, ooo_window_packets))
                }
                Recovery::GoBackN => PsnCheck::InOrder(Responder::new(first)),
                Recovery::None => PsnCheck::Unreliable(UcReceiver::new(first)),
            },
            memory: settings.memory,
            receives: VecDeque::new(),
            message: None,
            notices: Notices::default(),
            cnp: CnpLimiter::default(),
            cnp_interval: settings.cnp_interval,
            reads_max: settings.reads.served_max,
        }
    }

    pub(super) fn post(&mut self, work: WorkId, capacity_bytes: u64, done: &mut VecDeque<Completion>) {
        self.receives.push_back(Receive { work, capacity_bytes });
        self.complete_notices(done);
    }

    /// A marked request arrived: true if the peer must be notified.
    pub(super) fn on_mark(&mut self, now: Instant) -> bool {
        self.cnp_interval.is_some_and(|interval| self.cnp.on_mark(interval, now))
    }

    /// Message sequence number in the AETH of a reply.
    pub(super) const fn message_sequence(&self) -> u32 {
        match &self.psn_check {
            PsnCheck::InOrder(responder) => responder.message_sequence(),
            PsnCheck::AnyOrder(placement) => placement.newest().value(),
            PsnCheck::Unreliable(_) => 0,
        }
    }

    /// Processes a request. The PSN is checked first (IBTA 9.7.4.1); a duplicate and an out-of-order request
    /// are not inspected further.
    pub(super) fn take(
        &mut self,
        config: &Config,
        request: &Received<'_>,
        done: &mut VecDeque<Completion>,
    ) -> Taken {
        let is_new = match &self.psn_check {
            PsnCheck::InOrder(responder) => request.bth().psn == responder.expected(),
            PsnCheck::AnyOrder(placement) => placement.is_new(request.bth().psn),
            PsnCheck::Unreliable(receiver) => receiver.accepts(request.bth().psn, position(request)),
        };
        if !is_new {
            return Taken::Checked(self.check_psn(config, request), None);
        }
        match self.find_target(config, request) {
            Ok(PayloadTarget { target, message, message_bytes }) => {
                self.message = message;
                if consumes_receive(request.bth().opcode) {
                    self.end_receive(request, message_bytes, done);
                }
                let arrival = self.check_psn(config, request);
                self.complete_notices(done);
                let bytes = request.payload().len() as u32;
                // The target of 0 bytes was not checked.
                Taken::Checked(arrival, (bytes > 0).then_some(Placed { target, bytes }))
            }
            Err(_) if matches!(self.psn_check, PsnCheck::Unreliable(_)) => {
                // The rest of its message continues none, and is dropped.
                self.message = None;
                self.check_psn(config, request);
                Taken::Dropped
            }
            Err(NoTarget::NotReady) => {
                if let PsnCheck::InOrder(responder) = &mut self.psn_check {
                    responder.on_not_ready();
                }
                Taken::NotReady
            }
            Err(NoTarget::Refused(code)) => Taken::Refused(code),
        }
    }

    /// Processes a READ request while `unanswered` others are not answered completely.
    pub(super) fn take_read(&mut self, config: &Config, request: &Received<'_>, unanswered: usize) -> Taken {
        let PsnCheck::InOrder(responder) = &mut self.psn_check else {
            return Taken::Refused(NakCode::InvalidRequest);
        };
        let (psn, expected) = (request.bth().psn, responder.expected());
        let distance = psn.distance_from(expected);
        if distance > 0 {
            return Taken::Checked(responder.on_read_request(psn, 1), None);
        }
        let (reth, packets) = match self.find_read(config, request) {
            Ok(range) => range,
            // A duplicate that may not be read any more is not answered again, and is no failure.
            Err(_) if distance < 0 => {
                return Taken::Checked(Arrival { disposition: Disposition::Duplicate, reply: None }, None);
            }
            Err(NoTarget::Refused(code)) => return Taken::Refused(code),
            Err(NoTarget::NotReady) => return Taken::NotReady,
        };
        // IBTA 9.7.4.1 (opcode sequence, resources): only between messages, and at most the agreed number.
        if distance == 0 && (self.message.is_some() || unanswered >= self.reads_max as usize) {
            return Taken::Refused(NakCode::InvalidRequest);
        }
        let PsnCheck::InOrder(responder) = &mut self.psn_check else { return Taken::NotReady };
        let arrival = responder.on_read_request(psn, packets);
        let message_sequence = responder.message_sequence();
        let (address, bytes) = (reth.virtual_address, reth.dma_bytes.into());
        Taken::Read(arrival, Request { psn, address, bytes, message_sequence })
    }

    /// Range of a READ request, and its number of responses.
    fn find_read(&self, config: &Config, request: &Received<'_>) -> Result<(reth::Repr, u32), NoTarget> {
        let reth = *request.reth().ok_or(INVALID)?;
        if self.reads_max == 0 || !request.payload().is_empty() {
            return Err(INVALID);
        }
        self.check_access(&reth)?;
        Ok((reth, reth.dma_bytes.div_ceil(config.mtu_bytes).max(1)))
    }

    fn check_psn(&mut self, config: &Config, request: &Received<'_>) -> Arrival {
        let (psn, ack_request) = (request.bth().psn, request.bth().ack_request);
        match &mut self.psn_check {
            PsnCheck::InOrder(responder) => responder.on_packet(config, psn, position(request), ack_request),
            PsnCheck::AnyOrder(placement) => placement.on_packet(config, psn, ack_request),
            PsnCheck::Unreliable(receiver) => Arrival {
                disposition: match receiver.on_packet(psn, position(request)) {
                    UcDisposition::Accepted | UcDisposition::CompletesMessage => Disposition::Accepted,
                    UcDisposition::Dropped => Disposition::OutOfOrder,
                },
                reply: None,
            },
        }
    }

    /// Determines the target of the payload of the next request.
    fn find_target(&self, config: &Config, request: &Received<'_>) -> Result<PayloadTarget, NoTarget> {
        use Opcode as Code;
        let (opcode, bytes) = (request.bth().opcode.reliable(), request.payload().len() as u64);
        self.check_length(config, opcode, bytes)?;
        // On an unreliable connection, the message before First or Only may have a gap (IBTA 9.8).
        let is_message_over = opcode.starts_message() && matches!(self.psn_check, PsnCheck::Unreliable(_));
        let message = if is_message_over { None } else { self.message };
        // IBTA 9.7.4.1 (opcode sequence): Middle and Last continue a message of their own kind, First and
        // Only start one.
        let target = match (opcode, message) {
            (Code::WriteFirst | Code::WriteOnly | Code::WriteOnlyWithImmediate, None) => {
                let reth = request.reth().ok_or(INVALID)?;
                self.check_access(reth)?;
                let (address, message_bytes) = (reth.virtual_address, reth.dma_bytes.into());
                Write { address, left_bytes: message_bytes, message_bytes }.advance(opcode, bytes)
            }
            (
                Code::WriteMiddle | Code::WriteLast | Code::WriteLastWithImmediate,
                Some(Message::Write(write)),
            ) => write.advance(opcode, bytes),
            (Code::SendFirst | Code::SendOnly | Code::SendOnlyWithImmediate, None) => {
                self.continue_send(opcode, bytes, 0)
            }
            (
                Code::SendMiddle | Code::SendLast | Code::SendLastWithImmediate,
                Some(Message::Send { received_bytes }),
            ) => self.continue_send(opcode, bytes, received_bytes),
            _ => Err(INVALID),
        }?;
        // IBTA 9.7.5.2 (RNR NAK): errors of the request take precedence over a missing receive.
        let has_receive = self.receives.len() > self.notices.before(request.bth().psn);
        if consumes_receive(opcode) && !has_receive { Err(NoTarget::NotReady) } else { Ok(target) }
    }

    /// IBTA 9.7.4.1 (length validation): First and Middle fill the MTU, Last is not empty, and no packet
    /// exceeds the MTU.
    fn check_length(&self, config: &Config, opcode: Opcode, bytes: u64) -> Result<(), NoTarget> {
        let mtu_bytes = u64::from(config.mtu_bytes);
        let is_right = match (opcode.starts_message(), opcode.ends_message()) {
            (_, false) => bytes == mtu_bytes,
            (false, true) => (1..=mtu_bytes).contains(&bytes),
            (true, true) => bytes <= mtu_bytes,
        };
        let is_only = matches!(opcode, Opcode::WriteOnly | Opcode::WriteOnlyWithImmediate);
        let is_supported = is_only || !matches!(self.psn_check, PsnCheck::AnyOrder(_));
        if is_right && is_supported { Ok(()) } else { Err(INVALID) }
    }

    /// IBTA 9.7.4.1 (remote access validation): checked for the whole message at its start; skipped for 0
    /// bytes.
    fn check_access(&self, reth: &reth::Repr) -> Result<(), NoTarget> {
        let bytes = u64::from(reth.dma_bytes);
        if bytes > Config::MESSAGE_BYTES_MAX {
            return Err(INVALID);
        }
        let is_allowed = self.memory.is_some_and(|memory| {
            memory.remote_key == reth.remote_key && memory.contains(reth.virtual_address, bytes)
        });
        if bytes == 0 || is_allowed { Ok(()) } else { Err(NO_ACCESS) }
    }

    /// Continues a SEND after its first `received_bytes`.
    fn continue_send(
        &self,
        opcode: Opcode,
        bytes: u64,
        received_bytes: u64,
    ) -> Result<PayloadTarget, NoTarget> {
        let receive = self.receives.front().ok_or(NoTarget::NotReady)?;
        let end_bytes = received_bytes + bytes;
        if end_bytes > receive.capacity_bytes {
            return Err(INVALID);
        }
        let message = Message::Send { received_bytes: end_bytes };
        Ok(PayloadTarget {
            target: Target::Receive { work: receive.work, offset_bytes: received_bytes },
            message: (!opcode.ends_message()).then_some(message),
            message_bytes: end_bytes,
        })
    }

    /// The last packet of a SEND, or of a WRITE with immediate, is placed: completes a receive, under
    /// selective recovery only in order.
    fn end_receive(&mut self, request: &Received<'_>, bytes: u64, done: &mut VecDeque<Completion>) {
        match (&self.psn_check, request.immediate()) {
            (PsnCheck::AnyOrder(_), Some(immediate)) => {
                self.notices.insert(request.bth().psn, Notice { immediate, bytes });
            }
            (_, immediate) => self.complete_receive(immediate, bytes, done),
        }
    }

    /// Completes receives with the notices that are due.
    fn complete_notices(&mut self, done: &mut VecDeque<Completion>) {
        let PsnCheck::AnyOrder(placement) = &self.psn_check else { return };
        self.notices.advance(placement.newest());
        while !self.receives.is_empty()
            && let Some(Notice { immediate, bytes }) = self.notices.pop()
        {
            self.complete_receive(Some(immediate), bytes, done);
        }
    }

    fn complete_receive(&mut self, immediate: Option<u32>, bytes: u64, done: &mut VecDeque<Completion>) {
        if let Some(Receive { work, .. }) = self.receives.pop_front() {
            done.push_back(Completion { immediate, ..Completion::new(work, Status::Success, bytes) });
        }
    }

    /// Flushes the posted receives.
    pub(super) fn flush(&mut self, done: &mut VecDeque<Completion>) {
        let flushed = self.receives.drain(..);
        done.extend(flushed.map(|receive| Completion::new(receive.work, Status::Flushed, 0)));
    }
}

/// Position of a request in its message.
const fn position(request: &Received<'_>) -> Position {
    Position::new(request.bth().opcode.starts_message(), request.bth().opcode.ends_message())
}

/// Whether a packet ends a message that consumes a receive.
const fn consumes_receive(opcode: Opcode) -> bool {
    opcode.has_immediate() || matches!(opcode.reliable(), Opcode::SendLast | Opcode::SendOnly)
}

impl Write {
    /// Target of a packet with `bytes` of payload.
    fn advance(self, opcode: Opcode, bytes: u64) -> Result<PayloadTarget, NoTarget> {
        let Self { address, left_bytes, message_bytes } = self;
        // IBTA 9.7.4.1 (length validation): the payloads add up to the length in the RETH.
        let left_bytes = left_bytes.checked_sub(bytes).ok_or(INVALID)?;
        if opcode.ends_message() != (left_bytes == 0) {
            return Err(INVALID);
        }
        let next = Self { address: address.saturating_add(bytes), left_bytes, message_bytes };
        Ok(PayloadTarget {
            target: Target::Memory { address },
            message: (!opcode.ends_message()).then_some(Message::Write(next)),
            message_bytes,
        })
    }
}

/// Whether the packet arrived before a missing one.
pub(super) const fn is_early(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::OutOfOrder | Disposition::Placed)
}
