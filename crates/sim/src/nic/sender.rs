//! The requester side of a queue pair, with what is recorded of its chunks.

use super::chunk_frames::{Frames, frames_of};
use super::{HOT_BYTES, QueuePairSettings};
use crate::kernel::Context;
use crate::packet::{Kind, Packet, Path, Priority};
use crate::record::{Frame, FrameKind, Record, SendReport};
use spec::ChunkStatus;
use std::mem::offset_of;
use std::ops::Range;
use transport::{Config, Controller, OneOrMore, Position, RateControl, Requester, Transmit};
use units::{Cycle, Instant};
use wire::{Framing, Opcode, Psn};

/// A chunk to be sent by a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendChunk {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The transfer it is part of, among those that start at its host.
    pub(crate) outgoing: u32,
    /// Its dependencies have arrived.
    pub(crate) is_ready: bool,
    /// Payload [bytes].
    pub(crate) bytes: u64,
}

/// What is reported of each packet sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observed {
    Nothing,
    /// All of it.
    Captured,
    /// When a message begins.
    Watched,
}

/// The requester side of a queue pair. What most packets need is in the first two lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Sender {
    /// To the receiver at the destination host.
    path: Path,
    priority: Priority,
    framing: Framing,
    port: u16,
    in_round: bool,
    /// A timer entry exists.
    pub(super) is_timed: bool,
    observed: Observed,
    /// To a rank on the same host.
    is_local: bool,
    requester: Requester<Controller>,
    queue_pair: u32,
    /// Its chunks in the host's list of sends; the first not yet posted comes first.
    chunks: Range<u32>,
    /// Chunks posted and not completed, oldest first.
    open: OneOrMore<SendReport>,
}

const _: () = assert!(size_of::<Sender>() <= 256, "a million of them are looked at in turn");
const _: () = assert!(
    offset_of!(Sender, requester) + Requester::<Controller>::HOT_BYTES <= HOT_BYTES,
    "what most packets need lies together"
);

/// Which sender, and where it sends to.
#[derive(Clone, Debug)]
pub(crate) struct SenderPlan {
    pub(crate) queue_pair: u32,
    pub(crate) initial_psn: Psn,
    /// To the receiver at the destination host.
    pub(crate) path: Path,
    /// Its chunks in the host's list of sends.
    pub(crate) chunks: Range<u32>,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
    /// To a rank on the same host: nothing of it meets the NIC.
    pub(crate) is_local: bool,
}

const _: () = assert!(size_of::<SenderPlan>() <= 32, "there is one for each of a million queue pairs");

impl Sender {
    pub(super) fn new(plan: &SenderPlan, settings: &QueuePairSettings) -> Self {
        Self {
            requester: Requester::new(plan.initial_psn, settings.controllers[usize::from(plan.port)].clone()),
            path: plan.path,
            priority: settings.data,
            framing: settings.framing,
            port: plan.port,
            in_round: false,
            is_timed: false,
            observed: if plan.is_captured { Observed::Captured } else { Observed::Nothing },
            is_local: plan.is_local,
            queue_pair: plan.queue_pair,
            chunks: plan.chunks.clone(),
            open: OneOrMore::default(),
        }
    }

    #[inline]
    pub(super) const fn requester(&mut self) -> &mut Requester<Controller> {
        &mut self.requester
    }

    #[inline]
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// The earliest time of the next packet, as far as the rate controller is concerned.
    #[inline]
    pub(super) fn ready_at(&self) -> Instant {
        self.requester.ready_at()
    }

    /// The rate that congestion control allows at `now` [bit/s]; none without one, and while there is nothing to send.
    pub(super) fn rate_bps(&self, now: Instant) -> Option<u64> {
        match self.requester.controller() {
            Controller::Dcqcn(dcqcn) if !self.open.is_empty() => Some(dcqcn.rate_bps_at(now)),
            _ => None,
        }
    }

    /// A congestion notification arrived.
    pub(super) fn on_cnp(&mut self, now: Instant) {
        self.requester.rate().on_cnp(now);
        if let Some(report) = self.open.front_mut() {
            report.cnps += 1;
        }
    }

