//! Double binary trees over servers: chunks are reduced up each tree and broadcast down again, as in the
//! algorithm of ranks ([`crate::patterns`]), by one rank of each server on each channel.
//!
//! Inside a server the GPUs are a chain that ends at the rank of the channel: a chunk is reduced along it
//! before it goes up, and passed along it when it has come down: it occupies the GPUs between the ends of the
//! chain in both directions, those of a single hop (NVLS, or two GPUs) in one. Only the first chunks of a leaf wait for the
//! chain; later ones have passed it by the time a buffer is free. A connection has buffers for
//! `window_messages` chunks, so a leaf starts a chunk when the one that many earlier for each level of the
//! tree has come down. Messages that clear buffers are left out.

use super::{Messages, NcclChannels, ServerRanks, representatives, volume_of};
use crate::patterns::{Lane, trees};
use crate::{
    LISTED_TRANSFERS_MAX, Parts, RankTimes, Schedule, ScheduleBuilder, Volume, WorkloadError, check_transfers,
};
use units::{Span, TransferId};

/// The volume of [`schedule`].
pub(super) fn volume(
    channels: &NcclChannels,
    data_bytes: u64,
    servers: &ServerRanks,
) -> Result<Volume, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let of_channels = Parts::new(data_bytes, ranks.len() as u64);
    let each = || (0..ranks.len() as u64).map(|channel| of_channels.of(channel));
    let directed_edges = 2 * (servers.count() as u64 - 1);
    let protocol = channels.protocol;
    Ok(volume_of(
        channels,
        servers,
        Messages {
            count: each().map(|bytes| bytes.div_ceil(channels.chunk_bytes) * directed_edges).sum(),
            connections: each().filter(|&bytes| bytes > 0).count() as u64 * directed_edges,
            clearances: 0,
            largest_bytes: protocol.wire_bytes(channels.chunk_bytes.min(of_channels.of(0))),
            wire_bytes: each()
                .map(|bytes| protocol.wire_bytes(bytes))
                .sum::<u64>()
                .saturating_mul(directed_edges),
        },
    ))
}

pub(super) fn schedule(
    channels: &NcclChannels,
    data_bytes: u64,
    servers: &ServerRanks,
) -> Result<Schedule, WorkloadError> {
    let ranks = representatives(channels, servers)?;
    let of_channels = Parts::new(data_bytes, ranks.len() as u64);
    let chunks = |channel: usize| of_channels.of(channel as u64).div_ceil(channels.chunk_bytes);
    let edges = servers.count() as u64 - 1;
    let transfers = (0..ranks.len()).map(|channel| 2 * chunks(channel) * edges).sum();
    check_transfers(transfers, LISTED_TRANSFERS_MAX)?;
    let mut builder = ScheduleBuilder::with_capacity(transfers, transfers * 3 / 2);
    let mut times = Vec::with_capacity(transfers as usize);
    let half = ranks.len().div_ceil(2) as u32;
    let mut lanes: Vec<Lane> = (0..)
        .zip(&ranks)
        .map(|(channel, ranks)| {
            let [first, second] = trees(servers.count() as u32);
            let tree = if channel < half { first } else { second };
            Lane::new(channel, tree.among(ranks), channels.window_messages)
        })
        .collect();
    for chunk in 0..chunks(0) {
        for (channel, lane) in lanes.iter_mut().enumerate().filter(|(channel, _)| chunk < chunks(*channel)) {
            let parts = Parts::new(of_channels.of(channel as u64), chunks(channel));
            let bytes = channels.protocol.wire_bytes(parts.of(chunk));
            let first = times.len() as u32;
            lane.push_chunk(&mut builder, chunk as u32, bytes);
            let scale_up = &channels.scale_up;
            let through = channels.through(scale_up.hops, bytes);
            // Counted once on each server: with the last transfer up at the root, elsewhere with that down.
            let directions = u64::from(scale_up.hops.min(2));
            let busy = Span(channels.busy(channel as u32, bytes).0 * directions);
            let last_up = first + edges as u32 - 1;
            times.extend((first..=last_up).map(|up| {
                let is_first = builder.dependencies(TransferId(up)) == 0;
                let queued = through + Span(scale_up.hop(bytes).0 * chunk);
                RankTimes {
                    before: if is_first { queued } else { Span::ZERO },
                    busy: if up == last_up { busy } else { Span::ZERO },
                    after: Span::ZERO,
                }
            }));
            let down = RankTimes { before: Span::ZERO, busy, after: through };
            times.extend((0..edges).map(|_| down));
        }
    }
    Ok(builder.finish().of_rank_times(times))
}
