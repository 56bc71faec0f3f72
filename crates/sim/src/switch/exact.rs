//! The exact path of a switch: a window replayed in strict order of time, for when a threshold is within reach or
//! a pause is in play.

use super::buffer::{Admission, DropCause, SharedBuffer};
use super::pfc::PauseRequests;
use super::port_set::PortSet;
use super::queue::{EgressPort, Stored, release};
use super::returns::Returns;
use super::watchdog::{Look, Watchdog};
use crate::kernel::{Context, Message};
use crate::packet::Packet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// An arrival, and where it goes.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    stored: Stored,
    /// Egress port; of no meaning for a pause frame.
    egress: u16,
}

/// Scratch space of a replay; empty between windows.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Ordered by (time, ingress port, sequence).
    arrivals: Vec<Arrival>,
    /// The first arrival not yet replayed.
    next: usize,
    /// When ports send next. An entry holds only while the port still says so.
    departures: BinaryHeap<Reverse<(Instant, u16)>>,
}

/// The parts of a switch that a replay works on.
pub(super) struct Parts<'a> {
    pub(super) ports: &'a mut [EgressPort],
    pub(super) buffer: &'a mut SharedBuffer,
    pub(super) requests: &'a mut PauseRequests,
    pub(super) watchdog: Option<&'a mut Watchdog>,
    /// Frames on their way out whose buffers will be granted again, on InfiniBand.
    pub(super) returns: Option<&'a mut Returns>,
    /// Ports that have something to send or are paused, or were; every port that changes is among them.
    pub(super) busy: &'a mut PortSet,
}

impl Replay {
    /// Takes an arrival.
    pub(super) fn push(&mut self, stored: Stored, egress: u16) {
        self.arrivals.push(Arrival { stored, egress });
    }

    /// Replays the window that ends at `end`. At equal times arrivals come first, then renewed pauses, then
    /// the watchdog, then buffers that are free again, then departures; ports in order.
    pub(super) fn run<R>(&mut self, mut parts: Parts<'_>, end: Instant, context: &mut Context<Packet, R>) {
        // No two frames of one link arrive at the same time, so this order has no ties.
        self.arrivals.sort_unstable_by_key(|arrival| (arrival.stored.packet.at(), arrival.stored.ingress));
        for port in parts.busy.iter() {
            self.schedule(parts.ports[usize::from(port)].next_send(), port);
        }
        loop {
            let arrival = self.arrivals.get(self.next).map_or(Instant::NEVER, |next| next.stored.packet.at());
            let renewal = parts.requests.next_renewal();
            let departure = self.next_departure(parts.ports);
            let look = parts.watchdog.as_ref().map_or(Instant::NEVER, |watchdog| watchdog.next_due());
            let free = parts.returns.as_ref().map_or(Instant::NEVER, |returns| returns.next_due());
            let now = arrival.min(renewal).min(look).min(free).min(departure);
            if now >= end {
                break;
            }
            if arrival == now {
                self.arrive(&mut parts, now);
            } else if renewal == now {
                let port = parts.requests.renew(now, parts.ports);
                parts.busy.insert(port);
                self.reschedule(parts.ports, port, Instant::NEVER, now);
            } else if look == now {
                self.look(&mut parts, now);
            } else if free == now {
                self.free(&mut parts, now);
            } else {
                self.depart(&mut parts, now, context);
            }
        }
        debug_assert_eq!(self.next, self.arrivals.len(), "every arrival lies in the window");
        self.arrivals.clear();
        self.next = 0;
        self.departures.clear();
    }

    fn schedule(&mut self, at: Instant, port: u16) {
        if at != Instant::NEVER {
            self.departures.push(Reverse((at, port)));
        }
    }

    /// Notes when `port` sends next, seen from `now`, if that is sooner than `before`.
    fn reschedule(&mut self, ports: &[EgressPort], port: u16, before: Instant, now: Instant) {
        let at = ports[usize::from(port)].next_send();
        if at < before {
            self.schedule(at.max(now), port);
        }
    }

