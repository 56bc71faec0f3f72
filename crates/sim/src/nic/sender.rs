//! The requester side of a queue pair.

use super::chunk_frames::{Frames, frames_of};
use super::queue_pairs::{QueuePairEnd, QueuePairSettings};
use super::sends::Sends;
use crate::kernel::Context;
use crate::packet::{Kind, Packet, Path, Priority};
use crate::prefetch::{LINE_BYTES, prefetch_item, prefetch_line};
use crate::record::{Frame, FrameKind, Record};
use spec::ChunkStatus;
use std::iter::repeat;
use std::mem::offset_of;
use std::ops::Range;
use transport::{Config, Controller, Position, RateControl, Requester, Transmit};
use units::{Cycle, Instant};
use wire::{Framing, Opcode};

/// How all payload of a host is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataFrames {
    pub(super) framing: Framing,
    pub(super) priority: Priority,
    /// A rate controller paces it.
    pub(super) is_paced: bool,
    /// Much of it ends a message: messages are short.
    pub(super) ends_often: bool,
}

/// A message of so few packets is short.
const SHORT_MESSAGE_PACKETS: u64 = 4;

impl DataFrames {
    /// Of a host whose chunks are like those of `bytes`.
    pub(super) fn new(settings: &QueuePairSettings, bytes: u64) -> Self {
        let message_bytes = bytes.min(settings.config.message_bytes);
        Self {
            framing: settings.framing,
            priority: settings.data,
            is_paced: settings.controllers.iter().any(Controller::is_paced),
            ends_often: settings.config.packets(message_bytes) <= SHORT_MESSAGE_PACKETS,
        }
    }
}

/// The line of a sender that most packets need.
const HOT_LINE: usize = 1;

/// What is reported of each packet sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observed {
    Nothing,
    /// All of it.
    Captured,
    /// When a message begins.
    Watched,
}

/// The requester side of a queue pair, in two lines of the cache. The second is all that most packets need, but for a rate
/// controller; the first is needed at the end of a message.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Sender {
    /// Its oldest chunk that was posted and has not ended, in the host's list of sends, and the first not yet posted.
    oldest: u32,
    next: u32,
    queue_pair: u32,
    port: u16,
    requester: Requester<Controller>,
    /// To the receiver at the destination host.
    path: Path,
    in_round: bool,
    /// A timer entry exists.
    pub(super) is_timed: bool,
    observed: Observed,
    /// To a rank on the same host.
    is_local: bool,
}

const _: () = assert!(size_of::<Sender>() <= 128, "a million of them are looked at in turn");
const _: () = assert!(
    offset_of!(Sender, requester) + Requester::<Controller>::HOT_OFFSET >= HOT_LINE * LINE_BYTES,
    "what most packets need lies together"
);

impl Sender {
    /// Those of a host, each made where it will stand.
    pub(crate) fn all(
        plans: impl Iterator<Item = QueuePairEnd>,
        sends: &Sends,
        settings: &QueuePairSettings,
    ) -> Box<[Self]> {
        let first_sends = (0..).map(|sender| sends.of(sender).start);
        plans.zip(first_sends).map(|(plan, first_send)| Self::new(&plan, first_send, settings)).collect()
    }

    #[inline]
    fn new(plan: &QueuePairEnd, first_send: u32, settings: &QueuePairSettings) -> Self {
        Self {
            requester: Requester::new(plan.initial_psn, settings.controllers[usize::from(plan.port)].clone()),
            path: plan.path,
            oldest: first_send,
            next: first_send,
            queue_pair: plan.queue_pair,
            port: plan.port,
            in_round: false,
            is_timed: false,
            observed: if plan.is_captured { Observed::Captured } else { Observed::Nothing },
            is_local: plan.is_local,
        }
    }

    #[inline]
    pub(super) const fn requester(&mut self) -> &mut Requester<Controller> {
        &mut self.requester
    }

