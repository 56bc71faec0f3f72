//! All receivers (responder sides of queue pairs) of a host: accepts or drops data packets in order, or in
//! any order, builds replies, and reports chunks (parts of transfers) that have arrived completely.

use super::lazy_queue_pairs::{LazyReceivers, QueuePairEnds, receiver, receiver_mut};
use super::queue_pairs::{QueuePairEnd, QueuePairSettings};
use super::receiver::{DataOutcome, Dropped, Receiver, ReceiverSettings};
use super::reordering::Reordering;
use super::resident_queue_pairs::ResidentQueuePairs;
use crate::nic::Context;
use crate::nic::ledger::{
    ChunkFrames, Delivery, Frames, OPEN_CHUNKS_HOT_BYTES, OpenChunks, Receives, Vouched, Work, frames_of,
};
use crate::nic::port::Control;
use crate::packet::{ConnectionId, Kind, Packet};
use crate::record::{Frame, FrameKind, ReceiveReport, Record};
use engine::Message;
use engine::prefetch::{prefetch, prefetch_first};
use spec::LateFrames;
use std::iter::{Empty, empty};
use std::sync::Arc;
use transport::{Config, Disposition, Placement, Position, Recovery, Reply};
use units::{Instant, Span, State};

/// The receivers of a host. Other lists, unless empty, have an item of the same index for each.
#[derive(Debug, State)]
#[repr(C)]
pub(crate) struct Receivers {
    // Needed by each packet.
    receivers: ResidentQueuePairs<Receiver>,
    /// Track the chunks instead of the receivers, unless packets are accepted in order only.
    open_chunks: Box<[OpenChunks]>,
    /// With selective recovery: replace the responders.
    placements: Box<[Placement]>,
    /// If packets may overtake each other.
    reordering: Box<[Reordering]>,
    #[state(skip)]
    settings: ReceiverSettings,
    // Needed at the end of a chunk.
    #[state(skip)]
    receives: Receives,
    /// Creates receivers on demand, unless all are created at the start.
    lazy: Option<Box<LazyReceivers>>,
}

impl Receivers {
    /// Creates all receivers of a host in their final location, those of one job after the other; `count` of
    /// all jobs.
    pub(crate) fn new<I: Iterator<Item = QueuePairEnd>>(
        jobs: impl Iterator<Item = I>,
        count: usize,
        receives: Receives,
        settings: &QueuePairSettings,
    ) -> Self {
        let Config { recovery, .. } = *settings.config;
        let room = |is_used: bool| if is_used { count } else { 0 };
        let mut receivers = Vec::with_capacity(count);
        let mut open_chunks = Vec::with_capacity(room(recovery != Recovery::GoBackN));
        let mut placements = Vec::with_capacity(room(recovery.is_selective()));
        let mut reordering = Vec::with_capacity(room(settings.may_reorder));
        for plans in jobs {
            for plan in plans {
                let number = receivers.len() as u32;
                let first_packets = receives.first_bytes(number).map(|bytes| settings.config.packets(bytes));
                receivers.push(Receiver::new(&plan, first_packets));
                if recovery != Recovery::GoBackN {
                    open_chunks.push(OpenChunks::new(recovery, plan.initial_psn, receives.queue(number)));
                }
                if let Recovery::Selective { ooo_window_packets } = recovery {
                    placements.push(Placement::new(plan.initial_psn, ooo_window_packets));
                }
                if settings.may_reorder {
                    reordering.push(Reordering::new(plan.queue_pair, plan.initial_psn));
                }
            }
        }
        Self {
            receivers: receivers.into_iter().collect(),
            open_chunks: open_chunks.into(),
            placements: placements.into(),
            reordering: reordering.into(),
            settings: ReceiverSettings::new(settings),
            receives,
            lazy: None,
        }
    }

    /// Receivers that are created when they are needed, with parameters from `ends`. Only with go-back-N
    /// recovery, in-order delivery and one chunk per queue pair.
    pub(crate) fn lazy(
        ends: Arc<dyn QueuePairEnds>,
        receives: Receives,
        settings: &QueuePairSettings,
    ) -> Self {
        let lazy = Some(Box::new(LazyReceivers::new(ends)));
        Self { lazy, ..Self::new(empty::<Empty<QueuePairEnd>>(), 0, receives, settings) }
    }

