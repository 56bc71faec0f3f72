//! Receiver: the responder side of a queue pair. Processes data packets, builds replies, decides on
//! congestion notifications, and counts the frames of the chunk (part of a transfer) that it is receiving.
//!
//! A host may cycle through a million of them, so each is one cache line. Values that follow from others are
//! not stored (the number of frames received for the first time follows from that of packets), nor are values
//! that most receivers never need: see [`Rare`].

use super::latencies::{Latencies, LongLatencies};
use super::queue_pairs::{QueuePairEnd, QueuePairSettings, ReplyPriorities};
use crate::nic::ledger::Frames;
use crate::packet::{Kind, Packet, Path};
use crate::record::ReceiveReport;
use spec::LateFrames;
use transport::{CnpLimiter, Config, Disposition, Position, Reply, Responder};
use units::{Instant, Span, State};
use wire::{Framing, Opcode, Psn};

/// The effects of an arriving data packet.
pub(crate) struct DataOutcome {
    /// The reply, see [`Receiver::reply_packet`].
    pub(crate) reply: Option<Reply>,
    /// A congestion notification must be sent, see [`Receiver::notification`].
    pub(crate) notifies: bool,
    /// Payload placed [bytes].
    pub(crate) payload_bytes: u32,
    /// It was the last packet of a chunk: see [`super::receivers::Receivers::next_delivery`].
    pub(crate) chunk_delivered: bool,
    /// How the responder handled it.
    pub(crate) disposition: Disposition,
}

/// Settings common to all receivers of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverSettings {
    priorities: ReplyPriorities,
    pub(crate) framing: Framing,
    /// Minimum interval between congestion notifications; [`Self::NO_CNP`] if none are sent.
    cnp_interval: Span,
}

impl ReceiverSettings {
    const NO_CNP: Span = Span(u64::MAX);

    /// Payload of a data packet [bytes].
    #[inline]
    pub(crate) const fn payload_bytes(&self, packet: &Packet, position: Position) -> u32 {
        let filled_up = self.framing.write_payload_bytes(position.starts_message(), packet.frame_bytes());
        filled_up - packet.pad_bytes()
    }

    pub(crate) fn new(settings: &QueuePairSettings) -> Self {
        let QueuePairSettings { replies: priorities, framing, cnp_interval, .. } = *settings;
        Self { priorities, framing, cnp_interval: cnp_interval.unwrap_or(Self::NO_CNP) }
    }
}

/// Value of [`Receiver::packets_left`] if no chunk is expected.
const NO_CHUNK: u32 = u32::MAX;

/// The responder side of a queue pair.
#[derive(Debug, State)]
#[repr(C, align(64))]
pub(crate) struct Receiver {
    /// To the sender at the source host.
    #[state(skip)]
    path: Path,
    #[state(skip)]
    pub(crate) port: u16,
    /// Its frames are recorded.
    #[state(skip)]
    pub(crate) is_captured: bool,
    /// It receives from a rank on the same host: it is notified of chunks, and no packets arrive.
    #[state(skip)]
    pub(crate) is_local: bool,
    pub(crate) responder: Responder,
    /// Chunks received completely, in all rounds.
    pub(crate) ended: u32,
    /// Packets of the current chunk that have not arrived; [`NO_CHUNK`] without chunks.
    #[state(left = 1)]
    pub(crate) packets_left: u32,
    #[state(skip)]
    pub(crate) queue_pair: u32,
    latencies: Latencies,
    rare: Option<Box<Rare>>,
}

const _: () = assert!(size_of::<Receiver>() == 64, "a packet touches one cache line");

/// State that most receivers never need.
#[derive(Debug, State)]
#[state(equal = Self::late_frames)]
struct Rare {
    /// Counts of the chunk being received.
    counts: Counts,
    /// Counts of later chunks (frames beyond a gap), ascending by the number of chunks before them.
    later_chunks: Vec<(u32, Counts)>,
    #[state(skip)]
    late: LateFrames,
    cnps: CnpLimiter,
}

/// Counts that are zero for a chunk whose packets all arrive in order, unmarked and within 4.29 ms.
#[derive(Clone, Copy, Debug, State)]
struct Counts {
    /// Frames that arrived marked.
    #[state(count)]
    marks: u32,
    /// Congestion notifications sent.
    #[state(count)]
    cnps: u32,
    #[state(count)]
    out_of_order: u32,
    /// Frames dropped, and their bytes.
    // Dropped frames show that the frames sent do not follow from those that have arrived.
    dropped: u32,
    dropped_bytes: u64,
    long: LongLatencies,
}

impl Counts {
    const NONE: Self =
        Self { marks: 0, cnps: 0, out_of_order: 0, dropped: 0, dropped_bytes: 0, long: LongLatencies::NONE };

    fn add_dropped(&mut self, frame: Dropped) {
        self.dropped += 1;
        self.dropped_bytes += u64::from(frame.frame_bytes);
        self.out_of_order += u32::from(frame.is_early);
        self.add_mark(frame.is_marked, frame.notifies);
    }

