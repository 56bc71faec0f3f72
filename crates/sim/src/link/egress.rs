//! Transmitter: the sending side of a port, which serialises frames onto its link, applies failures and
//! corruption, and counts frames and bytes. The parameters of equal links are shared by the ports of a
//! switch.

use crate::link::Dropped;
use crate::link::changes::{LinkChanges, Transmitted};
use crate::packet::Packet;
use engine::{Destination, Outlet};
use std::borrow::Borrow;
use std::sync::Arc;
use units::{ByteTime, Cycle, Instant, Rate, Span, State};
use wire::Framing;

/// The next node processes whole frames only.
pub(crate) const WHOLE_FRAME: u16 = u16::MAX;

/// Link of a port: destination, rate and latency of its frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// The inbox at the other end.
    pub(crate) to: Destination,
    /// Line rate.
    pub(crate) rate: Rate,
    /// Number of leading bytes after which the next node processes a frame; [`WHOLE_FRAME`] if it waits for
    /// the last bit.
    pub(crate) head_bytes: u16,
    /// Encapsulation of packets.
    pub(crate) framing: Framing,
    /// Time from then until the next node processes the frame: the sender's pipeline behind its scheduler,
    /// propagation, and the receiver's fixed latency.
    pub(crate) latency: Span,
}

/// Parameters of a port's link other than its destination.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    byte_time: ByteTime,
    /// Time from the start of a frame (from its end, if the next node waits for the last bit) until the next
    /// node processes it.
    delay: Span,
    /// Present if the link fails, changes its rate or corrupts frames during the run.
    changes: Option<Box<LinkChanges>>,
    head_bytes: u16,
    framing: Framing,
    /// Overhead of each frame on the link.
    overhead_bytes: u8,
}

impl Link {
    fn new(wire: Wire, changes: Option<LinkChanges>) -> Self {
        let Wire { to: _, rate, head_bytes, framing, latency } = wire;
        Self {
            byte_time: rate.byte_time(),
            delay: latency + head_span(rate.byte_time(), head_bytes),
            changes: changes.map(Box::new),
            head_bytes,
            framing,
            overhead_bytes: framing.link_overhead_bytes() as u8,
        }
    }

    /// Whether the link has no changes, and equals `other`.
    fn stays_like(&self, other: &Self) -> bool {
        let Self { byte_time, delay, changes, head_bytes, framing, overhead_bytes: _ } = self;
        let of_other = (other.byte_time, other.delay, other.head_bytes, other.framing);
        changes.is_none()
            && other.changes.is_none()
            && (*byte_time, *delay, *head_bytes, *framing) == of_other
    }

    /// Time at which a frame that starts at `start` has left the port.
    #[inline]
    fn frame_end(&self, start: Instant, frame_bytes: u32) -> Instant {
        self.byte_time.frame_end(start, frame_bytes, self.overhead_bytes.into())
    }

    /// Applies the changes of the link until `now`, when the port has sent `frames` frames and `bytes` bytes.
    fn catch_up(&mut self, now: Instant, frames: u64, bytes: u64) {
        let Some(changes) = &mut self.changes else { return };
        let byte_time = changes.catch_up(now, self.framing, frames, bytes).byte_time();
        if byte_time != self.byte_time {
            let head = |byte_time| head_span(byte_time, self.head_bytes);
            self.delay = Span(self.delay.0 - head(self.byte_time).0 + head(byte_time).0);
            self.byte_time = byte_time;
        }
    }
}

/// Equal links of the ports of a switch, stored once: they stay in the first-level cache.
#[derive(Debug, Default)]
pub(crate) struct SharedLinks(Vec<Arc<Link>>);

impl SharedLinks {
    /// The link for `wire`, shared unless it has changes.
    pub(crate) fn link(&mut self, wire: Wire, changes: Option<LinkChanges>) -> Arc<Link> {
        let link = Link::new(wire, changes);
        if let Some(existing) = self.0.iter().find(|existing| link.stays_like(existing)) {
            return Arc::clone(existing);
        }
        let link = Arc::new(link);
        if link.changes.is_none() {
            self.0.push(Arc::clone(&link));
        }
        link
    }
}

/// Ownership of a [`Link`]: owned by a port, or shared.
pub(crate) trait LinkRef: Borrow<Link> {
    /// Mutable access to a link with changes, which is never shared.
    fn changing(&mut self) -> &mut Link;
}

impl LinkRef for Link {
    fn changing(&mut self) -> &mut Link {
        self
    }
}

impl LinkRef for Arc<Link> {
    fn changing(&mut self) -> &mut Link {
        Self::make_mut(self)
    }
}

/// A port that sends one frame at a time.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter<L = Link> {
    link: L,
    // Placed between the counters to prevent vectorisation: assembling a vector takes longer than two
    // additions.
    frames: u64,
    /// End of the frame in transmission, including its gap.
    free_at: Instant,
    bytes: u64,
}

impl Transmitter {
    pub(crate) fn new(wire: Wire, changes: Option<LinkChanges>) -> Self {
        Self::of(Link::new(wire, changes))
    }
}

