//! The sending side of a port: serialisation onto its link, and the counters of that direction.

use crate::kernel::{Context, Destination};
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

impl Wire {
    /// When a frame that starts at `start` has left the port.
    #[inline]
    pub(crate) fn frame_end(&self, start: Instant, frame_bytes: u32) -> Instant {
        self.rate.frame_end(start, frame_bytes, self.framing.link_overhead_bytes())
    }
}

/// A port that sends one frame at a time.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    wire: Wire,
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
        Self { wire, free_at: Instant::ZERO, frames: 0, bytes: 0, changes: changes.map(Box::new) }
    }

    /// When the next frame may start.
    #[inline]
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Sends `packet` from `start` on. The port must be free by then.
    #[inline(always)]
    pub(crate) fn transmit<R>(&mut self, packet: &Packet, start: Instant, context: &mut Context<Packet, R>) {
        debug_assert!(start >= self.free_at, "a port sends one frame at a time");
        let survives = self.changes.is_none() || self.survives(packet, start);
        let frame_bytes = packet.frame_bytes();
        self.free_at = self.wire.frame_end(start, frame_bytes);
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
        if !survives {
            return;
        }
        let through = if self.wire.head_bytes == WHOLE_FRAME {
            self.free_at
        } else {
            self.wire.rate.frame_end(start, self.wire.head_bytes.into(), 0)
        };
        let at = through + self.wire.latency;
        context.send_with(self.wire.to, at, || packet.arriving(at));
    }

    /// Sets the rate that the link has at `start`; whether a frame sent from then on reaches the other end unharmed.
    #[cold]
    fn survives(&mut self, packet: &Packet, start: Instant) -> bool {
        let Some(changes) = &mut self.changes else { return true };
        self.wire.rate = changes.catch_up(start, self.frames, self.bytes);
        changes.carries(packet, self.wire.frame_end(start, packet.frame_bytes()))
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
        self.wire.framing
    }

    /// Asks for the inbox at the other end.
    #[inline]
    pub(crate) fn prefetch<R>(&self, context: &Context<Packet, R>) {
        context.prefetch(self.wire.to);
    }

    /// Asks for the place of the next frame in that inbox, once that is there.
    #[inline]
    pub(crate) fn prefetch_end<R>(&self, context: &Context<Packet, R>) {
        context.prefetch_end(self.wire.to);
    }

    /// See [`Cycle`].
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        let Self { wire, free_at, frames, bytes, changes } = self;
        if let Some(changes) = changes {
            wire.rate = changes.catch_up(cycle.now(), *frames, *bytes);
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
            + occupied(
                self.wire.rate,
                self.wire.framing,
                self.frames - before.frames,
                self.bytes - before.bytes,
            )
    }
}

/// The time that frames occupy a link, preamble and gaps included.
pub(crate) const fn occupied(rate: Rate, framing: Framing, frames: u64, bytes: u64) -> Span {
    rate.span_of(bytes + frames * framing.link_overhead_bytes() as u64)
}
