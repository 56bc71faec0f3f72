//! Sender: the requester side of a queue pair in one cache line. Posts and ends chunks (parts of transfers)
//! of its send queue, builds data packets, and processes ACKs, NAKs and timeouts. Also settings of the data
//! frames of a host.

use super::queue_pairs::{QueuePairEnd, QueuePairSettings};
use super::resident_queue_pairs::ResidentQueuePairs;
use crate::nic::Context;
use crate::nic::ledger::{Acknowledged, Frames, SendQueue, Sends, WorkId, WorkIds, frames_of};
use crate::packet::{Kind, Packet, Path, Priority};
use crate::record::{Frame, FrameKind, Record};
use engine::Message;
use record::ChunkStatus;
use std::iter::repeat;
use transport::{
    AckOutcome, Config, Controller, NextPacket, Position, RateControl, Recovery, Requester, TimeoutOutcome,
    Unsent,
};
use units::{Instant, State};
use wire::{Framing, Opcode, Psn};

/// Settings common to all payload of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataFrames {
    pub(crate) framing: Framing,
    /// A rate controller paces the payload.
    pub(crate) is_paced: bool,
    /// The rate controller reacts to acknowledgements and losses.
    pub(crate) uses_acks: bool,
    /// Many packets end a message: messages are short.
    pub(crate) ends_often: bool,
}

/// The service of a sender by its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Time of the decision.
    pub(crate) now: Instant,
    /// Time from which the packet is on the link.
    pub(crate) sent: Instant,
    /// The window of its rate controller.
    pub(crate) window_packets: u32,
}

/// Maximum number of packets of a short message.
const SHORT_MESSAGE_PACKETS: u64 = 4;

impl DataFrames {
    /// Settings of a host whose chunks are similar to one of `bytes`.
    pub(crate) fn new(settings: &QueuePairSettings, bytes: u64) -> Self {
        let message_bytes = bytes.min(settings.config.message_bytes);
        Self {
            framing: settings.framing,
            is_paced: settings.controllers.iter().any(Controller::is_paced),
            uses_acks: settings.controllers.iter().any(Controller::uses_acks),
            ends_often: settings.config.packets(message_bytes) <= SHORT_MESSAGE_PACKETS,
        }
    }
}

/// Path of the payload, and the packets that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// By the NIC; none.
    Sent,
    /// By the NIC; all.
    Captured,
    /// By the NIC; the start of each message.
    Watched,
    /// By shared memory, to a rank on the same host.
    Local,
}

/// The requester side of a queue pair, in one cache line. Its rate controller, if any, is stored in
/// [`crate::nic::Host`], and the number of its queue pair in [`Sends`].
#[derive(Debug, State)]
#[repr(C, align(64))]
pub(crate) struct Sender {
    requester: Requester,
    /// To the receiver at the destination host.
    #[state(skip)]
    path: Path,
    /// Its chunks that were posted and have not ended.
    queue: SendQueue,
    #[state(skip)]
    port: u16,
    // Changes when messages are watched.
    #[state(skip)]
    course: Course,
    /// [`Self::ACTIVE`], [`Self::TIMED`] and [`Self::COUNTED`]; then the priority of payload.
    flags: u8,
}

const _: () = assert!(size_of::<Sender>() == 64, "a million of them are visited one after the other");
const _: () =
    assert!(spec::CHUNK_PACKETS_MAX == Requester::PACKETS_MAX, "a spec with longer chunks is refused");

impl Sender {
    /// It is active: in the service order of its port.
    const ACTIVE: u8 = 1;
    /// A timer entry exists.
    const TIMED: u8 = 2;
    /// NAKs, timeouts, retransmissions or CNPs were counted since no chunk was open: see [`Sends::report`].
    const COUNTED: u8 = 4;
    const PRIORITY_SHIFT: u32 = 3;

