//! The receiving half of a queue pair: what a request may do, and where its payload belongs.

use super::notices::{Notice, Notices};
use super::reads::Request;
use super::{Completion, Placed, Received, Region, Settings, Status, Target, WorkId};
use crate::{Arrival, CnpLimiter, Config, Disposition, Placement, Position, Recovery, Responder};
use std::collections::VecDeque;
use units::{Instant, Span};
use wire::aeth::NakCode;
use wire::{Opcode, reth};

/// What a request led to.
pub(super) enum Taken {
    /// It was taken or dropped, as its place among the others wants it.
    Judged(Arrival, Option<Placed>),
    /// A READ that is to be answered.
    Read(Arrival, Request),
    /// No receive is posted for it.
    NotReady,
    /// It may not do what it asks for: the connection ends.
    Refused(NakCode),
}

/// Why the payload of a request has no place.
enum NoPlace {
    NotReady,
    Refused(NakCode),
}

/// IBTA 9.7.5.2 (invalid request).
const INVALID: NoPlace = NoPlace::Refused(NakCode::InvalidRequest);
/// IBTA 9.7.5.2 (remote access error).
const NO_ACCESS: NoPlace = NoPlace::Refused(NakCode::RemoteAccessError);

/// Who judges the PSN of a request.
#[derive(Debug)]
enum Judge {
    InOrder(Responder),
    AnyOrder(Placement),
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
struct Receive {
    work: WorkId,
    capacity_bytes: u64,
}

/// The message of which the next packet is Middle or Last.
#[derive(Clone, Copy, Debug)]
enum Message {
    /// Its next byte, how many are to come, and of how many in all.
    Write { address: u64, left_bytes: u64, bytes: u64 },
    /// Bytes that came.
    Send { received_bytes: u64 },
}

/// Where the payload of a request belongs.
struct Place {
    target: Target,
    /// What is left of its message behind it.
    message: Option<Message>,
    /// Size of the message, so far as it came.
    message_bytes: u64,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    judge: Judge,
    memory: Option<Region>,
    /// Oldest first: a SEND that has begun fills the first.
    receives: VecDeque<Receive>,
    message: Option<Message>,
    notices: Notices,
    cnp: CnpLimiter,
    cnp_interval: Option<Span>,
    /// READs that the peer may have unanswered.
    reads_max: u32,
}

impl ReceiveQueue {
    pub(super) fn new(settings: &Settings) -> Self {
        let first = settings.peer_first_psn;
        Self {
            judge: match settings.config.recovery {
                Recovery::Selective { ooo_window_packets } => {
                    Judge::AnyOrder(Placement::new(first, ooo_window_packets))
                }
                Recovery::GoBackN | Recovery::None => Judge::InOrder(Responder::new(first)),
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
        self.tell_notices(done);
    }

    /// A marked request arrived: true if the peer is to be told.
    pub(super) fn on_mark(&mut self, now: Instant) -> bool {
        self.cnp_interval.is_some_and(|interval| self.cnp.on_mark(interval, now))
    }

    /// What stands beside a reply in its AETH.
    pub(super) const fn message_sequence(&self) -> u32 {
        match &self.judge {
            Judge::InOrder(responder) => responder.message_sequence(),
            Judge::AnyOrder(placement) => placement.newest().value(),
        }
    }

    /// Takes in a request. A duplicate, and one whose turn has not come, is not looked into (IBTA 9.7.4.1:
    /// the PSN first).
    pub(super) fn take(
        &mut self,
        config: &Config,
        request: &Received<'_>,
        done: &mut VecDeque<Completion>,
    ) -> Taken {
        let is_new = match &self.judge {
            Judge::InOrder(responder) => request.psn() == responder.expected(),
            Judge::AnyOrder(placement) => placement.is_new(request.psn()),
        };
        if !is_new {
            return Taken::Judged(self.judge(config, request), None);
        }
        match self.find_place(config, request) {
            Ok(Place { target, message, message_bytes }) => {
                self.message = message;
                if takes_receive(request.opcode()) {
                    self.end_receive(request, message_bytes, done);
                }
                let arrival = self.judge(config, request);
                self.tell_notices(done);
                let bytes = request.payload().len() as u32;
                // The place of no bytes was not checked.
                Taken::Judged(arrival, (bytes > 0).then_some(Placed { target, bytes }))
            }
            Err(NoPlace::NotReady) => {
                if let Judge::InOrder(responder) = &mut self.judge {
                    responder.on_not_ready();
                }
                Taken::NotReady
            }
            Err(NoPlace::Refused(code)) => Taken::Refused(code),
        }
    }

    /// Takes in a READ request while so many are not answered in full.
    pub(super) fn take_read(&mut self, config: &Config, request: &Received<'_>, unanswered: usize) -> Taken {
        let Judge::InOrder(responder) = &mut self.judge else {
            return Taken::Refused(NakCode::InvalidRequest);
        };
        let (psn, expected) = (request.psn(), responder.expected());
        let distance = psn.distance_from(expected);
        if distance > 0 {
            return Taken::Judged(responder.on_read_request(psn, 1), None);
        }
        let (reth, packets) = match self.find_read(config, request) {
            Ok(found) => found,
            // What was answered once and may not be read now is not answered again, and no failure either.
            Err(_) if distance < 0 => {
                return Taken::Judged(Arrival { disposition: Disposition::Duplicate, reply: None }, None);
            }
            Err(NoPlace::Refused(code)) => return Taken::Refused(code),
            Err(NoPlace::NotReady) => return Taken::NotReady,
        };
        // IBTA 9.7.4.1 (opcode sequence, resources): between messages, and no more than were agreed on.
        if distance == 0 && (self.message.is_some() || unanswered >= self.reads_max as usize) {
            return Taken::Refused(NakCode::InvalidRequest);
        }
        let Judge::InOrder(responder) = &mut self.judge else { return Taken::NotReady };
        let arrival = responder.on_read_request(psn, packets);
        let message_sequence = responder.message_sequence();
        let (address, bytes) = (reth.virtual_address, reth.dma_bytes.into());
        Taken::Read(arrival, Request { psn, address, bytes, message_sequence })
    }

    /// What a READ request asks for, and how many responses that takes.
    fn find_read(&self, config: &Config, request: &Received<'_>) -> Result<(reth::Repr, u32), NoPlace> {
        let reth = *request.reth().ok_or(INVALID)?;
        if self.reads_max == 0 || !request.payload().is_empty() {
            return Err(INVALID);
        }
        self.check_access(&reth)?;
        Ok((reth, reth.dma_bytes.div_ceil(config.mtu_bytes).max(1)))
    }

    fn judge(&mut self, config: &Config, request: &Received<'_>) -> Arrival {
        let (opcode, psn, ack_request) = (request.opcode(), request.psn(), request.ack_request());
        match &mut self.judge {
            Judge::InOrder(responder) => {
                let position = Position::new(opcode.starts_message(), opcode.ends_message());
                responder.on_packet(config, psn, position, ack_request)
            }
            Judge::AnyOrder(placement) => placement.on_packet(config, psn, ack_request),
        }
    }

    /// Where the payload of the next request belongs.
    fn find_place(&self, config: &Config, request: &Received<'_>) -> Result<Place, NoPlace> {
        use Opcode as Code;
        let (opcode, bytes) = (request.opcode(), request.payload().len() as u64);
        self.check_length(config, opcode, bytes)?;
        // IBTA 9.7.4.1 (opcode sequence): Middle and Last continue a message of their own kind, First and
        // Only begin one.
        let place = match (opcode, self.message) {
            (Code::WriteFirst | Code::WriteOnly | Code::WriteOnlyWithImmediate, None) => {
                let reth = request.reth().ok_or(INVALID)?;
                self.check_access(reth)?;
                let all = reth.dma_bytes.into();
                go_on_writing(opcode, bytes, (reth.virtual_address, all, all))
            }
            (
                Code::WriteMiddle | Code::WriteLast | Code::WriteLastWithImmediate,
                Some(Message::Write { address, left_bytes, bytes: all }),
            ) => go_on_writing(opcode, bytes, (address, left_bytes, all)),
            (Code::SendFirst | Code::SendOnly | Code::SendOnlyWithImmediate, None) => {
                self.go_on_sending(opcode, bytes, 0)
            }
            (
                Code::SendMiddle | Code::SendLast | Code::SendLastWithImmediate,
                Some(Message::Send { received_bytes }),
            ) => self.go_on_sending(opcode, bytes, received_bytes),
            _ => Err(INVALID),
        }?;
        // IBTA 9.7.5.2 (RNR NAK): what is wrong with a request counts before the lack of a receive.
        let has_receive = self.receives.len() > self.notices.before(request.psn());
        if takes_receive(opcode) && !has_receive { Err(NoPlace::NotReady) } else { Ok(place) }
    }

    /// IBTA 9.7.4.1 (length validation): First and Middle fill the MTU, Last has something, no packet has
    /// more than the MTU.
    fn check_length(&self, config: &Config, opcode: Opcode, bytes: u64) -> Result<(), NoPlace> {
        let mtu_bytes = u64::from(config.mtu_bytes);
        let is_right = match (opcode.starts_message(), opcode.ends_message()) {
            (_, false) => bytes == mtu_bytes,
            (false, true) => (1..=mtu_bytes).contains(&bytes),
            (true, true) => bytes <= mtu_bytes,
        };
        let is_alone = matches!(opcode, Opcode::WriteOnly | Opcode::WriteOnlyWithImmediate);
        let is_offered = is_alone || matches!(self.judge, Judge::InOrder(_));
        if is_right && is_offered { Ok(()) } else { Err(INVALID) }
    }

    /// IBTA 9.7.4.1 (remote access validation): of the whole message when it begins, and not of one of no
    /// bytes.
    fn check_access(&self, reth: &reth::Repr) -> Result<(), NoPlace> {
        let bytes = u64::from(reth.dma_bytes);
        if bytes > Config::MESSAGE_BYTES_MAX {
            return Err(INVALID);
        }
        let is_allowed = self.memory.is_some_and(|memory| {
            memory.remote_key == reth.remote_key && memory.contains(reth.virtual_address, bytes)
        });
        if bytes == 0 || is_allowed { Ok(()) } else { Err(NO_ACCESS) }
    }

    /// Of a SEND of which so much has come.
    fn go_on_sending(&self, opcode: Opcode, bytes: u64, received_bytes: u64) -> Result<Place, NoPlace> {
        let receive = self.receives.front().ok_or(NoPlace::NotReady)?;
        let end_bytes = received_bytes + bytes;
        if end_bytes > receive.capacity_bytes {
            return Err(INVALID);
        }
        let message = Message::Send { received_bytes: end_bytes };
        Ok(Place {
            target: Target::Receive { work: receive.work, offset_bytes: received_bytes },
            message: (!opcode.ends_message()).then_some(message),
            message_bytes: end_bytes,
        })
    }

    /// The last packet of a SEND, or of a WRITE with immediate, is placed: a receive is completed, under
    /// selective recovery not before its turn.
    fn end_receive(&mut self, request: &Received<'_>, bytes: u64, done: &mut VecDeque<Completion>) {
        match (&self.judge, request.immediate()) {
            (Judge::AnyOrder(_), Some(immediate)) => {
                self.notices.insert(request.psn(), Notice { immediate, bytes });
            }
            (_, immediate) => self.complete_receive(immediate, bytes, done),
        }
    }

    /// Completes receives whose turn has come.
    fn tell_notices(&mut self, done: &mut VecDeque<Completion>) {
        let Judge::AnyOrder(placement) = &self.judge else { return };
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

    /// Gives up the receives that are posted.
    pub(super) fn flush(&mut self, done: &mut VecDeque<Completion>) {
        let flushed = self.receives.drain(..);
        done.extend(flushed.map(|receive| Completion::new(receive.work, Status::Flushed, 0)));
    }
}

/// The end of a message that the owner of the memory learns of.
const fn takes_receive(opcode: Opcode) -> bool {
    opcode.has_immediate() || matches!(opcode, Opcode::SendLast | Opcode::SendOnly)
}

/// Of a WRITE whose next byte belongs at `address`, with so much to come, of so much in all.
fn go_on_writing(
    opcode: Opcode,
    bytes: u64,
    (address, left_bytes, message_bytes): (u64, u64, u64),
) -> Result<Place, NoPlace> {
    // IBTA 9.7.4.1 (length validation): the payloads are together as long as the RETH says.
    let left_bytes = left_bytes.checked_sub(bytes).ok_or(INVALID)?;
    if opcode.ends_message() != (left_bytes == 0) {
        return Err(INVALID);
    }
    let next = Message::Write { address: address.saturating_add(bytes), left_bytes, bytes: message_bytes };
    Ok(Place {
        target: Target::Memory { address },
        message: (!opcode.ends_message()).then_some(next),
        message_bytes,
    })
}

/// Came ahead of a missing one.
pub(super) const fn is_early(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::OutOfOrder | Disposition::Placed)
}
