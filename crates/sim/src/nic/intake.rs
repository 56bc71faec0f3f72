//! Receive buffer of a NIC whose host drains data more slowly than the link delivers it: drains frames to the
//! host, drops those that do not fit, and requests pauses.
//!
//! Models one FIFO of payload, drained at a rate that may change at given times. Above one threshold it
//! requests a pause from the switch, and ends the pause at half of that threshold; frames that arrive above
//! another threshold are answered by congestion notifications. Control packets bypass it. Leaves out PCIe,
//! memory and buffers per queue pair.

use crate::packet::{Packet, Priority};
use std::collections::VecDeque;
use units::{Instant, Rate, Span, State};

/// Parameters of a receive buffer.
#[derive(Clone, Debug)]
pub(crate) struct IntakePlan {
    /// Rate at which the host drains it; `None` while the host keeps up with the link.
    pub(crate) drain: Option<Rate>,
    pub(crate) size_bytes: u64,
    pub(crate) xoff_bytes: u64,
    /// Frames that arrive above this fill level are answered by congestion notifications.
    pub(crate) cnp_above_bytes: u64,
    /// Requested pause time [quanta]; `None` if PFC is off.
    pub(crate) pause_quanta: Option<u16>,
    /// Priorities of payload for which it requests pauses.
    pub(crate) paused: Vec<Priority>,
    pub(crate) line_rate: Rate,
}

/// A frame drained by the host.
pub(super) struct Drained {
    pub(super) packet: Packet,
    /// Pause frames to send have these quanta.
    pub(super) pause: Option<u16>,
    /// It must be answered by a congestion notification.
    pub(super) notifies: bool,
}

/// A receive buffer.
#[derive(Debug, State)]
pub(super) struct Intake {
    #[state(skip)]
    plan: IntakePlan,
    /// Time at which each frame is drained, the frame, and whether it must be answered by a notification.
    queue: VecDeque<(Instant, Packet, bool)>,
    used_bytes: u64,
    last: Instant,
    renew_at: Instant,
    /// Frames dropped because the buffer was full.
    #[state(count)]
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

    /// Adds a frame at `now`; returns the quanta of pause frames if any must be sent.
    pub(super) fn arrive(&mut self, packet: Packet, now: Instant) -> Option<u16> {
        let bytes = u64::from(packet.frame_bytes());
        if self.used_bytes + bytes > self.plan.size_bytes {
            self.dropped += 1;
        } else {
            self.used_bytes += bytes;
            self.last = self.last.max(now) + self.drain_rate().span_of(bytes);
            self.queue.push_back((self.last, packet, self.used_bytes > self.plan.cnp_above_bytes));
        }
        let is_over = self.used_bytes > self.plan.xoff_bytes && self.renew_at == Instant::NEVER;
        if is_over { self.request_pause(now) } else { None }
    }

    const fn drain_rate(&self) -> Rate {
        match self.plan.drain {
            Some(rate) => rate,
            None => self.plan.line_rate,
        }
    }

    /// The buffer is empty and the host keeps up: frames may bypass it.
    pub(super) fn is_open(&self) -> bool {
        self.plan.drain.is_none() && self.queue.is_empty()
    }

    /// Changes the drain rate, from the end of the frame being drained.
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

    /// Pause frames with these quanta, one for each priority.
    pub(super) fn pause_frames(&self, quanta: u16) -> impl Iterator<Item = Packet> {
        self.plan.paused.iter().map(move |&priority| Packet::pause(priority, quanta))
    }

    /// Time at which the next frame is drained.
    pub(super) fn next_drained(&self) -> Instant {
        self.queue.front().map_or(Instant::NEVER, |&(at, ..)| at)
    }

    /// Removes the next drained frame.
    pub(super) fn drain(&mut self) -> Option<Drained> {
        let (_, packet, notifies) = self.queue.pop_front()?;
        self.used_bytes -= u64::from(packet.frame_bytes());
        let ends = self.renew_at != Instant::NEVER && self.used_bytes <= self.plan.xoff_bytes / 2;
        let pause = ends.then(|| {
            self.renew_at = Instant::NEVER;
            0
        });
        Some(Drained { packet, pause, notifies })
    }

    /// Time at which the requested pause must be renewed.
    pub(super) const fn next_renewal(&self) -> Instant {
        self.renew_at
    }

    /// Requests or renews the pause; returns its quanta.
    pub(super) fn request_pause(&mut self, now: Instant) -> Option<u16> {
        let quanta = self.plan.pause_quanta?;
        self.renew_at = now + Span(self.plan.line_rate.span_of(u64::from(quanta) * 64).0 / 2);
        Some(quanta)
    }
}
