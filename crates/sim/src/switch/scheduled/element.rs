//! A fabric element: passes cells on to the leaf they are for.
//!
//! Every element has links to every leaf, and the cells of a packet cross all of them. So one element stands
//! for all where a leaf is concerned: it holds the bundle of all links down to that leaf. A cell leaves an
//! element by the parallel link of the same number as it came in by.

use super::Directory;
use super::arrivals::Arrivals;
use super::bundle::Bundle;
use super::cells::{CellFormat, Cells};
use super::control::Control;
use super::gate::{Gate, GatePlan};
use crate::packet::Packet;
use crate::record::Context;
use engine::{Destination, Message, Window};
use std::ops::Range;
use std::sync::Arc;
use units::{Instant, Rate};

/// How the links down to one leaf are set up.
#[derive(Debug)]
pub(crate) struct OutletPlan {
    pub(crate) gate: GatePlan,
    pub(crate) data: Destination,
    pub(crate) control: Destination,
    /// All links up from a leaf together: how fast the cells of a packet came in.
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

/// An element.
#[derive(Debug)]
pub(crate) struct Element {
    directory: Arc<Directory>,
    format: CellFormat,
    /// By leaf; none where another element stands for it.
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

    /// Packets that wait for their links.
    pub(crate) fn queued_frames(&self) -> u64 {
        self.outlets.iter().flatten().map(|outlet| outlet.gate.queued_frames()).sum()
    }

    /// All links down to a leaf, if this element stands for them.
    pub(crate) fn outlet(&self, leaf: u16) -> Option<&Bundle> {
        self.outlets[usize::from(leaf)].as_ref().map(|outlet| outlet.gate.bundle())
    }

    /// See [`engine::Node::process`].
    pub(super) fn process<R>(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        arrivals: &mut Arrivals,
        context: &mut Context<Packet, R>,
    ) -> Instant {
        arrivals.take(window, context.inboxes(inboxes));
        for arrival in arrivals.in_order() {
            self.pass(arrival.packet, context);
        }
        self.release(window.end, context)
    }

    /// Sends on what waits and is due before `end`; returns when the next message is.
    fn release<R>(&mut self, end: Instant, context: &mut Context<Packet, R>) -> Instant {
        let last = Instant(end.0 - 1);
        let outlets = self.outlets.iter_mut().flatten();
        let next = outlets.map(|outlet| {
            outlet.gate.release(last, context);
            outlet.gate.next_release()
        });
        next.min().unwrap_or(Instant::NEVER)
    }

    #[inline]
    fn pass<R>(&mut self, packet: Packet, context: &mut Context<Packet, R>) {
        let now = packet.at();
        if packet.is_link_control() {
            let (leaf, _) = Control::way(&packet);
            if let Some(outlet) = &mut self.outlets[leaf] {
                outlet.gate.release(now, context);
                outlet.gate.offer_control(packet, outlet.control, context);
            }
            return;
        }
        let (leaf, _) = self.directory.place(packet.destination());
        if let Some(outlet) = &mut self.outlets[usize::from(leaf)] {
            let cells = Cells::unpack(packet.entropy);
            let span = outlet.up_rate.span_of(cells.bytes(self.format));
            outlet.gate.release(now, context);
            outlet.gate.offer_data(packet, Instant(now.0 - span.0), outlet.data, context);
        }
    }
}
