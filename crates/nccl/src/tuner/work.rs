//! Channels and threads of an operation, by its size, and the bytes of each channel.
//!
//! Source: NCCL 2.30 `src/enqueue.cc`; the split into cells is that of 2.23 and later
//! (`scheduleCollTasksToPlan`), inferred for older versions. It reproduces the channels of two public logs of
//! 4 x A100 with 2.27.3: 10 of 11 for 182,092 B by Ring LL, 23 of 24 for 1,820,956 B by Ring LL128.

use super::choice::Operation;
use super::model::Tuner;
use crate::kinds::{Algorithm, Collective, Protocol};
use serde::{Deserialize, Serialize};

/// Threads of a warp.
const WARP: usize = 32;
/// Fewest bytes of traffic of a channel.
const TRAFFIC_MIN: u64 = 16 * 1024;
/// Aligns the bytes of a cell.
const CELL_ALIGNMENT: u64 = 16;

/// Channels of an operation and their threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Bytes of the larger buffer that each channel processes. Buffers of all-gather and reduce-scatter are
    /// multiples of the ranks.
    pub channel_bytes: Vec<u64>,
    /// Threads per channel.
    pub threads: usize,
}

impl Work {
    /// Number of channels.
    #[must_use]
    pub const fn channels(&self) -> usize {
        self.channel_bytes.len()
    }
}

impl Tuner {
    /// Channels and threads of an operation with an algorithm and a protocol.
    #[must_use]
    pub fn work(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> Work {
        let (channels, threads) = self.channels_and_threads(operation.bytes, algorithm, protocol);
        Work { channel_bytes: self.split(operation, protocol, channels), threads }
    }

    /// Small operations use fewer channels, then fewer threads.
    fn channels_and_threads(&self, bytes: u64, algorithm: Algorithm, protocol: Protocol) -> (usize, usize) {
        const ALL: usize = 640;
        let mut channels = self.input.collective_channels;
        let mut threads = match (algorithm, protocol) {
            (Algorithm::Nvls | Algorithm::NvlsTree, _) => return (self.input.nvls.channels, ALL),
            (Algorithm::Pat, _) => return (channels, ALL),
            (_, Protocol::Ll128) => ALL,
            (Algorithm::Ring, Protocol::Simple) => self.ring_threads(),
            _ => 512,
        };
        let per_thread = match (algorithm, protocol) {
            (_, Protocol::Simple) => 64,
            (Algorithm::Ring, Protocol::Ll) => 8 * self.input.ranks,
            _ => 8,
        };
        let is_small = |channels: usize, threads: usize| bytes < (channels * threads * per_thread) as u64;
        while channels > 1 && is_small(channels, threads) {
            channels -= 1;
        }
        while is_small(channels, threads) && threads.is_multiple_of(128) {
            threads /= 2;
        }
        let synchronising =
            if (algorithm, protocol) == (Algorithm::Ring, Protocol::Simple) { WARP } else { 0 };
        let threads = (threads + synchronising).max(3 * WARP);
        (channels, if algorithm == Algorithm::Tree { ALL } else { threads })
    }

    /// Slow rings have fewer threads.
    fn ring_threads(&self) -> usize {
        const SLOW_GB: f64 = 12.0;
        let ring = &self.input.graphs.ring;
        if ring.intra.gb() * ring.channels as f64 <= SLOW_GB { 256 } else { 512 }
    }

    /// Splits the data into cells, and the cells into channels with about equal traffic.
    fn split(&self, operation: Operation, protocol: Protocol, channels: usize) -> Vec<u64> {
        let ranks = self.input.ranks as u64;
        let (per_byte, buffers) = match operation.collective {
            Collective::AllReduce => (2, 1),
            Collective::AllGather | Collective::ReduceScatter => (ranks, ranks),
            Collective::Broadcast | Collective::Reduce => (1, 1),
        };
        let per_byte = if protocol == Protocol::Ll { 4 * per_byte } else { per_byte };
        let bytes = operation.bytes.div_ceil(buffers).max(1);
        let cell = TRAFFIC_MIN.div_ceil(per_byte).next_multiple_of(CELL_ALIGNMENT);
        let cells = bytes.div_ceil(cell);
        let per_channel = TRAFFIC_MIN.max(bytes * per_byte / channels as u64);
        let mut cells_per_channel = cells.min(per_channel.div_ceil(cell * per_byte));
        if channels == 1 {
            cells_per_channel = cells;
        }
        let mut counts =
            vec![cells_per_channel; usize::try_from(cells / cells_per_channel).unwrap_or(channels)];
        if !cells.is_multiple_of(cells_per_channel) {
            counts.push(cells % cells_per_channel);
        }
        if counts.len() > channels {
            counts = spread_rest(cells, cells_per_channel, channels as u64);
        }
        let mut left = bytes;
        let share = |count: u64| {
            let share = (count * cell).min(left);
            left -= share;
            share * buffers
        };
        counts.into_iter().map(share).collect()
    }
}

/// Cells of each channel if the first has a given number: the others have equal parts of the rest, the last also
/// the remainder.
fn spread_rest(cells: u64, first: u64, channels: u64) -> Vec<u64> {
    let (others, rest) = (channels - 1, cells - first);
    let mut counts = vec![rest / others; usize::try_from(others).unwrap_or(0)];
    if let Some(last) = counts.last_mut() {
        *last += rest % others;
    }
    counts.insert(0, first);
    counts.retain(|&count| count > 0);
    counts
}
