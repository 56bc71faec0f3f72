//! Sending side of a bundle (all fabric links of a leaf in one direction): queues control messages and
//! packets until its links are free.
//!
//! A message is sent shortly before its links are free. Until then it waits here, control messages before
//! packets, so that the engine never stores messages far in advance.

use super::bundle::Bundle;
use super::cells::Cells;
use super::control::Control;
use crate::packet::Packet;
use crate::switch::Context;
use engine::Ring;
use engine::{Destination, Message};
use units::{Instant, Span, Stream};

/// Parameters of the sending side of a bundle.
#[derive(Debug)]
pub(crate) struct GatePlan {
    pub(crate) bundle: Bundle,
    /// Time from a fabric link until the other end acts.
    pub(crate) latency: Span,
    /// Messages are sent this long before the links are free.
    pub(crate) lookahead: Span,
    /// On the first side of the fabric, which assigns cells to links: draws the link of the first cell of
    /// each packet.
    pub(crate) first_links: Option<Stream>,
}

/// A waiting message.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    /// When its first cell was available.
    head: Instant,
    to: Destination,
}

/// Sending side of a bundle.
#[derive(Debug)]
pub(super) struct Gate {
    plan: GatePlan,
    data: Ring<Waiting>,
    control: Ring<Waiting>,
}

impl Gate {
    pub(super) fn new(plan: GatePlan) -> Self {
        Self { plan, data: Ring::default(), control: Ring::default() }
    }

    #[inline]
    pub(super) const fn bundle(&self) -> &Bundle {
        &self.plan.bundle
    }

    /// Number of waiting packets.
    pub(super) const fn queued_frames(&self) -> u64 {
        self.data.len() as u64
    }

    /// When the next waiting message is sent; never if there is none.
    #[inline]
    pub(super) fn next_release(&self) -> Instant {
        let at = |free: Instant| Instant(free.0.saturating_sub(self.plan.lookahead.0));
        if !self.control.is_empty() {
            at(self.plan.bundle.control_free())
        } else if !self.data.is_empty() {
            at(self.plan.bundle.data_free())
        } else {
            Instant::NEVER
        }
    }

    /// Sends the messages that are due by `now`.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, context: &mut Context) {
        while self.next_release() <= now {
            if let Some(waiting) = self.control.pop_front() {
                self.send_control(waiting, context);
            } else if let Some(waiting) = self.data.pop_front() {
                self.send_data(waiting, context);
            }
        }
    }

    /// Accepts a packet whose first cell was available at `head`. Its hash field contains the description of
    /// its cells.
    #[inline]
    pub(super) fn offer_data(
        &mut self,
        packet: Packet,
        head: Instant,
        to: Destination,
        context: &mut Context,
    ) {
        let near = packet.at() + self.plan.lookahead;
        let waiting = Waiting { packet, head, to };
        if self.data.is_empty() && self.control.is_empty() && self.plan.bundle.data_free() <= near {
            self.send_data(waiting, context);
        } else {
            self.data.push_back(waiting);
        }
    }

    /// Accepts a request or a grant.
    #[inline]
    pub(super) fn offer_control(&mut self, packet: Packet, to: Destination, context: &mut Context) {
        let near = packet.at() + self.plan.lookahead;
        let waiting = Waiting { packet, head: packet.at(), to };
        if self.control.is_empty() && self.plan.bundle.control_free() <= near {
            self.send_control(waiting, context);
        } else {
            self.control.push_back(waiting);
        }
    }

    #[inline]
    fn send_data(&mut self, waiting: Waiting, context: &mut Context) {
        let Waiting { mut packet, head, to } = waiting;
        let mut cells = Cells::unpack(packet.entropy);
        if let Some(first_links) = &mut self.plan.first_links {
            cells.first_link = first_links.below(self.plan.bundle.links().into()) as u32;
            packet.entropy = cells.pack();
        }
        let done = self.plan.bundle.carry(head, packet.at(), cells);
        context.send(to, packet.arriving(done + self.plan.latency));
    }

    #[inline]
    fn send_control(&mut self, waiting: Waiting, context: &mut Context) {
        let Waiting { mut packet, to, .. } = waiting;
        if self.plan.first_links.is_some() {
            packet = Control::on_link(packet, self.plan.bundle.take_control_link());
        }
        let (_, link) = Control::route(&packet);
        let done = self.plan.bundle.carry_control(packet.at(), link);
        context.send(to, packet.arriving(done + self.plan.latency));
    }
}
