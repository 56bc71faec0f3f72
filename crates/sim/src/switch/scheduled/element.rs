//! Fabric element: the switch between leaves, which forwards the cells of packets to their destination leaf.
//!
//! Every element has links to every leaf, and the cells of a packet cross all of them. So one element
//! represents all elements with respect to a leaf: it has the bundle of all links down to that leaf, modelled
//! as one link. A cell leaves an element on the parallel link with the same number as the one on which it
//! arrived.

use super::Directory;
use super::arrivals::Arrivals;
use super::bundle::Bundle;
use super::cells::{CellFormat, Cells};
use super::control::Control;
use super::gate::{Gate, GatePlan};
use crate::packet::Packet;
use crate::switch::Context;
use engine::{Destination, Message, Window};
use std::ops::Range;
use std::sync::Arc;
use units::{Instant, Rate};

/// Parameters of the links down to one leaf.
#[derive(Debug)]
pub(crate) struct OutletPlan {
    pub(crate) gate: GatePlan,
    pub(crate) data: Destination,
    pub(crate) control: Destination,
    /// Sum of the rates of all links up from a leaf: the rate at which the cells of a packet arrived.
    pub(crate) up_rate: Rate,
}

/// The links down to one leaf.
#[derive(Debug)]
struct Outlet {
    gate: Gate,
    data: Destination,
    control: Destination,
    up_rate: Rate,
}

/// A fabric element.
#[derive(Debug)]
pub(crate) struct Element {
    directory: Arc<Directory>,
    format: CellFormat,
    /// By leaf; `None` where another element represents it.
    outlets: Vec<Option<Outlet>>,
}

impl Element {
    pub(crate) fn new(
        directory: Arc<Directory>,
        format: CellFormat,
        outlets: Vec<Option<OutletPlan>>,
    ) -> Self {
        let outlet = |plan: OutletPlan| {
            let OutletPlan { gate, data, control, up_rate } = plan;
            Outlet { gate: Gate::new(gate), data, control, up_rate }
        };
        Self { directory, format, outlets: outlets.into_iter().map(|plan| plan.map(outlet)).collect() }
    }

    /// Packets waiting for their links.
    pub(crate) fn queued_frames(&self) -> u64 {
        self.outlets.iter().flatten().map(|outlet| outlet.gate.queued_frames()).sum()
    }

    /// All links down to a leaf, if this element represents them.
    pub(crate) fn outlet(&self, leaf: u16) -> Option<&Bundle> {
        self.outlets[usize::from(leaf)].as_ref().map(|outlet| outlet.gate.bundle())
    }

    /// See [`engine::Node::process`].
    pub(super) fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        arrivals: &mut Arrivals,
        context: &mut Context,
    ) -> Instant {
        arrivals.take(window, context.inboxes(inboxes));
        for arrival in arrivals.in_order() {
            self.pass(arrival.packet, context);
        }
        self.release(window.end, context)
    }

    /// Sends waiting messages that are due before `end`; returns when the next one is due.
    fn release(&mut self, end: Instant, context: &mut Context) -> Instant {
        let last = Instant(end.0 - 1);
        let outlets = self.outlets.iter_mut().flatten();
        let next = outlets.map(|outlet| {
            outlet.gate.release(last, context);
            outlet.gate.next_release()
        });
        next.min().unwrap_or(Instant::NEVER)
    }

    #[inline]
    fn pass(&mut self, packet: Packet, context: &mut Context) {
        let now = packet.at();
        if packet.is_link_control() {
            let (leaf, _) = Control::route(&packet);
            if let Some(outlet) = &mut self.outlets[leaf] {
                outlet.gate.release(now, context);
                outlet.gate.offer_control(packet, outlet.control, context);
            }
            return;
        }
        let (leaf, _) = self.directory.location(packet.destination());
        if let Some(outlet) = &mut self.outlets[usize::from(leaf)] {
            let cells = Cells::unpack(packet.entropy);
            let span = outlet.up_rate.span_of(cells.bytes(self.format));
            outlet.gate.release(now, context);
            outlet.gate.offer_data(packet, Instant(now.0 - span.0), outlet.data, context);
        }
    }
}
