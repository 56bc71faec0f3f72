//! Chunks, slices and steps of an operation.
//!
//! A connection has a buffer of 8 steps. A rank processes a chunk at a time; over the network it sends the
//! chunk in slices, one message each.
//!
//! Source: `training_steps.md`, section 4 (Chunks); NCCL 2.30 `src/enqueue.cc`, `calcCollChunking`.

use super::choice::Operation;
use super::model::Tuner;
use crate::kinds::{Algorithm, Collective, Protocol};
use serde::{Deserialize, Serialize};

/// Steps of a connection's buffer: most steps in flight in one direction.
pub const PIPELINE_STEPS: u64 = 8;

const KIB: u64 = 1024;
const SIMPLE_BUFFER: u64 = 4096 * KIB;
const LL_BUFFER: u64 = 512 * KIB;
const LL128_BUFFER: u64 = 4_915_200;
/// NVLS over several nodes slower than this has small chunks [GB/s].
const SLOW_NVLS_GB: f64 = 150.0;

/// Chunks of an operation on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunking {
    /// Bytes of data of a chunk.
    pub chunk_bytes: u64,
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
    /// Chunks of an operation with an algorithm, a protocol and some channels.
    #[must_use]
    pub fn chunking(
        &self,
        operation: Operation,
        algorithm: Algorithm,
        protocol: Protocol,
        channels: usize,
    ) -> Chunking {
        let (chunk_steps, slice_steps) = steps(operation.collective, algorithm, protocol);
        let largest = self.step_data(protocol) * chunk_steps;
        let work = Split { operation, channels: channels as u64 };
        let adapted = match (algorithm, protocol) {
            (Algorithm::Nvls, _) => self.nvls_chunk(&work, largest),
            (Algorithm::NvlsTree, _) => self.nvls_tree_chunk(&work),
            (Algorithm::Tree, Protocol::Ll128) => self.tree_ll128_chunk(&work, largest),
            (Algorithm::Pat, _) => pat_chunk(&work, largest),
            _ => largest,
        };
        let chunk_bytes = adapted / grain(protocol) * grain(protocol);
        let (chunks_per_loop, sent_per_loop) = self.per_loop(operation.collective, algorithm);
        let loop_bytes = work.channels * chunks_per_loop * chunk_bytes;
        Chunking {
            chunk_bytes,
            slice_bytes: chunk_bytes / chunk_steps * slice_steps,
            chunk_steps,
            slice_steps,
            chunks_per_loop,
            sent_per_loop,
            loops: operation.bytes.div_ceil(loop_bytes).max(1),
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

    fn nvls_chunk(&self, work: &Split, largest: u64) -> u64 {
        let slow = self.input.nodes > 1
            && self.costs().iter().any(|cost| {
                (cost.collective, cost.algorithm) == (Collective::AllReduce, Algorithm::Nvls)
                    && cost.bandwidth_gb < SLOW_NVLS_GB
            });
        let most = if slow { 32 * KIB } else { self.input.nvls.chunk_bytes };
        let parts = work.channels * self.input.nvls_heads as u64;
        work.shrunk(largest.min(most), parts, &[(64, 64 * KIB), (8, 32 * KIB), (2, 16 * KIB)])
    }

    fn nvls_tree_chunk(&self, work: &Split) -> u64 {
        let nvls = &self.input.nvls;
        let parts = work.channels * self.input.nvls_heads as u64;
        let limits = [(32, 256 * KIB), (16, 128 * KIB), (4, 64 * KIB), (1, 32 * KIB)];
        work.shrunk(nvls.chunk_bytes.min(nvls.tree_chunk_bytes), parts, &limits)
    }

    /// Halved while a channel has few chunks for the depth of the tree.
    fn tree_ll128_chunk(&self, work: &Split, largest: u64) -> u64 {
        let per_node = self.input.ranks_per_node();
        let depth = 1.0 + self.input.log2_nodes() + 0.1 * per_node;
        let mut chunk = largest;
        for (chunks, least) in [(64.0, 128 * KIB), (16.0, 32 * KIB)] {
            let enough = depth * chunks / per_node;
            while ((work.operation.bytes / (work.channels * chunk)) as f64) < enough && chunk > least {
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

/// An operation on some channels.
struct Split {
    operation: Operation,
    channels: u64,
}

impl Split {
    /// A chunk, limited step by step while the data are less than some chunks on all parts.
    fn shrunk(&self, largest: u64, parts: u64, limits: &[(u64, u64)]) -> u64 {
        let limited = |chunk: u64, &(chunks, limit): &(u64, u64)| {
            if self.operation.bytes < chunks * parts * chunk { chunk.min(limit) } else { chunk }
        };
        limits.iter().fold(largest, limited)
    }
}

/// PAT halves its chunk while the data do not fill a number of them on all channels.
fn pat_chunk(work: &Split, largest: u64) -> u64 {
    let chunks = if work.operation.collective == Collective::AllGather { 32 } else { 16 };
    let mut chunk = largest;
    while chunk * work.channels * chunks > work.operation.bytes && chunk > 64 * KIB {
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
