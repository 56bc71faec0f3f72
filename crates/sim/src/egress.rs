//! The sending side of a port: serialisation onto its link, and the counters of that direction.

use crate::kernel::{Context, Destination, Outlet};
use crate::link_changes::{Carried, LinkChanges};
use crate::packet::Packet;
use crate::switch::Dropped;
use units::{Cycle, Instant, Rate, Span};
use wire::Framing;

/// The next node acts on whole frames only.
pub(crate) const WHOLE_FRAME: u16 = u16::MAX;

/// Where a port's frames go and how long they take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// The inbox at the other end.
    pub(crate) to: Destination,
    /// Line rate.
    pub(crate) rate: Rate,
    /// After so many byte times enough of a frame is through for the next node to act; [`WHOLE_FRAME`] if it waits for
    /// the last bit.
    pub(crate) head_bytes: u16,
    /// What packets are wrapped in.
    pub(crate) framing: Framing,
    /// From then on to the moment the next node acts: what the sender's pipeline adds
    /// behind its scheduler, propagation, and the receiver's fixed latency.
    pub(crate) latency: Span,
}

/// A port that sends one frame at a time.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    rate: Rate,
    to: Destination,
    head_bytes: u16,
    framing: Framing,
    /// What the link adds to each frame.
    overhead_bytes: u8,
    /// From when enough of a frame is through to the moment the next node acts; unless that waits for the last bit,
    /// from the start of the frame.
    delay: Span,
    /// When the frame in transmission, its gap included, is through.
    free_at: Instant,
    frames: u64,
    bytes: u64,
    // Behind the first line of the cache.
    /// If the link fails, changes its rate or corrupts frames in the course of the run.
    changes: Option<Box<LinkChanges>>,
}

impl Transmitter {
    pub(crate) fn new(wire: Wire, changes: Option<LinkChanges>) -> Self {
        let Wire { to, rate, head_bytes, framing, latency } = wire;
        Self {
            rate,
            to,
            head_bytes,
            framing,
            overhead_bytes: framing.link_overhead_bytes() as u8,
            delay: latency + head_span(rate, head_bytes),
            free_at: Instant::ZERO,
            frames: 0,
            bytes: 0,
            changes: changes.map(Box::new),
        }
    }

    /// When the next frame may start.
    #[inline]
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// The link, for all that is sent at once.
    #[inline(always)]
    pub(crate) fn outlet<'a, R>(&self, context: &'a mut Context<Packet, R>) -> Outlet<'a, Packet> {
        context.outlet(self.to)
    }

    /// Sends `packet` from `start` on. The port must be free by then.
    #[inline(always)]
    pub(crate) fn transmit<R>(&mut self, packet: &Packet, start: Instant, context: &mut Context<Packet, R>) {
        self.transmit_by(packet, start, &mut self.outlet(context));
    }

    /// The same by the [`Self::outlet`] of the port.
    #[inline(always)]
    pub(crate) fn transmit_by(&mut self, packet: &Packet, start: Instant, outlet: &mut Outlet<'_, Packet>) {
        debug_assert!(start >= self.free_at, "a port sends one frame at a time");
        let survives = self.changes.is_none() || self.survives(packet, start);
        let frame_bytes = packet.frame_bytes();
        self.free_at = self.frame_end(start, frame_bytes);
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
        if survives {
            let from = if self.head_bytes == WHOLE_FRAME { self.free_at } else { start };
            let at = from + self.delay;
            outlet.send_with(at, || packet.arriving(at));
        }
    }

    /// When a frame that starts at `start` has left the port.
    #[inline]
    fn frame_end(&self, start: Instant, frame_bytes: u32) -> Instant {
        self.rate.frame_end(start, frame_bytes, self.overhead_bytes.into())
    }

    /// Sets the rate that the link has at `start`; whether a frame sent from then on reaches the other end unharmed.
    #[cold]
    fn survives(&mut self, packet: &Packet, start: Instant) -> bool {
        self.catch_up(start);
        let end = self.frame_end(start, packet.frame_bytes());
        self.changes.as_mut().is_none_or(|changes| changes.carries(packet, end))
    }

    /// Takes in what has happened to the link by `now`.
    fn catch_up(&mut self, now: Instant) {
        let Some(changes) = &mut self.changes else { return };
        let rate = changes.catch_up(now, self.frames, self.bytes);
        if rate != self.rate {
            let head = |rate| head_span(rate, self.head_bytes);
            self.delay = Span(self.delay.0 - head(self.rate).0 + head(rate).0);
            self.rate = rate;
        }
    }

    /// Frames that were lost while the link was down, without pauses.
    pub(crate) fn lost(&self) -> Dropped {
        self.changes.as_ref().map_or_else(Dropped::default, |changes| changes.lost())
    }

    /// Frames that the link corrupted, without pauses.
    pub(crate) fn corrupted(&self) -> Dropped {
        self.changes.as_ref().map_or_else(Dropped::default, |changes| changes.corrupted())
    }

    /// What packets are wrapped in.
    pub(crate) const fn framing(&self) -> Framing {
        self.framing
    }

    /// Asks for the inbox at the other end.
    #[inline]
    pub(crate) fn prefetch<R>(&self, context: &Context<Packet, R>) {
        context.prefetch(self.to);
    }

    /// Asks for the place of the next frame in that inbox, once that is there.
    #[inline]
    pub(crate) fn prefetch_end<R>(&self, context: &Context<Packet, R>) {
        context.prefetch_end(self.to);
    }

    /// See [`Cycle`].
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        self.catch_up(cycle.now());
        let Self {
            rate: _,
            to: _,
            head_bytes: _,
            framing: _,
            overhead_bytes: _,
            delay: _,
            free_at,
            frames,
            bytes,
            changes,
        } = self;
        if let Some(changes) = changes {
            changes.visit(cycle);
        }
        cycle.time(free_at);
        cycle.count(frames);
        cycle.count(bytes);
    }

    /// Frames sent.
    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Frame bytes sent.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time the link was occupied, preamble and gaps included.
    pub(crate) fn busy(&self) -> Span {
        let before = self.changes.as_ref().map_or_else(Carried::default, |changes| changes.before());
        before.busy
            + occupied(self.rate, self.framing, self.frames - before.frames, self.bytes - before.bytes)
    }
}

/// The time that frames occupy a link, preamble and gaps included.
pub(crate) const fn occupied(rate: Rate, framing: Framing, frames: u64, bytes: u64) -> Span {
    rate.span_of(bytes + frames * framing.link_overhead_bytes() as u64)
}

/// The time after which enough of a frame is through for the next node to act; none if it waits for the last bit.
fn head_span(rate: Rate, head_bytes: u16) -> Span {
    if head_bytes == WHOLE_FRAME { Span::ZERO } else { rate.frame_span(head_bytes.into(), 0) }
}
