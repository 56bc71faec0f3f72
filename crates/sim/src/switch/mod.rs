//! An output-queued switch: a shared buffer, a queue per egress port and priority, and a choice among equal next
//! hops.
//!
//! Models store-and-forward with a fixed pipeline latency (part of the incoming link's latency here), strict or
//! weighted service of eight priorities, PFC, ECN marking, dynamic thresholds and drops. Leaves out cut-through,
//! multicast and egress reserves.

pub(crate) mod buffer;
pub(crate) mod ecn;
mod exact;
pub(crate) mod forward;
mod pfc;
mod queue;
pub(crate) mod schedule;

pub(crate) use queue::{EgressPlan, EgressPort, QueueCounters};

use crate::kernel::{Context, Message, Window};
use crate::packet::Packet;
use buffer::{BufferPlan, SharedBuffer};
use exact::{Parts, Replay};
use forward::Forward;
use pfc::PauseRequests;
use queue::Stored;
use std::sync::Arc;
use topology::Routes;
use units::{Instant, NodeId};

/// What a switch is made of.
pub(crate) struct SwitchPlan {
    pub(crate) node: NodeId,
    pub(crate) routes: Arc<Routes>,
    pub(crate) ports: Vec<EgressPlan>,
    pub(crate) buffer: BufferPlan,
    /// Pause time asked for [quanta].
    pub(crate) pause_quanta: u16,
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
    requests: PauseRequests,
    /// A port is paused or has a pause frame to send; only a window on the exact path changes it.
    is_pause_active: bool,
    exact_only: bool,
    paths: PathCounters,
    received: Vec<Received>,
    /// Arrivals of this window for each egress port, in order of ingress port.
    buckets: Vec<Vec<Stored>>,
    replay: Replay,
    /// Bytes queued at each port when the window began, and sent there since; for adaptive load balancing.
    loads: Vec<u64>,
}

/// What came in by one port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

/// What arrives in a window.
struct Arriving {
    /// What the frames take of the buffer.
    charge: u64,
    /// A pause frame is among them.
    has_pause: bool,
}

impl<F: Forward> Switch<F> {
    pub(crate) fn new(plan: SwitchPlan, forward: F) -> Self {
        let ports = plan.ports.len();
        let rates = plan.ports.iter().map(|port| port.wire.rate).collect();
        Self {
            node: plan.node,
            routes: plan.routes,
            forward,
            ports: plan.ports.into_iter().map(EgressPort::new).collect(),
            buffer: SharedBuffer::new(plan.buffer, ports),
            requests: PauseRequests::new(plan.pause_quanta, rates),
            is_pause_active: false,
            exact_only: plan.exact_only,
            paths: PathCounters::default(),
            received: vec![Received::default(); ports],
            buckets: vec![Vec::new(); ports],
            replay: Replay::default(),
            loads: if F::NEEDS_LOADS { vec![0; ports] } else { Vec::new() },
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
    fn route(&mut self, packet: &Packet) -> u16 {
        let hops = self.routes.next_hops(self.node, packet.destination());
        match hops {
            [only] => *only,
            [] => panic!("switch {} has no route to attachment {}", self.node, packet.destination()),
            _ => {
                let port = hops[self.forward.choose(packet, hops, &self.loads)];
                if F::NEEDS_LOADS {
                    self.loads[usize::from(port)] += u64::from(packet.frame_bytes());
                }
                port
            }
        }
    }

    /// See [`crate::kernel::Node::process`].
    pub(crate) fn process<R>(
        &mut self,
        window: Window,
        inboxes: &[Vec<Packet>],
        context: &mut Context<Packet, R>,
    ) -> Instant {
        let arriving = self.count_arrivals(inboxes);
        if F::NEEDS_LOADS {
            for (load, port) in self.loads.iter_mut().zip(&self.ports) {
                *load = port.queued_bytes();
            }
        }
        let next = if self.is_calm(&arriving) {
            self.paths.fast += 1;
            self.serve_ports(window.end, inboxes, context)
        } else {
            self.paths.exact += 1;
            self.replay(window.end, inboxes, context)
        };
        if next == Instant::NEVER { next } else { next.max(window.end) }
    }

    /// No threshold is within reach in this window and no pause is in play, so the ports are independent.
    #[inline]
    fn is_calm(&self, arriving: &Arriving) -> bool {
        !self.exact_only
            && !arriving.has_pause
            && !self.is_pause_active
            && !self.buffer.any_pausing()
            && self.buffer.is_far_from_thresholds(arriving.charge)
    }

    /// Counts what arrives by each port.
    #[inline]
    fn count_arrivals(&mut self, inboxes: &[Vec<Packet>]) -> Arriving {
        let mut arriving = Arriving { charge: 0, has_pause: false };
        for (received, packets) in self.received.iter_mut().zip(inboxes) {
            let mut bytes = 0;
            for packet in packets {
                bytes += u64::from(packet.frame_bytes());
                arriving.charge += self.buffer.charge(packet.frame_bytes());
                arriving.has_pause |= packet.is_pause();
            }
            received.frames += packets.len() as u64;
            received.bytes += bytes;
        }
        arriving
    }

    /// The fast path: every port by itself. Returns when the first of them sends next.
    #[inline]
    fn serve_ports<R>(
        &mut self,
        end: Instant,
        inboxes: &[Vec<Packet>],
        context: &mut Context<Packet, R>,
    ) -> Instant {
        for (ingress, packets) in (0..).zip(inboxes) {
            for &packet in packets {
                let egress = self.route(&packet);
                self.buckets[usize::from(egress)].push(Stored { packet, ingress });
            }
        }
        let mut next = Instant::NEVER;
        for (port, bucket) in self.ports.iter_mut().zip(&mut self.buckets) {
            if bucket.is_empty() && port.queued_bytes() == 0 {
                continue;
            }
            sort_by_arrival(bucket);
            port.serve(bucket, &mut self.buffer, end, context);
            bucket.clear();
            next = next.min(port.next_send());
        }
        next
    }

    /// The exact path: everything in strict order of time. Returns when something is due next.
    fn replay<R>(
        &mut self,
        end: Instant,
        inboxes: &[Vec<Packet>],
        context: &mut Context<Packet, R>,
    ) -> Instant {
        for (ingress, packets) in (0..).zip(inboxes) {
            for &packet in packets {
                let egress = if packet.is_pause() { ingress } else { self.route(&packet) };
                self.replay.push(packet, ingress, egress);
            }
        }
        let parts = Parts { ports: &mut self.ports, buffer: &mut self.buffer, requests: &mut self.requests };
        self.replay.run(parts, end, context);
        self.is_pause_active = self.ports.iter().any(EgressPort::is_pause_active);
        let sends = self.ports.iter().map(EgressPort::next_send);
        sends.min().unwrap_or(Instant::NEVER).min(self.requests.next_renewal())
    }
}

/// Sorts by arrival; equal times keep their order, which is that of the ingress ports. Each ingress port's
/// packets are in order already and there are few, so insertion wins.
#[inline]
fn sort_by_arrival(packets: &mut [Stored]) {
    for sorted in 1..packets.len() {
        let stored = packets[sorted];
        let mut place = sorted;
        while place > 0 && packets[place - 1].packet.at() > stored.packet.at() {
            packets[place] = packets[place - 1];
            place -= 1;
        }
        packets[place] = stored;
    }
}
