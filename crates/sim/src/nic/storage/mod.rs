//! Storage over RDMA, like NVMe over Fabrics: a host is a client or a target, and processes the packets and
//! timers of its connections.
//!
//! A client has `depth` operations outstanding, each to a target drawn at random. A write is a command (a
//! SEND of 64 bytes), which includes small data; larger data are fetched by the target with RDMA READ (NVMe
//! over RDMA transport specification 1.0, 2.1.3). The target serves the operation and sends a completion (a
//! SEND of 16 bytes). For a read, the target sends the data with RDMA WRITE before the completion. The
//! completion ends the operation, and the client issues the next immediately.
//!
//! Modules in the order in which an operation passes them: `client`, `connection` (with `tag`: operation
//! numbers in packets), `target`; `host` connects them to the NIC. The target serves operations in the order
//! in which they are ready, one after the other, and the data of each as a whole: nothing is sent before the
//! end of its service. Leaves out: keep-alives, setup and teardown of connections, flow control of the
//! submission queue (its size is the depth), invalidation of memory keys, CPU time at either end, failover to
//! another path.

mod client;
mod connection;
mod host;
mod tag;
mod target;

pub(crate) use client::{COMMAND_BYTES, ClientPlan, Stop};
pub(crate) use connection::ConnectionPlan;
pub(crate) use target::{COMPLETION_BYTES, TargetPlan};

use crate::packet::{Packet, StorageVerb};
use crate::record::{ReceiveReport, Record, SendReport};
use client::Client;
use connection::{Connection, Leaving, payload_bytes};
use engine::Message;
use tag::{Tag, connection_of};
use target::{Target, is_worth_a_report};
use transport::{
    AckOutcome, Config, Disposition, Feedback, Position, RateControl, TimeoutOutcome, Verb, read_range,
};
use units::{Instant, Span};
use wire::Psn;

/// Role of a host in a storage job.
#[derive(Clone, Debug)]
pub(crate) enum RolePlan {
    Client(ClientPlan),
    Target(TargetPlan),
}

/// Parameters of a host of a storage job.
#[derive(Clone, Debug)]
pub(crate) struct StoragePlan {
    pub(crate) role: RolePlan,
    pub(crate) connections: Vec<ConnectionPlan>,
    pub(crate) job: u32,
    /// Its job runs until other jobs end.
    pub(crate) is_background: bool,
}

#[derive(Debug)]
enum Role {
    Client(Client),
    Target(Target),
}

/// The effects of a packet.
#[derive(Default)]
pub(super) struct Taken {
    /// Replies to send.
    pub(super) replies: [Option<Packet>; 2],
    /// Data placed [bytes].
    pub(super) payload_bytes: u32,
}

/// An arrived packet with a position in a message.
#[derive(Clone, Copy)]
struct Inbound<'a> {
    packet: &'a Packet,
    position: Position,
    tag: Tag,
    verb: StorageVerb,
    now: Instant,
    latency: Span,
    /// A congestion notification answers it.
    is_notified: bool,
}

/// Data of an operation received so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) report: ReceiveReport,
    /// The first packet that was placed.
    first: Option<Psn>,
}

impl Received {
    /// Nothing received.
    pub(super) const fn new(chunk: u32, round: u32) -> Self {
        Self { report: ReceiveReport::new(chunk, round), first: None }
    }
}

/// The storage side of a host.
#[derive(Debug)]
pub(super) struct Storage {
    role: Role,
    connections: Vec<Connection>,
    pub(super) job: u32,
    pub(super) is_background: bool,
    /// Connections that may have new packets to send.
    touched: Vec<u32>,
    /// A timer entry exists for the end of a service.
    is_timed: bool,
}

impl Storage {
    pub(super) fn new(plan: StoragePlan) -> Self {
        let connections: Vec<Connection> = plan.connections.into_iter().map(Connection::new).collect();
        Self {
            role: match plan.role {
                RolePlan::Client(plan) => Role::Client(Client::new(plan, connections.len())),
                RolePlan::Target(plan) => Role::Target(Target::new(plan, connections.len())),
            },
            connections,
            job: plan.job,
            is_background: plan.is_background,
            touched: Vec::new(),
            is_timed: false,
        }
    }

    const fn client(&self) -> Option<&Client> {
        match &self.role {
            Role::Client(client) => Some(client),
            Role::Target(_) => None,
        }
    }

