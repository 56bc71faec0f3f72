//! The responder side of a queue pair, with what is recorded of the chunk that it receives.
//!
//! A million of them are looked at in turn, so each is one line of the cache. What follows from something else is not kept
//! (frames that came for the first time are those of so many packets), nor what most never need: see [`Rare`].

use super::chunk_frames::Frames;
use super::latencies::{Latencies, LongLatencies};
use super::queue_pairs::{QueuePairEnd, QueuePairSettings, ReplyPriorities};
use crate::packet::{Kind, Packet, Path};
use crate::record::ReceiveReport;
use std::ops::Range;
use transport::{Config, Disposition, Position, Reply, Responder};
use units::{Cycle, Instant, Span};
use wire::{Framing, Opcode, Psn};

/// What an arriving data packet led to.
pub(super) struct DataOutcome {
    /// What to answer, see [`Receiver::reply_packet`].
    pub(super) reply: Option<Reply>,
    /// A congestion notification is to be sent, see [`Receiver::notification`].
    pub(super) notifies: bool,
    /// Payload placed by it [bytes].
    pub(super) payload_bytes: u32,
    /// It was the last of a chunk to arrive: see [`super::receivers::Receivers::next_delivery`].
    pub(super) chunk_delivered: bool,
}

/// What all receivers of a host have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiverSettings {
    priorities: ReplyPriorities,
    pub(super) framing: Framing,
    /// At most one congestion notification in this time; [`Self::NO_CNP`] if none are sent.
    cnp_interval: Span,
}

impl ReceiverSettings {
    const NO_CNP: Span = Span(u64::MAX);

    pub(super) fn new(settings: &QueuePairSettings) -> Self {
        let QueuePairSettings { replies: priorities, framing, cnp_interval, .. } = *settings;
        Self { priorities, framing, cnp_interval: cnp_interval.unwrap_or(Self::NO_CNP) }
    }
}

/// In the place of the packets that must still arrive: no chunk does.
const NO_CHUNK: u32 = u32::MAX;

/// The responder side of a queue pair.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Receiver {
    /// To the sender at the source host.
    path: Path,
    pub(super) port: u16,
    /// Its frames are recorded.
    pub(super) is_captured: bool,
    /// From a rank on the same host: it is told of chunks, no packets arrive.
    pub(super) is_local: bool,
    pub(super) responder: Responder,
    /// Chunks that were received whole, in all rounds.
    ended: u32,
    /// Packets of it that must still arrive; [`NO_CHUNK`] without chunks.
    pub(super) packets_left: u32,
    pub(super) queue_pair: u32,
    latencies: Latencies,
    rare: Option<Box<Rare>>,
}

const _: () = assert!(size_of::<Receiver>() == 64, "a packet touches one line of the cache");

/// What most receivers never need.
#[derive(Debug)]
struct Rare {
    /// Of the chunk being received.
    counts: Counts,
    next_cnp: Instant,
}

/// What a chunk that comes whole, in order, unmarked and soon has none of.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// Frames that arrived marked.
    marks: u32,
    /// Congestion notifications sent.
    cnps: u32,
    out_of_order: u32,
    /// Frames that were dropped, and their bytes.
    dropped: u32,
    dropped_bytes: u64,
    long: LongLatencies,
}

impl Counts {
    const NONE: Self =
        Self { marks: 0, cnps: 0, out_of_order: 0, dropped: 0, dropped_bytes: 0, long: LongLatencies::NONE };
}

