//! Fast path of an egress port, used while no threshold is within reach and no pause is active: arrivals of a
//! time window (step of the simulation) pass directly to the link, and only the remaining ones are queued.

use super::{EgressPort, Queue, Queued, READS, Sending, Stored};
use crate::packet::{Packet, Priority};
use crate::switch::Context;
use crate::switch::admission::buffer::SharedBuffer;
use crate::switch::arrivals::PortArrivals;
use engine::Outlet;
use units::Instant;

/// Indices of arrivals of the window that were received and not sent: one bitmap per priority.
struct Unsent([u64; Priority::COUNT]);

impl Unsent {
    const MAX: usize = u64::BITS as usize;

    #[inline]
    const fn insert(&mut self, priority: Priority, index: usize) {
        self.0[priority.index()] |= 1 << index;
    }

    /// Index of the first; one past all indices if there is none.
    #[inline]
    const fn first(&self, priority: Priority) -> usize {
        self.0[priority.index()].trailing_zeros() as usize
    }

    /// Removes the first, which must exist; also returns whether others are left.
    #[inline]
    const fn pop_first(&mut self, priority: Priority) -> (usize, bool) {
        let indices = &mut self.0[priority.index()];
        let first = indices.trailing_zeros() as usize;
        *indices &= indices.wrapping_sub(1);
        (first, *indices != 0)
    }

    #[inline]
    const fn is_empty(&self, priority: Priority) -> bool {
        self.0[priority.index()] == 0
    }

    /// Total bytes of the waiting `arrivals`.
    fn bytes(&self, priority: Priority, arrivals: &PortArrivals<'_>) -> u64 {
        let (mut indices, mut bytes) = (self.0[priority.index()], 0);
        while indices != 0 {
            bytes += u64::from(arrivals.frame(indices.trailing_zeros() as usize).packet.frame_bytes());
            indices &= indices - 1;
        }
        bytes
    }
}

/// The frame that a port sent last: its index among the arrivals.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Last(usize);

impl Last {
    /// The frame is [`EgressPort::sending`].
    const STORED: Self = Self(usize::MAX);
}

/// Priorities of waiting frames while a port is served, stored in the port again afterwards; and the frame
/// that it sent last.
struct Waiting {
    /// Bit `p` is set while a frame of priority `p` waits.
    occupied: u32,
    /// Bit `p` is set while queue `p` contains frames from earlier windows, which are sent first.
    queued: u32,
    /// The buffer counts frames.
    counts_frames: bool,
    last: Last,
}

impl Waiting {
    #[inline]
    const fn is_queued(&self, priority: Priority) -> bool {
        self.queued >> priority.0 & 1 != 0
    }

    /// Marks the queue of a priority as empty.
    #[inline]
    fn end_queue(&mut self, priority: Priority) {
        self.queued &= (!1_u32).rotate_left(priority.0.into());
    }

    /// Marks a priority as having no waiting frames.
    #[inline]
    fn end(&mut self, priority: Priority) {
        self.occupied &= (!1_u32).rotate_left(priority.0.into());
    }

    /// The highest priority with waiting frames.
    #[inline]
    const fn highest(&self) -> Priority {
        Priority(((self.occupied | 1).ilog2() & (Priority::COUNT as u32 - 1)) as u8)
    }
}

impl EgressPort {
    /// [`Self::next_send`] while no pause is active.
    #[inline]
    pub(crate) const fn next_send_unpaused(&self) -> Instant {
        if self.occupied == 0 { Instant::NEVER } else { self.transmitter.free_at() }
    }

