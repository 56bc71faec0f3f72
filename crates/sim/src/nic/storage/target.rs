//! A storage target: receives commands, fetches the data of writes, serves operations one after the other,
//! and sends the data of reads and the completions.

use super::Received;
use super::connection::Connection;
use super::tag::Tag;
use crate::record::{ReceiveReport, Record, SendReport};
use std::collections::VecDeque;
use transport::{Config, Verb};
use units::{Instant, Rate, Span};

/// Size of a completion: the completion queue entry (NVMe base specification 2.0, 3.3.3).
pub(crate) const COMPLETION_BYTES: u64 = 16;

/// Parameters of a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetPlan {
    /// Data of an operation [bytes].
    pub(crate) block_bytes: u64,
    /// Maximum size of the data of a write that is sent with its command [bytes].
    pub(crate) in_capsule_bytes: u64,
    /// Rate at which it stores and fetches data, if limited.
    pub(crate) service_rate: Option<Rate>,
    /// Fixed service time of each operation, in addition.
    pub(crate) service_time: Span,
    /// Operations that a client has outstanding.
    pub(crate) depth: u16,
}

/// An open command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// Data received, of a write.
    pub(super) received: Received,
    /// Frames sent, of a read.
    pub(super) sent: SendReport,
    /// All its data has arrived, or it receives none.
    pub(super) is_delivered: bool,
}

impl Command {
    const NONE: Self = Self {
        received: Received::new(0, 0),
        sent: SendReport::new(0, 0, Instant::ZERO),
        is_delivered: true,
    };
}

/// A target.
#[derive(Debug)]
pub(super) struct Target {
    plan: TargetPlan,
    /// By connection, then by identifier.
    commands: Vec<Vec<Command>>,
    /// End of the service of all queued operations.
    free_at: Instant,
    /// Operations in service, with the end of service.
    serving: VecDeque<(Instant, u32, Tag)>,
}

impl Target {
    pub(super) fn new(plan: TargetPlan, connections: usize) -> Self {
        let commands = vec![vec![Command::NONE; usize::from(plan.depth)]; connections];
        Self { plan, commands, free_at: Instant::ZERO, serving: VecDeque::new() }
    }

    pub(super) fn command(&mut self, connection: u32, tag: Tag) -> &mut Command {
        &mut self.commands[connection as usize][usize::from(tag.command)]
    }

    /// Whether the data of an operation is sent with its command.
    pub(super) const fn is_in_capsule(&self, tag: Tag) -> bool {
        !tag.is_read && self.plan.block_bytes <= self.plan.in_capsule_bytes
    }

    /// The first packet of a command has arrived.
    pub(super) fn begin(&mut self, index: u32, connection: &mut Connection, tag: Tag, now: Instant) {
        let (chunk, round) = (connection.plan().chunk, connection.next_operation(tag.is_read));
        *self.command(index, tag) = Command {
            received: Received::new(chunk, round),
            sent: SendReport::new(chunk, round, now),
            is_delivered: false,
        };
    }

    /// A command is complete. A read is served immediately, a write when its data has arrived: the target
    /// requests data that is not part of the command.
    pub(super) fn take(
        &mut self,
        config: &Config,
        index: u32,
        connection: &mut Connection,
        tag: Tag,
        now: Instant,
        records: &mut Vec<Record>,
    ) {
        if tag.is_read {
            self.serve(config, index, connection, tag, now);
        } else if self.is_in_capsule(tag) {
            self.store(config, index, connection, tag, now, records);
        } else {
            connection.post(config, Verb::Read, self.plan.block_bytes, tag);
        }
    }

    /// All data of a write has arrived.
    pub(super) fn store(
        &mut self,
        config: &Config,
        index: u32,
        connection: &mut Connection,
        tag: Tag,
        now: Instant,
        records: &mut Vec<Record>,
    ) {
        let command = self.command(index, tag);
        command.is_delivered = true;
        records.push(Record::delivered(&command.received.report.delivered_at(now)));
        self.serve(config, index, connection, tag, now);
    }

    fn serve(&mut self, config: &Config, index: u32, connection: &mut Connection, tag: Tag, now: Instant) {
        let storing = self.plan.service_rate.map_or(Span::ZERO, |rate| rate.span_of(self.plan.block_bytes));
        self.free_at = self.free_at.max(now) + self.plan.service_time + storing;
        if self.free_at == now {
            self.answer(config, connection, tag);
        } else {
            self.serving.push_back((self.free_at, index, tag));
        }
    }

    /// End of the service of the next operation.
    pub(super) fn next_served(&self) -> Option<Instant> {
        self.serving.front().map(|&(at, ..)| at)
    }

    /// Removes the operation whose service has ended by `now`.
    pub(super) fn served(&mut self, now: Instant) -> Option<(u32, Tag)> {
        self.next_served().filter(|&at| at <= now)?;
        self.serving.pop_front().map(|(_, index, tag)| (index, tag))
    }

    /// Sends the data of a read, and the completion.
    pub(super) fn answer(&self, config: &Config, connection: &mut Connection, tag: Tag) {
        if tag.is_read {
            connection.post(config, Verb::Write, self.plan.block_bytes, tag);
        }
        connection.post(config, Verb::Send, COMPLETION_BYTES, tag);
    }

    /// Reports of the last operation of each identifier: frames sent, and counts.
    pub(super) fn served_so_far(&self) -> impl Iterator<Item = SendReport> {
        self.commands.iter().flatten().map(|command| command.sent).filter(is_worth_a_report)
    }

    /// Reports of writes received in part.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        let commands = self.commands.iter().flatten();
        let open = commands.filter(|command| !command.is_delivered && command.received.report.frames > 0);
        open.map(|command| command.received.report)
    }
}

/// Whether it has frames or counts that its client does not know.
pub(super) const fn is_worth_a_report(sent: &SendReport) -> bool {
    sent.frames + sent.timeouts + sent.naks + sent.cnps > 0
}
