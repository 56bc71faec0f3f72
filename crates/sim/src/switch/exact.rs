//! The exact path of a switch: processes all events of a time window (step of the simulation) in strict order
//! of time, with a heap of departures. Used when a threshold is within reach, a pause is active, or a feature
//! requires it (credits, pools, colours).

use super::admission::buffer::{Admission, DropCause, SharedBuffer};
use super::admission::pfc::PauseRequests;
use super::admission::pools::{Passage, PauseChange};
use super::admission::readout::{OnLink, Readouts};
use super::arrivals::Merged;
use super::marking::colour::Markers;
use super::marking::wred::Verdict;
use super::port_set::PortSet;
use super::queue::{BufferedFrame, EgressPort, Stored, release};
use super::watchdog::{Checked, Watchdog};
use crate::link::delayed::Delayed;
use crate::packet::{Packet, Priority};
use crate::switch::Context;
use engine::Window;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Bits of a departure for its port.
const PORT_BITS: u32 = 16;

/// Priority queue of the next transmissions of ports in a window: picoseconds since its start, above the
/// port. An entry is valid only while it matches the state of the port.
#[derive(Debug, Default)]
struct Departures {
    start: Instant,
    end: Instant,
    entries: BinaryHeap<Reverse<u64>>,
}

impl Departures {
    /// Schedules a transmission of `port`, if it is in the window.
    #[inline]
    fn push(&mut self, at: Instant, port: u16) {
        if at < self.end {
            self.entries.push(Reverse(at.since(self.start).0 << PORT_BITS | u64::from(port)));
        }
    }

    /// The earliest departure and its port.
    #[inline]
    fn first(&self) -> Option<(Instant, u16)> {
        let &Reverse(entry) = self.entries.peek()?;
        Some((Instant(self.start.0 + (entry >> PORT_BITS)), entry as u16))
    }
}

/// Priority queue of frames in transmission on an InfiniBand switch, at most one per egress port: their
/// receive buffers can be granted again when their transmissions end.
#[derive(Debug, Default)]
pub(super) struct Returns(BinaryHeap<Reverse<(Instant, BufferedFrame)>>);

impl Returns {
    /// Adds a frame whose transmission ends at `end`.
    pub(super) fn push(&mut self, end: Instant, frame: BufferedFrame) {
        self.0.push(Reverse((end, frame)));
    }

    /// End of the next transmission.
    pub(super) fn next_due(&self) -> Instant {
        self.0.peek().map_or(Instant::NEVER, |&Reverse((end, _))| end)
    }

    /// Removes the next frame.
    pub(super) fn pop(&mut self) -> Option<BufferedFrame> {
        self.0.pop().map(|Reverse((_, frame))| frame)
    }
}

/// Events other than arrivals; at equal times in this order.
#[derive(Clone, Copy, Debug)]
enum Due {
    Request,
    Reaction,
    Check,
    Free,
    Read,
    Departure,
}

/// Scratch space of a replay; empty between windows.
#[derive(Debug, Default)]
pub(super) struct Replay {
    departures: Departures,
}

/// The parts of a switch that a replay uses.
pub(super) struct Parts<'a> {
    pub(super) ports: &'a mut [EgressPort],
    pub(super) buffer: &'a mut SharedBuffer,
    pub(super) requests: &'a mut PauseRequests,
    /// Received pause frames that have not taken effect yet.
    pub(super) reactions: &'a mut Delayed<(u16, Packet)>,
    pub(super) watchdog: Option<&'a mut Watchdog>,
    /// Markers that colour frames, where colours have an effect.
    pub(super) markers: Option<&'a mut Markers>,
    /// Frames in transmission whose buffers will be granted again, on InfiniBand.
    pub(super) returns: Option<&'a mut Returns>,
    /// Frames being read out; `None` if frames are released when their transmissions start.
    pub(super) readouts: Option<&'a mut Readouts>,
    /// Ports that have or had frames to send, or are or were paused; includes every port that changes.
    pub(super) busy: &'a mut PortSet,
}