    /// Posts every chunk whose turn it is and that is ready: a queue pair keeps the order of its schedule. A failed
    /// queue pair sends nothing more, so the chunk ends at once.
    pub(super) fn post_ready(
        &mut self,
        config: &Config,
        sends: &[SendChunk],
        round: u32,
        now: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        while let Some(send) = self.chunks.clone().next().map(|first| sends[first as usize]) {
            if !send.is_ready {
                break;
            }
            self.chunks.start += 1;
            let report = SendReport::new(send.chunk, round, now);
            if self.requester.is_failed() {
                context.records.push(Record::Sent(report.ended(ChunkStatus::Failed, None)));
            } else {
                self.requester.post(config, send.bytes);
                self.open.push_back(report);
            }
        }
    }

    /// Posts the next chunk to a rank on the same host, if its turn has come and it is ready.
    pub(super) fn post_local(&mut self, sends: &[SendChunk], round: u32, now: Instant) -> Option<SendChunk> {
        let send = self.chunks.clone().next().map(|first| sends[first as usize])?;
        if !send.is_ready {
            return None;
        }
        self.chunks.start += 1;
        self.open.push_back(SendReport::new(send.chunk, round, now));
        Some(send)
    }

    /// To a rank on the same host: nothing of it meets the NIC.
    #[inline]
    pub(super) const fn is_local(&self) -> bool {
        self.is_local
    }

    /// The receiver at its destination.
    pub(super) const fn receiver(&self) -> u32 {
        self.path.queue_pair
    }

    /// One past its last chunk in the host's list of sends.
    pub(super) const fn chunks_end(&self) -> u32 {
        self.chunks.end
    }

    /// Begins its chunks again, from `first` in the host's list of sends, now that all are acknowledged.
    pub(super) fn rearm(&mut self, first: u32) {
        debug_assert!(self.open.is_empty(), "a round ends when everything is acknowledged");
        self.chunks.start = first;
    }

    /// Whether the sender now enters its port's round.
    #[inline]
    pub(super) fn enters_round(&mut self, config: &Config) -> bool {
        let enters = !self.in_round && self.requester.can_transmit(config);
        self.in_round |= enters;
        enters
    }

    /// Whether the sender, just served, has more to send.
    #[inline]
    pub(super) fn stays_in_round(&mut self, config: &Config) -> bool {
        self.in_round = self.requester.can_transmit(config);
        self.in_round
    }

    /// Size of the next data packet at the most; it is exact unless something is sent again.
    pub(super) fn next_frame_bytes(&self, config: &Config) -> u32 {
        let next = self.requester.next_payload(config);
        next.map_or(0, |(position, bytes)| self.framing.frame_bytes(write_opcode(position), bytes))
    }

    /// The next data packet, decided at `now`, on the link from `sent`.
    #[inline]
    pub(super) fn next_packet(
        &mut self,
        config: &Config,
        now: Instant,
        sent: Instant,
        context: &mut Context<Packet, Record>,
    ) -> Option<Packet> {
        let transmit = self.requester.poll_transmit(config, now)?;
        let frame_bytes = self.framing.frame_bytes(write_opcode(transmit.position), transmit.payload_bytes);
        if transmit.is_retransmission {
            self.count_resent(transmit.work, frame_bytes);
        }
        if self.observed != Observed::Nothing {
            self.report(config, &transmit, sent, context);
        }
        let kind = Kind::Data(transmit.position);
        self.requester.rate().on_sent(now, frame_bytes + self.framing.link_overhead_bytes());
        let packet = Packet::new(kind, self.priority, transmit.psn, frame_bytes, self.path);
        Some(packet.asking(transmit.ack_request))
    }

    /// A frame is sent again: what is sent once is known from how far the requester has come.
    #[cold]
    fn count_resent(&mut self, work: usize, frame_bytes: u32) {
        let report = self.open.get_mut(work).expect("only posted work is sent");
        report.retransmits += 1;
        report.frames += 1;
        report.bytes += u64::from(frame_bytes);
    }