impl Receiver {
    /// One whose first chunk comes in so many packets.
    #[inline]
    pub(super) fn new(plan: &QueuePairEnd, first_packets: Option<u64>) -> Self {
        Self {
            path: plan.path,
            port: plan.port,
            is_captured: plan.is_captured,
            is_local: plan.is_local,
            responder: Responder::new(plan.initial_psn),
            ended: 0,
            packets_left: first_packets.map_or(NO_CHUNK, |packets| packets as u32),
            queue_pair: plan.queue_pair,
            latencies: Latencies::NONE,
            rare: None,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        let new = || Box::new(Rare { counts: Counts::NONE, next_cnp: Instant::ZERO });
        self.rare.get_or_insert_with(new)
    }

    /// Takes in a data packet at `now` that spent `latency` in the fabric, in order only.
    #[inline(always)]
    pub(super) fn take_in_order(
        &mut self,
        config: &Config,
        settings: &ReceiverSettings,
        packet: &Packet,
        position: Position,
        now: Instant,
        latency: Span,
    ) -> DataOutcome {
        let arrival = self.responder.on_packet(config, packet.psn(), position, packet.asks());
        let mut outcome = DataOutcome {
            reply: arrival.reply,
            notifies: packet.is_marked() && self.count_mark(settings, now),
            payload_bytes: 0,
            chunk_delivered: false,
        };
        if arrival.disposition != Disposition::Accepted {
            self.count_dropped(packet.frame_bytes(), arrival.disposition);
            return outcome;
        }
        if !self.latencies.add(latency) {
            self.count_long(latency);
        }
        outcome.payload_bytes =
            settings.framing.write_payload_bytes(position.starts_message(), packet.frame_bytes());
        self.packets_left -= 1;
        outcome.chunk_delivered = self.packets_left == 0;
        outcome
    }

    #[inline]
    pub(super) fn reply_packet(&self, settings: &ReceiverSettings, reply: Reply) -> Packet {
        let (kind, psn, message_sequence) = match reply {
            Reply::Ack(psn) => (Kind::Ack, psn, self.responder.message_sequence()),
            Reply::Nak(psn) => (Kind::Nak, psn, self.responder.message_sequence()),
            Reply::SelectiveAck { newest, highest } => (Kind::Ack, newest, highest.value()),
            Reply::SelectiveNak { newest, missing } => (Kind::Nak, missing, newest.value()),
        };
        let frame_bytes = settings.framing.ack_frame_bytes();
        Packet::new(kind, settings.priorities.ack, psn, frame_bytes, self.path)
            .with_message_sequence(message_sequence)
    }

    #[cold]
    pub(super) fn notification(&self, settings: &ReceiverSettings) -> Packet {
        let frame_bytes = settings.framing.frame_bytes(Opcode::CongestionNotification, 0);
        Packet::new(Kind::Cnp, settings.priorities.cnp, Psn::new(0), frame_bytes, self.path)
    }

    /// A marked packet arrived; whether a notification is due.
    #[cold]
    pub(super) fn notice_mark(&mut self, settings: &ReceiverSettings, now: Instant) -> bool {
        if settings.cnp_interval == ReceiverSettings::NO_CNP {
            return false;
        }
        let rare = self.rare();
        let is_due = now >= rare.next_cnp;
        if is_due {
            rare.next_cnp = now + settings.cnp_interval;
        }
        is_due
    }

    /// Counts a marked packet of the chunk being received; whether a notification is due.
    #[cold]
    fn count_mark(&mut self, settings: &ReceiverSettings, now: Instant) -> bool {
        let notifies = self.notice_mark(settings, now);
        let counts = &mut self.rare().counts;
        counts.marks += 1;
        counts.cnps += u32::from(notifies);
        notifies
    }

    #[cold]
    fn count_dropped(&mut self, frame_bytes: u32, disposition: Disposition) {
        let counts = &mut self.rare().counts;
        counts.dropped += 1;
        counts.dropped_bytes += u64::from(frame_bytes);
        counts.out_of_order += u32::from(disposition == Disposition::OutOfOrder);
    }

    #[cold]
    fn count_long(&mut self, latency: Span) {
        self.rare().counts.long.add(latency);
    }

    /// The chunk being received is there: a rank on the same host copied it.
    pub(super) const fn take_local(&mut self) {
        self.packets_left = 0;
    }

    /// What arrived of the chunk being received, of which so many frames were accepted, in `round`.
    pub(super) fn report(&self, chunk: u32, round: u32, accepted: Frames) -> ReceiveReport {
        let counts = self.rare.as_ref().map_or(Counts::NONE, |rare| rare.counts);
        let range = self.latencies.range(counts.long);
        let mut report =
            ReceiveReport::new(chunk, round).with_latencies(accepted.frames, self.latencies.sum_ps, range);
        report.bytes = accepted.bytes + counts.dropped_bytes;
        report.frames = accepted.frames + counts.dropped;
        (report.marks, report.cnps) = (counts.marks, counts.cnps);
        report.out_of_order = counts.out_of_order;
        report
    }

    /// The round of its chunks, which are its `own` in the host's list, and the place of the one being received.
    #[inline]
    pub(super) const fn turn(&self, own: &Range<u32>) -> (u32, u32) {
        let chunks = own.end - own.start;
        (self.ended / chunks, own.start + self.ended % chunks)
    }

    /// Begins at `now` to receive the next chunk, which comes in so many packets.
    pub(super) fn begin_next(&mut self, packets: u64, now: Instant) {
        self.ended += 1;
        self.packets_left = packets as u32;
        self.latencies = Latencies::NONE;
        if let Some(rare) = &mut self.rare {
            rare.counts = Counts::NONE;
            if now >= rare.next_cnp {
                self.rare = None;
            }
        }
    }

    /// Its queue pair, if its frames are recorded.
    pub(super) fn captured(&self) -> Option<u32> {
        self.is_captured.then_some(self.queue_pair)
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            path: _,
            port: _,
            is_captured: _,
            is_local: _,
            responder,
            ended,
            packets_left,
            queue_pair: _,
            latencies,
            rare,
        } = self;
        responder.visit(cycle);
        cycle.same(u64::from(*ended));
        if *packets_left != NO_CHUNK {
            let mut left = u64::from(*packets_left);
            cycle.left(&mut left, 1);
            *packets_left = left as u32;
        }
        latencies.visit(cycle);
        if let Some(rare) = rare {
            rare.visit(cycle);
        }
    }
}

impl Rare {
    /// See [`Cycle`]. Frames that are dropped, as they come again or too early, show that what is sent does not follow what has
    /// arrived.
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { counts, next_cnp } = self;
        let Counts { marks, cnps, out_of_order, dropped, dropped_bytes, long } = counts;
        cycle.time(next_cnp);
        cycle.same_list([u64::from(*dropped), *dropped_bytes].into_iter());
        [marks, cnps, out_of_order].into_iter().for_each(|count| cycle.wrapping(count, 32));
        long.visit(cycle);
    }
}