/// Decides on a frame that arrives at `now` with `queue_bytes` in its egress queue, and stores it if
/// admitted. Unless the accounts could decide without an update, also returns whether the frame's group
/// paused its sender before.
#[inline(always)]
pub(super) fn admit(
    buffer: &mut SharedBuffer,
    readouts: &mut Option<&mut Readouts>,
    frame: Passage,
    queue_bytes: u64,
    now: Instant,
) -> (Admission, Option<bool>) {
    if buffer.store_if_it_fits(frame, queue_bytes) {
        return (Admission::Stored, None);
    }
    let was_pausing = buffer.is_pausing(frame.ingress, frame.priority);
    if let Some(readouts) = readouts
        && !buffer.uses_headroom(frame.ingress, frame.priority)
    {
        readouts.advance(now, buffer);
    }
    (buffer.admit_frame(frame, queue_bytes), Some(was_pausing))
}

impl Replay {
    /// Replays `window`. Order at equal times: arrivals, pause frames to send, pauses that take effect, the
    /// watchdog, buffers that are free again, cells that may end a pause, departures; ports in ascending
    /// order.
    pub(super) fn run(
        &mut self,
        mut parts: Parts<'_>,
        mut arrivals: Merged<'_>,
        window: Window,
        context: &mut Context,
    ) {
        (self.departures.start, self.departures.end) = (window.start, window.end);
        for port in parts.busy.iter() {
            self.departures.push(parts.ports[usize::from(port)].next_send(), port);
        }
        let (mut due_at, mut due) = self.next_due(&mut parts);
        loop {
            let now = arrivals.next_at().min(due_at);
            if now >= window.end {
                break;
            }
            let is_changed = if now == arrivals.next_at() {
                arrivals.pop().is_some_and(|(stored, egress)| self.arrive(&mut parts, stored, egress, now))
            } else {
                self.act(due, &mut parts, now, context);
                true
            };
            if is_changed {
                (due_at, due) = self.next_due(&mut parts);
            }
        }
        debug_assert_eq!(arrivals.next_at(), Instant::NEVER, "every arrival is in the window");
        self.departures.entries.clear();
    }

    /// Time and kind of the next event.
    #[inline(always)]
    fn next_due(&mut self, parts: &mut Parts<'_>) -> (Instant, Due) {
        let check = parts.watchdog.as_ref().map_or(Instant::NEVER, |watchdog| watchdog.next_due());
        let free = parts.returns.as_ref().map_or(Instant::NEVER, |returns| returns.next_due());
        let read = parts.readouts.as_ref().map_or(Instant::NEVER, |readouts| readouts.next_due());
        let departure = self.next_departure(parts.ports);
        let mut next = (parts.requests.next_due(), Due::Request);
        for event in [
            (parts.reactions.next_due(), Due::Reaction),
            (check, Due::Check),
            (free, Due::Free),
            (read, Due::Read),
            (departure, Due::Departure),
        ] {
            if event.0 < next.0 {
                next = event;
            }
        }
        next
    }

    #[inline]
    fn act(&mut self, due: Due, parts: &mut Parts<'_>, now: Instant, context: &mut Context) {
        match due {
            Due::Request => {
                let port = parts.requests.act(now, parts.ports);
                parts.busy.insert(port);
                self.reschedule(parts.ports, port, Instant::NEVER, now);
            }
            Due::Reaction => {
                if let Some((port, pause)) = parts.reactions.pop_due(now) {
                    self.take_effect(parts, port, &pause.arriving(now), now);
                }
            }
            Due::Check => self.check_storm(parts, now),
            Due::Free => self.free(parts, now),
            Due::Read => self.read(parts, now),
            Due::Departure => self.depart(parts, now, context),
        }
    }

    /// Schedules the next transmission of `port`, not before `now`, if it is earlier than `before`; returns
    /// whether it is.
    #[inline]
    fn reschedule(&mut self, ports: &[EgressPort], port: u16, before: Instant, now: Instant) -> bool {
        let at = ports[usize::from(port)].next_send();
        if at < before {
            self.departures.push(at.max(now), port);
        }
        at < before
    }

