//! Egress port of a switch: a queue per priority in front of one transmitter; applies marking, WRED, pauses
//! and credits, and counts dropped and marked frames.

pub(crate) mod queued;
pub(crate) mod schedule;
mod serve;

use super::admission::buffer::{DropCause, SharedBuffer};
use super::admission::readout::{OnLink, Release};
use super::marking::ecn::EcnMarker;
use super::marking::ecn_control::EcnControl;
use super::marking::ecn_law::MarkingRange;
use super::marking::wred::{Verdict, Wred};
use crate::link::Dropped;
use crate::link::changes::LinkChanges;
use crate::link::credits::{CreditPlan, Credits, block_without_credit};
use crate::link::egress::{Link, SharedLinks, Transmitter, Wire};
use crate::link::pause::PauseState;
use crate::packet::{Colour, FRAMES_AHEAD, Packet, Priority};
use crate::switch::Context;
use engine::Ring;
use engine::prefetch::prefetch_line;
use engine::{Destination, Message};
use queued::Queued;
use schedule::Scheduler;
use spec::StormActionSpec;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Instant, State};

/// A frame in the switch, with its ingress port.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Stored {
    pub(crate) packet: Packet,
    pub(crate) ingress: u16,
}

impl Stored {
    /// The buffer space that it occupies.
    #[inline]
    pub(super) const fn buffered(&self) -> BufferedFrame {
        let Self { packet, ingress } = self;
        BufferedFrame { ingress: *ingress, priority: packet.priority(), frame_bytes: packet.frame_bytes() }
    }
}

/// Buffer space occupied by a frame, by ingress port and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) struct BufferedFrame {
    pub(super) ingress: u16,
    pub(super) priority: Priority,
    pub(super) frame_bytes: u32,
}

/// The frame in transmission, in 32 bits: size, priority and ingress port; 0 if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Sending(u32);

impl Sending {
    const NONE: Self = Self(0);
    const SIZE_BITS: u32 = (Packet::FRAME_BYTES_MAX + 1).ilog2();
    const INGRESS_SHIFT: u32 = Self::SIZE_BITS + 3;

    #[inline(always)]
    const fn new(packet: &Packet, ingress: u16) -> Self {
        let priority = (packet.priority().0 as u32) << Self::SIZE_BITS;
        Self(packet.frame_bytes() | priority | (ingress as u32) << Self::INGRESS_SHIFT)
    }

    #[inline(always)]
    const fn frame_bytes(self) -> u32 {
        self.0 & Packet::FRAME_BYTES_MAX
    }

    #[inline]
    const fn priority(self) -> Priority {
        Priority((self.0 >> Self::SIZE_BITS) as u8 & (Priority::COUNT as u8 - 1))
    }

    #[inline]
    const fn ingress(self) -> u16 {
        (self.0 >> Self::INGRESS_SHIFT) as u16
    }
}

/// Number of ports that [`Sending`] can represent. A switch with more uses the exact path only, which does
/// not read it.
pub(super) const SENDING_PORTS_MAX: usize = 1 << (u32::BITS - Sending::INGRESS_SHIFT);

/// Frames of one priority queued at a port.
#[derive(Debug, Default, State)]
struct Queue {
    frames: Ring<Queued>,
    bytes: u64,
}

/// Counters of a port other than those of sent frames.
#[derive(Clone, Copy, Debug, Default, State)]
pub(crate) struct QueueCounters {
    /// Largest queue, an arriving frame included [bytes].
    #[state(skip)]
    pub(crate) queue_max_bytes: u64,
    /// Frames that found no room, and their bytes.
    pub(crate) dropped_tail: Dropped,
    /// Frames beyond the headroom of their ingress port, counted at their egress port.
    pub(crate) dropped_headroom: Dropped,
    /// Frames dropped by WRED.
    pub(crate) dropped_wred: Dropped,
    /// Frames dropped by WRED, by colour.
    #[state(count)]
    pub(crate) dropped_wred_colours: [u64; Colour::COUNT],
    /// Frames dropped by the PFC watchdog.
    pub(crate) dropped_watchdog: Dropped,
    /// Storms that the PFC watchdog detected.
    pub(crate) storms: u64,
    /// Frames marked with congestion experienced.
    #[state(count)]
    pub(crate) marked: u64,
    /// Changes of the thresholds of ECN.
    #[state(skip)]
    pub(crate) ecn_changes: u64,
}

