//! A target: takes commands, moves the data, and serves operations one after the other.

use super::Received;
use super::connection::Connection;
use super::tag::Tag;
use crate::record::{ReceiveReport, Record, SendReport};
use std::collections::VecDeque;
use transport::{Config, Verb};
use units::{Instant, Rate, Span};

/// Size of a completion: the completion queue entry (NVMe base specification 2.0, 3.3.3).
pub(crate) const COMPLETION_BYTES: u64 = 16;

/// How a target works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetPlan {
    /// Data of an operation [bytes].
    pub(crate) block_bytes: u64,
    /// Data of a write travels with its command up to this size [bytes].
    pub(crate) in_capsule_bytes: u64,
    /// How fast it stores and fetches data, if that is limited.
    pub(crate) service_rate: Option<Rate>,
    /// What each operation takes besides.
    pub(crate) service_time: Span,
    /// Operations that a client keeps outstanding.
    pub(crate) depth: u16,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// Of a write: its data.
    pub(super) received: Received,
    /// Of a read.
    pub(super) sent: SendReport,
    /// Its data is all there, or it has none to receive.
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
    /// When the server has nothing to do any more.
    free_at: Instant,
    /// What it serves, with the end of service.
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

    /// Whether the data of an operation travels with its command.
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

    /// A command has arrived whole. A read is served at once, a write when its data is there: if they did not
    /// come with it, the target asks for them.
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

    /// All data of a write is there.
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

    /// When an operation will have been served.
    pub(super) fn next_served(&self) -> Option<Instant> {
        self.serving.front().map(|&(at, ..)| at)
    }

    /// The operation whose service has ended by `now`.
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

    /// What it sent for the last operation of each identifier, and its counts.
    pub(super) fn served_so_far(&self) -> impl Iterator<Item = SendReport> {
        self.commands.iter().flatten().map(|command| command.sent).filter(is_worth_a_report)
    }

    /// What has arrived of writes that are not whole.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        let commands = self.commands.iter().flatten();
        let open = commands.filter(|command| !command.is_delivered && command.received.report.frames > 0);
        open.map(|command| command.received.report)
    }
}

/// Whether it sent something, or met with something, that its client knows nothing of.
pub(super) const fn is_worth_a_report(sent: &SendReport) -> bool {
    sent.frames + sent.timeouts + sent.naks + sent.cnps > 0
}
