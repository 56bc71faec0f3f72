//! Flows of senders that do not react to congestion: excess load of a link waits in a queue before it.

use super::link_queues::{ACKS, DATA, LinkQueues, Overflow, QueueEvents};
use super::sender_port::{NewFlow, SenderPort};
use crate::network::Network;
use crate::network::paths::{Path, Paths};
use crate::rates::{RateChange, fraction_of, time_for, work_of_bytes};
use crate::run::events::{Event, Events};
use jobs::Jobs;
use units::{Instant, NodeId, Span};

/// The assumed rate of a sender's flows on links is updated when it is wrong by this fraction (one divided by
/// this), or at once while there are few flows.
const STALE_DIVISOR: u64 = 32;
const FEW_FLOWS: u64 = 16;
/// Flows of at most this many frames are treated as one unit: in one queue after the other, instead of in all
/// at the same time.
const UNIT_FRAMES: u64 = 1;

/// A flow, by slot.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// Assumed rate on the links that its last bit has not left [2^-16 bit/s].
    rate: u64,
    chunk: u32,
    /// Bytes for which it occupies a link if it is treated as one unit; 0 otherwise.
    unit_bytes: u32,
}

/// A port of a sending host, with the rate of its flows that links assume.
struct Port {
    sender: SenderPort,
    capacity: u64,
    /// Assumed rate of each of its flows.
    rate: u64,
    /// Flows without an assumed rate yet.
    new_slots: Vec<u32>,
    /// Version of its schedule: events of earlier versions are outdated.
    version: u32,
    is_changed: bool,
}

/// Progress of the last bit of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowProgress {
    /// It has passed all queues.
    PassedAll,
    /// It waits for the link of this hop.
    Waits { hop: u8, until: Instant },
}

/// Flows of senders that do not react, by slot.
pub(crate) struct QueuedFlows {
    queues: LinkQueues,
    ports: Vec<Port>,
    /// Index of the port of a host by its directed link.
    port_of: Vec<u32>,
    flows: Vec<Flow>,
    changed_ports: Vec<u32>,
    frame_bytes: u64,
    /// Path of the flow being processed.
    path: Path,
}

/// Forwards notifications of queues to the list of events, and collects the links of senders whose rates
/// change.
struct Notifications<'a> {
    events: &'a mut Events,
    sender_links: Vec<u32>,
}

impl QueueEvents for Notifications<'_> {
    fn queue_may_be_empty(&mut self, at: Instant, link: u32) {
        self.events.push(at, Event::QueueEmpty { link });
    }

    fn rest_over(&mut self, at: Instant, link: u32) {
        self.events.push(at, Event::RestOver { link });
    }

    fn sender_rate_changed(&mut self, link: u32) {
        self.sender_links.push(link);
    }
}

impl QueuedFlows {
    pub(crate) fn new(network: &Network, frame_bytes: u64) -> Self {
        let mut port_of = vec![u32::MAX; 2 * network.graph.links.len()];
        let mut ports = Vec::new();
        for attachment in &network.graph.attachments {
            let link = network.link_out_of(NodeId(attachment.host.0), attachment.host_port);
            let capacity = network.capacity(link);
            let mut sender = SenderPort::default();
            sender.set_rate(Instant::ZERO, capacity);
            port_of[link as usize] = ports.len() as u32;
            let new_slots = Vec::new();
            ports.push(Port { sender, capacity, rate: 0, new_slots, version: 0, is_changed: false });
        }
        Self {
            queues: network.queues(frame_bytes),
            ports,
            port_of,
            flows: Vec::new(),
            changed_ports: Vec::new(),
            frame_bytes,
            path: Path::default(),
        }
    }

