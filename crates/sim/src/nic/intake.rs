//! The receive buffer of a NIC whose host takes data out more slowly than the link brings it.
//!
//! Models one FIFO for payload, drained at a rate that may change at given times, that asks the switch for a
//! pause above a level and ends it at half of that level, and has senders of what comes above another level
//! notified. Control packets bypass it. Leaves out PCIe, memory and per-queue-pair buffers.

use crate::packet::{Packet, Priority};
use std::collections::VecDeque;
use units::{Cycle, Instant, Rate, Span};

/// How a receive buffer is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntakePlan {
    /// How fast the host takes data out; none if as fast as it comes, for now.
    pub(crate) drain: Option<Rate>,
    pub(crate) size_bytes: u64,
    pub(crate) xoff_bytes: u64,
    /// What comes while it holds more than that is answered by congestion notifications.
    pub(crate) cnp_above_bytes: u64,
    /// Pause time asked for [quanta]; none if PFC is off.
    pub(crate) pause_quanta: Option<u16>,
    pub(crate) data: Priority,
    pub(crate) line_rate: Rate,
}

/// A frame that the host has taken out.
pub(super) struct Drained {
    pub(super) packet: Packet,
    /// A pause frame to send.
    pub(super) pause: Option<Packet>,
    /// It is to be answered by a congestion notification.
    pub(super) notifies: bool,
}

/// A receive buffer.
#[derive(Debug)]
pub(super) struct Intake {
    plan: IntakePlan,
    /// When the host has taken out each frame, and whether it is to be answered by a notification.
    queue: VecDeque<(Instant, Packet, bool)>,
    used_bytes: u64,
    last: Instant,
    renew_at: Instant,
    /// Frames that found it full.
    pub(super) dropped: u64,
}

impl Intake {
    pub(super) const fn new(plan: IntakePlan) -> Self {
        Self {
            plan,
            queue: VecDeque::new(),
            used_bytes: 0,
            last: Instant::ZERO,
            renew_at: Instant::NEVER,
            dropped: 0,
        }
    }

    /// Takes in a frame at `now`; a pause frame to send, if one is due.
    pub(super) fn arrive(&mut self, packet: Packet, now: Instant) -> Option<Packet> {
        let bytes = u64::from(packet.frame_bytes());
        if self.used_bytes + bytes > self.plan.size_bytes {
            self.dropped += 1;
        } else {
            self.used_bytes += bytes;
            self.last = self.last.max(now) + self.drain_rate().span_of(bytes);
            self.queue.push_back((self.last, packet, self.used_bytes > self.plan.cnp_above_bytes));
        }
        let asks = self.used_bytes > self.plan.xoff_bytes && self.renew_at == Instant::NEVER;
        if asks { self.ask(now) } else { None }
    }

    const fn drain_rate(&self) -> Rate {
        match self.plan.drain {
            Some(rate) => rate,
            None => self.plan.line_rate,
        }
    }

    /// Nothing waits and the host keeps up: frames need not go through it.
    pub(super) fn is_open(&self) -> bool {
        self.plan.drain.is_none() && self.queue.is_empty()
    }

    /// The host takes data out at another rate from now on, after the frame that it is taking out.
    pub(super) fn set_drain(&mut self, drain: Option<Rate>) {
        self.plan.drain = drain;
        let rate = self.drain_rate();
        let mut frames = self.queue.iter_mut();
        let Some(&mut (first, ..)) = frames.next() else { return };
        self.last = first;
        for (at, packet, _) in frames {
            self.last += rate.span_of(u64::from(packet.frame_bytes()));
            *at = self.last;
        }
    }

    /// When the host has taken the next frame out.
    pub(super) fn next_drained(&self) -> Instant {
        self.queue.front().map_or(Instant::NEVER, |&(at, ..)| at)
    }

    /// The frame the host has taken out by `now`, and a pause frame to send, if one is due.
    pub(super) fn drain(&mut self) -> Option<Drained> {
        let (_, packet, notifies) = self.queue.pop_front()?;
        self.used_bytes -= u64::from(packet.frame_bytes());
        let ends = self.renew_at != Instant::NEVER && self.used_bytes <= self.plan.xoff_bytes / 2;
        let pause = ends.then(|| {
            self.renew_at = Instant::NEVER;
            Packet::pause(self.plan.data, 0)
        });
        Some(Drained { packet, pause, notifies })
    }

    /// When the pause asked for must be renewed.
    pub(super) const fn next_renewal(&self) -> Instant {
        self.renew_at
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self { plan: _, queue, used_bytes, last, renew_at, dropped } = self;
        cycle.same_list([queue.len() as u64, *used_bytes].into_iter());
        for (at, packet, notifies) in queue {
            cycle.time(at);
            packet.visit(cycle);
            cycle.same(u64::from(*notifies));
        }
        cycle.time(last);
        cycle.time(renew_at);
        cycle.count(dropped);
    }

    /// A pause frame that asks for, or renews, the pause.
    pub(super) fn ask(&mut self, now: Instant) -> Option<Packet> {
        let quanta = self.plan.pause_quanta?;
        self.renew_at = now + Span(self.plan.line_rate.span_of(u64::from(quanta) * 64).0 / 2);
        Some(Packet::pause(self.plan.data, quanta))
    }
}
