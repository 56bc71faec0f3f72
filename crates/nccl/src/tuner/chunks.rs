//! Chunks, slices and steps of an operation.
//!
//! A connection has a buffer of 8 steps. A rank processes a chunk at a time; over the network it sends the
//! chunk in slices, one message each.
//!
//! Source: NCCL 2.30 `src/enqueue.cc`, `calcCollChunking`.

use super::model::Tuner;
use crate::kinds::{Algorithm, Collective, Protocol};
use serde::{Deserialize, Serialize};

/// Steps of a connection's buffer: most steps in flight in one direction.
pub const PIPELINE_STEPS: u64 = 8;

const KIB: u64 = 1024;
const SIMPLE_BUFFER: u64 = 4096 * KIB;
const LL_BUFFER: u64 = 512 * KIB;
const LL128_BUFFER: u64 = 4_915_200;
/// Chunks of the last loop are multiples of this, the bytes of a load.
const CHUNK_ALIGNMENT: u64 = 16;
/// NVLS over several nodes slower than this has small chunks [GB/s].
const SLOW_NVLS_GB: f64 = 150.0;

/// Chunks of the data of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunking {
    /// Bytes of data of a chunk.
    pub chunk_bytes: u64,
    /// Bytes of data of a chunk in the last loop, in which all chunks are equally smaller.
    pub last_chunk_bytes: u64,
    /// Bytes of data of a slice: one message.
    pub slice_bytes: u64,
    /// Buffer steps of a chunk.
    pub chunk_steps: u64,
    /// Buffer steps of a slice.
    pub slice_steps: u64,
    /// Chunks of the larger buffer that all ranks of a channel process in one loop.
    pub chunks_per_loop: u64,
    /// Chunks that a rank sends in one loop.
    pub sent_per_loop: u64,
    /// Loops of a channel.
    pub loops: u64,
}

impl Chunking {
    /// Messages that a rank sends on a channel.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.loops * self.sent_per_loop * (self.chunk_steps / self.slice_steps)
    }

    /// Messages in flight on a connection in one direction.
    #[must_use]
    pub const fn messages_in_flight(&self) -> u64 {
        PIPELINE_STEPS / self.slice_steps
    }
}

impl Tuner {
    /// Chunks of a channel that has some bytes of the larger buffer.
    ///
    /// NCCL adapts the chunks of each channel to its data since it splits data into cells; that older versions
    /// divide the whole data by the channels gives about the same.
    #[must_use]
    pub fn chunking(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        channel_bytes: u64,
    ) -> Chunking {
        let (chunk_steps, slice_steps) = steps(collective, algorithm, protocol);
        let largest = self.step_data(protocol) * chunk_steps;
        let adapted = match (algorithm, protocol) {
            (Algorithm::Nvls, _) => self.nvls_chunk(channel_bytes, largest),
            (Algorithm::NvlsTree, _) => self.nvls_tree_chunk(channel_bytes),
            (Algorithm::Tree, Protocol::Ll128) => self.tree_ll128_chunk(channel_bytes, largest),
            (Algorithm::Pat, _) => pat_chunk(collective, channel_bytes, largest),
            _ => largest,
        };
        let chunk_bytes = adapted / grain(protocol) * grain(protocol);
        let (chunks_per_loop, sent_per_loop) = self.per_loop(collective, algorithm);
        let loops = channel_bytes.div_ceil(chunks_per_loop * chunk_bytes).max(1);
        let last = channel_bytes - (loops - 1) * chunks_per_loop * chunk_bytes;
        Chunking {
            chunk_bytes,
            last_chunk_bytes: last
                .div_ceil(chunks_per_loop)
                .next_multiple_of(CHUNK_ALIGNMENT)
                .min(chunk_bytes),
            slice_bytes: chunk_bytes / chunk_steps * slice_steps,
            chunk_steps,
            slice_steps,
            chunks_per_loop,
            sent_per_loop,
            loops,
        }
    }

