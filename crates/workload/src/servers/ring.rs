//! Rings over servers: the transfers from the last GPU of each server to the first of the next.
//!
//! A ring visits all n GPUs, server by server. At step t each GPU sends the block that it received at step
//! t - 1, so a server of g GPUs sends at step t what it received at step t - g; in between, the block passes
//! g - 1 hops inside the server. The first g steps send blocks of the server's own GPUs. A block is sent as
//! slices, each a message of its own; data of more than a chunk for each GPU takes several loops.
//!
//! Broadcast and reduce pass chunks once along the ring, from the root on or to it.

use super::connection::{Connection, Writer};
use super::{Messages, NcclChannels, ServerRanks, representatives, volume_of};
use crate::{
    LISTED_TRANSFERS_MAX, Parts, RankTimes, Schedule, Transfer, Volume, WorkloadError, check_transfers,
};
use std::collections::VecDeque;
use units::{Rank, Span, TransferId};

/// The volume of [`schedule`].
pub(super) fn volume(
    channels: &NcclChannels,
    cycles: u32,
    data_bytes: u64,
    servers: &ServerRanks,
) -> Result<Volume, WorkloadError> {
    let gpus = servers.gpus().unwrap_or(1);
    let ranks = representatives(channels, servers)?;
    let rings = rings(channels, cycles, data_bytes, servers, gpus, &ranks);
    let (protocol, servers_count) = (channels.protocol, servers.count() as u64);
    let block = |ring: &Ring<'_>| channels.chunk_bytes.min(ring.bytes_left.div_ceil(ring.blocks));
    let largest = rings.iter().map(|ring| block(ring).div_ceil(ring.slices(block(ring)))).max().unwrap_or(0);
    let wire = |ring: &Ring<'_>| {
        let sent = u128::from(ring.bytes_left) * u128::from(ring.steps) / u128::from(ring.blocks);
        protocol.wire_bytes(u64::try_from(sent).unwrap_or(u64::MAX)).saturating_mul(servers_count)
    };
    let connections = rings.len() as u64 * servers_count;
    let window = u64::from(channels.window_messages);
    let clearances =
        |ring: &Ring<'_>| servers_count * (ring.messages() / servers_count).saturating_sub(window);
    Ok(volume_of(
        channels,
        servers,
        Messages {
            count: rings.iter().map(Ring::messages).sum(),
            connections,
            clearances: rings.iter().map(clearances).sum(),
            largest_bytes: protocol.wire_bytes(largest),
            wire_bytes: rings.iter().map(wire).sum(),
        },
    ))
}

/// The volume of [`chain`].
pub(super) fn volume_of_chain(
    channels: &NcclChannels,
    data_bytes: u64,
    servers: &ServerRanks,
) -> Result<Volume, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let (protocol, hops) = (channels.protocol, servers.count() as u64 - 1);
    let of_channels = Parts::new(data_bytes, ranks.len() as u64);
    let each = || (0..ranks.len() as u64).map(|channel| of_channels.of(channel));
    let chunks = |bytes: u64| bytes.div_ceil(channels.slice_bytes);
    let window = u64::from(channels.window_messages);
    Ok(volume_of(
        channels,
        servers,
        Messages {
            count: each().map(|bytes| chunks(bytes) * hops).sum(),
            connections: each().filter(|&bytes| bytes > 0).count() as u64 * hops,
            clearances: each().map(|bytes| chunks(bytes).saturating_sub(window) * hops).sum(),
            largest_bytes: protocol.wire_bytes(channels.slice_bytes.min(of_channels.of(0))),
            wire_bytes: each().map(|bytes| protocol.wire_bytes(bytes)).sum::<u64>().saturating_mul(hops),
        },
    ))
}

/// The schedule of a collective whose blocks go round the ring in `cycles`.
pub(super) fn schedule(
    channels: &NcclChannels,
    cycles: u32,
    data_bytes: u64,
    servers: &ServerRanks,
    gpus: u32,
) -> Result<Schedule, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let mut rings = rings(channels, cycles, data_bytes, servers, gpus, &ranks);
    let messages: u64 = rings.iter().map(Ring::messages).sum();
    check_transfers(messages * 2, LISTED_TRANSFERS_MAX)?;
    let mut writer = Writer::new(messages * 2);
    // Loop by loop, channels side by side.
    while rings.iter().any(|ring| ring.bytes_left > 0) {
        let blocks: Vec<Parts> = rings.iter_mut().map(Ring::next_loop).collect();
        for step in 0..rings[0].steps {
            for (ring, blocks) in rings.iter_mut().zip(&blocks) {
                ring.push_step(&mut writer, blocks, step);
            }
        }
    }
    Ok(writer.finish())
}

/// The rings, one for each channel.
fn rings<'a>(
    channels: &'a NcclChannels,
    cycles: u32,
    data_bytes: u64,
    servers: &ServerRanks,
    gpus: u32,
    ranks: &'a [Vec<Rank>],
) -> Vec<Ring<'a>> {
    let of_channels = Parts::new(data_bytes, channels.channels.len() as u64);
    let all = gpus * servers.represented();
    let steps = cycles * (all - 1);
    (0..)
        .zip(ranks)
        .map(|(number, ranks)| Ring {
            channels,
            number,
            ranks,
            gpus,
            blocks: all.into(),
            steps,
            bytes_left: of_channels.of(number.into()),
            connections: vec![Connection::default(); ranks.len()],
            last_steps: vec![VecDeque::new(); ranks.len()],
        })
        .collect()
}

