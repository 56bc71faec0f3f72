//! One end of the connection between a storage client and a target: posts requests, answers those of the
//! other end, and builds the next packet.
//!
//! Both ends send requests and answer them, so each has a requester, a responder and the responses to READs.
//! The queue pair has one rate controller; requests and responses are subject to it together, and alternate.

use super::tag::Tag;
use crate::nic::ReplyPriorities;
use crate::packet::{Kind, Packet, Path, Priority, StorageVerb};
use crate::record::{Frame, FrameKind, Record};
use engine::Message;
use std::collections::VecDeque;
use transport::{
    CnpLimiter, Config, Controller, Position, RateControl, ReadResponses, Reply, Responder, Verb,
    VerbRequester, VerbTransmit,
};
use units::{Instant, LINK_OVERHEAD_BYTES, Span};
use wire::size::{ACK_FRAME_BYTES, CNP_FRAME_BYTES, data_frame_bytes};
use wire::{Framing, Opcode, Psn};

/// Parameters of one end of a connection, with the path to the other end.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPlan {
    pub(crate) queue_pair: u32,
    /// Chunk under which its operations are reported.
    pub(crate) chunk: u32,
    /// First packet sequence number of the requests of this end.
    pub(crate) own_psn: Psn,
    /// First packet sequence number of the requests of the other end.
    pub(crate) peer_psn: Psn,
    /// To the connection at the other end.
    pub(crate) path: Path,
    pub(crate) priority: Priority,
    pub(crate) replies: ReplyPriorities,
    /// Minimum interval between congestion notifications; `None` if none are sent.
    pub(crate) cnp_interval: Option<Span>,
    pub(crate) controller: Controller,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
    /// This end is the target's.
    pub(crate) is_target: bool,
    /// Maximum number of unanswered READ requests.
    pub(crate) reads_max: usize,
}

/// A posted work request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) verb: Verb,
    pub(super) tag: Tag,
}

/// A departing packet.
pub(super) struct Leaving {
    pub(super) packet: Packet,
    pub(super) tag: Tag,
    pub(super) verb: StorageVerb,
    pub(super) is_retransmission: bool,
    /// It ends its message.
    pub(super) is_last: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    plan: ConnectionPlan,
    pub(super) requester: VerbRequester,
    pub(super) controller: Controller,
    pub(super) responder: Responder,
    pub(super) responses: ReadResponses,
    /// One past the highest response sent.
    responded: Option<Psn>,
    /// Work of the requester, oldest first.
    pub(super) posted: VecDeque<Posted>,
    /// Operations started.
    pub(super) operations: u32,
    /// The operation of the last data sent.
    pub(super) last: Option<Tag>,
    cnps: CnpLimiter,
    is_active: bool,
    /// A timer entry exists.
    pub(super) is_timed: bool,
    answers_next: bool,
}

impl Connection {
    pub(super) fn new(plan: ConnectionPlan) -> Self {
        Self {
            requester: VerbRequester::new(plan.own_psn, plan.reads_max),
            controller: plan.controller.clone(),
            responder: Responder::new(plan.peer_psn),
            responses: ReadResponses::default(),
            responded: None,
            posted: VecDeque::new(),
            operations: 0,
            last: None,
            cnps: CnpLimiter::NEW,
            is_active: false,
            is_timed: false,
            answers_next: false,
            plan,
        }
    }

    pub(super) const fn plan(&self) -> &ConnectionPlan {
        &self.plan
    }

    /// The key under which the next operation is reported; it distinguishes reads from writes.
    pub(super) const fn next_operation(&mut self, is_read: bool) -> u32 {
        self.operations += 1;
        (self.operations - 1) << 1 | is_read as u32
    }

    pub(super) fn post(&mut self, config: &Config, verb: Verb, bytes: u64, tag: Tag) {
        self.requester.post(config, verb, bytes);
        self.posted.push_back(Posted { verb, tag });
    }

    fn can_transmit(&self, config: &Config) -> bool {
        !self.responses.is_empty() || self.requester.can_transmit(config)
    }

    /// Whether it now becomes active at its port.
    pub(super) fn becomes_active(&mut self, config: &Config) -> bool {
        let enters = !self.is_active && self.can_transmit(config);
        self.is_active |= enters;
        enters
    }

    /// Whether, just served, it has more to send.
    pub(super) fn stays_active(&mut self, config: &Config) -> bool {
        self.is_active = self.can_transmit(config);
        self.is_active
    }

    pub(super) fn ready_at(&self) -> Instant {
        self.controller.ready_at()
    }

    /// The rate that congestion control allows at `now` [bit/s]; `None` without congestion control, and while
    /// there is nothing to send.
    pub(super) fn rate_bps(&self, now: Instant) -> Option<u64> {
        if self.is_active { self.controller.rate_bps_at(now) } else { None }
    }

    /// The next packet, chosen at `now`, on the link from `sent`.
    pub(super) fn next_packet(
        &mut self,
        config: &Config,
        now: Instant,
        sent: Instant,
        records: &mut Vec<Record>,
    ) -> Option<Leaving> {
        let answers =
            !self.responses.is_empty() && (self.answers_next || !self.requester.can_transmit(config));
        self.answers_next = !answers;
        let (leaving, kind) =
            if answers { self.next_response(config)? } else { self.next_request(config, now)? };
        let (psn, frame_bytes) = (leaving.packet.psn(), leaving.packet.frame_bytes());
        self.controller.on_sent(now, psn, frame_bytes + LINK_OVERHEAD_BYTES);
        if self.plan.is_captured {
            records.push(self.frame(sent, leaving.packet.psn(), kind));
        }
        self.last = Some(leaving.tag);
        Some(leaving)
    }