    /// Bytes of data of one buffer step.
    fn step_data(&self, protocol: Protocol) -> u64 {
        match protocol {
            Protocol::Simple => self.buffer_bytes.unwrap_or(SIMPLE_BUFFER) / PIPELINE_STEPS,
            Protocol::Ll => LL_BUFFER / PIPELINE_STEPS / 2,
            Protocol::Ll128 => LL128_BUFFER / PIPELINE_STEPS / 16 * 15,
        }
    }

    fn nvls_chunk(&self, bytes: u64, largest: u64) -> u64 {
        let slow = self.input.nodes > 1
            && self.costs().iter().any(|cost| {
                (cost.collective, cost.algorithm) == (Collective::AllReduce, Algorithm::Nvls)
                    && cost.bandwidth_gb < SLOW_NVLS_GB
            });
        let most = if slow { 32 * KIB } else { self.input.nvls.chunk_bytes };
        let per_head = bytes / self.input.nvls_heads.max(1) as u64;
        shrunk(largest.min(most), per_head, &[(64, 64 * KIB), (8, 32 * KIB), (2, 16 * KIB)])
    }

    fn nvls_tree_chunk(&self, bytes: u64) -> u64 {
        let nvls = &self.input.nvls;
        let per_head = bytes / self.input.nvls_heads.max(1) as u64;
        let limits = [(32, 256 * KIB), (16, 128 * KIB), (4, 64 * KIB), (1, 32 * KIB)];
        shrunk(nvls.chunk_bytes.min(nvls.tree_chunk_bytes), per_head, &limits)
    }

    /// Halved while the data have few chunks for the depth of the tree.
    fn tree_ll128_chunk(&self, bytes: u64, largest: u64) -> u64 {
        let per_node = self.input.ranks_per_node();
        let depth = 1.0 + self.input.log2_nodes() + 0.1 * per_node;
        let mut chunk = largest;
        for (chunks, least) in [(64.0, 128 * KIB), (16.0, 32 * KIB)] {
            let enough = depth * chunks / per_node;
            while ((bytes / chunk) as f64) < enough && chunk > least {
                chunk /= 2;
            }
        }
        chunk
    }

    /// Chunks of a loop: of all ranks, and sent by one.
    fn per_loop(&self, collective: Collective, algorithm: Algorithm) -> (u64, u64) {
        let ranks = self.input.ranks as u64;
        match (algorithm, collective) {
            (Algorithm::Ring, Collective::AllReduce) => (ranks, 2 * (ranks - 1)),
            (Algorithm::Ring, Collective::AllGather | Collective::ReduceScatter) => (ranks, ranks - 1),
            (Algorithm::Nvls | Algorithm::NvlsTree, _) => (self.input.nvls_heads as u64, 1),
            _ => (1, 1),
        }
    }
}

/// A chunk, limited step by step while the data are less than a number of chunks.
fn shrunk(largest: u64, bytes: u64, limits: &[(u64, u64)]) -> u64 {
    let limited = |chunk: u64, &(chunks, limit): &(u64, u64)| {
        if bytes < chunks * chunk { chunk.min(limit) } else { chunk }
    };
    limits.iter().fold(largest, limited)
}

/// PAT halves its chunk while the data do not fill a number of them.
fn pat_chunk(collective: Collective, bytes: u64, largest: u64) -> u64 {
    let chunks = if collective == Collective::AllGather { 32 } else { 16 };
    let mut chunk = largest;
    while chunk * chunks > bytes && chunk > 64 * KIB {
        chunk /= 2;
    }
    chunk
}

/// Buffer steps of a chunk and of a slice.
const fn steps(collective: Collective, algorithm: Algorithm, protocol: Protocol) -> (u64, u64) {
    match (algorithm, protocol, collective) {
        (Algorithm::Ring, Protocol::Simple, Collective::Broadcast | Collective::Reduce) => (1, 1),
        (Algorithm::Ring, Protocol::Simple, _) => (PIPELINE_STEPS / 2, PIPELINE_STEPS / 4),
        _ => (1, 1),
    }
}

/// Chunks are multiples of this.
const fn grain(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Ll => 16,
        Protocol::Ll128 => 1920,
        Protocol::Simple => 512,
    }
}
