//! An output-queued switch: a shared buffer, a queue per egress port and priority, and a choice among equal next
//! hops.
//!
//! Models store-and-forward with a fixed pipeline latency (part of the incoming link's latency here), strict
//! priority of control packets over data, and drops when the shared buffer is full. Leaves out pauses, ECN
//! marking, per-queue limits and cut-through.

mod buffer;
mod exact;
pub(crate) mod forward;
mod queue;

pub(crate) use queue::{EgressPort, QueueCounters};

use crate::egress::Wire;
use crate::kernel::{Context, Message, Window};
use crate::packet::Packet;
use buffer::SharedBuffer;
use exact::Replay;
use forward::Forward;
use std::sync::Arc;
use topology::Routes;
use units::{Instant, NodeId};

/// What a switch is made of.
pub(crate) struct SwitchPlan {
    pub(crate) node: NodeId,
    pub(crate) routes: Arc<Routes>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) buffer_bytes: u64,
    /// Take the exact path in every window.
    pub(crate) exact_only: bool,
}

/// Windows by the path they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathCounters {
    pub(crate) fast: u64,
    pub(crate) exact: u64,
}

/// A switch.
pub(crate) struct Switch<F> {
    node: NodeId,
    routes: Arc<Routes>,
    forward: F,
    ports: Vec<EgressPort>,
    buffer: SharedBuffer,
    exact_only: bool,
    paths: PathCounters,
    received: Vec<Received>,
    /// Arrivals of this window for each egress port, in order of ingress port.
    buckets: Vec<Vec<Packet>>,
    replay: Replay,
}

/// What came in by one port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl<F: Forward> Switch<F> {
    pub(crate) fn new(plan: SwitchPlan, forward: F) -> Self {
        let ports = plan.wires.len();
        Self {
            node: plan.node,
            routes: plan.routes,
            forward,
            ports: plan.wires.into_iter().map(EgressPort::new).collect(),
            buffer: SharedBuffer::new(plan.buffer_bytes),
            exact_only: plan.exact_only,
            paths: PathCounters::default(),
            received: vec![Received::default(); ports],
            buckets: vec![Vec::new(); ports],
            replay: Replay::default(),
        }
    }

    pub(crate) fn ports(&self) -> &[EgressPort] {
        &self.ports
    }

    pub(crate) fn received(&self) -> &[Received] {
        &self.received
    }

    pub(crate) const fn paths(&self) -> PathCounters {
        self.paths
    }

    /// The egress port `packet` takes.
    ///
    /// # Panics
    /// When there is no way to its destination: the set-up lets no such queue pair through.
    #[inline]
    pub(crate) fn route(&mut self, packet: &Packet) -> u16 {
        let hops = self.routes.next_hops(self.node, packet.destination());
        match hops {
            [only] => *only,
            [] => panic!("switch {} has no route to attachment {}", self.node, packet.destination()),
            _ => hops[self.forward.choose(packet, hops.len())],
        }
    }

    /// See [`crate::kernel::Node::process`].
    pub(crate) fn process<R>(
        &mut self,
        window: Window,
        inboxes: &[Vec<Packet>],
        context: &mut Context<Packet, R>,
    ) -> Instant {
        let arriving_bytes = self.count_arrivals(inboxes);
        if self.buffer.fits(arriving_bytes) && !self.exact_only {
            self.paths.fast += 1;
            self.buffer.take(arriving_bytes);
            self.serve_ports(window.end, inboxes, context);
        } else {
            self.paths.exact += 1;
            self.replay(window.end, inboxes, context);
        }
        let backlog = self.ports.iter().any(EgressPort::has_backlog);
        if backlog { window.end } else { Instant::NEVER }
    }

    /// Counts what arrives by each port; returns the bytes of all.
    #[inline]
    fn count_arrivals(&mut self, inboxes: &[Vec<Packet>]) -> u64 {
        let mut total = 0;
        for (received, packets) in self.received.iter_mut().zip(inboxes) {
            let bytes = packets.iter().map(|packet| u64::from(packet.frame_bytes())).sum::<u64>();
            received.frames += packets.len() as u64;
            received.bytes += bytes;
            total += bytes;
        }
        total
    }

    /// The fast path: no threshold is within reach, so the ports are independent of each other.
    #[inline]
    fn serve_ports<R>(&mut self, end: Instant, inboxes: &[Vec<Packet>], context: &mut Context<Packet, R>) {
        for packet in inboxes.iter().flatten() {
            let egress = self.route(packet);
            self.buckets[usize::from(egress)].push(*packet);
        }
        for (port, bucket) in self.ports.iter_mut().zip(&mut self.buckets) {
            if bucket.is_empty() && !port.has_backlog() {
                continue;
            }
            sort_by_arrival(bucket);
            self.buffer.release(port.serve(bucket, end, context));
            bucket.clear();
        }
    }

    /// The exact path: everything in strict order of time.
    fn replay<R>(&mut self, end: Instant, inboxes: &[Vec<Packet>], context: &mut Context<Packet, R>) {
        for packet in inboxes.iter().flatten() {
            let egress = self.route(packet);
            self.replay.push(*packet, egress);
        }
        self.replay.run(&mut self.ports, &mut self.buffer, end, context);
    }
}

/// Sorts by arrival; equal times keep their order, which is that of the ingress ports. Each ingress port's
/// packets are in order already and there are few, so insertion wins.
#[inline]
fn sort_by_arrival(packets: &mut [Packet]) {
    for sorted in 1..packets.len() {
        let packet = packets[sorted];
        let mut place = sorted;
        while place > 0 && packets[place - 1].at() > packet.at() {
            packets[place] = packets[place - 1];
            place -= 1;
        }
        packets[place] = packet;
    }
}