    fn next_response(&mut self, config: &Config) -> Option<(Leaving, FrameKind)> {
        let response = self.responses.poll(config)?;
        let opcode =
            Opcode::read_response(response.position.starts_message(), response.position.ends_message());
        let is_retransmission = self.responded.is_some_and(|end| response.psn.distance_from(end) < 0);
        if !is_retransmission {
            self.responded = Some(response.psn.add(1));
        }
        let tag = Tag::of_number(response.tag);
        let frame_bytes = data_frame_bytes(opcode, response.payload_bytes);
        let frame = FrameKind::Verb {
            opcode,
            ack_request: false,
            payload_bytes: response.payload_bytes,
            message_bytes: 0,
            offset_bytes: 0,
            message_sequence: self.responder.message_sequence(),
        };
        let verb = StorageVerb::ReadResponse;
        let packet = self.packet(response.position, response.psn, frame_bytes, tag, verb);
        let packet = packet.padded(response.payload_bytes);
        let is_last = response.position.ends_message();
        Some((Leaving { packet, tag, verb, is_retransmission, is_last }, frame))
    }

    fn next_request(&mut self, config: &Config, now: Instant) -> Option<(Leaving, FrameKind)> {
        let VerbTransmit { verb, transmit } = self.requester.poll_transmit(config, now)?;
        let request = transmit.packet;
        let tag = self.posted[request.work].tag;
        let opcode = verb.opcode(request.position);
        let frame_bytes = data_frame_bytes(opcode, request.payload_bytes);
        let frame = FrameKind::Verb {
            opcode,
            ack_request: request.ack_request,
            payload_bytes: request.payload_bytes,
            message_bytes: transmit.message_bytes,
            offset_bytes: transmit.offset_bytes,
            message_sequence: 0,
        };
        let verb = match verb {
            Verb::Send => StorageVerb::Send,
            Verb::Write => StorageVerb::Write,
            Verb::Read => StorageVerb::ReadRequest,
        };
        let packet = self.packet(request.position, request.psn, frame_bytes, tag, verb);
        let leaving = Leaving {
            packet: packet.with_ack_request(request.ack_request).padded(request.payload_bytes),
            tag,
            verb,
            is_retransmission: request.is_retransmission,
            is_last: request.position.ends_message(),
        };
        Some((leaving, frame))
    }

    fn packet(&self, position: Position, psn: Psn, frame_bytes: u32, tag: Tag, verb: StorageVerb) -> Packet {
        let path = tag.path(self.plan.path);
        Packet::new(tag.kind(verb, position), self.plan.priority, psn, frame_bytes, path)
    }

    /// The packet that answers a request.
    pub(super) fn reply_packet(&self, reply: Reply) -> Packet {
        let (kind, psn) = match reply {
            Reply::Ack(psn) => (Kind::Ack, psn),
            Reply::Nak(psn) => (Kind::Nak, psn),
            Reply::SelectiveAck { .. } | Reply::SelectiveNak { .. } => {
                unreachable!("a storage connection recovers by going back")
            }
        };
        Packet::new(kind, self.plan.replies.ack, psn, ACK_FRAME_BYTES, self.plan.path)
            .with_message_sequence(self.responder.message_sequence())
    }

    /// A marked packet arrived; returns the notification to send, if one is due.
    pub(super) fn notice_mark(&mut self, now: Instant) -> Option<Packet> {
        if !self.cnps.on_mark(self.plan.cnp_interval?, now) {
            return None;
        }
        Some(Packet::new(Kind::Cnp, self.plan.replies.cnp, Psn::new(0), CNP_FRAME_BYTES, self.plan.path))
    }

    /// Records a departing reply, if the connection is captured.
    pub(super) fn note_reply(&self, packet: &Packet, sent: Instant, records: &mut Vec<Record>) {
        if self.plan.is_captured {
            debug_assert!(packet.at() == Instant::ZERO, "a reply has not travelled yet");
            let message_sequence = packet.message_sequence();
            let kind = match packet.kind() {
                Kind::Cnp => FrameKind::Cnp,
                Kind::Nak => FrameKind::Nak { message_sequence },
                _ => FrameKind::Ack { message_sequence },
            };
            records.push(self.frame(sent, packet.psn(), kind));
        }
    }

    fn frame(&self, sent: Instant, psn: Psn, kind: FrameKind) -> Record {
        let (queue_pair, is_backward) = (self.plan.queue_pair, self.plan.is_target);
        Record::Frame(Box::new(Frame { sent, queue_pair, psn, is_backward, kind }))
    }
}

/// Payload of a packet [bytes].
pub(super) const fn payload_bytes(packet: &Packet, verb: StorageVerb, position: Position) -> u32 {
    let (first, last) = (position.starts_message(), position.ends_message());
    let opcode = match verb {
        StorageVerb::Send => Opcode::send(first, last),
        StorageVerb::Write => Opcode::write(first, last),
        StorageVerb::ReadRequest => Opcode::ReadRequest,
        StorageVerb::ReadResponse => Opcode::read_response(first, last),
    };
    Framing::Ethernet.payload_bytes(opcode, packet.frame_bytes()) - packet.pad_bytes()
}