    /// Creates all senders of a host in their final location.
    pub(crate) fn all<I: ExactSizeIterator<Item = QueuePairEnd>>(
        jobs: impl Iterator<Item = I>,
        sends: &Sends,
    ) -> ResidentQueuePairs<Self> {
        let mut senders = Vec::new();
        for plans in jobs {
            let queues = (senders.len() as u32..).map(|sender| sends.queue(sender));
            senders.extend(plans.zip(queues).map(|(plan, queue)| Self::new(&plan, queue)));
        }
        senders.into_iter().collect()
    }

    #[inline]
    pub(crate) const fn new(plan: &QueuePairEnd, queue: SendQueue) -> Self {
        Self {
            requester: Requester::new(plan.initial_psn),
            path: plan.path,
            queue,
            port: plan.port,
            course: match (plan.is_local, plan.is_captured) {
                (true, _) => Course::Local,
                (false, true) => Course::Captured,
                (false, false) => Course::Sent,
            },
            flags: plan.priority.0 << Self::PRIORITY_SHIFT,
        }
    }

    /// Priority of its payload.
    #[inline]
    pub(crate) const fn priority(&self) -> Priority {
        Priority(self.flags >> Self::PRIORITY_SHIFT)
    }

    /// Expiry of its retransmission timer; see [`Requester::deadline`].
    #[inline]
    pub(crate) const fn deadline(&self) -> Instant {
        self.requester.deadline()
    }

    #[inline]
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Its timer entry has been removed.
    pub(crate) const fn take_timer(&mut self) {
        self.flags &= !Self::TIMED;
    }

    /// Whether a timer entry is needed, since packets are outstanding and there is none. Marks it as created.
    #[inline]
    pub(crate) fn needs_timer(&mut self) -> bool {
        let needs = self.flags & Self::TIMED == 0 && self.deadline() != Instant::NEVER;
        self.flags |= u8::from(needs) * Self::TIMED;
        needs
    }

    /// Counts a NAK, timeout or CNP at its oldest open chunk; false if none is open.
    pub(crate) fn count(&mut self, sends: &mut Sends, count: fn(&mut Sends, WorkId)) -> bool {
        let Some(oldest) = self.queue.oldest() else { return false };
        self.flags |= Self::COUNTED;
        count(sends, oldest);
        true
    }

    /// Whether NAKs, timeouts, retransmissions or CNPs may be counted at its open chunks.
    #[inline]
    pub(crate) const fn is_counted(&self) -> bool {
        self.flags & Self::COUNTED != 0
    }

    /// See [`Requester::is_at_last_retry`].
    pub(crate) const fn is_at_last_retry(&self, config: &Config) -> bool {
        self.requester.is_at_last_retry(config)
    }

    /// See [`Requester::on_timeout`].
    pub(crate) fn on_timeout(&mut self, config: &Config, sends: &Sends, now: Instant) -> TimeoutOutcome {
        let bytes_of = self.queue.sizes(sends);
        self.requester.on_timeout(config, now, bytes_of)
    }

    /// An acknowledgement arrived.
    #[inline]
    pub(crate) fn on_ack(&mut self, config: &Config, sends: &Sends, packet: &Packet) -> AckOutcome {
        let bytes_of = self.queue.sizes(sends);
        match config.recovery {
            Recovery::GoBackN | Recovery::None => {
                self.requester.on_ack(config, packet.at(), packet.psn(), bytes_of)
            }
            Recovery::Selective { .. } => {
                let highest = Psn::new(packet.message_sequence());
                self.requester.on_selective_ack(config, packet.at(), packet.psn(), highest, bytes_of)
            }
        }
    }

    /// A negative acknowledgement arrived.
    #[cold]
    pub(crate) fn on_nak(&mut self, config: &Config, sends: &Sends, packet: &Packet) -> AckOutcome {
        let bytes_of = self.queue.sizes(sends);
        match config.recovery {
            Recovery::GoBackN | Recovery::None => {
                self.requester.on_nak(config, packet.at(), packet.psn(), bytes_of)
            }
            Recovery::Selective { .. } => {
                let newest = Psn::new(packet.message_sequence());
                self.requester.on_selective_nak(config, packet.at(), newest, packet.psn(), bytes_of)
            }
        }
    }