    /// Asks for the memory that its next packet needs.
    #[inline]
    pub(super) fn prefetch(&self, frames: DataFrames) {
        if frames.is_paced || frames.ends_often {
            prefetch_item(self);
        } else {
            prefetch_line(self, HOT_LINE);
        }
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
            Controller::Dcqcn(dcqcn) if self.oldest < self.next => Some(dcqcn.rate_bps_at(now)),
            _ => None,
        }
    }

    /// A congestion notification arrived.
    #[cold]
    pub(super) fn on_cnp(&mut self, now: Instant, sends: &mut Sends) {
        self.requester.rate().on_cnp(now);
        if self.oldest < self.next {
            sends.mishaps_of(self.oldest).cnps += 1;
        }
    }

    /// Posts every chunk before `end` whose turn it is and that is ready: a queue pair keeps the order of its schedule. A
    /// failed queue pair sends nothing more, so the chunk ends at once.
    pub(super) fn post_ready(
        &mut self,
        config: &Config,
        sends: &mut Sends,
        end: u32,
        (round, now): (impl Fn() -> u32, Instant),
        context: &mut Context<Packet, Record>,
    ) {
        while self.next < end && sends.post(self.next, now) {
            if self.requester.is_failed() {
                let report = sends.report(self.next, round(), Frames::default());
                context.records.push(Record::sent(&report.ended(ChunkStatus::Failed, None)));
                self.oldest += 1;
            } else {
                self.requester.post(config, sends.bytes_of(self.next));
            }
            self.next += 1;
        }
    }

    /// Posts the next chunk before `end` to a rank on the same host, if its turn has come and it is ready; returns its place
    /// in the host's list of sends.
    pub(super) fn post_local(&mut self, sends: &mut Sends, end: u32, now: Instant) -> Option<u32> {
        if self.next == end || !sends.post(self.next, now) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
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

    /// Begins its chunks again, from `first` in the host's list of sends, now that all are acknowledged.
    pub(super) fn rearm(&mut self, first: u32) {
        debug_assert!(self.oldest == self.next, "a round ends when everything is acknowledged");
        (self.oldest, self.next) = (first, first);
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
        let stays = self.requester.can_transmit(config);
        if !stays {
            self.in_round = false;
        }
        stays
    }

    /// Size of the next data packet at the most; it is exact unless something is sent again.
    pub(super) fn next_frame_bytes(&self, config: &Config, framing: Framing) -> u32 {
        let next = self.requester.next_payload(config);
        next.map_or(0, |(position, bytes)| framing.frame_bytes(write_opcode(position), bytes))
    }

    /// The next data packet, decided at `now`, on the link from `sent`.
    #[inline]
    pub(super) fn next_packet(
        &mut self,
        config: &Config,
        frames: &DataFrames,
        (now, sent): (Instant, Instant),
        sends: &mut Sends,
        context: &mut Context<Packet, Record>,
    ) -> Option<Packet> {
        let transmit = self.requester.poll_transmit(config, now)?;
        let DataFrames { framing, priority, is_paced, .. } = *frames;
        let starts_message = transmit.position.starts_message();
        let frame_bytes = framing.write_frame_bytes(starts_message, transmit.payload_bytes);
        if transmit.is_retransmission {
            // What is sent once is known from how far the requester has come.
            let resent = &mut sends.mishaps_of(self.oldest + transmit.work as u32).resent;
            resent.frames += 1;
            resent.bytes += u64::from(frame_bytes);
        }
        if self.observed != Observed::Nothing {
            self.report(config, transmit, sent, context);
        }
        let kind = Kind::Data(transmit.position);
        if is_paced {
            self.requester.rate().on_sent(now, frame_bytes + framing.link_overhead_bytes());
        }
        let packet = Packet::new(kind, priority, transmit.psn, frame_bytes, self.path);
        Some(packet.asking(transmit.ack_request))
    }

    #[cold]
    fn report(
        &self,
        config: &Config,
        transmit: Transmit,
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
        context.records.push(Record::Frame(Box::new(frame)));
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
            oldest,
            next,
            queue_pair: _,
            port: _,
            in_round,
            is_timed,
            observed: _,
            is_local: _,
        } = self;
        requester.visit(cycle);
        let turns = [u32::from(*in_round), u32::from(*is_timed), *oldest, *next];
        cycle.same_list(turns.into_iter().map(u64::from));
    }

    /// The oldest `count` chunks are complete; returns where they stand in the host's list of sends.
    #[inline]
    pub(super) const fn complete(&mut self, count: u32) -> Range<u32> {
        let first = self.oldest;
        if count > 0 {
            self.oldest += count;
        }
        first..first + count
    }

    /// Its queue pair has failed: no chunk is open any more. Returns its number.
    pub(super) const fn fail(&mut self) -> u32 {
        self.oldest = self.next;
        self.queue_pair
    }

    /// The oldest open chunk, if there is one.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest < self.next).then_some(self.oldest)
    }

    /// Chunks posted and not ended, by their place in the host's list of sends, with the frames that each was sent in, without
    /// those sent again.
    pub(super) fn open(&self, config: &Config, framing: Framing) -> impl Iterator<Item = (u32, Frames)> {
        let sent = self.requester.sent_of_each(config).map(move |(bytes, packets)| match packets {
            0 => Frames::default(),
            packets => frames_of(framing, config, bytes, packets),
        });
        // Of what is copied within the host nothing is sent.
        (self.oldest..self.next).zip(sent.chain(repeat(Frames::default())))
    }
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