    const fn target(&self) -> Option<&Target> {
        match &self.role {
            Role::Client(_) => None,
            Role::Target(target) => Some(target),
        }
    }

    /// Time at which the first operations are issued.
    pub(super) fn start(&self) -> Option<Instant> {
        self.client().map(|client| client.plan().start)
    }

    /// End of the service of the next operation.
    fn next_served(&self) -> Option<Instant> {
        self.target().and_then(Target::next_served)
    }

    /// Processes a packet with a position in a message.
    fn take(&mut self, config: &Config, inbound: Inbound, records: &mut Vec<Record>) -> Taken {
        let index = connection_of(inbound.packet);
        let notification =
            if inbound.packet.is_marked() { self.connections[index].notice_mark(inbound.now) } else { None };
        let inbound = Inbound { is_notified: notification.is_some(), ..inbound };
        let mut taken = match inbound.verb {
            StorageVerb::ReadResponse => self.take_response(config, index, inbound, records),
            StorageVerb::ReadRequest => self.take_read_request(config, index, inbound),
            StorageVerb::Send | StorageVerb::Write => self.take_request(config, index, inbound, records),
        };
        taken.replies[1] = notification;
        self.touched.push(index as u32);
        taken
    }

    /// The report of the data that an open operation receives here.
    fn receiving(&mut self, index: usize, inbound: Inbound) -> Option<&mut Received> {
        match &mut self.role {
            Role::Client(client) => {
                let operation = &mut client.operations[usize::from(inbound.tag.command)];
                // A late packet for an earlier operation may arrive by another connection.
                let is_open = operation.is_open && operation.connection == index as u32;
                (inbound.verb == StorageVerb::Write && is_open).then_some(&mut operation.received)
            }
            Role::Target(target) => {
                let is_data = match inbound.verb {
                    StorageVerb::ReadResponse => true,
                    StorageVerb::Send => target.is_in_capsule(inbound.tag),
                    StorageVerb::Write | StorageVerb::ReadRequest => false,
                };
                let command = target.command(index as u32, inbound.tag);
                (is_data && !command.is_delivered).then_some(&mut command.received)
            }
        }
    }

    /// Counts an arrival of data; returns its payload if it is placed.
    fn count_data(&mut self, index: usize, inbound: Inbound, is_placed: bool, is_early: bool) -> u32 {
        let Some(received) = self.receiving(index, inbound) else { return 0 };
        let psn = inbound.packet.psn();
        if is_placed {
            received.first.get_or_insert(psn);
        } else if !is_early && received.first.is_none_or(|first| psn.distance_from(first) < 0) {
            // It belongs to an earlier operation with the same command identifier.
            return 0;
        }
        let report = &mut received.report;
        report.frames += 1;
        report.bytes += u64::from(inbound.packet.frame_bytes());
        report.out_of_order += u32::from(is_early);
        report.marks += u32::from(inbound.packet.is_marked());
        report.cnps += u32::from(inbound.is_notified);
        if !is_placed {
            return 0;
        }
        report.add_latency(inbound.latency);
        // Overwritten until the last packet arrives.
        *report = report.delivered_at(inbound.now);
        let command_bytes = if inbound.verb == StorageVerb::Send && inbound.position.ends_message() {
            COMMAND_BYTES as u32
        } else {
            0
        };
        payload_bytes(inbound.packet, inbound.verb, inbound.position).saturating_sub(command_bytes)
    }

    fn take_response(
        &mut self,
        config: &Config,
        index: usize,
        inbound: Inbound,
        records: &mut Vec<Record>,
    ) -> Taken {
        let requester = &mut self.connections[index].requester;
        let outcome = requester.on_read_response(config, inbound.now, inbound.packet.psn());
        let payload_bytes = self.count_data(index, inbound, outcome.is_placed, outcome.is_early);
        self.retire(config, index, outcome.completed, inbound.now, records);
        Taken { payload_bytes, ..Taken::default() }
    }