/// Counters of one priority of a port; all of them are rare events.
#[derive(Clone, Copy, Debug, Default, State)]
pub(crate) struct PriorityCounters {
    /// Pause frames sent with other than zero quanta.
    #[state(count)]
    pub(crate) pauses_sent: u64,
    /// Pause frames sent with zero quanta.
    #[state(count)]
    pub(crate) resumes_sent: u64,
    /// Frames dropped, by cause: see [`QueueCounters`].
    #[state(count)]
    pub(crate) dropped_tail: u64,
    #[state(count)]
    pub(crate) dropped_headroom: u64,
    #[state(count)]
    pub(crate) dropped_wred: u64,
    #[state(count)]
    pub(crate) dropped_watchdog: u64,
}

/// Parameters of an egress port.
#[derive(Debug)]
pub(crate) struct EgressPlan {
    pub(crate) wire: Wire,
    pub(crate) changes: Option<LinkChanges>,
    pub(crate) scheduler: Scheduler,
    pub(crate) marker: Option<EcnMarker>,
    /// Dynamic ECN, which moves the thresholds of the marker, if configured.
    pub(crate) control: Option<Box<EcnControl>>,
    /// Replaces the marker. Such a switch uses the exact path only.
    pub(crate) wred: Option<Box<Wred>>,
    /// Credits of the link, on InfiniBand.
    pub(crate) credits: Option<CreditPlan>,
    /// When a frame no longer counts towards the length of its queue.
    pub(crate) release: Release,
    /// Length of the longest frame.
    pub(crate) frame_bytes_max: u32,
}

/// An egress port.
///
/// Both paths of the switch follow this rule: when the port is free at `t`, it first queues everything that
/// has arrived by `t`, then sends the oldest frame of the priority that the scheduler selects.
#[derive(Debug, State)]
#[state(initial = Self::is_untouched)]
#[repr(C, align(64))]
pub(crate) struct EgressPort {
    // The first cache line: all state that a frame needs except its queue.
    transmitter: Transmitter<Arc<Link>>,
    /// Receiver at the other end of the link.
    #[state(skip)]
    to: Destination,
    /// Bit `p` is set while queue `p` is not empty.
    occupied: u8,
    /// [`PLAIN`]: strict priority, no credits, and static thresholds greater than a frame. [`READS`]: the
    /// frame in transmission counts towards the length of its queue.
    #[state(skip)]
    traits: u8,
    /// Queue length up to which no frame is marked [[`MARKING_STEP`], rounded down]; zero if thresholds move.
    #[state(skip)]
    marks_above: u16,
    queued_bytes: u64,
    /// Queue length up to which an arrival is neither marked nor raises the maximum [bytes].
    #[state(skip)]
    quiet_depth: u32,
    /// The frame in transmission; valid until the transmitter is free.
    sending: Sending,
    // Next cache lines: two queues per line.
    queues: [Queue; Priority::COUNT],
    queue_max_bytes: u64,
    #[state(skip)]
    release: Release,
    scheduler: Scheduler,
    /// Dynamic ECN, which moves the thresholds of the marker.
    control: Option<Box<EcnControl>>,
    /// Credits of the link, on InfiniBand. Such a switch uses the exact path only.
    credits: Option<Box<Credits>>,
    marker: Option<EcnMarker>,
    /// Replaces the marker, where colours have an effect.
    wred: Option<Box<Wred>>,
    /// Pause frames to send, before all other frames.
    urgent: VecDeque<Packet>,
    pause: PauseState,
    /// Bit `p` is set while frames for queue `p` are dropped.
    dropping: u8,
    counters: QueueCounters,
    /// Allocated with the first event to count: most ports have none.
    by_priority: Option<Box<[PriorityCounters; Priority::COUNT]>>,
}

const _: () = assert!(
    std::mem::offset_of!(EgressPort, queues) == 64,
    "a port begins with one line, no queue is on two"
);

/// Bits of [`EgressPort::traits`].
const PLAIN: u8 = 1;
const READS: u8 = 2;