    /// The earliest departure that still holds.
    fn next_departure(&mut self, ports: &[EgressPort]) -> Instant {
        while let Some(&Reverse((at, port))) = self.departures.peek() {
            if ports[usize::from(port)].next_send() <= at {
                return at;
            }
            self.departures.pop();
            // It was put off meanwhile: by a frame already sent, or by a pause.
            self.schedule(ports[usize::from(port)].next_send(), port);
        }
        Instant::NEVER
    }

    fn arrive(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Arrival { stored, egress } = self.arrivals[self.next];
        self.next += 1;
        if stored.packet.is_link_control() {
            let before = parts.ports[usize::from(stored.ingress)].next_send();
            parts.ports[usize::from(stored.ingress)].receive_link_control(&stored.packet);
            parts.busy.insert(stored.ingress);
            self.reschedule(parts.ports, stored.ingress, before, now);
            if stored.packet.quanta() > 0
                && let Some(watchdog) = &mut parts.watchdog
            {
                watchdog.note_pause(stored.ingress, stored.packet.priority(), now);
            }
            return;
        }
        let priority = stored.packet.priority();
        parts.ports[usize::from(stored.ingress)].fill_lane(&stored.packet);
        let charge = parts.buffer.charge(stored.packet.frame_bytes());
        let port = &mut parts.ports[usize::from(egress)];
        if port.is_dropping(priority) {
            port.drop_frame(&stored.packet, DropCause::Watchdog);
            return;
        }
        let admission = parts.buffer.admit(stored.ingress, priority, charge, port.queue_bytes(priority));
        match admission {
            Admission::Dropped(cause) => port.drop_frame(&stored.packet, cause),
            Admission::Stored => {
                let before = port.next_send();
                port.enqueue(stored);
                port.look_at_credit(priority, now);
                self.reschedule(parts.ports, egress, before, now);
            }
        }
        if parts.requests.note_arrival(parts.buffer, stored.ingress, priority, now, parts.ports) {
            parts.busy.insert(stored.ingress);
            self.reschedule(parts.ports, stored.ingress, Instant::NEVER, now);
        }
    }

    /// The watchdog looks at a queue.
    fn look(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Some(watchdog) = &mut parts.watchdog else { return };
        let Look { port, flushed } = watchdog.look(now, parts.ports);
        for stored in flushed {
            if release(parts.buffer, &stored) {
                parts.requests.end(stored.ingress, stored.packet.priority(), parts.ports);
                parts.busy.insert(stored.ingress);
                self.reschedule(parts.ports, stored.ingress, Instant::NEVER, now);
            }
        }
        parts.busy.insert(port);
        self.reschedule(parts.ports, port, Instant::NEVER, now);
    }

    fn depart<R>(&mut self, parts: &mut Parts<'_>, now: Instant, context: &mut Context<Packet, R>) {
        let Some(Reverse((_, egress))) = self.departures.pop() else { return };
        if let Some(sent) = parts.ports[usize::from(egress)].send_next(now, context) {
            if let Some(returns) = &mut parts.returns {
                returns.push(parts.ports[usize::from(egress)].transmitter().free_at(), &sent);
            }
            if release(parts.buffer, &sent) {
                parts.requests.end(sent.ingress, sent.packet.priority(), parts.ports);
                parts.busy.insert(sent.ingress);
                self.reschedule(parts.ports, sent.ingress, Instant::NEVER, now);
            }
        }
        self.reschedule(parts.ports, egress, Instant::NEVER, now);
    }

    /// A frame is out: the buffer that it took can be granted again.
    fn free(&mut self, parts: &mut Parts<'_>, now: Instant) {
        let Some(freed) = parts.returns.as_mut().and_then(|returns| returns.pop()) else { return };
        let port = &mut parts.ports[usize::from(freed.ingress)];
        port.free_lane(freed.priority, freed.frame_bytes);
        parts.busy.insert(freed.ingress);
        self.reschedule(parts.ports, freed.ingress, Instant::NEVER, now);
    }
}
