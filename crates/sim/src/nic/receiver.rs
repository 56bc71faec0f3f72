//! The responder side of a queue pair, with what is recorded of its chunks.

use super::sender::write_opcode;
use crate::kernel::{Context, Message};
use crate::packet::{Kind, Packet, Path, Priority};
use crate::record::{Frame, FrameKind, ReceiveReport, Record};
use std::ops::Range;
use transport::{Config, Disposition, Position, Reply, Responder};
use units::{Instant, Span};
use wire::Psn;
use wire::size::{ACK_FRAME_BYTES, CNP_FRAME_BYTES, data_frame_bytes};

/// A chunk to be received by a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveChunk {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The inbound transfer it is part of.
    pub(crate) inbound: u32,
    /// Messages it comes in.
    pub(crate) messages: u64,
}

/// What an arriving data packet led to.
pub(super) struct DataOutcome {
    /// A reply to send.
    pub(super) reply: Option<Packet>,
    /// A congestion notification to send.
    pub(super) notification: Option<Packet>,
    /// Payload placed by it [bytes].
    pub(super) payload_bytes: u32,
    /// It was the last of its chunk.
    pub(super) chunk_delivered: bool,
}

/// A delivered chunk.
pub(super) struct Delivery {
    pub(super) report: ReceiveReport,
    pub(super) inbound: u32,
}

/// Priorities of what a responder sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyPriorities {
    pub(crate) ack: Priority,
    pub(crate) cnp: Priority,
}

/// The responder side of a queue pair.
#[derive(Debug)]
pub(crate) struct Receiver {
    responder: Responder,
    /// To the sender at the source host.
    path: Path,
    priorities: ReplyPriorities,
    cnp_interval: Span,
    next_cnp: Instant,
    port: u16,
    is_captured: bool,
    queue_pair: u32,
    /// Its chunks in the host's list of receives; the one being received comes first.
    chunks: Range<u32>,
    messages_done: u64,
    report: ReceiveReport,
}

/// Which receiver, and where it answers to.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverPlan {
    pub(crate) queue_pair: u32,
    pub(crate) initial_psn: Psn,
    pub(crate) path: Path,
    pub(crate) priorities: ReplyPriorities,
    /// At most one congestion notification in this time; none are sent without it.
    pub(crate) cnp_interval: Option<Span>,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
    pub(crate) chunks: Range<u32>,
}

impl Receiver {
    pub(crate) fn new(plan: ReceiverPlan) -> Self {
        Self {
            responder: Responder::new(plan.initial_psn),
            path: plan.path,
            priorities: plan.priorities,
            cnp_interval: plan.cnp_interval.unwrap_or_default(),
            next_cnp: if plan.cnp_interval.is_some() { Instant::ZERO } else { Instant::NEVER },
            port: plan.port,
            is_captured: plan.is_captured,
            queue_pair: plan.queue_pair,
            chunks: plan.chunks,
            messages_done: 0,
            report: ReceiveReport::default(),
        }
    }

    #[inline]
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Takes in a data packet at `now` that spent `latency` in the fabric.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        config: &Config,
        packet: &Packet,
        position: Position,
        now: Instant,
        latency: Span,
        receives: &[ReceiveChunk],
    ) -> DataOutcome {
        let arrival = self.responder.on_packet(config, packet.psn(), position);
        self.report.frames += 1;
        self.report.bytes += u64::from(packet.frame_bytes());
        let mut outcome = DataOutcome {
            reply: arrival.reply.map(|reply| self.reply_packet(reply)),
            notification: if packet.is_marked() { self.notice_mark(now) } else { None },
            payload_bytes: 0,
            chunk_delivered: false,
        };
        match arrival.disposition {
            Disposition::Accepted => {
                self.report.latency.add(latency);
                outcome.payload_bytes = packet.frame_bytes() - data_frame_bytes(write_opcode(position), 0);
                if position.ends_message() {
                    self.messages_done += 1;
                    let expected = receives[self.chunks.start as usize].messages;
                    outcome.chunk_delivered = self.messages_done == expected;
                }
            }
            Disposition::OutOfOrder => self.report.out_of_order += 1,
            Disposition::Duplicate => {}
        }
        outcome
    }

    #[inline]
    fn reply_packet(&self, reply: Reply) -> Packet {
        let (kind, psn) = match reply {
            Reply::Ack(psn) => (Kind::Ack, psn),
            Reply::Nak(psn) => (Kind::Nak, psn),
        };
        Packet::new(kind, self.priorities.ack, psn, ACK_FRAME_BYTES, self.path)
    }

    /// Counts a mark; the notification to send, if one is due.
    #[cold]
    fn notice_mark(&mut self, now: Instant) -> Option<Packet> {
        self.report.marks += 1;
        if now < self.next_cnp {
            return None;
        }
        self.next_cnp = now + self.cnp_interval;
        self.report.cnps += 1;
        Some(Packet::new(Kind::Cnp, self.priorities.cnp, Psn::new(0), CNP_FRAME_BYTES, self.path))
    }

    /// Ends the chunk being received and begins the next.
    pub(super) fn finish_chunk(&mut self, now: Instant, receives: &[ReceiveChunk]) -> Delivery {
        let chunk = receives[self.chunks.start as usize];
        self.chunks.start += 1;
        self.messages_done = 0;
        let mut report = std::mem::take(&mut self.report);
        report.chunk = chunk.chunk;
        report.delivered = Some(now);
        Delivery { report, inbound: chunk.inbound }
    }

    /// What has arrived of the chunk being received, if there is one and anything has.
    pub(super) fn undelivered(&self, receives: &[ReceiveChunk]) -> Option<ReceiveReport> {
        let chunk = receives[..self.chunks.end as usize].get(self.chunks.start as usize)?;
        (self.report.frames > 0).then(|| ReceiveReport { chunk: chunk.chunk, ..self.report.clone() })
    }

    /// Records a reply that leaves, if the queue pair is captured.
    #[inline]
    pub(super) fn note_reply(&self, packet: &Packet, sent: Instant, context: &mut Context<Packet, Record>) {
        if self.is_captured {
            let message_sequence = self.responder.message_sequence();
            let kind = match packet.kind() {
                Kind::Cnp => FrameKind::Cnp,
                Kind::Nak => FrameKind::Nak { message_sequence },
                _ => FrameKind::Ack { message_sequence },
            };
            debug_assert!(packet.at() == Instant::ZERO, "a reply has not travelled yet");
            let frame = Frame { sent, queue_pair: self.queue_pair, psn: packet.psn(), kind };
            context.records.push(Record::Frame(frame));
        }
    }
}