    /// The earliest valid departure.
    #[inline]
    fn next_departure(&mut self, ports: &[EgressPort]) -> Instant {
        while let Some((at, port)) = self.departures.first() {
            let sends = ports[usize::from(port)].next_send();
            if sends <= at {
                return at;
            }
            // Postponed since: by a frame already sent, or by a pause.
            self.departures.entries.pop();
            self.departures.push(sends, port);
        }
        Instant::NEVER
    }

    /// Receives a frame; returns whether the next event may have changed.
    fn arrive(&mut self, parts: &mut Parts<'_>, stored: &mut Stored, egress: u16, now: Instant) -> bool {
        let (ingress, priority) = (stored.ingress, stored.packet.priority());
        if stored.packet.is_link_control() {
            self.receive_link_control(parts, stored, now);
            return true;
        }
        parts.ports[usize::from(ingress)].fill_lane(&stored.packet);
        let charge = parts.buffer.charge(stored.packet.frame_bytes());
        let port = &mut parts.ports[usize::from(egress)];
        let verdict = parts.markers.as_mut().map_or(Verdict::Pass, |markers| {
            markers.colour(stored, now);
            port.judge(&stored.packet, now)
        });
        if port.is_dropping(priority) {
            port.drop_frame(&stored.packet, DropCause::Watchdog);
            return false;
        }
        if verdict == Verdict::Drop {
            port.drop_frame(&stored.packet, DropCause::Wred);
            return false;
        }
        // With credits, a port may also send later than scheduled.
        let mut is_changed = parts.returns.is_some();
        let frame = Passage { ingress, egress, priority, charge };
        let queue_bytes = if parts.buffer.limits_queue(priority) { port.depth_of(priority, now) } else { 0 };
        let (admission, was_pausing) = admit(parts.buffer, &mut parts.readouts, frame, queue_bytes, now);
        match admission {
            Admission::Dropped(cause) => port.drop_frame(&stored.packet, cause),
            Admission::Stored => {
                let before = port.next_send();
                if verdict == Verdict::Mark {
                    port.mark_chosen(&mut stored.packet);
                }
                port.enqueue(stored);
                port.update_credit(priority, now);
                is_changed |= self.reschedule(parts.ports, egress, before, now);
            }
        }
        if parts.requests.note_arrival(parts.buffer, ingress, priority, now, parts.ports) {
            parts.busy.insert(ingress);
            self.reschedule(parts.ports, ingress, Instant::NEVER, now);
            is_changed = true;
        }
        if parts.buffer.pools().is_some() {
            is_changed |= self.take_pause_changes(parts, now);
        }
        if let (Some(was_pausing), Some(readouts)) = (was_pausing, &mut parts.readouts) {
            let starts_pause = !was_pausing && parts.buffer.is_pausing(ingress, priority);
            if starts_pause || parts.buffer.pools().is_some() {
                readouts.watch(parts.buffer);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Requests and ends the pauses of groups of pools whose need has changed; returns whether there were
    /// any.
    #[cold]
    fn take_pause_changes(&mut self, parts: &mut Parts<'_>, now: Instant) -> bool {
        let mut is_changed = false;
        while let Some(change) = parts.buffer.pools_mut().and_then(|pools| pools.next_change()) {
            let PauseChange { ingress, priority, is_start } = change;
            if is_start {
                parts.requests.request_once(ingress, priority, now, parts.ports);
            } else {
                parts.requests.end(ingress, priority, now, parts.ports);
            }
            parts.busy.insert(ingress);
            self.reschedule(parts.ports, ingress, Instant::NEVER, now);
            is_changed = true;
        }
        is_changed
    }

    /// Removes a frame sent or lost by `egress` from the buffer, and ends the pauses that this makes
    /// unnecessary.
    fn release(&mut self, parts: &mut Parts<'_>, egress: u16, frame: BufferedFrame, now: Instant) {
        let charge = parts.buffer.charge(frame.frame_bytes);
        if let Some(pools) = parts.buffer.pools_mut() {
            pools.release(Passage::new(frame, egress, charge));
            self.take_pause_changes(parts, now);
        } else if release(parts.buffer, frame) {
            self.end_pause(parts, frame.ingress, frame.priority, now);
        }
    }

    /// Ends the pause of a group that no longer needs it.
    fn end_pause(&mut self, parts: &mut Parts<'_>, ingress: u16, priority: Priority, now: Instant) {
        parts.requests.end(ingress, priority, now, parts.ports);
        parts.busy.insert(ingress);
        self.reschedule(parts.ports, ingress, Instant::NEVER, now);
    }

    /// Processes the departure of cells that may end pauses.
    #[cold]
    fn read(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Some(readouts) = &mut parts.readouts else { return };
        let groups = readouts.leave(now, parts.buffer);
        if parts.buffer.pools().is_some() {
            self.take_pause_changes(parts, now);
        } else {
            for (ingress, priority) in groups {
                if parts.buffer.end_pause(ingress, priority) {
                    self.end_pause(parts, ingress, priority, now);
                }
            }
        }
        if let Some(readouts) = &mut parts.readouts {
            readouts.watch(parts.buffer);
        }
    }

    /// Receives a pause or a credit.
    fn receive_link_control(&mut self, parts: &mut Parts<'_>, stored: &Stored, now: Instant) {
        if let Some((port, packet)) = parts.reactions.push(now, (stored.ingress, stored.packet)) {
            self.take_effect(parts, port, &packet, now);
        }
    }

    /// Applies a pause or a credit that a port received.
    fn take_effect(&mut self, parts: &mut Parts<'_>, port: u16, packet: &Packet, now: Instant) {
        let before = parts.ports[usize::from(port)].next_send();
        parts.ports[usize::from(port)].receive_link_control(packet);
        parts.busy.insert(port);
        self.reschedule(parts.ports, port, before, now);
        if packet.quanta() > 0
            && let Some(watchdog) = &mut parts.watchdog
        {
            watchdog.note_pause(port, packet.priority(), now);
        }
    }

    /// Runs the watchdog on the queue that is due.
    fn check_storm(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Some(watchdog) = &mut parts.watchdog else { return };
        let Checked { port, flushed } = watchdog.check(now, parts.ports);
        let has_flushed = !flushed.is_empty();
        if has_flushed && let Some(readouts) = &mut parts.readouts {
            readouts.advance(now, parts.buffer);
        }
        for lost in flushed {
            self.release(parts, port, lost, now);
        }
        if has_flushed && let Some(readouts) = &mut parts.readouts {
            readouts.watch(parts.buffer);
        }
        parts.busy.insert(port);
        self.reschedule(parts.ports, port, Instant::NEVER, now);
    }

    fn depart(&mut self, parts: &mut Parts<'_>, now: Instant, context: &mut Context) {
        let Some((_, egress)) = self.departures.first() else { return };
        self.departures.entries.pop();
        if let Some(sent) = parts.ports[usize::from(egress)].send_next(now, context) {
            if let Some(returns) = &mut parts.returns {
                returns.push(parts.ports[usize::from(egress)].transmitter().free_at(), sent);
            }
            match &mut parts.readouts {
                None => self.release(parts, egress, sent, now),
                Some(readouts) => {
                    let byte_time = parts.ports[usize::from(egress)].transmitter().byte_time();
                    let frame = OnLink { start: now, byte_time, frame_bytes: sent.frame_bytes };
                    readouts.begin(egress, sent, frame, parts.buffer);
                    if parts.buffer.pools().is_some() {
                        self.take_pause_changes(parts, now);
                    }
                }
            }
        }
        self.reschedule(parts.ports, egress, Instant::NEVER, now);
    }

    /// Ends the transmission of a frame: its receive buffer can be granted again.
    fn free(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Some(freed) = parts.returns.as_mut().and_then(|returns| returns.pop()) else { return };
        let port = &mut parts.ports[usize::from(freed.ingress)];
        port.free_lane(freed.priority, freed.frame_bytes);
        parts.busy.insert(freed.ingress);
        self.reschedule(parts.ports, freed.ingress, Instant::NEVER, now);
    }
}