/// Unit of the queue length from which a port checks whether to mark frames [bytes].
const MARKING_STEP: u64 = 4_096;

impl EgressPort {
    /// A port of a switch whose ports share `links`.
    pub(crate) fn new(plan: EgressPlan, links: &mut SharedLinks) -> Self {
        let reads = plan.release != Release::Start;
        // The frame in transmission counts towards the length of its queue.
        let sending_bytes_max = if reads { plan.frame_bytes_max.into() } else { 0 };
        let marks_above_bytes = match (&plan.marker, &plan.control) {
            (None, _) => u64::MAX,
            (Some(marker), None) => marker.kmin_bytes().saturating_sub(sending_bytes_max),
            (Some(_), Some(_)) => 0,
        };
        let is_strict = matches!(plan.scheduler, Scheduler::Strict);
        let marks_above = u16::try_from(marks_above_bytes / MARKING_STEP).unwrap_or(u16::MAX);
        // A frame that arrives at empty queues may be marked because of the frame in transmission.
        let marks_at_empty_queues = marks_above == 0;
        let is_plain =
            is_strict && !marks_at_empty_queues && plan.control.is_none() && plan.credits.is_none();
        Self {
            transmitter: Transmitter::of(links.link(plan.wire, plan.changes)),
            to: plan.wire.to,
            occupied: 0,
            traits: if is_plain { PLAIN } else { 0 } | if reads { READS } else { 0 },
            marks_above,
            queued_bytes: 0,
            quiet_depth: 0,
            sending: Sending::NONE,
            queues: Default::default(),
            queue_max_bytes: 0,
            release: plan.release,
            scheduler: plan.scheduler,
            control: plan.control,
            credits: plan.credits.map(|plan| Box::new(Credits::new(plan))),
            marker: plan.marker,
            wred: plan.wred,
            urgent: VecDeque::new(),
            pause: PauseState::new(plan.wire.rate),
            dropping: 0,
            counters: QueueCounters::default(),
            by_priority: None,
        }
    }

