//! A port on the fast path of its switch: what arrives in a window passes from the arrivals to the link, and only what
//! stays is put into queues.

use super::{EgressPort, Queue, Queued, Stored};
use crate::kernel::{Context, Outlet};
use crate::packet::{Packet, Priority};
use crate::switch::buffer::SharedBuffer;
use crate::switch::lineup::Lineup;
use crate::switch::schedule::Scheduler;
use units::Instant;

/// What waits: frames in queues, and arrivals of the window that were taken in and not sent, by their place.
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
    const fn is_queued(&self, priority: Priority) -> bool {
        self.queued & priority.bit() != 0
    }

    /// No arrival of the window waits.
    #[inline]
    const fn has_no_arrivals(&self, priority: Priority) -> bool {
        self.places[priority.index()] == 0
    }

    /// The place of the first; one past all places if there is none.
    #[inline]
    const fn first(&self, priority: Priority) -> usize {
        self.places[priority.index()].trailing_zeros() as usize
    }

    /// Bytes of all of `arrivals` that wait.
    fn bytes(&self, priority: Priority, arrivals: &Lineup<'_>) -> u64 {
        let (mut places, mut bytes) = (self.places[priority.index()], 0);
        while places != 0 {
            bytes += u64::from(arrivals.frame(places.trailing_zeros() as usize).packet.frame_bytes());
            places &= places - 1;
        }
        bytes
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
        let mut outlet = context.outlet(self.to);
        let mut waiting = Waiting { queued: self.occupied, places: [0; Priority::COUNT] };
        let mut next = 0;
        loop {
            let mut now = self.transmitter.free_at();
            if self.occupied == 0 {
                if next == arrivals.len() {
                    return;
                }
                now = now.max(arrivals.at(next));
                if now < end && arrivals.at(next + 1) > now {
                    self.pass(arrivals.frame(next), now, &mut outlet);
                    next += 1;
                    continue;
                }
            }
            if now >= end {
                break;
            }
            while arrivals.at(next) <= now {
                self.take_in(&mut arrivals, &mut waiting, next);
                next += 1;
            }
            self.send_waiting(&arrivals, &mut waiting, buffer, now, &mut outlet);
        }
        for index in next..arrivals.len() {
            self.take_in(&mut arrivals, &mut waiting, index);
        }
        self.store_all(&arrivals, &mut waiting, buffer);
    }

    /// Sends a frame that is alone at a free port: no need to pass through a queue.
    #[inline]
    fn pass(&mut self, stored: &Stored, now: Instant, outlet: &mut Outlet<'_, Packet>) {
        self.note_depth(u64::from(stored.packet.frame_bytes()));
        self.transmitter.transmit(&stored.packet, now, outlet);
        if !self.is_plain {
            self.tell_of_pass(stored, now);
        }
    }

    #[cold]
    fn tell_of_pass(&mut self, stored: &Stored, now: Instant) {
        if let Some(control) = &mut self.control {
            control.pass(stored, now, self.transmitter.free_at());
        }
    }

    /// Has the arrival at `index` wait. It counts for the length of its queue once it is stored.
    #[inline]
    fn take_in(&mut self, arrivals: &mut Lineup<'_>, waiting: &mut Waiting, index: usize) {
        if self.may_mark() {
            self.mark_arrival(arrivals, waiting, index);
        }
        let priority = self.note_waiting(&arrivals.frame(index).packet);
        waiting.insert(priority, index);
    }

    #[cold]
    fn mark_arrival(&mut self, arrivals: &mut Lineup<'_>, waiting: &Waiting, index: usize) {
        let priority = arrivals.frame(index).packet.priority();
        let queue_bytes = self.queue_bytes(priority) + waiting.bytes(priority, arrivals);
        self.mark(arrivals.frame_mut(index), queue_bytes);
    }

    /// Sends the frame whose turn it is, from a queue or, behind that, from those of `arrivals` that wait.
    #[inline]
    fn send_waiting(
        &mut self,
        arrivals: &Lineup<'_>,
        waiting: &mut Waiting,
        buffer: &mut SharedBuffer,
        now: Instant,
        outlet: &mut Outlet<'_, Packet>,
    ) {
        let priority = self.pick(arrivals, waiting);
        let Queue { frames, bytes: queue_bytes } = &mut self.queues[priority.index()];
        let is_queued = waiting.is_queued(priority);
        let (packet, ingress) = if is_queued {
            let first = frames.front().expect("a queue that holds something was marked");
            (first.packet(), first.ingress())
        } else {
            (&arrivals.frame(waiting.pop_first(priority)).packet, 0)
        };
        let frame_bytes = packet.frame_bytes();
        self.queued_bytes -= u64::from(frame_bytes);
        self.transmitter.transmit(packet, now, outlet);
        if is_queued {
            *queue_bytes -= u64::from(frame_bytes);
            buffer.release_unpaused(ingress, priority, buffer.charge(frame_bytes));
            frames.drop_front();
            if frames.is_empty() {
                frames.rewind();
                waiting.queued &= !priority.bit();
            }
        }
        if waiting.has_no_arrivals(priority) && !waiting.is_queued(priority) {
            self.occupied &= !priority.bit();
        }
        if !self.is_plain {
            self.tell_of_departure(priority, frame_bytes, now);
        }
    }

    /// The priority whose turn it is; something waits.
    #[inline]
    fn pick(&mut self, arrivals: &Lineup<'_>, waiting: &Waiting) -> Priority {
        if self.is_plain { Scheduler::highest(self.occupied) } else { self.pick_scheduled(arrivals, waiting) }
    }

    #[cold]
    fn pick_scheduled(&mut self, arrivals: &Lineup<'_>, waiting: &Waiting) -> Priority {
        let queues = &self.queues;
        let head_bytes = |priority: Priority| {
            let queued = queues[priority.index()].frames.front().map(Queued::packet);
            queued.unwrap_or_else(|| &arrivals.frame(waiting.first(priority)).packet).frame_bytes()
        };
        self.scheduler.pick(self.occupied, head_bytes)
    }

    /// Puts the arrivals that still wait into their queues, and has `buffer` count them.
    #[inline]
    fn store_all(&mut self, arrivals: &Lineup<'_>, waiting: &mut Waiting, buffer: &mut SharedBuffer) {
        let mut occupied = self.occupied;
        while occupied != 0 {
            let priority = Priority(occupied.trailing_zeros() as u8);
            occupied &= occupied - 1;
            let Queue { frames, bytes } = &mut self.queues[priority.index()];
            while !waiting.has_no_arrivals(priority) {
                let stored = arrivals.frame(waiting.pop_first(priority));
                buffer.store(stored.ingress, priority, buffer.charge(stored.packet.frame_bytes()));
                *bytes += u64::from(stored.packet.frame_bytes());
                frames.push_with(|| Queued::new(stored));
            }
        }
    }
}
