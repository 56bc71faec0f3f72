//! READs of the peer: responses still to be sent, and the reply that must wait for them.

use super::{Origin, Outgoing, Source};
use crate::{Config, ReadResponses};
use wire::aeth::{self, CreditCount, Msn, Syndrome};
use wire::{Extension, Opcode, Psn};

/// A READ request to be answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) psn: Psn,
    /// Address of the first byte requested.
    pub(super) address: u64,
    /// Number of bytes requested.
    pub(super) bytes: u64,
    /// Message sequence number in the AETH of its responses.
    pub(super) message_sequence: u32,
}

/// A response to be sent.
pub(super) struct Response {
    pub(super) psn: Psn,
    pub(super) opcode: Opcode,
    pub(super) extension: Extension,
    pub(super) source: Source,
}

/// READs of the peer that are not answered completely.
///
/// A responder answers in the order of the requests (IBTA 9.7.5.1.1): an acknowledgement of a request after a
/// READ is sent after the responses, or the peer would take those for lost.
#[derive(Debug, Default)]
pub(super) struct Reads {
    responses: ReadResponses<Request>,
    /// ACK or NAK to send after the responses; each one supersedes the previous.
    deferred: Option<Outgoing>,
}

impl Reads {
    /// Number of requests not answered completely.
    pub(super) fn len(&self) -> usize {
        self.responses.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// Queues the responses to a request. They acknowledge everything before it.
    pub(super) fn answer(&mut self, request: Request) {
        self.deferred = None;
        self.responses.answer(request.psn, request.bytes, request);
    }

    /// Stores a reply until all responses are sent; returns the reply that it supersedes.
    pub(super) fn defer(&mut self, reply: Outgoing) -> Option<Outgoing> {
        self.deferred.replace(reply)
    }

    /// The deferred reply, once there are no more responses.
    pub(super) fn take_deferred(&mut self) -> Option<Outgoing> {
        if self.is_empty() { self.deferred.take() } else { None }
    }

    /// The next response.
    pub(super) fn poll(&mut self, config: &Config) -> Option<Response> {
        let response = self.responses.poll(config)?;
        let Request { psn: first, address, message_sequence, .. } = response.tag;
        let before = u64::from(response.psn.distance_from(first).unsigned_abs());
        let position = response.position;
        let opcode = Opcode::read_response(position.starts_message(), position.ends_message());
        let syndrome = Syndrome::Ack(CreditCount::UNLIMITED);
        let msn = Msn::new(message_sequence).unwrap_or_default();
        let aeth = Extension::Aeth(aeth::Repr { syndrome, msn });
        let origin = Origin::Memory { address: address + before * u64::from(config.mtu_bytes) };
        Some(Response {
            psn: response.psn,
            opcode,
            extension: if opcode.has_aeth() { aeth } else { Extension::None },
            source: Source { origin, bytes: response.payload_bytes },
        })
    }
}
