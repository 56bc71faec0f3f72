//! Leaf of a scheduled fabric, with ports to hosts on one side and fabric links on the other: queues packets
//! at ingress, requests and grants credits, and sends bursts of cells and frames to hosts.
//!
//! All events of a leaf are processed in strict order of time. At equal times: arrivals, ports in order, then
//! renewed pauses, then frames sent to hosts, then credits.

use super::arrivals::{Arrival, Arrivals};
use super::bundle::Bundle;
use super::cells::{CellFormat, Cells, Cutter};
use super::control::Control;
use super::credits::{CreditPlan, Credits, Granted};
use super::gate::{Gate, GatePlan};
use super::reassembly::Reassembly;
use super::tasks::{Task, Tasks};
use super::voq::{Voqs, credit_cost};
use super::{Directory, LeafRoute};
use crate::link::egress::SharedLinks;
use crate::packet::{Packet, Priority};
use crate::switch::Context;
use crate::switch::Received;
use crate::switch::admission::buffer::{Admission, BufferPlan, SharedBuffer};
use crate::switch::admission::pfc::{PausePlan, PauseRequests};
use crate::switch::queue::{EgressPlan, EgressPort, Stored, release};
use engine::prefetch::prefetch_item;
use engine::{Message, Window};
use std::ops::Range;
use std::sync::Arc;
use units::{AttachmentId, Instant, Span};

/// Prefetch distance, in arrivals, for the queue of an arrival and its first packet.
const QUEUES_AHEAD: usize = 8;
const PACKETS_AHEAD: usize = 4;

/// Parameters of a leaf.
pub(crate) struct LeafPlan {
    /// Number among the leaves.
    pub(crate) number: u16,
    pub(crate) directory: Arc<Directory>,
    /// Ports to hosts (the first ports of the leaf) with their credit schedulers.
    pub(crate) ports: Vec<(EgressPlan, CreditPlan)>,
    pub(crate) buffer: BufferPlan,
    pub(crate) pauses: PausePlan,
    pub(crate) credit_bytes: u32,
    /// The fabric, if there is one.
    pub(crate) uplink: Option<UplinkPlan>,
}

/// The fabric as a leaf sees it.
#[derive(Debug)]
pub(crate) struct UplinkPlan {
    pub(crate) gate: GatePlan,
    pub(crate) format: CellFormat,
    pub(crate) control_bytes: u32,
    /// Destinations of messages for each leaf.
    pub(crate) routes: Vec<LeafRoute>,
}

/// The fabric links of a leaf.
#[derive(Debug)]
struct Uplink {
    gate: Gate,
    format: CellFormat,
    control_bytes: u32,
    routes: Vec<LeafRoute>,
}

impl Uplink {
    fn new(plan: UplinkPlan) -> Self {
        let UplinkPlan { gate, format, control_bytes, routes } = plan;
        Self { gate: Gate::new(gate), format, control_bytes, routes }
    }
}

/// A leaf.
#[derive(Debug)]
pub(crate) struct Leaf {
    number: u16,
    directory: Arc<Directory>,
    ports: Vec<EgressPort>,
    credits: Vec<Credits>,
    voqs: Voqs,
    buffer: SharedBuffer,
    requests: PauseRequests,
    uplink: Option<Uplink>,
    reassembly: Reassembly,
    tasks: Tasks,
    /// When each port next sends, and grants, by `tasks`; entries of `tasks` with other times are stale.
    sends: Vec<Instant>,
    grants: Vec<Instant>,
    release_at: Instant,
    received: Vec<Received>,
    /// Scratch space: packets that leave a VOQ together.
    burst: Vec<Stored>,
}

impl Leaf {
    pub(super) fn new(plan: LeafPlan) -> Self {
        let hosts = plan.ports.len();
        let rates = plan.ports.iter().map(|(port, _)| port.wire.rate).collect();
        let mut links = SharedLinks::default();
        let ports = plan.ports.into_iter();
        let (ports, credits) = ports
            .map(|(port, credits)| (EgressPort::new(port, &mut links), Credits::new(credits)))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        Self {
            number: plan.number,
            voqs: Voqs::new(plan.directory.ports(), plan.credit_bytes),
            directory: plan.directory,
            ports,
            credits,
            buffer: SharedBuffer::new(plan.buffer, hosts),
            requests: PauseRequests::new(plan.pauses, rates),
            uplink: plan.uplink.map(Uplink::new),
            reassembly: Reassembly::default(),
            tasks: Tasks::default(),
            sends: vec![Instant::NEVER; hosts],
            grants: vec![Instant::NEVER; hosts],
            release_at: Instant::NEVER,
            received: vec![Received::default(); hosts],
            burst: Vec::new(),
        }
    }