    /// Creates or recalls a receiver that is not resident.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, config: &Config, number: u32, now: Instant) {
        let Self { receivers, receives, lazy, .. } = self;
        let lazy = lazy.as_mut().expect("all exist, or are created on demand");
        let bytes_of = |number| receives.first_bytes(number).expect("each has a chunk");
        if number >= receivers.end() {
            lazy.make(receivers, number, now, |number| config.packets(bytes_of(number)));
        } else {
            let bytes = bytes_of(number);
            lazy.recall(number, config.packets(bytes), config.messages(bytes), now);
        }
    }

    /// A receiver that is resident or recalled.
    #[inline]
    fn of(&self, number: u32) -> &Receiver {
        receiver(&self.receivers, self.lazy.as_deref(), number)
    }

    /// All resident and recalled receivers, by number.
    fn numbered(&self) -> impl Iterator<Item = (u32, &Receiver)> {
        let recalled = self.lazy.iter().flat_map(|lazy| lazy.recalled());
        recalled.chain(self.receivers.numbered())
    }

    /// The port of a receiver for which data has arrived by `now`.
    pub(crate) fn port(&mut self, config: &Config, receiver: u32, now: Instant) -> usize {
        if self.lazy.is_some() && !self.receivers.has(receiver) {
            self.prepare(config, receiver, now);
        }
        self.of(receiver).port.into()
    }

    /// The reply of a receiver, and its port.
    #[inline]
    pub(crate) fn reply(&self, receiver: u32, reply: Reply) -> (usize, Control) {
        let vouched = self.is_unrecovered().then(|| self.open_chunks[receiver as usize].vouched());
        self.reply_vouching(receiver, reply, vouched)
    }

    #[inline(always)]
    fn reply_vouching(&self, receiver: u32, reply: Reply, vouched: Option<u32>) -> (usize, Control) {
        let state = self.of(receiver);
        let packet = state.reply_packet(&self.settings, reply, vouched);
        (
            state.port.into(),
            Control { packet, connection: ConnectionId::rc(receiver), is_captured: state.is_captured },
        )
    }

    /// Without recovery: the acknowledgement of a chunk whose last frame to arrive was overtaken by others,
    /// and its port.
    #[inline]
    pub(crate) fn confirmation(&self, receiver: u32, outcome: &DataOutcome) -> Option<(usize, Control)> {
        if outcome.disposition != Disposition::Placed || !self.is_unrecovered() {
            return None;
        }
        let Vouched { psn, packets } = self.open_chunks[receiver as usize].vouched_of_delivered()?;
        Some(self.reply_vouching(receiver, Reply::Ack(psn), Some(packets)))
    }

    /// No packet is resent: without recovery.
    #[inline]
    const fn is_unrecovered(&self) -> bool {
        self.placements.is_empty() && !self.open_chunks.is_empty()
    }

    /// A packet arrived under pressure of its own host; returns whether a notification is due.
    #[cold]
    pub(crate) fn notice_pressure(&mut self, receiver: u32, now: Instant) -> bool {
        let is_in_order = self.are_in_order();
        let Self { receivers, settings, lazy, .. } = self;
        receiver_mut(receivers, lazy.as_deref_mut(), receiver).notice_pressure(settings, is_in_order, now)
    }

    /// The congestion notification of a receiver, and its port.
    #[cold]
    pub(crate) fn notification(&self, receiver: u32) -> (usize, Control) {
        let state = self.of(receiver);
        let packet = state.notification(&self.settings);
        (
            state.port.into(),
            Control { packet, connection: ConnectionId::rc(receiver), is_captured: state.is_captured },
        )
    }

    /// Records a departing reply, if the queue pair is captured.
    #[cold]
    pub(crate) fn note_reply(&self, receiver: u32, packet: &Packet, sent: Instant, context: &mut Context) {
        let Some(queue_pair) = self.of(receiver).captured() else { return };
        let message_sequence = packet.message_sequence();
        let kind = match packet.kind() {
            Kind::Cnp => FrameKind::Cnp,
            Kind::Nak => FrameKind::Nak { message_sequence },
            _ => FrameKind::Ack { message_sequence },
        };
        debug_assert!(packet.at() == Instant::ZERO, "a reply has not travelled yet");
        let frame = Frame { sent, queue_pair, psn: packet.psn(), is_backward: true, kind };
        context.records.push(Record::Frame(Box::new(frame)));
    }

    /// Prefetches the state for an arriving data packet. The state for the end of a chunk is prefetched with
    /// packets near the end.
    #[inline]
    pub(crate) fn prefetch(&self, packet: &Packet) {
        let receiver = packet.connection() as usize;
        self.prefetch_receiver(receiver);
        if packet.requests_ack() {
            self.receives.prefetch(receiver);
        }
    }

    /// Prefetches the state for all data packets of a chunk but the last.
    #[inline]
    pub(crate) fn prefetch_receiver(&self, receiver: usize) {
        self.receivers.prefetch(receiver as u32);
        if !self.open_chunks.is_empty() {
            prefetch_first(&self.open_chunks, receiver, OPEN_CHUNKS_HOT_BYTES);
            prefetch(&self.placements, receiver);
        }
        prefetch(&self.reordering, receiver);
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.receivers.len()
    }

    /// Same, for all resident receivers.
    #[inline]
    pub(crate) fn prefetch_all(&self) {
        let numbers = self.receivers.first()..self.receivers.end();
        numbers.for_each(|number| self.prefetch_receiver(number as usize));
    }

    /// Processes a data packet at `now` that spent `latency` in the fabric.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        config: &Config,
        packet: &Packet,
        position: Position,
        now: Instant,
        latency: Span,
    ) -> DataOutcome {
        let number = packet.connection();
        if let Some(reordering) = self.reordering.get_mut(number as usize) {
            reordering.arrive(packet.psn());
        }
        if self.are_in_order() {
            if !self.receivers.has(number) {
                self.prepare(config, number, now);
            }
            let Self { receivers, settings, lazy, .. } = self;
            let state = receiver_mut(receivers, lazy.as_deref_mut(), number);
            let outcome = state.take_in_order(config, settings, packet, position, now, latency);
            if outcome.disposition != Disposition::Accepted {
                self.count_dropped(config, packet, &outcome);
            }
            return outcome;
        }
        self.take_any(config, packet, position, now, latency)
    }

    /// Counts a packet that was not accepted, if packets are accepted in order only.
    #[cold]
    fn count_dropped(&mut self, config: &Config, packet: &Packet, outcome: &DataOutcome) {
        let Self { receivers, receives, lazy, .. } = self;
        let chunk = |before| receives.after(packet.connection(), before);
        let packets_of = |before| chunk(before).map_or(0, |chunk| config.packets(receives.bytes(&chunk)));
        let state = receiver_mut(receivers, lazy.as_deref_mut(), packet.connection());
        state.count_dropped(dropped(packet, outcome), packets_of);
    }

    /// Processes a data packet, if packets are not accepted in order only.
    #[inline(always)]
    fn take_any(
        &mut self,
        config: &Config,
        packet: &Packet,
        position: Position,
        now: Instant,
        latency: Span,
    ) -> DataOutcome {
        let index = packet.connection() as usize;
        let Self { receivers, settings, receives, open_chunks, placements, .. } = self;
        let receiver = &mut receivers[packet.connection()];
        let arrival = match placements.get_mut(index) {
            Some(placement) => placement.on_packet(config, packet.psn(), packet.requests_ack()),
            None => receiver.responder.on_packet(config, packet.psn(), position, packet.requests_ack()),
        };
        let is_marked = packet.is_marked();
        let mut outcome = DataOutcome {
            reply: arrival.reply,
            notifies: is_marked && receiver.notice_mark(settings, now),
            payload_bytes: 0,
            chunk_delivered: false,
            disposition: arrival.disposition,
        };
        let Some(chunk) = open_chunks[index].chunk_of(config, packet.psn(), receives) else {
            receiver.count_late(dropped(packet, &outcome));
            return outcome;
        };
        chunk.count(packet, arrival.disposition);
        if is_marked {
            chunk.count_mark(outcome.notifies);
        }
        if matches!(arrival.disposition, Disposition::Accepted | Disposition::Placed) {
            outcome.payload_bytes = settings.payload_bytes(packet, position);
            outcome.chunk_delivered = chunk.count_placed(latency);
        }
        outcome
    }

    /// Packets are accepted in order only, so that no chunk is complete before its predecessor.
    #[inline]
    pub(crate) const fn are_in_order(&self) -> bool {
        self.open_chunks.is_empty()
    }

    /// Completes the current chunk of a receiver: a rank on the same host copied it.
    pub(crate) fn take_local(&mut self, receiver: u32) {
        self.receivers[receiver].take_local();
    }

    /// Ends the next complete chunk of a receiver, if any.
    pub(crate) fn next_delivery(
        &mut self,
        config: &Config,
        chunk_frames: &mut ChunkFrames,
        receiver: u32,
        now: Instant,
    ) -> Option<Delivery> {
        let Delivery { report, inbound } = match self.open_chunks.get_mut(receiver as usize) {
            Some(open_chunks) if !self.receivers[receiver].is_local => open_chunks.next_delivered()?,
            _ => self.finish_chunk(config, chunk_frames, receiver, now)?,
        };
        Some(Delivery { report: report.delivered_at(now), inbound })
    }

    /// Ends the current chunk of a receiver, if it is complete, and starts the next.
    fn finish_chunk(
        &mut self,
        config: &Config,
        chunk_frames: &mut ChunkFrames,
        number: u32,
        now: Instant,
    ) -> Option<Delivery> {
        let receiver = &mut self.receivers[number];
        if receiver.packets_left > 0 {
            return None;
        }
        let expected = self.receives.after(number, receiver.ended)?;
        let Work { chunk, transfer: inbound, bytes } = self.receives.work(&expected, receiver.queue_pair);
        let frames = if receiver.is_local { Frames::default() } else { chunk_frames.of(config, bytes) };
        let report = receiver.report(chunk, expected.round, frames);
        receiver.begin_next(config.packets(self.receives.bytes_behind(&expected)), now);
        Some(Delivery { report, inbound })
    }

    /// Reports of chunks received in part and not delivered.
    pub(crate) fn undelivered<'a>(
        &'a self,
        config: &'a Config,
    ) -> impl Iterator<Item = ReceiveReport> + use<'a> {
        let expecting = self.numbered().filter_map(|(number, receiver)| {
            self.receives.after(number, receiver.ended).map(|expected| (receiver, expected))
        });
        let in_order = expecting.map(|(receiver, expected)| {
            let Work { chunk, bytes, .. } = self.receives.work(&expected, receiver.queue_pair);
            let packets = config.packets(bytes) - u64::from(receiver.packets_left);
            let accepted = frames_of(self.settings.framing, config, bytes, packets);
            receiver.report(chunk, expected.round, accepted)
        });
        let in_order = in_order.filter(|report| report.frames > 0);
        in_order.chain(self.beyond_gaps()).chain(self.open_chunks.iter().flat_map(OpenChunks::undelivered))
    }

    /// Reports of frames beyond a gap, of chunks that are not being received yet.
    fn beyond_gaps(&self) -> impl Iterator<Item = ReceiveReport> {
        self.numbered().flat_map(move |(number, receiver)| {
            receiver.later_chunks().filter_map(move |(before, mut report)| {
                let expected = self.receives.after(number, before)?;
                report.chunk = self.receives.work(&expected, receiver.queue_pair).chunk;
                report.round = expected.round;
                Some(report)
            })
        })
    }

    /// Frames that arrived after the delivery of their chunk, by queue pair.
    pub(crate) fn late(&self) -> impl Iterator<Item = (u32, LateFrames)> {
        let late = self.numbered().map(|(_, receiver)| (receiver.queue_pair, receiver.late()));
        late.filter(|(_, late)| late.frames > 0 || late.cnp_tx > 0)
    }

    /// Reordering of packets, by queue pair.
    pub(crate) fn reordering(&self) -> &[Reordering] {
        &self.reordering
    }
}

/// A packet that was not accepted.
fn dropped(packet: &Packet, outcome: &DataOutcome) -> Dropped {
    Dropped {
        psn: packet.psn(),
        frame_bytes: packet.frame_bytes(),
        is_early: outcome.disposition == Disposition::OutOfOrder,
        is_marked: packet.is_marked(),
        notifies: outcome.notifies,
    }
}