    /// Prefetches the state that the next stage reads.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_line(self, 0);
    }

    /// Prefetches the queues in use, and the inbox at the other end.
    #[inline]
    pub(crate) fn prefetch_queues(&self, context: &Context) {
        context.prefetch(self.to);
        let mut occupied = self.occupied;
        while occupied != 0 {
            prefetch_line(&self.queues[occupied.trailing_zeros() as usize], 0);
            occupied &= occupied - 1;
        }
    }

    /// Prefetches the first queued frames, and the slots in queues and in the inbox at the other end for
    /// `arriving` frames.
    #[inline]
    pub(crate) fn prefetch_frames(&self, arriving: usize, context: &Context) {
        let arriving = arriving.clamp(1, FRAMES_AHEAD);
        context.prefetch_next(self.to, arriving);
        let mut occupied = self.occupied;
        while occupied != 0 {
            let frames = &self.queues[occupied.trailing_zeros() as usize].frames;
            frames.prefetch_first(FRAMES_AHEAD);
            frames.prefetch_next(arriving);
            occupied &= occupied - 1;
        }
    }

    /// Time of the next transmission in the present state; never while all queues are empty.
    #[inline]
    pub(crate) fn next_send(&self) -> Instant {
        if self.occupied & !self.pause.mask() != 0 || !self.urgent.is_empty() {
            return self.transmitter.free_at();
        }
        if self.occupied == 0 && self.credits.is_none() { Instant::NEVER } else { self.next_unpaused() }
    }

    #[cold]
    fn next_unpaused(&self) -> Instant {
        let update = self.credits.as_ref().map_or(Instant::NEVER, |credits| credits.update_due());
        self.pause.next_expiry(self.occupied).min(update).max(self.transmitter.free_at())
    }

    /// Credits of the link, on InfiniBand.
    pub(crate) fn credits(&self) -> Option<&Credits> {
        self.credits.as_deref()
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter<Arc<Link>> {
        &self.transmitter
    }

    pub(crate) fn counters(&self) -> QueueCounters {
        let ecn_changes = self.ecn_control().map_or(0, EcnControl::changes);
        QueueCounters { queue_max_bytes: self.queue_max_bytes, ecn_changes, ..self.counters }
    }

    /// Frames marked with congestion experienced.
    pub(crate) const fn marked_frames(&self) -> u64 {
        self.counters.marked
    }

    /// Counters by priority; `None` if nothing was counted.
    pub(crate) fn by_priority(&self) -> Option<[PriorityCounters; Priority::COUNT]> {
        self.by_priority.as_deref().copied()
    }

    /// Dynamic ECN, if thresholds move.
    pub(crate) fn ecn_control(&self) -> Option<&EcnControl> {
        self.control.as_deref()
    }

    /// ECN thresholds of a priority at `now`, if they move.
    #[cold]
    pub(crate) fn ecn_range(&self, priority: Priority, now: Instant) -> Option<MarkingRange> {
        self.ecn_control()?.range_at(priority, now)
    }

    pub(crate) const fn pause(&self) -> &PauseState {
        &self.pause
    }

    #[inline]
    const fn is_plain(&self) -> bool {
        self.traits & PLAIN != 0
    }

    /// Queued bytes, the frame in transmission excluded.
    #[inline]
    pub(crate) const fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Queued bytes, and those of the frame in transmission not yet read out at `now`.
    #[inline]
    pub(crate) fn depth_bytes(&self, now: Instant) -> u64 {
        self.queued_bytes + self.unread_bytes(now)
    }

    /// [`Self::depth_bytes`] of one priority.
    pub(super) fn depth_of(&self, priority: Priority, now: Instant) -> u64 {
        self.queue_bytes(priority) + self.unread_of(priority, self.unread_bytes(now))
    }

    /// The part of `unread` that belongs to a priority.
    fn unread_of(&self, priority: Priority, unread: u64) -> u64 {
        if self.sending.priority() == priority { unread } else { 0 }
    }

    /// Bytes of the frame in transmission not yet read out at `now`, if they count towards its queue.
    #[inline]
    fn unread_bytes(&self, now: Instant) -> u64 {
        if now >= self.transmitter.free_at() || self.sending == Sending::NONE {
            return 0;
        }
        self.release.unread_bytes(&self.on_link(), now).into()
    }

    /// The frame in transmission.
    fn on_link(&self) -> OnLink {
        let frame_bytes = self.sending.frame_bytes();
        let start = self.transmitter.started(frame_bytes);
        OnLink { start, byte_time: self.transmitter.byte_time(), frame_bytes }
    }

    /// The frame being read out of the buffer at `now`, if there is one, and the buffer space that it
    /// occupied.
    pub(super) fn being_read(&self, now: Instant) -> Option<(BufferedFrame, OnLink)> {
        if now >= self.transmitter.free_at() || self.sending == Sending::NONE {
            return None;
        }
        let sending = self.sending;
        let (ingress, priority, frame_bytes) = (sending.ingress(), sending.priority(), sending.frame_bytes());
        Some((BufferedFrame { ingress, priority, frame_bytes }, self.on_link()))
    }

    /// Delays the next frame, which must be queued, until `start` at least.
    fn wait_until(&mut self, start: Instant) {
        if self.transmitter.free_at() < start {
            // The start of the last transmission is lost.
            self.sending = Sending::NONE;
            self.transmitter.wait_until(start);
        }
    }

    /// Queued bytes of one priority.
    #[inline]
    pub(crate) const fn queue_bytes(&self, priority: Priority) -> u64 {
        self.queues[priority.index()].bytes
    }

    /// Queued frames, pause frames excluded.
    pub(crate) fn queued_frames(&self) -> u64 {
        self.queues.iter().map(|queue| queue.frames.len() as u64).sum::<u64>()
    }

    /// Whether some priority of this port is paused or in a storm, or a pause frame is queued.
    #[inline]
    pub(crate) fn is_pause_active(&self) -> bool {
        self.pause.mask() | self.pause.ignored() != 0 || !self.urgent.is_empty()
    }

    /// Whether a queue contains frames from port `ingress`.
    pub(crate) fn has_frames_of(&self, ingress: u16, priority: Priority) -> bool {
        self.queues[priority.index()].frames.iter().any(|queued| queued.ingress() == ingress)
    }

    /// Since when a queue that is paused at `now` has been blocked with frames in it; `None` if it is empty.
    pub(super) fn paused_since(&self, priority: Priority, now: Instant) -> Option<Instant> {
        let first = self.queues[priority.index()].frames.front()?;
        Some(first.at(now).max(self.pause.since(priority)))
    }

    /// Whether the PFC watchdog considers a queue to be in a storm.
    pub(super) const fn is_in_storm(&self, priority: Priority) -> bool {
        self.pause.ignored() & priority.bit() != 0
    }

    /// Whether frames for a queue are dropped.
    #[inline]
    pub(super) const fn is_dropping(&self, priority: Priority) -> bool {
        self.dropping & priority.bit() != 0
    }

    /// Begins a storm: pauses of `priority` are ignored. Returns the buffer space of the frames dropped.
    pub(super) fn begin_storm(
        &mut self,
        priority: Priority,
        action: StormActionSpec,
        now: Instant,
    ) -> Vec<BufferedFrame> {
        self.pause.ignore(priority, now);
        self.counters.storms += 1;
        if action == StormActionSpec::Forward {
            return Vec::new();
        }
        self.dropping |= priority.bit();
        self.occupied &= !priority.bit();
        let queue = std::mem::take(&mut self.queues[priority.index()]);
        self.queued_bytes -= queue.bytes;
        if let Some(control) = &mut self.control {
            control.leave(priority, queue.bytes, now);
        }
        queue.frames.iter().for_each(|lost| self.drop_frame(lost.packet(), DropCause::Watchdog));
        queue.frames.iter().map(Queued::buffered).collect()
    }

    pub(super) const fn end_storm(&mut self, priority: Priority) {
        self.pause.obey(priority);
        self.dropping &= !priority.bit();
    }

    /// Applies a pause frame or a flow control packet.
    pub(crate) fn receive_link_control(&mut self, packet: &Packet) {
        let Some(credits) = &mut self.credits else {
            self.pause.receive(packet, packet.at());
            return;
        };
        credits.receive(packet);
        self.update_credit(packet.priority(), packet.at());
    }

    /// Accounts for a frame received on this port in the buffer of its lane.
    pub(super) fn fill_lane(&mut self, packet: &Packet) {
        if let Some(credits) = &mut self.credits {
            credits.take_in(packet);
        }
    }

    /// Frees the lane buffer of a frame received on this port that has left the switch.
    pub(super) fn free_lane(&mut self, priority: Priority, frame_bytes: u32) {
        if let Some(credits) = &mut self.credits {
            credits.free(priority, frame_bytes);
        }
    }

    /// Blocks or unblocks a priority, depending on whether its first frame has credit.
    pub(super) fn update_credit(&mut self, priority: Priority, now: Instant) {
        let Some(credits) = &self.credits else { return };
        let head = self.queues[priority.index()].frames.front().map(|first| first.packet().frame_bytes());
        let since = now.max(self.transmitter.free_at());
        block_without_credit(credits, &mut self.pause, priority, head, now, since);
    }

    /// Queues a pause frame for the node at the other end.
    pub(crate) fn send_pause(&mut self, pause: Packet) {
        let by_priority = self.by_priority.get_or_insert_default();
        let counters = &mut by_priority[pause.priority().index()];
        let count = if pause.quanta() > 0 { &mut counters.pauses_sent } else { &mut counters.resumes_sent };
        *count += 1;
        self.urgent.push_back(pause);
    }

    /// Decision of WRED on an arriving frame, if configured.
    #[inline]
    pub(super) fn judge(&mut self, packet: &Packet, now: Instant) -> Verdict {
        let queue_bytes = if self.wred.is_some() { self.depth_of(packet.priority(), now) } else { 0 };
        self.wred.as_mut().map_or(Verdict::Pass, |wred| wred.judge(packet, queue_bytes))
    }

    /// Marks a frame that WRED has selected and the buffer has stored.
    #[cold]
    pub(super) const fn mark_chosen(&mut self, packet: &mut Packet) {
        packet.mark();
        self.counters.marked += 1;
    }

    /// Queues a frame that the buffer has stored.
    #[inline]
    pub(crate) fn enqueue(&mut self, stored: &mut Stored) {
        let (priority, before) = (stored.packet.priority(), self.queued_bytes);
        self.occupied |= priority.bit();
        self.queued_bytes += u64::from(stored.packet.frame_bytes());
        if self.queued_bytes > self.quiet_depth.into() {
            self.note_deep(stored, before, |port| port.queue_bytes(priority));
        }
        let Queue { frames, bytes } = &mut self.queues[priority.index()];
        *bytes += u64::from(stored.packet.frame_bytes());
        frames.push_with(|| Queued::new(stored));
    }

    /// Handles an arrival that raises the largest queue or may be marked: `before` bytes were queued,
    /// `of_priority` of them of its priority.
    #[cold]
    fn note_deep(&mut self, stored: &mut Stored, before: u64, of_priority: impl Fn(&Self) -> u64) {
        self.note_depth(self.queued_bytes);
        if before / MARKING_STEP >= self.marks_above.into() {
            let priority = stored.packet.priority();
            let unread = self.unread_of(priority, self.unread_bytes(stored.packet.at()));
            self.mark(stored, of_priority(self) + unread);
        }
    }

    /// Updates the largest queue length.
    fn note_depth(&mut self, bytes: u64) {
        self.queue_max_bytes = self.queue_max_bytes.max(bytes);
        let noted = self.queue_max_bytes.min(u64::from(self.marks_above) * MARKING_STEP);
        self.quiet_depth = u32::try_from(noted).unwrap_or(u32::MAX);
    }

    /// Decides whether to mark a frame that arrives at a queue of `queue_bytes`.
    #[cold]
    fn mark(&mut self, stored: &mut Stored, queue_bytes: u64) {
        let Stored { packet, ingress } = stored;
        let Some(marker) = &mut self.marker else { return };
        let (priority, bytes) = (packet.priority(), u64::from(packet.frame_bytes()));
        let Some(control) = &mut self.control else {
            if queue_bytes > marker.kmin_bytes() {
                self.counters.marked += u64::from(marker.decide(packet, queue_bytes));
            }
            return;
        };
        // By the thresholds at the arrival, which is also recorded in the control.
        let range = control.arrive(priority, *ingress, bytes, packet.at());
        if let Some(range) = range.filter(|range| queue_bytes > range.kmin_bytes)
            && marker.decide_within(range, packet, queue_bytes)
        {
            control.note_mark(priority);
            self.counters.marked += 1;
        }
    }

    /// Records in the control, if thresholds move, that a frame has started to leave at `now`.
    #[cold]
    fn note_departure(&mut self, priority: Priority, frame_bytes: u32, now: Instant) {
        if let Some(control) = &mut self.control {
            let frame = OnLink { start: now, byte_time: self.transmitter.byte_time(), frame_bytes };
            control.depart(priority, frame, self.transmitter.free_at());
        }
    }

    /// Counts a dropped frame.
    #[cold]
    pub(crate) fn drop_frame(&mut self, packet: &Packet, cause: DropCause) {
        let of_priority = &mut self.by_priority.get_or_insert_default()[packet.priority().index()];
        let (dropped, frames) = match cause {
            DropCause::Tail => (&mut self.counters.dropped_tail, &mut of_priority.dropped_tail),
            DropCause::Headroom => (&mut self.counters.dropped_headroom, &mut of_priority.dropped_headroom),
            DropCause::Watchdog => (&mut self.counters.dropped_watchdog, &mut of_priority.dropped_watchdog),
            DropCause::Wred => {
                self.counters.dropped_wred_colours[packet.colour() as usize] += 1;
                (&mut self.counters.dropped_wred, &mut of_priority.dropped_wred)
            }
        };
        *frames += 1;
        dropped.count(packet);
    }

    /// Sends the frame that is due at `start`; returns its buffer space unless it was a pause frame. There
    /// must be a frame that may be sent.
    #[inline]
    pub(crate) fn send_next(&mut self, start: Instant, context: &mut Context) -> Option<BufferedFrame> {
        let update = self.credits.as_mut().and_then(|credits| credits.next_update(start));
        if let Some(link_control) = update.or_else(|| self.urgent.pop_front()) {
            self.transmitter.transmit(&link_control, start, &mut context.outlet(self.to));
            self.sending = Sending::NONE;
            return None;
        }
        self.pause.expire(start);
        let sent = self.send_from(self.occupied & !self.pause.mask(), start, context);
        if self.credits.is_some() {
            self.update_credit(sent.priority, start);
        }
        Some(sent)
    }

    /// Sends the first frame of the `eligible` queue that the scheduler selects.
    #[inline]
    fn send_from(&mut self, eligible: u8, start: Instant, context: &mut Context) -> BufferedFrame {
        let queues = &self.queues;
        let head_bytes = |priority: Priority| {
            queues[priority.index()].frames.front().map_or(0, |first| first.packet().frame_bytes())
        };
        let priority = if self.is_plain() {
            Scheduler::highest(eligible)
        } else {
            self.scheduler.pick(eligible, head_bytes)
        };
        let Queue { frames, bytes: queue_bytes } = &mut self.queues[priority.index()];
        let first = frames.front().expect("the occupied bit of an empty queue is clear");
        let (sent, bytes) = (first.buffered(), u64::from(first.packet().frame_bytes()));
        *queue_bytes -= bytes;
        self.queued_bytes -= bytes;
        self.transmitter.transmit(first.packet(), start, &mut context.outlet(self.to));
        if self.traits & READS != 0 {
            self.sending = Sending::new(first.packet(), first.ingress());
        }
        if let Some(credits) = &mut self.credits {
            credits.spend(first.packet());
        }
        frames.drop_front();
        if frames.is_empty() {
            self.occupied &= !priority.bit();
        }
        if !self.is_plain() {
            self.note_departure(priority, sent.frame_bytes, start);
        }
        sent
    }
}