    /// The fast path. `arrivals` are all frames that reach this port before `end`, in order; all of them fit
    /// and no pause is active. Sends frames whose transmission starts before `end` and stores the rest in
    /// `buffer`. Frames that leave in the window in which they arrived are not counted there: no threshold
    /// depends on them.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        arrivals: PortArrivals<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context,
    ) {
        if arrivals.len() > Unsent::MAX {
            self.serve_many(arrivals, buffer, end, context);
        } else {
            self.serve_some(arrivals, buffer, end, context);
        }
    }

    /// [`Self::serve`] for more arrivals than [`Unsent`] can hold, in batches.
    #[cold]
    fn serve_many(
        &mut self,
        mut arrivals: PortArrivals<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context,
    ) {
        while arrivals.len() > Unsent::MAX {
            let next = arrivals.at(Unsent::MAX);
            self.serve_some(arrivals.take_first(Unsent::MAX), buffer, next, context);
            if self.occupied != 0 {
                // The last of them may have arrived at `next`, too, and the port may have been free before.
                self.wait_until(next);
            }
        }
        self.serve_some(arrivals, buffer, end, context);
    }

    /// [`Self::serve`] for at most as many arrivals as [`Unsent`] can hold. They pass from their slots to the
    /// link; only the remaining ones are queued.
    #[inline]
    fn serve_some(
        &mut self,
        arrivals: PortArrivals<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context,
    ) {
        if self.is_plain() {
            self.serve_as::<true>(arrivals, buffer, end, context);
        } else {
            self.serve_as::<false>(arrivals, buffer, end, context);
        }
    }

    /// [`Self::serve_some`] for ports that are plain, or not.
    #[inline(never)]
    fn serve_as<const IS_PLAIN: bool>(
        &mut self,
        mut arrivals: PortArrivals<'_>,
        buffer: &mut SharedBuffer,
        end: Instant,
        context: &mut Context,
    ) {
        let mut outlet = context.outlet(self.to);
        let occupied = self.occupied.into();
        let counts_frames = buffer.counts_frames();
        let mut waiting = Waiting { occupied, queued: occupied, counts_frames, last: Last::STORED };
        let mut unsent = Unsent([0; Priority::COUNT]);
        let bytes_before = self.queued_bytes;
        let mut next = 0;
        loop {
            let mut now = self.transmitter.free_at();
            if waiting.occupied == 0 {
                if next == arrivals.len() {
                    break;
                }
                now = now.max(arrivals.at(next));
                if (IS_PLAIN || self.marks_above > 0) && now < end && arrivals.at(next + 1) > now {
                    self.pass::<IS_PLAIN>(arrivals.frame(next), now, &mut outlet);
                    waiting.last = Last(next);
                    next += 1;
                    continue;
                }
            }
            if now >= end {
                break;
            }
            let after = arrivals.after(now);
            while arrivals.is_before(next, after) {
                self.take_in(&mut arrivals, &mut waiting, &mut unsent, next);
                next += 1;
            }
            self.send_waiting::<IS_PLAIN>(&arrivals, &mut waiting, &mut unsent, buffer, now, &mut outlet);
        }
        for index in next..arrivals.len() {
            self.take_in(&mut arrivals, &mut waiting, &mut unsent, index);
        }
        self.occupied = waiting.occupied as u8;
        self.note_last(&arrivals, waiting.last);
        if !waiting.counts_frames {
            buffer.change_shared(bytes_before, self.queued_bytes);
        }
        self.store_all(&arrivals, &waiting, &unsent, buffer);
    }

    /// Sends a single frame at a free port that is not marked, without queueing it.
    #[inline]
    fn pass<const IS_PLAIN: bool>(&mut self, stored: &Stored, now: Instant, outlet: &mut Outlet<'_, Packet>) {
        let frame_bytes = stored.packet.frame_bytes();
        if frame_bytes > self.quiet_depth {
            self.note_depth(frame_bytes.into());
        }
        self.transmitter.transmit(&stored.packet, now, outlet);
        if !IS_PLAIN {
            self.note_departure(stored.packet.priority(), frame_bytes, now);
        }
    }

    /// Stores the last sent frame as the frame in transmission.
    #[inline(always)]
    fn note_last(&mut self, arrivals: &PortArrivals<'_>, last: Last) {
        if self.traits & READS != 0 && last != Last::STORED {
            let Stored { packet, ingress } = arrivals.frame(last.0);
            self.sending = Sending::new(packet, *ingress);
        }
    }

    /// Marks the arrival at `index` as waiting. It counts towards the length of its queue from now on.
    #[inline(always)]
    fn take_in(
        &mut self,
        arrivals: &mut PortArrivals<'_>,
        waiting: &mut Waiting,
        unsent: &mut Unsent,
        index: usize,
    ) {
        let packet = &arrivals.frame(index).packet;
        let (priority, before) = (packet.priority(), self.queued_bytes);
        self.queued_bytes += u64::from(packet.frame_bytes());
        if self.queued_bytes > self.quiet_depth.into() {
            self.note_deep_among(arrivals.again(), unsent, waiting.last, index, before);
        }
        waiting.occupied |= 1 << priority.0;
        unsent.insert(priority, index);
    }

    /// [`Self::note_deep`] of the arrival at `index`.
    #[cold]
    fn note_deep_among(
        &mut self,
        mut arrivals: PortArrivals<'_>,
        unsent: &Unsent,
        last: Last,
        index: usize,
        before: u64,
    ) {
        self.note_last(&arrivals, last);
        let mut stored = *arrivals.frame(index);
        let priority = stored.packet.priority();
        self.note_deep(&mut stored, before, |port| {
            port.queue_bytes(priority) + unsent.bytes(priority, &arrivals)
        });
        *arrivals.frame_mut(index) = stored;
    }

    /// Sends the next frame by priority, from a queue or, after those, from the waiting `arrivals`.
    #[inline]
    fn send_waiting<const IS_PLAIN: bool>(
        &mut self,
        arrivals: &PortArrivals<'_>,
        waiting: &mut Waiting,
        unsent: &mut Unsent,
        buffer: &mut SharedBuffer,
        now: Instant,
        outlet: &mut Outlet<'_, Packet>,
    ) {
        let priority = if IS_PLAIN {
            waiting.highest()
        } else {
            self.pick_scheduled(waiting.occupied as u8, arrivals, unsent)
        };
        let (frame_bytes, is_more);
        if waiting.is_queued(priority) {
            let Queue { frames, bytes } = &mut self.queues[priority.index()];
            let first = frames.front().expect("a queue that holds something was marked");
            debug_assert!(first.has_arrived_by(now), "a frame leaves once it has arrived");
            frame_bytes = first.packet().frame_bytes();
            self.transmitter.transmit(first.packet(), now, outlet);
            if self.traits & READS != 0 {
                self.sending = Sending::new(first.packet(), first.ingress());
            }
            waiting.last = Last::STORED;
            *bytes -= u64::from(frame_bytes);
            if waiting.counts_frames {
                buffer.release_unpaused(first.ingress(), priority, frame_bytes);
            }
            frames.drop_front();
            if frames.is_empty() {
                frames.rewind();
                waiting.end_queue(priority);
                is_more = !unsent.is_empty(priority);
            } else {
                is_more = true;
            }
        } else {
            let index;
            (index, is_more) = unsent.pop_first(priority);
            let packet = &arrivals.frame(index).packet;
            frame_bytes = packet.frame_bytes();
            self.transmitter.transmit(packet, now, outlet);
            waiting.last = Last(index);
        }
        self.queued_bytes -= u64::from(frame_bytes);
        if !is_more {
            waiting.end(priority);
        }
        if !IS_PLAIN {
            self.note_departure(priority, frame_bytes, now);
        }
    }

    #[cold]
    fn pick_scheduled(&mut self, occupied: u8, arrivals: &PortArrivals<'_>, unsent: &Unsent) -> Priority {
        let queues = &self.queues;
        let head_bytes = |priority: Priority| {
            let queued = queues[priority.index()].frames.front().map(Queued::packet);
            queued.unwrap_or_else(|| &arrivals.frame(unsent.first(priority)).packet).frame_bytes()
        };
        self.scheduler.pick(occupied, head_bytes)
    }

    /// Queues the arrivals that still wait, and accounts for them in `buffer`.
    #[inline(always)]
    fn store_all(
        &mut self,
        arrivals: &PortArrivals<'_>,
        waiting: &Waiting,
        unsent: &Unsent,
        buffer: &mut SharedBuffer,
    ) {
        let mut occupied = waiting.occupied;
        while occupied != 0 {
            let priority = Priority(occupied.trailing_zeros() as u8 & (Priority::COUNT as u8 - 1));
            occupied &= occupied - 1;
            let Queue { frames, bytes } = &mut self.queues[priority.index()];
            let mut left = unsent.0[priority.index()];
            while left != 0 {
                let stored = arrivals.frame(left.trailing_zeros() as usize);
                left &= left - 1;
                if waiting.counts_frames {
                    buffer.store(stored.ingress, priority, buffer.charge(stored.packet.frame_bytes()));
                }
                *bytes += u64::from(stored.packet.frame_bytes());
                frames.push_with(|| Queued::new(stored));
            }
        }
    }
}
