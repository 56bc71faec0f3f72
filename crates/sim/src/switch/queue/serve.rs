//! A port on the fast path of its switch: what arrives in a window passes from the arrivals to the link, and only what
//! stays is put into queues.

use super::{EgressPort, Stored, release};
use crate::kernel::Context;
use crate::packet::{Packet, Priority};
use crate::switch::buffer::SharedBuffer;
use crate::switch::lineup::Lineup;
use units::Instant;

/// What waits: frames in queues, and arrivals of the window that were taken in and not sent, by their place.
#[derive(Default)]
struct Waiting {
    /// Bit `p` is set while queue `p` holds frames from before: they come first.
    queued: u8,
    places: [u64; Priority::COUNT],
}

impl Waiting {
    const ARRIVALS_MAX: usize = u64::BITS as usize;

    #[inline]
    const fn insert(&mut self, priority: Priority, place: usize) {
        self.places[priority.index()] |= 1 << place;
    }

    #[inline]
    const fn contains(&self, priority: Priority, place: usize) -> bool {
        self.places[priority.index()] >> place & 1 == 1
    }

    #[inline]
    const fn is_empty(&self, priority: Priority) -> bool {
        self.places[priority.index()] == 0 && self.queued & priority.bit() == 0
    }

    /// The place of the first; one past all places if there is none.
    #[inline]
    const fn first(&self, priority: Priority) -> usize {
        self.places[priority.index()].trailing_zeros() as usize
    }

    #[inline]
    const fn pop_first(&mut self, priority: Priority) -> usize {
        let first = self.first(priority);
        self.places[priority.index()] &= self.places[priority.index()].wrapping_sub(1);
        first
    }
}

impl EgressPort {
    /// [`Self::next_send`] while no pause is in play.
    #[inline]
    pub(crate) const fn next_send_unpaused(&self) -> Instant {
        if self.occupied == 0 { Instant::NEVER } else { self.transmitter.free_at() }
    }

    /// The fast path: `arrivals` are all that reaches this port before `end`, in order; all of them fit and no
    /// pause is in play. Sends what starts before `end` and stores the rest in `buffer`, which never hears of frames
    /// that leave in the window in which they came: no threshold depends on them.
    #[inline]
    pub(crate) fn serve<R>(
        &mut self,
        mut arrivals: Lineup<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context<Packet, R>,
    ) {
        while arrivals.len() > Waiting::ARRIVALS_MAX {
            let next = arrivals.at(Waiting::ARRIVALS_MAX);
            self.serve_some(arrivals.take_first(Waiting::ARRIVALS_MAX), buffer, next, context);
        }
        self.serve_some(arrivals, buffer, end, context);
    }

    /// The same for few enough arrivals. They pass from where they are to the link; only those that stay are put into
    /// queues.
    #[inline]
    fn serve_some<R>(
        &mut self,
        mut arrivals: Lineup<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context<Packet, R>,
    ) {
        let mut waiting = Waiting { queued: self.occupied, ..Waiting::default() };
        let mut next = 0;
        loop {
            let mut now = self.transmitter.free_at();
            if self.occupied == 0 {
                if next == arrivals.len() {
                    return;
                }
                now = now.max(arrivals.at(next));
                if now < end && arrivals.at(next + 1) > now {
                    self.pass(&arrivals, next, now, context);
                    next += 1;
                    continue;
                }
            }
            if now >= end {
                break;
            }
            while arrivals.at(next) <= now {
                let ingress = arrivals.ingress(next);
                waiting.insert(self.take_in(arrivals.packet_mut(next), ingress), next);
                next += 1;
            }
            self.send_waiting(&arrivals, &mut waiting, buffer, now, context);
        }
        for index in 0..arrivals.len() {
            let ingress = arrivals.ingress(index);
            let packet = arrivals.packet_mut(index);
            if index >= next {
                self.take_in(packet, ingress);
            } else if !waiting.contains(packet.priority(), index) {
                continue;
            }
            self.store(Stored { packet: *packet, ingress }, buffer);
        }
    }

    /// Sends the frame at `index`, alone at a free port: no need to pass through a queue.
    #[inline]
    fn pass<R>(
        &mut self,
        arrivals: &Lineup<'_>,
        index: usize,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        let packet = arrivals.packet(index);
        self.note_depth(u64::from(packet.frame_bytes()));
        self.transmitter.transmit(*packet, now, context);
        if let Some(control) = &mut self.control {
            let stored = Stored { packet: *packet, ingress: arrivals.ingress(index) };
            control.pass(&stored, now, self.transmitter.free_at());
        }
    }

    /// Sends the frame whose turn it is, from a queue or, behind that, from those of `arrivals` that wait.
    #[inline]
    fn send_waiting<R>(
        &mut self,
        arrivals: &Lineup<'_>,
        waiting: &mut Waiting,
        buffer: &mut SharedBuffer,
        now: Instant,
        context: &mut Context<Packet, R>,
    ) {
        let queues = &self.queues;
        let head_bytes = |priority: Priority| {
            let queued = queues[priority.index()].frames.front();
            let first = queued.map(|stored| &stored.packet);
            first.unwrap_or_else(|| arrivals.packet(waiting.first(priority))).frame_bytes()
        };
        let priority = self.scheduler.pick(self.occupied, head_bytes);
        let packet = if waiting.queued & priority.bit() == 0 {
            *arrivals.packet(waiting.pop_first(priority))
        } else {
            self.pop_queued(priority, waiting, buffer)
        };
        self.send(&packet, waiting.is_empty(priority), now, context);
    }

    /// Takes the first frame out of a queue that holds some from before.
    #[inline]
    fn pop_queued(&mut self, priority: Priority, waiting: &mut Waiting, buffer: &mut SharedBuffer) -> Packet {
        let frames = &mut self.queues[priority.index()].frames;
        let stored = frames.pop_front().expect("a queue that holds something was marked");
        if frames.is_empty() {
            frames.rewind();
            waiting.queued &= !priority.bit();
        }
        release(buffer, &stored);
        stored.packet
    }

    /// Puts a frame that was taken in into its queue, and has `buffer` count it.
    #[inline]
    fn store(&mut self, stored: Stored, buffer: &mut SharedBuffer) {
        let priority = stored.packet.priority();
        buffer.store(stored.ingress, priority, buffer.charge(stored.packet.frame_bytes()));
        self.queues[priority.index()].frames.push_back(stored);
    }
}
