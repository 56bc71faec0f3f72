//! What the peer reads: responses that are still to be sent, and what has to wait behind them.

use super::{Origin, Outgoing, Source};
use crate::{Config, ReadResponses};
use wire::aeth::{self, CreditCount, Msn, Syndrome};
use wire::{Extension, Opcode, Psn};

/// A READ request that is to be answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) psn: Psn,
    /// Address of the first byte that it asks for.
    pub(super) address: u64,
    /// How many it asks for.
    pub(super) bytes: u64,
    /// What stands beside its responses in their AETH.
    pub(super) message_sequence: u32,
}

/// A response that is to be sent.
pub(super) struct Response {
    pub(super) psn: Psn,
    pub(super) opcode: Opcode,
    pub(super) extension: Extension,
    pub(super) source: Source,
}

/// READs of the peer that are not answered in full.
///
/// A responder answers in the order of the requests (IBTA 9.7.5.1.1): what acknowledges a request behind a READ
/// leaves after the responses, or the peer would take those for lost.
#[derive(Debug, Default)]
pub(super) struct Reads {
    responses: ReadResponses<Request>,
    /// An ACK or NAK that waits; each says more than the one before it.
    behind: Option<Outgoing>,
}

impl Reads {
    /// Requests that are not answered in full.
    pub(super) fn len(&self) -> usize {
        self.responses.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// Answers a request. Its responses acknowledge what came before it.
    pub(super) fn answer(&mut self, request: Request) {
        self.behind = None;
        self.responses.answer(request.psn, request.bytes, request);
    }

    /// Keeps a reply until all responses have left; returns one that need not leave any more.
    pub(super) fn wait(&mut self, reply: Outgoing) -> Option<Outgoing> {
        self.behind.replace(reply)
    }

    /// The reply that has waited, once there are no more responses.
    pub(super) fn take_behind(&mut self) -> Option<Outgoing> {
        if self.is_empty() { self.behind.take() } else { None }
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