    /// Posts every next chunk of sender `number` that is ready. A failed queue pair sends nothing, so there a
    /// chunk ends immediately.
    pub(crate) fn post_ready(
        &mut self,
        number: u32,
        config: &Config,
        sends: &mut Sends,
        round: impl Fn() -> u32,
        now: Instant,
        context: &mut Context,
    ) {
        let Self { queue, requester, .. } = self;
        queue.post_ready(number, sends, now, |sends, posted| {
            let is_failed = requester.is_failed();
            if is_failed {
                report_failed(posted, round(), sends, context);
            } else {
                requester.post(config, sends.bytes_of(posted));
            }
            !is_failed
        });
    }

    /// Posts the next chunk of sender `number` to a rank on the same host, if it is ready.
    pub(crate) fn post_local(&mut self, number: u32, sends: &mut Sends, now: Instant) -> Option<WorkId> {
        self.queue.post_next(number, sends, now)
    }

    /// It sends to a rank on the same host: its messages bypass the NIC.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        self.course == Course::Local
    }

    /// The receiver at its destination.
    pub(crate) const fn receiver(&self) -> u32 {
        self.path.connection.index()
    }

    /// Its chunks that were posted and have not ended.
    pub(crate) const fn queue_mut(&mut self) -> &mut SendQueue {
        &mut self.queue
    }

    #[inline]
    const fn is_active(&self) -> bool {
        self.flags & Self::ACTIVE != 0
    }

    /// Whether the sender now becomes active at its port; `window_packets` is the window of its rate
    /// controller.
    #[inline]
    pub(crate) fn becomes_active(&mut self, config: &Config, window_packets: u32) -> bool {
        let enters = !self.is_active() && self.requester.can_transmit(config, window_packets);
        self.flags |= u8::from(enters) * Self::ACTIVE;
        enters
    }

    /// Whether the sender, just served, has more to send.
    #[inline]
    pub(crate) fn stays_active(&mut self, config: &Config, window_packets: u32) -> bool {
        let stays = self.requester.can_transmit(config, window_packets);
        if !stays {
            self.flags &= !Self::ACTIVE;
        }
        stays
    }

    /// Maximum size of the next data packet; exact unless a packet is resent.
    pub(crate) fn next_frame_bytes(&self, config: &Config, framing: Framing) -> u32 {
        let next = self.requester.next_payload(config);
        next.map_or(0, |(position, bytes)| framing.frame_bytes(write_opcode(position), bytes))
    }

    /// The next data packet of sender `number`.
    #[inline]
    pub(crate) fn next_packet(
        &mut self,
        number: u32,
        config: &Config,
        frames: &DataFrames,
        service: Service,
        sends: &mut Sends,
        context: &mut Context,
    ) -> Option<Packet> {
        let bytes_of = self.queue.sizes(sends);
        let Service { now, sent, window_packets } = service;
        let next = self.requester.poll_transmit(config, now, window_packets, bytes_of)?;
        let framing = frames.framing;
        let frame_bytes = framing.write_frame_bytes(next.position.starts_message(), next.payload_bytes);
        if next.is_retransmission {
            // Packets sent once follow from the progress of the requester.
            self.flags |= Self::COUNTED;
            sends.count_resent(self.queue.at(next.work), frame_bytes);
        }
        if self.course != Course::Sent {
            self.report(number, config, next, sent, sends, context);
        }
        let packet =
            Packet::new(Kind::Data(next.position), self.priority(), next.psn, frame_bytes, self.path);
        Some(packet.with_ack_request(next.ack_request).padded(next.payload_bytes))
    }

    #[cold]
    fn report(
        &self,
        number: u32,
        config: &Config,
        next: NextPacket,
        sent: Instant,
        sends: &Sends,
        context: &mut Context,
    ) {
        let bytes_of = self.queue.sizes(sends);
        let transmit = self.requester.transmit(config, &next, bytes_of);
        if self.course == Course::Watched {
            if transmit.offset_bytes.is_multiple_of(config.message_bytes) {
                context.records.push(Record::MessageStarted(sent));
            }
            return;
        }
        let kind = FrameKind::Data {
            position: next.position,
            ack_request: next.ack_request,
            payload_bytes: next.payload_bytes,
            message_bytes: transmit.message_bytes,
            offset_bytes: transmit.offset_bytes,
        };
        let (queue_pair, is_backward) = (sends.queue_pair_of(number), false);
        let frame = Frame { sent, queue_pair, psn: next.psn, is_backward, kind };
        context.records.push(Record::Frame(Box::new(frame)));
    }

    /// Starts or stops recording the start of each message; false if the sender has nothing to send, or is
    /// captured.
    pub(crate) fn watch(&mut self, is_watched: bool) -> bool {
        let is_sent = matches!(self.course, Course::Sent | Course::Watched);
        let may = is_sent && (self.is_active() || !is_watched);
        if may {
            self.course = if is_watched { Course::Watched } else { Course::Sent };
        }
        may
    }

    /// See [`Requester::unsent`].
    pub(crate) fn unsent(&self, config: &Config, sends: &Sends) -> Option<Unsent> {
        self.requester.unsent(config, self.queue.sizes(sends))
    }

    /// The oldest `count` chunks are complete.
    #[inline]
    pub(crate) const fn complete(&mut self, count: u32) -> WorkIds {
        let completed = self.queue.end_oldest(count);
        if count > 0 && self.queue.is_empty() {
            self.flags &= !Self::COUNTED;
        }
        completed
    }

    /// Last packets of the chunks that were just acknowledged, latest first; they precede its oldest open
    /// chunk.
    pub(crate) fn ends_of(
        &self,
        acknowledged: WorkIds,
        config: &Config,
        sends: &Sends,
    ) -> Vec<(WorkId, Acknowledged)> {
        // One less, modulo 2^24.
        let mut last = self.requester.first_open_psn(config, self.queue.sizes(sends)).add(u32::MAX);
        let ends = acknowledged.rev().map(|send| {
            let packets = config.packets(sends.bytes_of(send));
            let chunk = Acknowledged { last, packets };
            last = last.add((packets as u32).wrapping_neg());
            (send, chunk)
        });
        ends.collect()
    }

    /// Its queue pair has failed: closes all chunks.
    pub(crate) const fn fail(&mut self) {
        self.queue.end_all();
        self.flags &= !Self::COUNTED;
    }

    /// All posted packets were sent.
    #[inline]
    pub(crate) const fn has_sent_all(&self) -> bool {
        self.requester.is_exhausted()
    }

    /// A chunk is open.
    pub(crate) const fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether packets for sender `number` have no effect any more: all its chunks have ended, and it is not
    /// active at its port.
    pub(crate) fn is_done(&self, number: u32, sends: &Sends) -> bool {
        self.queue.is_done(number, sends) && !self.is_active()
    }

    /// Chunks posted and not ended, each with its frames sent, without those resent.
    pub(crate) fn open(
        &self,
        config: &Config,
        framing: Framing,
        sends: &Sends,
    ) -> impl Iterator<Item = (WorkId, Frames)> {
        let bytes_of = self.queue.sizes(sends);
        let sent = self.is_busy().then(|| self.requester.sent_of_each(config, bytes_of));
        let frames = move |(bytes, packets)| frames_of(framing, config, bytes, packets);
        // Nothing is sent of chunks copied within the host.
        let sent = sent.into_iter().flatten().map(frames).chain(repeat(Frames::default()));
        self.queue.open().zip(sent)
    }
}

/// Reports a chunk that is not sent because its queue pair has failed.
#[cold]
fn report_failed(send: WorkId, round: u32, sends: &Sends, context: &mut Context) {
    let report = sends.report(send, round, Frames::default());
    context.records.push(Record::sent(&report.ended(ChunkStatus::Failed, None)));
}

/// The opcode of a packet of a write.
#[inline]
pub(crate) const fn write_opcode(position: Position) -> Opcode {
    match position {
        Position::First => Opcode::WriteFirst,
        Position::Middle => Opcode::WriteMiddle,
        Position::Last => Opcode::WriteLast,
        Position::Only => Opcode::WriteOnly,
    }
}
