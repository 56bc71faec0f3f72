//! Scheduled switches: leaves with virtual output queues around a fabric of cells, as in a disaggregated
//! chassis.
//!
//! A packet waits at its ingress leaf in the virtual output queue (VOQ) of its egress port and priority. The
//! VOQ asks the scheduler of that port for credits; the scheduler grants them round robin, a little faster
//! than the port sends. A credit lets a burst of packets go, which is cut into cells, sprayed over all fabric
//! links and put together again at the egress leaf. So the fabric never carries more than the egress ports
//! take, and what waits for one port is in nobody's way. Requests and grants are messages with their own
//! bytes and latency, ahead of cells.
//!
//! In the order in which a packet passes them: `leaf` (its buffer and PFC towards hosts are those of Ethernet
//! switches), `voq`, `control`, `credits` at the egress leaf, `cells`, `gate`, `bundle`, `element`,
//! `reassembly`.
//!
//! Cells are not events of their own: a packet is one message on each side of the fabric, which crosses the
//! `bundle` of all links of a leaf at the sum of their rates; bytes are exact for every link. Leaves out:
//! traffic between hosts of one leaf crosses no fabric, so it takes no cells; ECN; multicast; flow control
//! inside the fabric, which credits keep from being needed as long as its links carry what the ports of a
//! leaf do; links that fail.
//!
//! There is one path through a window, in strict order of time, and nothing is fast-forwarded.

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

use crate::packet::Packet;
use crate::record::Context;
use engine::{Destination, Window};
use std::ops::Range;
use units::{AttachmentId, Instant};

/// The element that stands for all links down to a leaf: where its data and its control messages go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) data: Destination,
    pub(crate) control: Destination,
}

/// Where the egress ports of the fabric are.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Leaf and port of each attachment.
    places: Vec<(u16, u16)>,
    /// The attachment at each port of each leaf.
    attachments: Vec<Vec<AttachmentId>>,
}

impl Directory {
    /// A directory of attachments at (leaf, port).
    pub(crate) fn new(places: Vec<(u16, u16)>, leaves: usize) -> Self {
        let mut attachments = vec![Vec::new(); leaves];
        for (index, &(leaf, port)) in places.iter().enumerate() {
            let of_leaf: &mut Vec<AttachmentId> = &mut attachments[usize::from(leaf)];
            if of_leaf.len() <= usize::from(port) {
                of_leaf.resize(usize::from(port) + 1, AttachmentId(0));
            }
            of_leaf[usize::from(port)] = AttachmentId(index as u32);
        }
        Self { places, attachments }
    }

    /// Leaf and port of an attachment.
    #[inline]
    pub(crate) fn place(&self, port: AttachmentId) -> (u16, u16) {
        self.places[port.index()]
    }

    #[inline]
    pub(crate) fn attachment(&self, leaf: u16, port: u16) -> AttachmentId {
        self.attachments[usize::from(leaf)][usize::from(port)]
    }

    fn ports(&self) -> usize {
        self.places.len()
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
    pub(crate) fn process<R>(
        &mut self,
        window: Window,
        inboxes: Range<u32>,
        arrivals: &mut Arrivals,
        context: &mut Context<Packet, R>,
    ) -> Instant {
        match self {
            Self::Leaf(leaf) => leaf.process(window, inboxes, arrivals, context),
            Self::Element(element) => element.process(window, inboxes, arrivals, context),
        }
    }
}