/// The schedule of a collective whose chunks pass all servers once, from `first` on.
pub(super) fn chain(
    channels: &NcclChannels,
    data_bytes: u64,
    servers: &ServerRanks,
    first: usize,
) -> Result<Schedule, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let count = servers.count();
    let of_channels = Parts::new(data_bytes, ranks.len() as u64);
    let chunks = |channel: usize| of_channels.of(channel as u64).div_ceil(channels.slice_bytes);
    let messages: u64 = (0..ranks.len()).map(|channel| chunks(channel) * (count as u64 - 1)).sum();
    check_transfers(messages * 2, LISTED_TRANSFERS_MAX)?;
    let mut writer = Writer::new(messages * 2);
    let mut connections = vec![vec![Connection::default(); count - 1]; ranks.len()];
    let NcclChannels { protocol, scale_up, .. } = channels;
    for chunk in 0..chunks(0) {
        for channel in (0..ranks.len()).filter(|&channel| chunk < chunks(channel)) {
            let data_bytes = Parts::new(of_channels.of(channel as u64), chunks(channel)).of(chunk);
            let bytes = protocol.wire_bytes(data_bytes);
            let through = channels.through(scale_up.hops, bytes);
            let mut received = None;
            for (hop, connection) in connections[channel].iter_mut().enumerate() {
                let rank = |hop: usize| ranks[channel][(first + hop) % count];
                let message = Transfer {
                    src: rank(hop),
                    dst: rank(hop + 1),
                    bytes,
                    step: hop as u32,
                    channel: channel as u32,
                    block: chunk as u32,
                };
                let queued = if hop == 0 { Span(scale_up.hop(bytes).0 * chunk) } else { Span::ZERO };
                let times = RankTimes {
                    before: through + queued,
                    busy: channels.busy(channel as u32, bytes),
                    after: if hop + 2 == count { through } else { Span::ZERO },
                };
                received = Some(connection.push(&mut writer, channels, message, received, times));
            }
        }
    }
    Ok(writer.finish())
}

/// One channel.
struct Ring<'a> {
    channels: &'a NcclChannels,
    number: u32,
    /// Rank of each server.
    ranks: &'a [Rank],
    gpus: u32,
    /// Number of blocks: one for each GPU.
    blocks: u64,
    /// Steps of a loop.
    steps: u32,
    bytes_left: u64,
    /// Connection from each server to the next.
    connections: Vec<Connection>,
    /// By server: messages of the last steps of this loop, as many as it has GPUs; the oldest first.
    last_steps: Vec<VecDeque<Vec<TransferId>>>,
}

impl Ring<'_> {
    /// Messages of all loops.
    fn messages(&self) -> u64 {
        let of_a_loop = self.blocks * self.channels.chunk_bytes;
        let (full, rest) = (self.bytes_left / of_a_loop, self.bytes_left % of_a_loop);
        let slices = |bytes: u64| self.slices(bytes.div_ceil(self.blocks));
        let in_a_step = full * slices(of_a_loop) + if rest > 0 { slices(rest) } else { 0 };
        in_a_step * u64::from(self.steps) * self.ranks.len() as u64
    }

    fn slices(&self, block_bytes: u64) -> u64 {
        block_bytes.div_ceil(self.channels.slice_bytes).max(1)
    }

    /// Blocks of the next loop.
    fn next_loop(&mut self) -> Parts {
        let bytes = self.bytes_left.min(self.blocks * self.channels.chunk_bytes);
        self.bytes_left -= bytes;
        self.last_steps.iter_mut().for_each(VecDeque::clear);
        Parts::new(bytes, self.blocks)
    }

    /// Adds the messages of a step of all servers.
    fn push_step(&mut self, writer: &mut Writer, blocks: &Parts, step: u32) {
        let servers = self.ranks.len();
        let arrived: Vec<Vec<TransferId>> = match step < self.gpus {
            true => vec![Vec::new(); servers],
            false => self.last_steps.iter_mut().filter_map(VecDeque::pop_front).collect(),
        };
        for server in 0..servers {
            let last_gpu = (server as u64 + 1) * u64::from(self.gpus) - 1;
            let block = (last_gpu + self.blocks - u64::from(step) % self.blocks) % self.blocks;
            let slices = Parts::new(blocks.of(block), self.slices(blocks.of(block)));
            let before = &arrived[(server + servers - 1) % servers];
            let messages = (0..self.slices(blocks.of(block)))
                .map(|slice| {
                    let bytes = self.channels.protocol.wire_bytes(slices.of(slice));
                    let received = before.get(slice as usize).or(before.last()).copied();
                    let message = Transfer {
                        src: self.ranks[server],
                        dst: self.ranks[(server + 1) % servers],
                        bytes,
                        step,
                        channel: self.number,
                        block: block as u32,
                    };
                    let times = self.times(step, bytes);
                    self.connections[server].push(writer, self.channels, message, received, times)
                })
                .collect();
            self.last_steps[server].push_back(messages);
        }
    }

    fn times(&self, step: u32, bytes: u64) -> RankTimes {
        let scale_up = &self.channels.scale_up;
        // A block of the server itself passes fewer hops than one that is forwarded.
        let hops = if step < self.gpus { step.min(scale_up.hops) } else { scale_up.hops };
        let is_forwarded = step + self.gpus < self.steps;
        let hops_left = if is_forwarded { 0 } else { (self.steps - 1 - step).min(scale_up.hops) };
        RankTimes {
            before: self.channels.through(hops, bytes),
            busy: self.channels.busy(self.number, bytes),
            after: self.channels.through(hops_left, bytes),
        }
    }
}
