//! Scheduled switches, as in a disaggregated chassis: leaves with virtual output queues around a cell fabric;
//! the leaf and port of each host port.
//!
//! A packet waits at its ingress leaf in the virtual output queue (VOQ) of its egress port and priority. The
//! VOQ requests credits from the scheduler of that port; the scheduler grants them round robin, slightly
//! faster than the port sends. A credit releases a burst of packets, which is segmented into cells, sprayed
//! over all fabric links and reassembled at the egress leaf. So the fabric never transports more than the
//! egress ports accept, and packets waiting for one port do not block others. Requests and grants are
//! messages with their own bytes and latency, sent before cells.
//!
//! Modules in the order in which a packet passes them: `leaf` (its buffer and PFC towards hosts are those of
//! Ethernet switches), `voq`, `control`, `credits` at the egress leaf, `cells`, `gate`, `bundle`, `element`,
//! `reassembly`.
//!
//! Cells are not separate events: a packet is one message on each side of the fabric, which crosses the
//! `bundle` of all links of a leaf at the sum of their rates; bytes are exact for every link. Leaves out
//! cells for traffic between hosts of one leaf, which does not cross the fabric; ECN; multicast; link
//! failures; and flow control inside the fabric, which credits make unnecessary as long as the fabric links
//! of a leaf have the capacity of its ports.
//!
//! All events are processed in strict order of time, and fast-forward is off.

mod arrivals;
mod bundle;
mod cells;
mod control;
mod credits;
mod element;
mod gate;
mod leaf;
mod reassembly;
mod tasks;
mod voq;

pub(crate) use arrivals::Arrivals;
pub(crate) use bundle::{Bundle, BundlePlan, CellStream};
pub(crate) use cells::{CellFormat, LINKS_MAX};
pub(crate) use control::LEAVES_MAX;
pub(crate) use credits::{CreditPlan, Granted};
pub(crate) use element::{Element, OutletPlan};
pub(crate) use gate::GatePlan;
pub(crate) use leaf::{Leaf, LeafPlan, UplinkPlan};

use crate::switch::Context;
use engine::{Destination, Window};
use std::ops::Range;
use units::{AttachmentId, Instant};

/// Destinations of data and control messages for a leaf: the element that represents all links down to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafRoute {
    pub(crate) data: Destination,
    pub(crate) control: Destination,
}

/// Locations of the egress ports of the fabric.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Leaf and port of each attachment.
    locations: Vec<(u16, u16)>,
    /// The attachment at each port of each leaf.
    attachments: Vec<Vec<AttachmentId>>,
}

impl Directory {
    /// A directory of attachments at (leaf, port).
    pub(crate) fn new(locations: Vec<(u16, u16)>, leaves: usize) -> Self {
        let mut attachments = vec![Vec::new(); leaves];
        for (index, &(leaf, port)) in locations.iter().enumerate() {
            let of_leaf: &mut Vec<AttachmentId> = &mut attachments[usize::from(leaf)];
            if of_leaf.len() <= usize::from(port) {
                of_leaf.resize(usize::from(port) + 1, AttachmentId(0));
            }
            of_leaf[usize::from(port)] = AttachmentId(index as u32);
        }
        Self { locations, attachments }
    }

    /// Leaf and port of an attachment.
    #[inline]
    pub(crate) fn location(&self, port: AttachmentId) -> (u16, u16) {
        self.locations[port.index()]
    }

    #[inline]
    pub(crate) fn attachment(&self, leaf: u16, port: u16) -> AttachmentId {
        self.attachments[usize::from(leaf)][usize::from(port)]
    }

    fn ports(&self) -> usize {
        self.locations.len()
    }
}

/// A switch of a scheduled fabric.
#[derive(Debug)]
pub(crate) enum Scheduled {
    Leaf(Box<Leaf>),
    Element(Element),
}

impl Scheduled {
    pub(crate) fn leaf(plan: LeafPlan) -> Self {
        Self::Leaf(Box::new(Leaf::new(plan)))
    }

    /// See [`engine::Node::process`].
    #[inline(never)]
    pub(crate) fn process(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        arrivals: &mut Arrivals,
        context: &mut Context,
    ) -> Instant {
        match self {
            Self::Leaf(leaf) => leaf.process(window, inboxes, arrivals, context),
            Self::Element(element) => element.process(window, inboxes, arrivals, context),
        }
    }
}