    /// A target requests the data of a write. The packet sequence number of the request determines the offset
    /// in the data.
    fn take_read_request(&mut self, config: &Config, index: usize, inbound: Inbound) -> Taken {
        let (Role::Client(client), psn) = (&mut self.role, inbound.packet.psn()) else {
            return Taken::default();
        };
        let block_bytes = client.plan().block_bytes;
        let operation = &mut client.operations[usize::from(inbound.tag.command)];
        let distance = operation.read_psn.map_or(0, |first| psn.distance_from(first));
        let range = u64::try_from(distance).ok().and_then(|packet| read_range(config, block_bytes, packet));
        // An operation that has ended sends nothing any more; its command identifier may be in use by
        // another.
        let is_open = operation.is_open && operation.connection == index as u32;
        let Some(range) = range.filter(|_| is_open) else { return Taken::default() };
        let connection = &mut self.connections[index];
        let arrival = connection.responder.on_read_request(psn, range.packets);
        if arrival.disposition == Disposition::Accepted {
            operation.read_psn.get_or_insert(psn);
        }
        if arrival.disposition != Disposition::OutOfOrder && operation.read_psn.is_some() {
            let tag = inbound.tag.number();
            connection.responses.answer(psn, range.bytes, tag);
        }
        Taken { replies: [arrival.reply.map(|reply| connection.reply_packet(reply)), None], payload_bytes: 0 }
    }

    fn take_request(
        &mut self,
        config: &Config,
        index: usize,
        inbound: Inbound,
        records: &mut Vec<Record>,
    ) -> Taken {
        let Inbound { packet, position, tag, verb, now, .. } = inbound;
        let connection = &mut self.connections[index];
        let arrival = connection.responder.on_packet(config, packet.psn(), position, packet.requests_ack());
        let reply = arrival.reply.map(|reply| connection.reply_packet(reply));
        let is_accepted = arrival.disposition == Disposition::Accepted;
        if let Role::Target(target) = &mut self.role
            && is_accepted
            && position.starts_message()
        {
            target.begin(index as u32, connection, tag, now);
        }
        let is_early = arrival.disposition == Disposition::OutOfOrder;
        let payload_bytes = self.count_data(index, inbound, is_accepted, is_early);
        if is_accepted && verb == StorageVerb::Send && position.ends_message() {
            self.take_capsule(config, index, tag, now, records);
        }
        Taken { replies: [reply, None], payload_bytes }
    }

    /// A command or a completion has arrived.
    fn take_capsule(
        &mut self,
        config: &Config,
        index: usize,
        tag: Tag,
        now: Instant,
        records: &mut Vec<Record>,
    ) {
        match &mut self.role {
            Role::Client(client) => {
                client.complete(tag.command, now, records);
                client.issue(config, &mut self.connections, now, &mut self.touched);
                client.report_end(now, records);
            }
            Role::Target(target) => {
                target.take(config, index as u32, &mut self.connections[index], tag, now, records);
            }
        }
    }

    /// Work of a requester has completed. READs of a target fetch the data of writes.
    fn retire(
        &mut self,
        config: &Config,
        index: usize,
        outcome: AckOutcome,
        now: Instant,
        records: &mut Vec<Record>,
    ) {
        let connection = &mut self.connections[index];
        for _ in 0..outcome.completed {
            let posted = connection.posted.pop_front().expect("only posted work completes");
            if let (Role::Target(target), Verb::Read) = (&mut self.role, posted.verb) {
                target.store(config, index as u32, connection, posted.tag, now, records);
            }
        }
    }

    /// An ACK or, with `is_nak`, a NAK has arrived.
    fn take_acknowledgement(
        &mut self,
        config: &Config,
        packet: &Packet,
        is_nak: bool,
        records: &mut Vec<Record>,
    ) {
        let (index, now, psn) = (connection_of(packet), packet.at(), packet.psn());
        let requester = &mut self.connections[index].requester;
        let outcome =
            if is_nak { requester.on_nak(config, now, psn) } else { requester.on_ack(config, now, psn) };
        self.retire(config, index, outcome, now, records);
        if is_nak && let Some(report) = self.waiting(index) {
            report.naks += 1;
        }
        self.touched.push(index as u32);
    }

    /// The report of an operation on a connection.
    fn report_of(&mut self, index: usize, tag: Tag) -> &mut SendReport {
        match &mut self.role {
            Role::Client(client) => &mut client.operations[usize::from(tag.command)].sent,
            Role::Target(target) => &mut target.command(index as u32, tag).sent,
        }
    }

    /// The report of the operation whose request is the oldest unacknowledged one of a connection.
    fn waiting(&mut self, index: usize) -> Option<&mut SendReport> {
        let tag = self.connections[index].posted.front()?.tag;
        Some(self.report_of(index, tag))
    }

