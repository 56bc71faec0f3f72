//! The responder side of a queue pair, with what is recorded of its chunks.

use super::arrivals::Arrivals;
use super::reordering::Reordering;
use super::sender::write_opcode;
use super::{HOT_BYTES, QueuePairSettings};
use crate::kernel::{Context, Message};
use crate::packet::{Kind, Packet, Path, Priority};
use crate::record::{Frame, FrameKind, ReceiveReport, Record};
use std::mem::offset_of;
use std::ops::Range;
use transport::{Config, Disposition, Position, Recovery, Reply, Responder};
use units::{Cycle, Instant, Span};
use wire::{Framing, Opcode, Psn};

/// A chunk to be received by a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveChunk {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The inbound transfer it is part of.
    pub(crate) inbound: u32,
    /// Packets it comes in.
    pub(crate) packets: u64,
}

/// What an arriving data packet led to.
pub(super) struct DataOutcome {
    /// A reply to send.
    pub(super) reply: Option<Packet>,
    /// A congestion notification to send.
    pub(super) notification: Option<Packet>,
    /// Payload placed by it [bytes].
    pub(super) payload_bytes: u32,
    /// It was the last of a chunk to arrive: see [`Receiver::next_delivery`].
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

/// The responder side of a queue pair. What most packets need is in the first two lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Receiver {
    /// To the sender at the source host.
    path: Path,
    priorities: ReplyPriorities,
    framing: Framing,
    is_captured: bool,
    port: u16,
    responder: Responder,
    /// Packets of the chunk being received that must still arrive.
    packets_left: u64,
    /// Stands for `chunks`, `packets_left` and `report` when packets are not taken in order.
    arrivals: Option<Box<Arrivals>>,
    /// Where packets may overtake each other.
    reordering: Option<Box<Reordering>>,
    report: ReceiveReport,
    next_cnp: Instant,
    cnp_interval: Span,
    /// Its first chunk in the host's list of receives: after the last it begins again.
    first_chunk: u32,
    /// Its chunks from the one being received on.
    chunks: Range<u32>,
    queue_pair: u32,
}

const _: () = assert!(size_of::<Receiver>() <= 192, "a million of them are looked at in turn");
const _: () = assert!(
    offset_of!(Receiver, report) + ReceiveReport::HOT_BYTES <= HOT_BYTES,
    "what most packets need lies together"
);

/// Which receiver, and where it answers to.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverPlan {
    pub(crate) queue_pair: u32,
    pub(crate) initial_psn: Psn,
    /// To the sender at the source host.
    pub(crate) path: Path,
    /// Its chunks in the host's list of receives.
    pub(crate) chunks: Range<u32>,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
    /// From a rank on the same host.
    pub(crate) is_local: bool,
}

const _: () = assert!(size_of::<ReceiverPlan>() <= 32, "there is one for each of a million queue pairs");