impl<L: LinkRef> Transmitter<L> {
    /// A transmitter on `link` that has sent nothing.
    pub(crate) const fn of(link: L) -> Self {
        Self { link, frames: 0, free_at: Instant::ZERO, bytes: 0 }
    }

    /// Time at which the next frame may start.
    #[inline]
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Start of the frame in transmission, of `frame_bytes` bytes.
    pub(crate) fn started(&self, frame_bytes: u32) -> Instant {
        let link = self.link();
        let span = link.byte_time.frame_span(frame_bytes, link.overhead_bytes.into());
        Instant(self.free_at.0.saturating_sub(span.0))
    }

    /// Delays the start of the next frame, which is already waiting, to `start` or later.
    pub(crate) fn wait_until(&mut self, start: Instant) {
        self.free_at = self.free_at.max(start);
    }

    #[inline]
    fn link(&self) -> &Link {
        self.link.borrow()
    }

    /// Sends `packet` from `start` on by `outlet`, the other end of the link. The port must be free by then.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, packet: &Packet, start: Instant, outlet: &mut Outlet<'_, Packet>) {
        debug_assert!(start >= self.free_at, "a port sends one frame at a time");
        // Inspects a copy: the packet itself need not be in memory.
        if self.link().changes.is_some() && !self.survives(*packet, start) {
            return;
        }
        self.occupy(packet.frame_bytes(), start);
        let link = self.link();
        let from = if link.head_bytes == WHOLE_FRAME { self.free_at } else { start };
        let at = from + link.delay;
        outlet.send_with(at, || packet.arriving(at));
    }

    /// Occupies the port with a frame from `start` on.
    #[inline(always)]
    fn occupy(&mut self, frame_bytes: u32, start: Instant) {
        self.free_at = self.link().frame_end(start, frame_bytes);
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
    }

    /// Applies the changes of the link until `start`; returns whether a frame sent from then on reaches the
    /// other end intact. If not, it is counted as sent.
    #[cold]
    fn survives(&mut self, packet: Packet, start: Instant) -> bool {
        let link = self.link.changing();
        link.catch_up(start, self.frames, self.bytes);
        let end = link.frame_end(start, packet.frame_bytes());
        let survives = link.changes.as_mut().is_none_or(|changes| changes.carries(&packet, end));
        if !survives {
            self.occupy(packet.frame_bytes(), start);
        }
        survives
    }

    /// Frames lost while the link was down, without pause frames.
    pub(crate) fn lost(&self) -> Dropped {
        self.link().changes.as_ref().map_or_else(Dropped::default, |changes| changes.lost())
    }

    /// Frames corrupted by the link, without pause frames.
    pub(crate) fn corrupted(&self) -> Dropped {
        self.link().changes.as_ref().map_or_else(Dropped::default, |changes| changes.corrupted())
    }

    /// Frames that did not reach the other end, including pause frames.
    pub(crate) fn missing(&self) -> Dropped {
        self.link().changes.as_ref().map_or_else(Dropped::default, |changes| changes.missing())
    }

    /// The time of a byte on the link.
    pub(crate) fn byte_time(&self) -> ByteTime {
        self.link().byte_time
    }

    /// Encapsulation of packets.
    pub(crate) fn framing(&self) -> Framing {
        self.link().framing
    }

    /// The link has changes during the run.
    pub(crate) fn may_change(&self) -> bool {
        self.link().changes.is_some()
    }

    /// Frames sent.
    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Frame bytes sent.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time for which the link was occupied until `end`, including preamble and gaps.
    pub(crate) fn busy(&self, end: Instant) -> Span {
        let Link { changes, byte_time, framing, .. } = self.link();
        let before = changes.as_ref().map_or_else(Transmitted::default, |changes| changes.before());
        let busy = before.busy
            + occupied(*byte_time, *framing, self.frames - before.frames, self.bytes - before.bytes);
        // The sum of all frames is rounded differently from each of them.
        Span(busy.0.saturating_sub(self.free_at.0.saturating_sub(end.0)))
    }
}

impl<L: LinkRef> State for Transmitter<L> {
    fn visit(&mut self, cycle: &mut Cycle) {
        if self.link().changes.is_some() {
            let link = self.link.changing();
            // A frame in transmission retains the rate at which it started.
            if self.free_at <= cycle.now() {
                link.catch_up(cycle.now(), self.frames, self.bytes);
            }
            link.changes.visit(cycle);
        }
        let Self { link: _, free_at, frames, bytes } = self;
        free_at.visit(cycle);
        cycle.count(frames);
        cycle.count(bytes);
    }
}

/// Time for which frames occupy a link, including preamble and gaps.
pub(crate) const fn occupied(byte_time: ByteTime, framing: Framing, frames: u64, bytes: u64) -> Span {
    byte_time.span_of(bytes + frames * framing.link_overhead_bytes() as u64)
}

/// Time after which the next node processes a frame; zero if it waits for the last bit.
fn head_span(byte_time: ByteTime, head_bytes: u16) -> Span {
    if head_bytes == WHOLE_FRAME { Span::ZERO } else { byte_time.frame_span(head_bytes.into(), 0) }
}