    /// A congestion notification has arrived.
    fn on_cnp(&mut self, packet: &Packet) {
        let index = connection_of(packet);
        self.connections[index]
            .controller
            .on_feedback(&Feedback { is_cnp: true, ..Feedback::at(packet.at()) });
        if let Some(tag) = self.connections[index].last {
            self.report_of(index, tag).cnps += 1;
        }
    }

    /// Processes the storage timer at `now`: the first operations of a client, or the end of a service.
    fn fire(&mut self, config: &Config, now: Instant, records: &mut Vec<Record>) {
        match &mut self.role {
            Role::Client(client) => {
                client.issue(config, &mut self.connections, now, &mut self.touched);
                client.report_end(now, records);
            }
            Role::Target(target) => {
                while let Some((index, tag)) = target.served(now) {
                    target.answer(config, &mut self.connections[index as usize], tag);
                    self.touched.push(index);
                }
            }
        }
    }

    /// Checks the retransmission deadline of a connection.
    fn check_deadline(&mut self, config: &Config, index: usize, now: Instant, records: &mut Vec<Record>) {
        let connection = &mut self.connections[index];
        connection.is_timed = false;
        let outcome = connection.requester.on_timeout(config, now);
        if outcome != TimeoutOutcome::NotDue
            && let Some(report) = self.waiting(index)
        {
            report.timeouts += 1;
        }
        if outcome == TimeoutOutcome::Failed {
            let connection = &mut self.connections[index];
            // A queue pair in the error state sends no responses either (IBTA 10.3.1).
            connection.responses.clear();
            let queue_pair = connection.plan().queue_pair;
            records.push(Record::QueuePairFailed { queue_pair, at: now });
            if let Role::Client(client) = &mut self.role {
                client.fail(index as u32, records);
                client.report_end(now, records);
            }
        }
        self.touched.push(index as u32);
    }

    /// The next packet of a connection, if any.
    fn next_packet(
        &mut self,
        config: &Config,
        index: usize,
        now: Instant,
        sent: Instant,
        records: &mut Vec<Record>,
    ) -> Option<Packet> {
        let leaving = self.connections[index].next_packet(config, now, sent, records)?;
        self.count_sent(index, &leaving, records);
        Some(leaving.packet)
    }

    /// Counts departing data at its operation. With the completion, and with resent data, the target reports
    /// the frames it sent and its counts; the last such report counts.
    fn count_sent(&mut self, index: usize, leaving: &Leaving, records: &mut Vec<Record>) {
        let Leaving { tag, verb, .. } = *leaving;
        let (report, is_data) = match &mut self.role {
            Role::Client(client) => {
                let in_capsule = !tag.is_read && client.plan().block_bytes <= client.plan().in_capsule_bytes;
                let report = &mut client.operations[usize::from(tag.command)].sent;
                (report, verb == StorageVerb::ReadResponse || (in_capsule && verb == StorageVerb::Send))
            }
            Role::Target(target) => {
                (&mut target.command(index as u32, tag).sent, tag.is_read && verb == StorageVerb::Write)
            }
        };
        if is_data {
            report.frames += 1;
            report.bytes += u64::from(leaving.packet.frame_bytes());
        }
        let is_resent = leaving.is_retransmission && is_data;
        report.retransmits += u32::from(is_resent);
        let report = *report;
        let is_completion = verb == StorageVerb::Send && leaving.is_last;
        let is_reported = is_completion || is_resent;
        if matches!(self.role, Role::Target(_)) && is_reported && is_worth_a_report(&report) {
            records.push(Record::Served(Box::new(report)));
        }
    }

    pub(super) fn rate_bps(&self, connection: u32, now: Instant) -> Option<u64> {
        self.connections.get(connection as usize)?.rate_bps(now)
    }

    /// Reports of operations that were issued and have not ended, at their client.
    pub(super) fn open_operations(&self) -> impl Iterator<Item = SendReport> {
        self.client().into_iter().flat_map(Client::open).map(|operation| operation.sent)
    }

    /// Reports of operations that have started at a target: frames sent so far.
    pub(super) fn served_so_far(&self) -> impl Iterator<Item = SendReport> {
        self.target().into_iter().flat_map(Target::served_so_far)
    }

    /// Reports of operations that have received data and not ended.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        let open = self.client().into_iter().flat_map(Client::open);
        let reads = open.map(|operation| operation.received.report).filter(|report| report.frames > 0);
        reads.chain(self.target().into_iter().flat_map(Target::undelivered))
    }
}