    /// Ports to hosts.
    pub(crate) fn ports(&self) -> &[EgressPort] {
        &self.ports
    }

    /// Frames received from each host.
    pub(crate) fn received(&self) -> &[Received] {
        &self.received
    }

    /// Credits granted by a port.
    pub(crate) fn granted(&self, port: u16) -> Granted {
        self.credits[usize::from(port)].granted()
    }

    /// Largest length so far of the VOQs of this leaf for an egress port [bytes].
    pub(crate) fn voq_max_bytes(&self, port: AttachmentId) -> u64 {
        self.voqs.max_bytes(port)
    }

    /// Buffer space of packets in VOQs that arrived on a port [bytes].
    pub(crate) fn voq_bytes(&self, ingress: u16) -> u64 {
        self.buffer.bytes_from(ingress)
    }

    /// Maximum of the packets in reassembly [bytes].
    pub(crate) const fn reassembly_max_bytes(&self) -> u64 {
        self.reassembly.max_bytes()
    }

    /// Packets in VOQs and egress queues.
    pub(crate) fn queued_frames(&self) -> u64 {
        let waiting = self.uplink.as_ref().map_or(0, |uplink| uplink.gate.queued_frames());
        waiting + self.voqs.packets() + self.ports.iter().map(EgressPort::queued_frames).sum::<u64>()
    }

    /// All fabric links from this leaf.
    pub(crate) fn uplink(&self) -> Option<&Bundle> {
        self.uplink.as_ref().map(|uplink| uplink.gate.bundle())
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
        let is_large = context.is_large();
        let mut taken = 0;
        loop {
            let task = self.next_task();
            let next = arrivals.get(taken);
            let arrives = next.map_or(Instant::NEVER, |arrival| arrival.packet.at());
            let now = arrives.min(task);
            if now >= window.end {
                return task;
            }
            match next {
                Some(arrival) if arrives <= task => {
                    if is_large {
                        self.prefetch(arrivals, taken);
                    }
                    self.arrive(arrival, context);
                    taken += 1;
                }
                _ => self.work(now, context),
            }
        }
    }

    /// Prefetches the queues, and their first packets, of arrivals behind the first `taken`.
    #[inline]
    fn prefetch(&self, arrivals: &Arrivals, taken: usize) {
        if let Some(Arrival { packet, inbox }) = arrivals.get(taken + QUEUES_AHEAD) {
            let is_request = packet.is_link_control() && !Control::of(packet).is_grant;
            if (*inbox as usize) < self.ports.len() || !is_request {
                self.voqs.prefetch_queue(packet.destination(), packet.priority());
            } else {
                let (_, egress) = self.directory.location(packet.destination());
                prefetch_item(&self.credits[usize::from(egress)]);
            }
        }
        if let Some(Arrival { packet, inbox }) = arrivals.get(taken + PACKETS_AHEAD)
            && (*inbox as usize) >= self.ports.len()
            && packet.is_link_control()
        {
            self.voqs.prefetch_first(packet.destination(), packet.priority());
        }
    }

    /// When the next task is due; discards stale tasks.
    #[inline]
    fn next_task(&mut self) -> Instant {
        let renewal = self.requests.next_due();
        while let Some((at, task)) = self.tasks.first() {
            let holds = match task {
                Task::Send(port) => self.sends[usize::from(port)] == at,
                Task::Grant(port) => self.grants[usize::from(port)] == at,
                Task::Release => self.release_at == at,
            };
            if holds {
                return at.min(renewal);
            }
            self.tasks.pop();
        }
        renewal
    }