    /// Starts a flow on the link of its host.
    pub(crate) fn begin(&mut self, now: Instant, flow: NewFlow, host_link: u32) {
        let NewFlow { chunk, slot, wire_bytes } = flow;
        if slot as usize >= self.flows.len() {
            self.flows.resize(slot as usize + 1, Flow::default());
        }
        let unit_bytes = if wire_bytes <= UNIT_FRAMES * self.frame_bytes { wire_bytes as u32 } else { 0 };
        self.flows[slot as usize] = Flow { rate: 0, chunk, unit_bytes };
        let index = self.port_of[host_link as usize];
        let port = &mut self.ports[index as usize];
        port.sender.begin(now, flow);
        if unit_bytes == 0 {
            port.new_slots.push(slot);
        }
        self.mark_changed(index);
    }

    /// Handles an event of a port with this version of its schedule: removes the next flow that has sent its
    /// last frame.
    pub(crate) fn pop_sent(&mut self, now: Instant, index: u32, version: u32) -> Option<u32> {
        let port = &mut self.ports[index as usize];
        if port.version != version {
            return None;
        }
        let sent = port.sender.pop_ended(now, self.frame_bytes);
        self.mark_changed(index);
        sent
    }

    /// Moves the last bit of the flow in a slot from the link of a hop to its next queue.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        slot: u32,
        mut hop: u8,
        paths: &Paths,
        jobs: &Jobs,
    ) -> FlowProgress {
        let Flow { rate, chunk, unit_bytes } = self.flows[slot as usize];
        let unit_bytes = u64::from(unit_bytes);
        let stop = RateChange { before: rate, after: 0 };
        paths.find(jobs, chunk, &mut self.path);
        self.queues.prefetch(&self.path.legs[usize::from(hop)..]);
        loop {
            let mut longest_wait = None;
            let (queues, path) = (&mut self.queues, &self.path);
            let crossed = path.legs[..=usize::from(hop)].iter().filter(|_| unit_bytes > 0);
            let slowest = crossed.map(|leg| paths.network.capacity(leg.link)).min();
            paths.network.transits_after(hop, &path.legs, path.destination, &mut |transit| {
                queues.change_transit_rate(now, DATA, &transit, stop);
                let extra = queues.extra_time(transit.to, slowest, unit_bytes);
                longest_wait = longest_wait.max(Some(queues.wait(transit.to, now) + extra));
                queues.enqueue(now, transit.to, fraction_of(unit_bytes, transit.weight));
            });
            match longest_wait {
                None => {
                    paths.find_ack_legs(&mut self.path);
                    match unit_bytes {
                        0 => self.change_rate_on_arrival(now, paths, stop),
                        bytes => {
                            self.acknowledge(now, paths, (bytes * u64::from(self.path.ack_weight)) >> 16);
                        }
                    }
                    return FlowProgress::PassedAll;
                }
                Some(Span::ZERO) => hop += 1,
                Some(wait) => return FlowProgress::Waits { hop: hop + 1, until: now + wait },
            }
        }
    }

    /// Handles a queue that may be empty.
    pub(crate) fn queue_may_be_empty(&mut self, now: Instant, link: u32, events: &mut Events) {
        self.queues.queue_may_be_empty(now, link, &mut Notifications { events, sender_links: Vec::new() });
    }

    /// Handles the end of the rest time of a link: its rates will be recomputed.
    pub(crate) fn rest_over(&mut self, link: u32) {
        self.queues.rest_over(link);
    }

    /// Recomputes rates after the events at `now`.
    pub(crate) fn recompute(&mut self, now: Instant, events: &mut Events, paths: &Paths, jobs: &Jobs) {
        for index in 0..self.changed_ports.len() {
            self.update_assumed_rates(now, self.changed_ports[index], paths, jobs);
        }
        let mut notifications = Notifications { events, sender_links: Vec::new() };
        self.queues.recompute(now, &mut notifications);
        for link in notifications.sender_links {
            let index = self.port_of[link as usize];
            let rate = self.queues.sending_rate(link);
            self.ports[index as usize].sender.set_rate(now, rate);
            self.mark_changed(index);
        }
        for index in std::mem::take(&mut self.changed_ports) {
            let port = &mut self.ports[index as usize];
            port.is_changed = false;
            port.version = port.version.wrapping_add(1);
            if let Some(at) = port.sender.recompute(now, self.frame_bytes) {
                events.push(at, Event::PortDue { version: port.version, port: index });
            }
        }
    }

    /// Updates the assumed rates of the flows of a port.
    fn update_assumed_rates(&mut self, now: Instant, index: u32, paths: &Paths, jobs: &Jobs) {
        let port = &mut self.ports[index as usize];
        port.sender.recompute(now, self.frame_bytes);
        let flow_count = port.sender.flow_count();
        if flow_count == 0 {
            return;
        }
        let (fair_rate, assumed_sum) = (port.capacity / flow_count, port.rate * flow_count);
        let is_stale = fair_rate != port.rate
            && (flow_count <= FEW_FLOWS
                || assumed_sum.abs_diff(port.capacity) > port.capacity / STALE_DIVISOR);
        let mut slots = std::mem::take(&mut port.new_slots);
        if is_stale {
            port.rate = fair_rate;
            slots = port.sender.slots().collect();
        }
        let rate = port.rate;
        for slot in slots {
            let flow = &mut self.flows[slot as usize];
            let change = RateChange { before: flow.rate, after: rate };
            if flow.unit_bytes > 0 || change.size() == 0 {
                continue;
            }
            flow.rate = rate;
            paths.find(jobs, flow.chunk, &mut self.path);
            paths.find_ack_legs(&mut self.path);
            self.queues.prefetch(&self.path.legs);
            self.change_rate_on_path(now, paths, change);
        }
    }

    /// Changes the assumed rate of a flow on every link of its path.
    fn change_rate_on_path(&mut self, now: Instant, paths: &Paths, change: RateChange) {
        let (queues, Path { legs, destination, .. }) = (&mut self.queues, &self.path);
        paths.network.transits(legs, *destination, &mut |transit| {
            queues.change_transit_rate(now, DATA, &transit, change);
        });
        self.change_rate_on_arrival(now, paths, change);
    }

    /// Changes it for the destination host, and for acknowledgements.
    fn change_rate_on_arrival(&mut self, now: Instant, paths: &Paths, change: RateChange) {
        let (queues, network, path) = (&mut self.queues, &paths.network, &self.path);
        queues.change_delivery_rate(network.link_to_host(path.destination), change);
        queues.prefetch(&path.ack_legs);
        let acks = change.map(|rate| fraction_of(rate, path.ack_weight));
        network.transits(&path.ack_legs, path.source, &mut |transit| {
            queues.change_transit_rate(now, ACKS, &transit, acks);
        });
    }

    /// Adds acknowledgements of `bytes` to the queues of the return path, with priority over data.
    fn acknowledge(&mut self, now: Instant, paths: &Paths, bytes: u64) {
        let (queues, network, path) = (&mut self.queues, &paths.network, &self.path);
        network.transits(&path.ack_legs, path.source, &mut |transit| {
            queues.enqueue(now, transit.to, fraction_of(bytes, transit.weight));
        });
        let index = self.port_of[path.ack_legs[0].link as usize];
        let port = &mut self.ports[index as usize];
        if port.sender.delay(now, time_for(work_of_bytes(bytes), port.capacity)) {
            self.mark_changed(index);
        }
    }

    /// Path of the flow whose last bit passed all queues last.
    pub(crate) const fn path(&self) -> &Path {
        &self.path
    }

    /// The first queue that did not fit into its switch, so that frames would have been lost.
    pub(crate) const fn overflow(&self) -> Option<Overflow> {
        self.queues.overflow
    }

    /// Number of recomputations of the output of a link.
    pub(crate) const fn rate_changes(&self) -> u64 {
        self.queues.recomputations
    }

    fn mark_changed(&mut self, index: u32) {
        if !std::mem::replace(&mut self.ports[index as usize].is_changed, true) {
            self.changed_ports.push(index);
        }
    }
}