/// Removes a frame in transmission from the buffer; returns true when its group no longer needs its pause.
#[inline]
pub(super) fn release(buffer: &mut SharedBuffer, sent: BufferedFrame) -> bool {
    buffer.release(sent.ingress, sent.priority, buffer.charge(sent.frame_bytes))
}

impl EgressPort {
    /// Whether the port has received no frame since the start of the run: its state is the initial one.
    fn is_untouched(&self) -> bool {
        self.transmitter.frames() == 0
            && !self.transmitter.may_change()
            && self.queue_max_bytes == 0
            && self.control.is_none()
            && self.credits.is_none()
            && self.urgent.is_empty()
            && self.pause.is_untouched()
    }
}

impl PriorityCounters {
    /// Frames that found a buffer full, or that WRED dropped before it was.
    pub(crate) const fn dropped_early_or_late(&self) -> u64 {
        self.dropped_tail + self.dropped_wred
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::link::egress::WHOLE_FRAME;
    use crate::packet::{ConnectionId, Kind, Path};
    use engine::Destination;
    use transport::Position;
    use units::{AttachmentId, Rate, Span};
    use wire::Psn;

    /// An idle port of 400 Gb/s.
    pub(crate) fn idle_port() -> EgressPort {
        let wire = Wire {
            to: Destination { partition: 0, inbox: 0, node: 0 },
            rate: Rate::from_gbps(400),
            head_bytes: WHOLE_FRAME,
            framing: wire::Framing::Ethernet,
            latency: Span::from_ns(500),
        };
        let plan = EgressPlan {
            wire,
            changes: None,
            scheduler: Scheduler::Strict,
            marker: None,
            control: None,
            wred: None,
            credits: None,
            release: Release::Start,
            frame_bytes_max: 4_178,
        };
        EgressPort::new(plan, &mut SharedLinks::default())
    }

    /// A frame of 1,000 bytes that arrived on `ingress` at `at`.
    pub(crate) fn frame(priority: Priority, ingress: u16, at: Instant) -> Stored {
        let path = Path { destination: AttachmentId(0), connection: ConnectionId::rc(0), entropy: 0 };
        let kind = Kind::Data(Position::Only);
        let packet = Packet::new(kind, priority, Psn::new(0), 1_000, path).arriving(at);
        Stored { packet, ingress }
    }

    /// Priority and quanta of each pause frame queued at a port.
    pub(crate) fn waiting_pauses(port: &EgressPort) -> Vec<(u8, u16)> {
        port.urgent.iter().map(|pause| (pause.priority().0, pause.quanta())).collect()
    }
}