    #[inline]
    fn work(&mut self, now: Instant, context: &mut Context) {
        if self.requests.next_due() <= now {
            let port = self.requests.act(now, &mut self.ports);
            self.schedule_send(port, now);
            return;
        }
        let Some(task) = self.tasks.pop() else { return };
        match task {
            Task::Send(port) => self.send(port, now, context),
            Task::Grant(port) => self.grant(port, now, context),
            Task::Release => self.release(now, context),
        }
    }

    #[inline]
    fn schedule_send(&mut self, port: u16, now: Instant) {
        let at = self.ports[usize::from(port)].next_send();
        let planned = &mut self.sends[usize::from(port)];
        if at != Instant::NEVER && at.max(now) < *planned {
            *planned = at.max(now);
            self.tasks.push(*planned, Task::Send(port));
        }
    }

    #[inline]
    fn schedule_grant(&mut self, port: u16, now: Instant) {
        let at = self.credits[usize::from(port)].next_grant();
        let planned = &mut self.grants[usize::from(port)];
        if at != Instant::NEVER && at.max(now) < *planned {
            *planned = at.max(now);
            self.tasks.push(*planned, Task::Grant(port));
        }
    }

    #[inline]
    fn schedule_release(&mut self, now: Instant) {
        let next = self.uplink.as_ref().map_or(Instant::NEVER, |uplink| uplink.gate.next_release());
        if next != Instant::NEVER && next.max(now) < self.release_at {
            self.release_at = next.max(now);
            self.tasks.push(self.release_at, Task::Release);
        }
    }

    /// Sends messages that wait for the fabric links.
    fn release(&mut self, now: Instant, context: &mut Context) {
        self.release_at = Instant::NEVER;
        if let Some(uplink) = &mut self.uplink {
            uplink.gate.release(now, context);
        }
        self.schedule_release(now);
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival, context: &mut Context) {
        let Arrival { packet, inbox } = *arrival;
        let now = packet.at();
        if (inbox as usize) < self.ports.len() {
            self.arrive_from_host(packet, inbox as u16, now, context);
        } else if packet.is_link_control() {
            self.arrive_control(Control::of(&packet), now, context);
        } else {
            let format = self.uplink.as_ref().map(|uplink| uplink.format);
            let cells_bytes = format.map_or(0, |format| Cells::unpack(packet.entropy).bytes(format));
            let span =
                self.uplink.as_ref().map_or(Span::ZERO, |uplink| uplink.gate.bundle().span_of(cells_bytes));
            self.reassembly.note(now, span, packet.frame_bytes());
            self.leave_fabric(packet, now);
        }
    }

    #[inline]
    fn arrive_from_host(&mut self, packet: Packet, ingress: u16, now: Instant, context: &mut Context) {
        let received = &mut self.received[usize::from(ingress)];
        received.frames += 1;
        received.bytes += u64::from(packet.frame_bytes());
        if packet.is_link_control() {
            self.ports[usize::from(ingress)].receive_link_control(&packet);
            self.schedule_send(ingress, now);
            return;
        }
        let (port, priority) = (packet.destination(), packet.priority());
        let charge = self.buffer.charge(packet.frame_bytes());
        match self.buffer.admit(ingress, priority, charge, self.voqs.bytes(port, priority)) {
            Admission::Dropped(cause) => self.ports[usize::from(ingress)].drop_frame(&packet, cause),
            Admission::Stored => {
                if let Some(bytes) = self.voqs.push(Stored { packet, ingress }) {
                    self.request(port, priority, bytes, now, context);
                }
            }
        }
        if self.requests.note_arrival(&self.buffer, ingress, priority, now, &mut self.ports) {
            self.schedule_send(ingress, now);
        }
    }

    /// Requests credits from the scheduler of an egress port, in as many messages as the number of bytes
    /// needs.
    #[inline]
    fn request(
        &mut self,
        port: AttachmentId,
        priority: Priority,
        bytes: u64,
        now: Instant,
        context: &mut Context,
    ) {
        let mut left = bytes;
        while left > 0 {
            let part = left.min(u32::MAX.into()) as u32;
            left -= u64::from(part);
            let request = Control { is_grant: false, port, priority, source: self.number, bytes: part };
            let (leaf, _) = self.directory.location(port);
            self.send_control(request, leaf, now, context);
        }
    }

