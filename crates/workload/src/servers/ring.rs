//! Rings over servers: the transfers from the last GPU of each server to the first of the next.
//!
//! A ring visits all n GPUs, server by server. At step t each GPU sends the block that it received at step
//! t - 1, so a server of g GPUs sends at step t what it received at step t - g; in between, the block passes
//! g - 1 hops inside the server. The first g steps send blocks of the server's own GPUs. A block is sent as
//! slices, each a message of its own; data of more than a chunk for each GPU takes several loops.

use super::{NcclChannels, ServerRanks, representatives};
use crate::schedule::CLEARANCE_BYTES;
use crate::{
    LISTED_TRANSFERS_MAX, Message, Parts, RankTimes, Schedule, ScheduleBuilder, Transfer, WorkloadError,
    check_transfers,
};
use std::collections::VecDeque;
use units::{Rank, Span, TransferId};

pub(super) fn schedule(
    channels: &NcclChannels,
    cycles: u32,
    data_bytes: u64,
    servers: &ServerRanks,
    gpus: u32,
) -> Result<Schedule, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let of_channels = Parts::new(data_bytes, channels.channels.len() as u64);
    let steps = cycles * (gpus * servers.count() as u32 - 1);
    let mut rings: Vec<Ring<'_>> = (0..)
        .zip(&ranks)
        .map(|(number, ranks)| Ring {
            channels,
            number,
            ranks,
            gpus,
            steps,
            bytes_left: of_channels.of(number.into()),
            connections: vec![Connection::default(); ranks.len()],
        })
        .collect();
    let messages: u64 = rings.iter().map(Ring::messages).sum();
    check_transfers(messages * 2, LISTED_TRANSFERS_MAX)?;
    let mut writer = Writer::new(messages * 2);
    // Loop by loop, channels side by side.
    while rings.iter().any(|ring| ring.bytes_left > 0) {
        let blocks: Vec<Parts> = rings.iter_mut().map(Ring::next_loop).collect();
        for step in 0..steps {
            for (ring, blocks) in rings.iter_mut().zip(&blocks) {
                ring.push_step(&mut writer, blocks, step);
            }
        }
    }
    Ok(writer.finish())
}

/// Builder of the schedule, with the type and the times of each transfer.
struct Writer {
    builder: ScheduleBuilder,
    messages: Vec<Message>,
    times: Vec<RankTimes>,
}

impl Writer {
    fn new(transfers: u64) -> Self {
        Self {
            builder: ScheduleBuilder::with_capacity(transfers, transfers),
            messages: Vec::with_capacity(transfers as usize),
            times: Vec::with_capacity(transfers as usize),
        }
    }

    fn push(
        &mut self,
        transfer: Transfer,
        after: &[TransferId],
        message: Message,
        times: RankTimes,
    ) -> TransferId {
        self.messages.push(message);
        self.times.push(times);
        self.builder.push(transfer, after)
    }

    fn finish(self) -> Schedule {
        let has_control = self.messages.iter().any(|&message| message != Message::Payload);
        let messages = if has_control { self.messages } else { Vec::new() };
        self.builder.finish().of_messages(messages).of_rank_times(self.times)
    }
}

/// One channel.
struct Ring<'a> {
    channels: &'a NcclChannels,
    number: u32,
    /// Rank of each server.
    ranks: &'a [Rank],
    gpus: u32,
    /// Steps of a loop.
    steps: u32,
    bytes_left: u64,
    /// Connection from each server to the next.
    connections: Vec<Connection>,
}

/// Messages of a connection.
#[derive(Clone, Default)]
struct Connection {
    /// The last messages, as many as the receiver has buffers.
    last: VecDeque<TransferId>,
    /// Messages of the last steps of this loop, as many as a server has GPUs; the oldest first.
    steps: VecDeque<Vec<TransferId>>,
}