impl Receiver {
    pub(super) fn new(plan: &ReceiverPlan, settings: &QueuePairSettings, receives: &[ReceiveChunk]) -> Self {
        // What is copied within a host comes in order.
        let recovery = if plan.is_local { Recovery::GoBackN } else { settings.config.recovery };
        let cnp_interval = settings.cnp_interval;
        let first_packets = plan.chunks.clone().next().map(|first| receives[first as usize].packets);
        Self {
            responder: Responder::new(plan.initial_psn),
            path: plan.path,
            priorities: settings.replies,
            cnp_interval: cnp_interval.unwrap_or_default(),
            next_cnp: if cnp_interval.is_some() { Instant::ZERO } else { Instant::NEVER },
            framing: settings.framing,
            port: plan.port,
            is_captured: plan.is_captured,
            queue_pair: plan.queue_pair,
            reordering: settings.may_reorder.then(|| Box::new(Reordering::new(plan.initial_psn))),
            arrivals: Arrivals::new(recovery, plan.initial_psn, plan.chunks.clone()),
            first_chunk: plan.chunks.start,
            packets_left: first_packets.unwrap_or(u64::MAX),
            chunks: plan.chunks.clone(),
            report: ReceiveReport::new(0, 0),
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
        if let Some(reordering) = &mut self.reordering {
            reordering.arrive(packet.psn());
        }
        let arrival = self.responder.on_packet(config, packet.psn(), position, packet.asks());
        let mut outcome = DataOutcome {
            reply: arrival.reply.map(|reply| self.reply_packet(reply)),
            notification: if packet.is_marked() { self.notice_mark(now) } else { None },
            payload_bytes: 0,
            chunk_delivered: false,
        };
        let mut chunk = None;
        let report = match &mut self.arrivals {
            None => &mut self.report,
            Some(arrivals) => {
                chunk = arrivals.chunk_of(packet.psn(), receives);
                let Some(chunk) = &mut chunk else { return outcome };
                &mut chunk.report
            }
        };
        report.frames += 1;
        report.bytes += u64::from(packet.frame_bytes());
        if packet.is_marked() {
            report.marks += 1;
            report.cnps += u32::from(outcome.notification.is_some());
        }
        if matches!(arrival.disposition, Disposition::OutOfOrder | Disposition::Placed) {
            report.out_of_order += 1;
        }
        if matches!(arrival.disposition, Disposition::Accepted | Disposition::Placed) {
            report.add_latency(latency);
            outcome.payload_bytes = self.framing.payload_bytes(write_opcode(position), packet.frame_bytes());
            outcome.chunk_delivered = match chunk {
                Some(chunk) => chunk.count_placed(),
                None => {
                    self.packets_left -= 1;
                    self.packets_left == 0
                }
            };
        }
        outcome
    }

    #[inline]
    fn reply_packet(&self, reply: Reply) -> Packet {
        let (kind, psn, message_sequence) = match reply {
            Reply::Ack(psn) => (Kind::Ack, psn, self.responder.message_sequence()),
            Reply::Nak(psn) => (Kind::Nak, psn, self.responder.message_sequence()),
            Reply::SelectiveAck { newest, highest } => (Kind::Ack, newest, highest.value()),
            Reply::SelectiveNak { newest, missing } => (Kind::Nak, missing, newest.value()),
        };
        Packet::new(kind, self.priorities.ack, psn, self.framing.ack_frame_bytes(), self.path)
            .with_message_sequence(message_sequence)
    }

    /// A marked packet arrived; the notification to send, if one is due.
    #[cold]
    fn notice_mark(&mut self, now: Instant) -> Option<Packet> {
        if now < self.next_cnp {
            return None;
        }
        self.next_cnp = now + self.cnp_interval;
        let frame_bytes = self.framing.frame_bytes(Opcode::CongestionNotification, 0);
        Some(Packet::new(Kind::Cnp, self.priorities.cnp, Psn::new(0), frame_bytes, self.path))
    }

    /// The chunk being received is there: a rank on the same host copied it.
    pub(super) const fn take_local(&mut self) {
        self.packets_left = 0;
    }

    /// Ends the next chunk that has arrived whole, if there is one.
    pub(super) fn next_delivery(&mut self, now: Instant, receives: &[ReceiveChunk]) -> Option<Delivery> {
        let (report, inbound) = match &mut self.arrivals {
            None => self.finish_chunk(receives)?,
            Some(arrivals) => arrivals.next_delivered().map(|chunk| (chunk.report, chunk.inbound))?,
        };
        Some(Delivery { report: report.delivered_at(now), inbound })
    }

    /// Ends the chunk being received, if it has arrived whole, and begins the next.
    fn finish_chunk(&mut self, receives: &[ReceiveChunk]) -> Option<(ReceiveReport, u32)> {
        if self.packets_left > 0 {
            return None;
        }
        let ReceiveChunk { chunk, inbound, .. } = receives[self.chunks.start as usize];
        let mut round = self.report.round;
        self.chunks.start += 1;
        if self.chunks.is_empty() {
            self.chunks.start = self.first_chunk;
            round += 1;
        }
        self.packets_left = receives[self.chunks.start as usize].packets;
        let report = std::mem::replace(&mut self.report, ReceiveReport::new(0, round));
        Some((report.of_chunk(chunk), inbound))
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            responder,
            path: _,
            priorities: _,
            cnp_interval: _,
            next_cnp,
            framing: _,
            port: _,
            is_captured: _,
            queue_pair: _,
            first_chunk: _,
            chunks,
            packets_left,
            report,
            arrivals,
            reordering,
        } = self;
        responder.visit(cycle);
        cycle.time(next_cnp);
        cycle.same(u64::from(chunks.start));
        if *packets_left != u64::MAX {
            cycle.left(packets_left, 1);
        }
        report.visit(cycle);
        if let Some(arrivals) = arrivals {
            arrivals.visit(cycle);
        }
        if let Some(reordering) = reordering {
            reordering.visit(cycle);
        }
    }

    /// Its queue pair and how far out of order packets came; none where they cannot overtake each other.
    pub(crate) fn reordering(&self) -> Option<(u32, &Reordering)> {
        Some((self.queue_pair, self.reordering.as_deref()?))
    }

    /// What has arrived of the chunks that were not delivered.
    pub(super) fn undelivered(&self, receives: &[ReceiveChunk]) -> impl Iterator<Item = ReceiveReport> {
        let chunk = receives[..self.chunks.end as usize].get(self.chunks.start as usize);
        let current = chunk.filter(|_| self.report.frames > 0);
        let current = current.map(|chunk| self.report.of_chunk(chunk.chunk));
        current.into_iter().chain(self.arrivals.iter().flat_map(|arrivals| arrivals.undelivered()))
    }

    /// Its frames are recorded.
    #[inline]
    pub(super) const fn is_captured(&self) -> bool {
        self.is_captured
    }

    /// Records a reply that leaves.
    #[cold]
    pub(super) fn note_reply(&self, packet: &Packet, sent: Instant, context: &mut Context<Packet, Record>) {
        let message_sequence = packet.message_sequence();
        let kind = match packet.kind() {
            Kind::Cnp => FrameKind::Cnp,
            Kind::Nak => FrameKind::Nak { message_sequence },
            _ => FrameKind::Ack { message_sequence },
        };
        debug_assert!(packet.at() == Instant::ZERO, "a reply has not travelled yet");
        let (queue_pair, is_backward) = (self.queue_pair, true);
        let frame = Frame { sent, queue_pair, psn: packet.psn(), is_backward, kind };
        context.records.push(Record::Frame(frame));
    }
}