    /// Sends a control message to a leaf, which may be this one.
    #[inline]
    fn send_control(&mut self, control: Control, leaf: u16, now: Instant, context: &mut Context) {
        if leaf == self.number {
            self.arrive_control(control, now, context);
            return;
        }
        let Some(uplink) = &mut self.uplink else { return };
        let message = control.message(leaf, uplink.control_bytes).arriving(now);
        uplink.gate.offer_control(message, uplink.routes[usize::from(leaf)].control, context);
        self.schedule_release(now);
    }

    #[inline]
    fn arrive_control(&mut self, control: Control, now: Instant, context: &mut Context) {
        let Control { is_grant, port, priority, source, bytes } = control;
        if is_grant {
            self.send_burst(port, priority, bytes, now, context);
        } else {
            let (_, egress) = self.directory.location(port);
            self.credits[usize::from(egress)].request(source, priority, bytes.into());
            self.schedule_grant(egress, now);
        }
    }

    /// Grants a credit.
    #[inline]
    fn grant(&mut self, port: u16, now: Instant, context: &mut Context) {
        self.grants[usize::from(port)] = Instant::NEVER;
        let grant = self.credits[usize::from(port)].grant(now);
        self.schedule_grant(port, now);
        if let Some(grant) = grant {
            let control = Control {
                is_grant: true,
                port: self.directory.attachment(self.number, port),
                priority: grant.priority,
                source: self.number,
                bytes: grant.bytes,
            };
            self.send_control(control, grant.leaf, now, context);
        }
    }

    /// Handles a credit: sends the packets that it allows.
    #[inline]
    fn send_burst(
        &mut self,
        port: AttachmentId,
        priority: Priority,
        bytes: u32,
        now: Instant,
        context: &mut Context,
    ) {
        let ask = self.voqs.grant(port, priority, bytes.into());
        let mut burst = std::mem::take(&mut self.burst);
        while let Some(stored) = self.voqs.pop(port, priority) {
            if release(&mut self.buffer, stored.buffered()) {
                self.requests.end(stored.ingress, priority, now, &mut self.ports);
                self.schedule_send(stored.ingress, now);
            }
            burst.push(stored);
        }
        self.cross(port, &burst, now, context);
        burst.clear();
        self.burst = burst;
        if let Some(bytes) = ask {
            self.request(port, priority, bytes, now, context);
        }
    }

    /// Sends a burst through the fabric; within the leaf it arrives at once.
    #[inline]
    fn cross(&mut self, port: AttachmentId, burst: &[Stored], now: Instant, context: &mut Context) {
        let (leaf, _) = self.directory.location(port);
        if leaf == self.number {
            burst.iter().for_each(|stored| self.leave_fabric(stored.packet, now));
            return;
        }
        let Some(uplink) = &mut self.uplink else { return };
        let bytes = burst.iter().map(|stored| u64::from(stored.packet.frame_bytes())).sum();
        let mut cutter = Cutter::new(uplink.format, bytes);
        for &Stored { mut packet, .. } in burst {
            packet.entropy = cutter.cut(packet.frame_bytes()).pack();
            uplink.gate.offer_data(packet.arriving(now), now, uplink.routes[usize::from(leaf)].data, context);
        }
        self.schedule_release(now);
    }

    /// Handles the completion of a packet at its egress port.
    #[inline]
    fn leave_fabric(&mut self, packet: Packet, now: Instant) {
        let (_, port) = self.directory.location(packet.destination());
        self.ports[usize::from(port)].enqueue(&mut Stored { packet: packet.arriving(now), ingress: port });
        self.schedule_send(port, now);
    }

    /// Sends the frame that is due at a port to its host.
    #[inline]
    fn send(&mut self, port: u16, now: Instant, context: &mut Context) {
        self.sends[usize::from(port)] = Instant::NEVER;
        let egress = &mut self.ports[usize::from(port)];
        if egress.next_send() <= now
            && let Some(sent) = egress.send_next(now, context)
        {
            let cost = credit_cost(sent.frame_bytes);
            self.credits[usize::from(port)].depart(sent.priority, cost);
            self.schedule_grant(port, now);
        }
        self.schedule_send(port, now);
    }
}