    const fn add_mark(&mut self, is_marked: bool, notifies: bool) {
        self.marks += is_marked as u32;
        self.cnps += notifies as u32;
    }

    fn add_to(&self, report: &mut ReceiveReport) {
        report.frames += self.dropped;
        report.bytes += self.dropped_bytes;
        (report.marks, report.cnps) = (self.marks, self.cnps);
        report.out_of_order = self.out_of_order;
    }
}

/// A frame that the responder did not accept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped {
    pub(crate) psn: Psn,
    pub(crate) frame_bytes: u32,
    /// It is beyond a gap.
    pub(crate) is_early: bool,
    pub(crate) is_marked: bool,
    /// A congestion notification answers it.
    pub(crate) notifies: bool,
}

impl Receiver {
    /// A receiver whose first chunk has `first_packets` packets; `None` without chunks.
    #[inline]
    pub(crate) fn new(plan: &QueuePairEnd, first_packets: Option<u64>) -> Self {
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

    /// A receiver that has received at `now` all that it ever will: `packets` packets of `messages` messages.
    pub(crate) fn done(plan: &QueuePairEnd, packets: u64, messages: u64, now: Instant) -> Self {
        let mut receiver = Self::new(plan, None);
        receiver.responder = Responder::after(plan.initial_psn, packets as u32, messages as u32);
        receiver.begin_next(packets, now);
        receiver
    }

    /// Whether its state at `now` follows from its number, except for duplicates received since: everything
    /// has been received, and the next mark triggers a notification.
    pub(crate) fn is_done(&self, now: Instant) -> bool {
        self.ended > 0 && self.rare.as_ref().is_none_or(|rare| rare.cnps.is_idle(now))
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| Box::new(Rare::NEW))
    }

    /// Processes a data packet at `now` that spent `latency` in the fabric; accepts packets in order only.
    #[inline(always)]
    pub(crate) fn take_in_order(
        &mut self,
        config: &Config,
        settings: &ReceiverSettings,
        packet: &Packet,
        position: Position,
        now: Instant,
        latency: Span,
    ) -> DataOutcome {
        let arrival = self.responder.on_packet(config, packet.psn(), position, packet.requests_ack());
        let mut outcome = DataOutcome {
            reply: arrival.reply,
            notifies: packet.is_marked() && self.notice_mark(settings, now),
            payload_bytes: 0,
            chunk_delivered: false,
            disposition: arrival.disposition,
        };
        if arrival.disposition != Disposition::Accepted {
            // The caller, which knows the sizes of chunks, determines the chunk.
            return outcome;
        }
        if packet.is_marked() {
            self.rare().counts.add_mark(true, outcome.notifies);
        }
        if !self.latencies.add(latency) {
            self.count_long(latency);
        }
        outcome.payload_bytes = settings.payload_bytes(packet, position);
        self.packets_left -= 1;
        outcome.chunk_delivered = self.packets_left == 0;
        outcome
    }

    /// Builds a reply; without recovery it acknowledges `vouched` packets.
    #[inline]
    pub(crate) fn reply_packet(
        &self,
        settings: &ReceiverSettings,
        reply: Reply,
        vouched: Option<u32>,
    ) -> Packet {
        let message_sequence = vouched.unwrap_or_else(|| self.responder.message_sequence());
        let (is_ack, psn, message_sequence) = reply.header(message_sequence);
        let kind = if is_ack { Kind::Ack } else { Kind::Nak };
        let frame_bytes = settings.framing.ack_frame_bytes();
        Packet::new(kind, settings.priorities.ack, psn, frame_bytes, self.path)
            .with_message_sequence(message_sequence)
    }

    #[cold]
    pub(crate) fn notification(&self, settings: &ReceiverSettings) -> Packet {
        let frame_bytes = settings.framing.frame_bytes(Opcode::CongestionNotification, 0);
        Packet::new(Kind::Cnp, settings.priorities.cnp, Psn::new(0), frame_bytes, self.path)
    }

    /// A marked packet arrived; returns whether a notification is due.
    #[cold]
    pub(crate) fn notice_mark(&mut self, settings: &ReceiverSettings, now: Instant) -> bool {
        if settings.cnp_interval == ReceiverSettings::NO_CNP {
            return false;
        }
        self.rare().cnps.on_mark(settings.cnp_interval, now)
    }

    /// A packet arrived under pressure of its own host; returns whether a notification is due. It is counted
    /// at the chunk being received, if that is known.
    #[cold]
    pub(crate) fn notice_pressure(
        &mut self,
        settings: &ReceiverSettings,
        is_in_order: bool,
        now: Instant,
    ) -> bool {
        let notifies = self.notice_mark(settings, now);
        if notifies {
            let has_chunk = is_in_order && self.packets_left != NO_CHUNK;
            let Rare { counts, late, .. } = self.rare();
            counts.cnps += u32::from(has_chunk);
            late.cnp_tx += u64::from(!has_chunk);
        }
        notifies
    }

