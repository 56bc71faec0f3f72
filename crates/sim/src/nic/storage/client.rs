//! A storage client: issues operations, each to a target drawn at random, such that a constant number is
//! outstanding; ends and reports them.

use super::Received;
use super::connection::Connection;
use super::tag::Tag;
use crate::record::{Record, SendReport};
use record::ChunkStatus;
use transport::{Config, Verb};
use units::{Instant, Stream};
use wire::Psn;

/// Size of a command: the submission queue entry (NVMe base specification 2.0, 3.3.3).
pub(crate) const COMMAND_BYTES: u64 = 64;
const ALL_PPM: u32 = 1_000_000;

/// When a client stops issuing operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// From that time on.
    At(Instant),
    After(u64),
    /// Never: other jobs end the run.
    Never,
}

/// Parameters of a client.
#[derive(Clone, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) job: u32,
    /// Data of an operation [bytes].
    pub(crate) block_bytes: u64,
    /// Maximum size of the data of a write that is sent with its command [bytes].
    pub(crate) in_capsule_bytes: u64,
    /// Operations outstanding.
    pub(crate) depth: u16,
    /// Fraction of operations that read [parts per million].
    pub(crate) read_ppm: u32,
    /// Connections to each target, used round robin. The connections of target `i` start at `i * queues`.
    pub(crate) queues: u32,
    pub(crate) start: Instant,
    pub(crate) stop: Stop,
    /// Random streams of the target of each operation and, if there are both, of its direction.
    pub(crate) targets: Stream,
    pub(crate) directions: Stream,
}

/// An operation; its identifier is its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) is_open: bool,
    pub(super) connection: u32,
    pub(super) sent: SendReport,
    /// Data received, of a read.
    pub(super) received: Received,
    /// The first READ request for its data.
    pub(super) read_psn: Option<Psn>,
}

impl Operation {
    const FREE: Self = Self {
        is_open: false,
        connection: 0,
        sent: SendReport::new(0, 0, Instant::ZERO),
        received: Received::new(0, 0),
        read_psn: None,
    };
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    plan: ClientPlan,
    pub(super) operations: Vec<Operation>,
    /// Free identifiers; the last is used next.
    free: Vec<u16>,
    /// The next connection of each target.
    next_queues: Vec<u32>,
    issued: u64,
    has_failed: bool,
    is_done: bool,
}

impl Client {
    pub(super) fn new(plan: ClientPlan, connections: usize) -> Self {
        Self {
            operations: vec![Operation::FREE; usize::from(plan.depth)],
            free: (0..plan.depth).rev().collect(),
            next_queues: vec![0; connections / plan.queues as usize],
            issued: 0,
            has_failed: false,
            is_done: false,
            plan,
        }
    }

    pub(super) const fn plan(&self) -> &ClientPlan {
        &self.plan
    }

    /// Issues operations until the depth is reached. Adds the connections used to `touched`.
    pub(super) fn issue(
        &mut self,
        config: &Config,
        connections: &mut [Connection],
        now: Instant,
        touched: &mut Vec<u32>,
    ) {
        while self.wants_more(now)
            && let Some(command) = self.free.pop()
        {
            touched.push(self.issue_one(config, connections, command, now));
        }
    }

    const fn wants_more(&self, now: Instant) -> bool {
        !self.has_failed
            && match self.plan.stop {
                Stop::At(end) => now.0 < end.0,
                Stop::After(operations) => self.issued < operations,
                Stop::Never => true,
            }
    }

    fn issue_one(
        &mut self,
        config: &Config,
        connections: &mut [Connection],
        command: u16,
        now: Instant,
    ) -> u32 {
        self.issued += 1;
        let index = self.draw_connection();
        let connection = &mut connections[index as usize];
        let is_read = self.draw_direction();
        let (chunk, round) = (connection.plan().chunk, connection.next_operation(is_read));
        self.operations[usize::from(command)] = Operation {
            is_open: true,
            connection: index,
            sent: SendReport::new(chunk, round, now),
            received: Received::new(chunk, round),
            read_psn: None,
        };
        let in_capsule = !is_read && self.plan.block_bytes <= self.plan.in_capsule_bytes;
        let data_bytes = if in_capsule { self.plan.block_bytes } else { 0 };
        connection.post(config, Verb::Send, COMMAND_BYTES + data_bytes, Tag { command, is_read });
        index
    }

    fn draw_connection(&mut self) -> u32 {
        let target = self.plan.targets.below(self.next_queues.len() as u64);
        let next = &mut self.next_queues[target as usize];
        let queue = *next;
        *next = (queue + 1) % self.plan.queues;
        target as u32 * self.plan.queues + queue
    }

    fn draw_direction(&mut self) -> bool {
        match self.plan.read_ppm {
            0 => false,
            ALL_PPM => true,
            share => self.plan.directions.below(ALL_PPM.into()) < u64::from(share),
        }
    }

    /// The completion of `command` has arrived.
    pub(super) fn complete(&mut self, command: u16, now: Instant, records: &mut Vec<Record>) {
        let operation = &mut self.operations[usize::from(command)];
        if !std::mem::replace(&mut operation.is_open, false) {
            // Its connection failed before.
            return;
        }
        let (sent, received) = (operation.sent, operation.received.report);
        if received.delivered().is_some() {
            records.push(Record::delivered(&received));
        }
        records.push(Record::sent(&sent.ended(ChunkStatus::Complete, Some(now))));
        self.free.push(command);
    }

    /// A connection has exhausted its retries: its operations have failed, and the client issues no more.
    pub(super) fn fail(&mut self, connection: u32, records: &mut Vec<Record>) {
        self.has_failed = true;
        for (command, operation) in (0..).zip(&mut self.operations) {
            if operation.is_open && operation.connection == connection {
                operation.is_open = false;
                records.push(Record::sent(&operation.sent.ended(ChunkStatus::Failed, None)));
                self.free.push(command);
            }
        }
    }

    /// Reports, once, that every operation has ended and none will follow.
    pub(super) fn report_end(&mut self, now: Instant, records: &mut Vec<Record>) {
        let is_over = self.free.len() == self.operations.len() && !self.wants_more(now);
        if is_over && !std::mem::replace(&mut self.is_done, true) {
            records.push(Record::ClientDone { job: self.plan.job });
        }
    }

    /// Operations that have not ended.
    pub(super) fn open(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_open)
    }
}
