//! An egress port of a switch: a queue per priority behind one transmitter, strict priority.

use crate::egress::{Transmitter, Wire};
use crate::kernel::{Context, Message};
use crate::packet::{Packet, Priority};
use std::collections::VecDeque;
use units::Instant;

/// What a port counts beyond what it sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueCounters {
    /// Largest queue, an arriving frame included [bytes].
    pub(crate) queue_max_bytes: u64,
    /// Frames that found the buffer full.
    pub(crate) dropped_frames: u64,
    /// Their bytes.
    pub(crate) dropped_bytes: u64,
}

/// An egress port.
///
/// The rule both paths of the switch follow: when the port is free at `t` it first takes in everything that has
/// arrived by `t`, then sends the oldest frame of the highest priority.
#[derive(Clone, Debug)]
pub(crate) struct EgressPort {
    transmitter: Transmitter,
    queues: [VecDeque<Packet>; Priority::COUNT],
    /// Bit `p` is set while queue `p` holds something.
    occupied: u8,
    queued_bytes: u64,
    counters: QueueCounters,
}

impl EgressPort {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            transmitter: Transmitter::new(wire),
            queues: Default::default(),
            occupied: 0,
            queued_bytes: 0,
            counters: QueueCounters::default(),
        }
    }

    /// When the port sends next: now or when it is free, if anything waits.
    #[inline]
    pub(crate) const fn has_backlog(&self) -> bool {
        self.occupied != 0
    }

    #[inline]
    pub(crate) const fn free_at(&self) -> Instant {
        self.transmitter.free_at()
    }

    pub(crate) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(crate) const fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Bytes waiting, the frame in transmission excluded.
    pub(crate) const fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Frames waiting.
    pub(crate) fn queued_frames(&self) -> u64 {
        self.queues.iter().map(|queue| queue.len() as u64).sum()
    }

    /// Takes in a frame.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet) {
        let priority = packet.kind().priority().0;
        self.queues[usize::from(priority)].push_back(packet);
        self.occupied |= 1 << priority;
        self.queued_bytes += u64::from(packet.frame_bytes());
        self.note_depth(self.queued_bytes);
    }

    /// Counts a frame that found the buffer full.
    #[cold]
    pub(crate) fn drop_frame(&mut self, packet: &Packet) {
        self.counters.dropped_frames += 1;
        self.counters.dropped_bytes += u64::from(packet.frame_bytes());
    }

    /// Sends the next frame from `start` on; returns its size. Something must be waiting.
    #[inline]
    pub(crate) fn send_next<R>(&mut self, start: Instant, context: &mut Context<Packet, R>) -> u64 {
        let priority = 7 - self.occupied.leading_zeros() as usize;
        let queue = &mut self.queues[priority];
        let packet = queue.pop_front().expect("the occupied bit of an empty queue is clear");
        if queue.is_empty() {
            self.occupied &= !(1 << priority);
        }
        let bytes = u64::from(packet.frame_bytes());
        self.queued_bytes -= bytes;
        self.transmitter.transmit(packet, start, context);
        bytes
    }

    /// The fast path: `arrivals` are all that reaches this port before `end`, in order, and all of them fit.
    /// Sends what starts before `end` and queues the rest; returns the bytes sent.
    #[inline]
    pub(crate) fn serve<R>(
        &mut self,
        arrivals: &[Packet],
        end: Instant,
        context: &mut Context<Packet, R>,
    ) -> u64 {
        let mut sent_bytes = 0;
        let mut next = 0;
        loop {
            let mut now = self.transmitter.free_at();
            if self.occupied == 0 {
                let Some(packet) = arrivals.get(next) else { return sent_bytes };
                now = now.max(packet.at());
                if now < end && arrivals.get(next + 1).is_none_or(|second| second.at() > now) {
                    // Alone at a free port: no need to pass through a queue.
                    sent_bytes += self.send_through(*packet, now, context);
                    next += 1;
                    continue;
                }
            }
            if now >= end {
                break;
            }
            while let Some(packet) = arrivals.get(next).filter(|packet| packet.at() <= now) {
                self.enqueue(*packet);
                next += 1;
            }
            sent_bytes += self.send_next(now, context);
        }
        for packet in &arrivals[next..] {
            self.enqueue(*packet);
        }
        sent_bytes
    }

    #[inline]
    fn send_through<R>(&mut self, packet: Packet, start: Instant, context: &mut Context<Packet, R>) -> u64 {
        let bytes = u64::from(packet.frame_bytes());
        self.note_depth(bytes);
        self.transmitter.transmit(packet, start, context);
        bytes
    }

    #[inline]
    fn note_depth(&mut self, bytes: u64) {
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(bytes);
    }
}