    /// Counts a frame that was not accepted, at its chunk. `packets_of` returns the packets of a chunk by the
    /// number of chunks before it.
    #[cold]
    pub(crate) fn count_dropped(&mut self, frame: Dropped, packets_of: impl Fn(u32) -> u64) {
        match self.chunk_of_dropped(frame.psn, packets_of) {
            None => self.rare().add_late(frame),
            Some(chunk) if chunk == self.ended => self.rare().counts.add_dropped(frame),
            Some(chunk) => self.rare().counts_of(chunk).add_dropped(frame),
        }
    }

    /// The number of chunks before that of a packet that was not accepted; `None` if it has been delivered.
    fn chunk_of_dropped(&self, psn: Psn, packets_of: impl Fn(u32) -> u64) -> Option<u32> {
        let distance = i64::from(psn.distance_from(self.responder.expected()));
        if distance < 0 {
            let received = packets_of(self.ended) - u64::from(self.packets_left);
            return (distance.unsigned_abs() <= received).then_some(self.ended);
        }
        let (mut chunk, mut end) = (self.ended, i64::from(self.packets_left));
        while distance >= end {
            chunk += 1;
            end += packets_of(chunk) as i64;
        }
        Some(chunk)
    }

    /// Counts a frame of a chunk that has been delivered.
    #[cold]
    pub(crate) fn count_late(&mut self, frame: Dropped) {
        self.rare().add_late(frame);
    }

    /// Frames that arrived after the delivery of their chunk.
    pub(crate) fn late(&self) -> LateFrames {
        self.rare.as_ref().map_or(LateFrames::default(), |rare| rare.late)
    }

    #[cold]
    fn count_long(&mut self, latency: Span) {
        self.rare().counts.long.add(latency);
    }

    /// Completes the chunk being received: a rank on the same host copied it.
    pub(crate) const fn take_local(&mut self) {
        self.packets_left = 0;
    }

    /// Report of the chunk being received in `round`, with its `accepted` frames.
    pub(crate) fn report(&self, chunk: u32, round: u32, accepted: Frames) -> ReceiveReport {
        let counts = self.rare.as_ref().map_or(Counts::NONE, |rare| rare.counts);
        let (min, max) = self.latencies.range(counts.long);
        let empty = ReceiveReport::new(chunk, round);
        let mut report = empty.with_latencies(accepted.frames, self.latencies.sum_ps, min, max);
        (report.frames, report.bytes) = (accepted.frames, accepted.bytes);
        counts.add_to(&mut report);
        report
    }

    /// For each chunk behind the one being received: the number of chunks before it, and a report of its
    /// frames beyond a gap.
    pub(crate) fn later_chunks(&self) -> impl Iterator<Item = (u32, ReceiveReport)> {
        let chunks = self.rare.iter().flat_map(|rare| &rare.later_chunks);
        chunks.map(|(chunk, counts)| {
            let mut report = ReceiveReport::new(0, 0);
            counts.add_to(&mut report);
            (*chunk, report)
        })
    }

    /// Starts at `now` to receive the next chunk, of `packets` packets.
    pub(crate) fn begin_next(&mut self, packets: u64, now: Instant) {
        self.ended += 1;
        self.packets_left = packets as u32;
        self.latencies = Latencies::NONE;
        if let Some(rare) = &mut self.rare
            && rare.begin(self.ended, now)
        {
            self.rare = None;
        }
    }

    /// Its queue pair, if its frames are recorded.
    pub(crate) fn captured(&self) -> Option<u32> {
        self.is_captured.then_some(self.queue_pair)
    }
}

impl Rare {
    const NEW: Self = Self {
        counts: Counts::NONE,
        later_chunks: Vec::new(),
        late: LateFrames { frames: 0, ecn_ce_rx: 0, cnp_tx: 0 },
        cnps: CnpLimiter::NEW,
    };

    /// Frames that arrived after the delivery of their chunk.
    const fn late_frames(&self) -> u64 {
        self.late.frames
    }

    /// Counts a frame of a chunk that has been delivered.
    fn add_late(&mut self, frame: Dropped) {
        self.late.frames += 1;
        self.late.ecn_ce_rx += u64::from(frame.is_marked);
        self.late.cnp_tx += u64::from(frame.notifies);
    }

    /// The counts of a chunk behind the one being received.
    fn counts_of(&mut self, chunk: u32) -> &mut Counts {
        let index = self.later_chunks.partition_point(|(other, _)| *other < chunk);
        if self.later_chunks.get(index).is_none_or(|(other, _)| *other != chunk) {
            self.later_chunks.insert(index, (chunk, Counts::NONE));
        }
        &mut self.later_chunks[index].1
    }

    /// Starts at `now` to receive the chunk with `chunk` chunks before it; returns true if none of this state
    /// is needed any more.
    fn begin(&mut self, chunk: u32, now: Instant) -> bool {
        let is_next = self.later_chunks.first().is_some_and(|(next, _)| *next == chunk);
        self.counts = if is_next { self.later_chunks.remove(0).1 } else { Counts::NONE };
        !is_next
            && self.later_chunks.is_empty()
            && self.late == LateFrames::default()
            && self.cnps.is_idle(now)
    }
}