    #[cold]
    fn report(
        &self,
        config: &Config,
        transmit: &Transmit,
        sent: Instant,
        context: &mut Context<Packet, Record>,
    ) {
        if self.observed == Observed::Watched {
            if transmit.offset_bytes.is_multiple_of(config.message_bytes) {
                context.records.push(Record::MessageBegun(sent));
            }
            return;
        }
        let kind = FrameKind::Data {
            position: transmit.position,
            ack_request: transmit.ack_request,
            payload_bytes: transmit.payload_bytes,
            message_bytes: transmit.message_bytes,
            offset_bytes: transmit.offset_bytes,
        };
        let (queue_pair, is_backward) = (self.queue_pair, false);
        let frame = Frame { sent, queue_pair, psn: transmit.psn, is_backward, kind };
        context.records.push(Record::Frame(frame));
    }

    /// Has the start of each message reported from now on, or no longer; false if the sender has nothing to send, or
    /// is captured.
    pub(super) fn watch(&mut self, is_watched: bool) -> bool {
        let may = self.observed != Observed::Captured && (self.in_round || !is_watched);
        if may {
            self.observed = if is_watched { Observed::Watched } else { Observed::Nothing };
        }
        may
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            requester,
            path: _,
            priority: _,
            framing: _,
            port: _,
            in_round,
            is_timed,
            observed: _,
            is_local: _,
            queue_pair: _,
            chunks,
            open,
        } = self;
        requester.visit(cycle);
        cycle
            .same_list([u32::from(*in_round), u32::from(*is_timed), chunks.start].into_iter().map(u64::from));
        cycle.same(open.len() as u64);
        open.change_all(|report| report.visit(cycle));
    }

    /// Reports the oldest `count` chunks as complete; returns where they stand in the host's list of sends, by which `sent`
    /// gives the frames that each was sent in, without those sent again.
    #[inline]
    pub(super) fn complete(
        &mut self,
        count: u32,
        now: Instant,
        context: &mut Context<Packet, Record>,
        mut sent: impl FnMut(u32) -> Frames,
    ) -> Range<u32> {
        if count == 0 {
            return 0..0;
        }
        let oldest = self.chunks.start - self.open.len() as u32;
        for send in oldest..oldest + count {
            let report = self.open.pop_front().expect("only posted work completes");
            let report = with_sent(report, sent(send));
            context.records.push(Record::Sent(report.ended(ChunkStatus::Complete, Some(now))));
        }
        oldest..oldest + count
    }

    /// Reports every open chunk as failed.
    pub(super) fn fail(&mut self, config: &Config, now: Instant, context: &mut Context<Packet, Record>) {
        context.records.push(Record::QueuePairFailed { queue_pair: self.queue_pair, at: now });
        let failed =
            self.open_chunks(config).into_iter().map(|report| report.ended(ChunkStatus::Failed, None));
        context.records.extend(failed.map(Record::Sent));
        self.open = OneOrMore::default();
    }

    pub(super) fn count_nak(&mut self) {
        if let Some(report) = self.open.front_mut() {
            report.naks += 1;
        }
    }

    pub(super) fn count_timeout(&mut self) {
        if let Some(report) = self.open.front_mut() {
            report.timeouts += 1;
        }
    }

    /// Chunks posted and not completed, as they stand.
    pub(super) fn open_chunks(&self, config: &Config) -> Vec<SendReport> {
        // Of what is copied within the host nothing is sent.
        let sent = self.requester.sent_of_each().map(|(bytes, packets)| match packets {
            0 => Frames::default(),
            packets => frames_of(self.framing, config, bytes, packets),
        });
        let sent = sent.chain(std::iter::repeat(Frames::default()));
        self.open.iter().zip(sent).map(|(report, sent)| with_sent(*report, sent)).collect()
    }
}

/// A report with what was sent for the first time.
const fn with_sent(mut report: SendReport, sent: Frames) -> SendReport {
    report.frames += sent.frames;
    report.bytes += sent.bytes;
    report
}

/// The opcode of a write's packet.
#[inline]
pub(crate) const fn write_opcode(position: Position) -> Opcode {
    match position {
        Position::First => Opcode::WriteFirst,
        Position::Middle => Opcode::WriteMiddle,
        Position::Last => Opcode::WriteLast,
        Position::Only => Opcode::WriteOnly,
    }
}