impl Ring<'_> {
    /// Number of blocks: one for each GPU.
    fn blocks(&self) -> u64 {
        self.ranks.len() as u64 * u64::from(self.gpus)
    }

    /// Messages of all loops.
    fn messages(&self) -> u64 {
        let of_a_loop = self.blocks() * self.channels.chunk_bytes;
        let (full, rest) = (self.bytes_left / of_a_loop, self.bytes_left % of_a_loop);
        let slices = |bytes: u64| self.slices(bytes.div_ceil(self.blocks()));
        let in_a_step = full * slices(of_a_loop) + if rest > 0 { slices(rest) } else { 0 };
        in_a_step * u64::from(self.steps) * self.ranks.len() as u64
    }

    fn slices(&self, block_bytes: u64) -> u64 {
        block_bytes.div_ceil(self.channels.slice_bytes).max(1)
    }

    /// Blocks of the next loop.
    fn next_loop(&mut self) -> Parts {
        let bytes = self.bytes_left.min(self.blocks() * self.channels.chunk_bytes);
        self.bytes_left -= bytes;
        self.connections.iter_mut().for_each(|connection| connection.steps.clear());
        Parts::new(bytes, self.blocks())
    }

    /// Adds the messages of a step of all servers.
    fn push_step(&mut self, writer: &mut Writer, blocks: &Parts, step: u32) {
        let servers = self.ranks.len();
        let arrived: Vec<Vec<TransferId>> = match step < self.gpus {
            true => vec![Vec::new(); servers],
            false => self.connections.iter_mut().filter_map(|each| each.steps.pop_front()).collect(),
        };
        for server in 0..servers {
            let last_gpu = (server as u64 + 1) * u64::from(self.gpus) - 1;
            let block = (last_gpu + self.blocks() - u64::from(step) % self.blocks()) % self.blocks();
            let parts = Parts::new(blocks.of(block), self.slices(blocks.of(block)));
            let before = &arrived[(server + servers - 1) % servers];
            let slices = (0..self.slices(blocks.of(block)))
                .map(|slice| {
                    let received = before.get(slice as usize).or(before.last()).copied();
                    self.push_slice(writer, server, step, block as u32, parts.of(slice), received)
                })
                .collect();
            self.connections[server].steps.push_back(slices);
        }
    }

    fn push_slice(
        &mut self,
        writer: &mut Writer,
        server: usize,
        step: u32,
        block: u32,
        data_bytes: u64,
        received: Option<TransferId>,
    ) -> TransferId {
        let NcclChannels { protocol, channels, window_messages, scale_up, .. } = self.channels;
        let (src, dst) = (self.ranks[server], self.ranks[(server + 1) % self.ranks.len()]);
        let transfer =
            Transfer { src, dst, bytes: protocol.wire_bytes(data_bytes), step, channel: self.number, block };
        let connection = &mut self.connections[server];
        let freed = match connection.last.len() < *window_messages as usize {
            true => None,
            false => connection.last.pop_front(),
        };
        let cleared = freed.map(|freed| {
            let clearance = Transfer {
                src: dst,
                dst: src,
                bytes: CLEARANCE_BYTES,
                channel: self.number + channels.len() as u32,
                ..transfer
            };
            writer.push(clearance, &[freed], Message::Cts, RankTimes::default())
        });
        // A block of the server itself passes fewer hops than one that is forwarded.
        let hops = if received.is_some() { scale_up.hops } else { step.min(scale_up.hops) };
        let hops_left = (self.steps - 1 - step).min(scale_up.hops);
        let is_forwarded = self.steps - step > self.gpus;
        let times = RankTimes {
            before: scale_up.through(hops, data_bytes),
            busy: self.channels.busy(self.number, data_bytes),
            after: if is_forwarded { Span::ZERO } else { scale_up.through(hops_left, data_bytes) },
        };
        let after: Vec<TransferId> = received.into_iter().chain(cleared).collect();
        let id = writer.push(transfer, &after, Message::Payload, times);
        self.connections[server].last.push_back(id);
        id
    }
}
